"""Asking the evaluators that a task names: what they are given of a finished trial, and what their answer counts."""

from typing import Any

from langchain_core.messages import convert_to_openai_messages

from taugraph.domains.task import Component, Task
from taugraph.domains.trial import Score
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState, successful_calls
from taugraph.graphs.updates import changes_of, task_of


def own_scores(stage: Stage, state: SimulationState) -> list[Score]:
    """Return a score for every evaluator that the task names.

    Raises:
        Exception: Whatever one of them raises: the trial then has no score.
    """
    task = task_of(stage, state)
    if not task.evaluators:
        return []
    gates = Component.EVALUATORS in task.basis
    known = _known(stage, state, task)
    return [evaluator.score(known).model_copy(update={"gates": gates}) for evaluator in stage.evaluators(task)]


def _known(stage: Stage, state: SimulationState, task: Task) -> dict[str, Any]:
    messages, changes, calls = list(state.get("messages", [])), changes_of(stage, state), successful_calls(state)
    termination = state["termination"]
    outputs = {"messages": convert_to_openai_messages(messages), "changes": changes, "termination": termination}
    claims = [claim.model_dump(mode="json") for claim in task.claims]
    return {
        "task": task,
        "messages": messages,
        "calls": calls,
        "changes": changes,
        "termination": termination,
        "inputs": {"task_id": task.id, "scenario": task.scenario.model_dump(mode="json")},
        "outputs": outputs,
        "reference_outputs": {"claims": claims, "task": task.model_dump(mode="json", exclude_defaults=True)},
    }
