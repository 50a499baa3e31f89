"""The floors of a suite: what agents that deserve nothing score on it, beside which every score is to be read.

They depend on the tasks and their world alone, so they are worked out once for each such identity and kept in a small
file beside the seeds. No user is simulated: it would hang up after the baseline's words.
"""

import json
from collections.abc import Sequence
from hashlib import sha256

from langchain_core.messages import HumanMessage

from taugraph.domains.task import Task
from taugraph.domains.trial import Termination
from taugraph.experiments.plan import Identity
from taugraph.graphs import nodes
from taugraph.graphs.agent import AgentView, TrialKey
from taugraph.graphs.agents.baselines import SilentAgent, TransferAgent
from taugraph.graphs.delivery import has_calls
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState
from taugraph.tools.seed_image import cache_folder, keep_file

FLOORS = {agent.reference: agent for agent in (SilentAgent, TransferAgent)}
"""The baselines whose scores are floors, by reference."""

_SUITE = ("domain", "dialect", "seed_data", "policy", "tasks", "tools", "protocol", "scoring_version")
"""What of a run's identity decides its floors."""


def floors_of(stage: Stage, tasks: Sequence[Task], identity: Identity) -> dict[str, float]:
    """Return what share of the tasks each floor baseline passes, in [0, 1], from the cache if it is there.

    Args:
        stage: Domain and protocol; its actors are not asked.
        tasks: The tasks of the run, at least one.
        identity: The run's identity, which names the suite.
    """
    suite = json.dumps([identity.get(name) for name in _SUITE])
    path = cache_folder() / f"floors-{sha256(suite.encode()).hexdigest()[:24]}.json"
    try:
        kept = json.loads(path.read_bytes())
        if kept.keys() == FLOORS.keys() and all(0 <= rate <= 1 for rate in kept.values()):
            return dict(kept)
    except (OSError, ValueError, TypeError, AttributeError):
        pass
    floors = {reference: _rate(stage, tasks, agent()) for reference, agent in FLOORS.items()}
    keep_file(path, json.dumps(floors).encode())
    return floors


def _rate(stage: Stage, tasks: Sequence[Task], agent: SilentAgent) -> float:
    return sum(_passes(stage, task, agent) for task in tasks) / len(tasks)


def _passes(stage: Stage, task: Task, agent: SilentAgent) -> bool:
    """Let the agent act until it speaks, and score that as if the user had then hung up."""
    opening = HumanMessage(task.scenario.opening or "Hello, I need some help, please.", id="opening")
    state: SimulationState = {"task_id": task.id, "messages": [opening]}
    while not state.get("termination"):
        view = AgentView(state["messages"], stage.domain.policy, stage.executor.tools, TrialKey(task.id, 0, 0))
        said = agent.next_message(view)
        state["messages"] = [*state["messages"], said]
        if not has_calls(said):
            state["termination"] = Termination.USER_STOP.value
            continue
        update = nodes.run_tools(stage, state)
        state.update({**update, "messages": [*state["messages"], *update["messages"]]})  # type: ignore[typeddict-item]
    try:
        reward = nodes.score(stage, state)["reward"]
    except Exception:  # noqa: BLE001 - an invalid task, or an evaluator of one's own that raises: its trials will say so
        return False
    return bool(reward == 1.0)
