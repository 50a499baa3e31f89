"""Two of the simulation's nodes: `tools` runs what the agent called, `score` judges how the trial ended.

Each returns a state update and never raises for what an actor did.
"""

from langchain_core.messages import AIMessage

from taugraph.domains.trial import Termination
from taugraph.evaluators.policy import policy_scores
from taugraph.evaluators.reward import Played, reward_of, score_trial
from taugraph.graphs.fidelity import fidelity_score
from taugraph.graphs.own_evaluators import own_scores
from taugraph.graphs.running import run_calls
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState, count_steps, delivered_texts, successful_calls
from taugraph.graphs.transcript import next_id
from taugraph.graphs.updates import Update, add_notes, changes_of, out_of_steps, task_of
from taugraph.graphs.watch import PolicyWatch


def run_tools(stage: Stage, state: SimulationState) -> Update:
    """Run the calls of the agent's last message in order, each in a transaction of its own."""
    message = state["messages"][-1]
    assert isinstance(message, AIMessage), "the router sends only agent messages here"
    watch = _policy_watch(stage, state)
    ran = run_calls(
        stage.executor,
        message,
        changes_of(stage, state),
        errors_in_row=state.get("tool_errors_in_row", 0),
        eye=watch.of_call if watch else None,
    )
    said = list(state["messages"])
    for answer in ran.answers:
        said.append(answer.model_copy(update={"id": next_id(said, "tool")}))
    update: Update = {
        "messages": said[len(state["messages"]) :],
        "changes": ran.changes,
        "tool_errors": state.get("tool_errors", 0) + ran.errors,
        "tool_errors_in_row": ran.errors_in_row,
    }
    return update | _policy_so_far(state, watch) | _end_after_tools(stage, state, ran.errors_in_row, ran.handed_off)


def _policy_watch(stage: Stage, state: SimulationState) -> PolicyWatch | None:
    if not stage.protocol.checks_policy or not stage.domain.rules:
        return None
    return PolicyWatch(stage.domain.rules, task_of(stage, state), state["messages"])


def _policy_so_far(state: SimulationState, watch: PolicyWatch | None) -> Update:
    if watch is None:
        return {}
    update: Update = {"violations": [*state.get("violations", []), *watch.violations]}
    return update | (add_notes(state, {"rule_errors": list(watch.errors)}) if watch.errors else {})


def _end_after_tools(stage: Stage, state: SimulationState, in_row: int, handed_off: bool) -> Update:
    limit = stage.protocol.max_tool_errors
    if handed_off and stage.protocol.handoff_ends_trial:
        return {"termination": Termination.TRANSFER.value}
    if limit is not None and in_row >= limit:
        return {"termination": Termination.TOO_MANY_TOOL_ERRORS.value}
    return out_of_steps(stage, count_steps(state))


def score(stage: Stage, state: SimulationState) -> Update:
    """Compute every deterministic score and the reward, however the trial ended."""
    termination = Termination(state["termination"])
    task = task_of(stage, state)
    scores = score_trial(
        task,
        stage.goals(task),
        Played(changes_of(stage, state), delivered_texts(state), successful_calls(state)),
        stage.protocol,
        stage.domain.comparison,
    )
    if stage.protocol.checks_policy:
        errors = state.get("notes", {}).get("rule_errors", [])
        scores += policy_scores(task, state.get("violations", []), stage.domain.rules, errors)
    scores += own_scores(stage, state)
    scores.append(fidelity_score(stage, state, scores))
    return {
        "scores": [entry.model_dump(mode="json") for entry in scores],
        "reward": reward_of(scores, termination),
    }
