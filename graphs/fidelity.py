"""What the simulation hands to the fidelity evaluator: the transcript as events, and how the trial came out."""

from collections.abc import Sequence

from taugraph.domains.trial import Score, Termination
from taugraph.evaluators.fidelity import Witnessed, is_reached, user_was_faithful
from taugraph.graphs.beginning import messages_before
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState
from taugraph.graphs.updates import task_of
from taugraph.graphs.watch import history_of
from taugraph.tools.definition import ToolKind, kind_of


def fidelity_score(stage: Stage, state: SimulationState, scores: Sequence[Score]) -> Score:
    """Score how faithfully the user played; `scores` are the trial's others."""
    task = task_of(stage, state)
    kinds = {tool.name: kind_of(tool) for tool in stage.domain.agent_tools}
    seen = Witnessed(
        scenario=task.scenario,
        history=list(history_of(state.get("messages", []))),
        writes=[name for name, kind in kinds.items() if kind is ToolKind.WRITE],
        handoffs=[name for name, kind in kinds.items() if kind is ToolKind.HANDOFF],
        is_reached=is_reached(scores, changes_anything=stage.goal(task).changes != stage.start(task)),
        ended_by_user=state.get("termination") == Termination.USER_STOP,
        user_log=state.get("user_log", []),
        begins_at=len(messages_before(task)),
    )
    return user_was_faithful(seen)
