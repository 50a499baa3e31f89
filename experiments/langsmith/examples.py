"""Tasks as LangSmith examples and back.

An example's inputs are those of the simulation graph, so that Studio can run an experiment on the dataset. The task as
a whole stands in the reference outputs: evaluators read it, and nothing of it reaches an agent.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import Domain
from taugraph.domains.errors import DataError
from taugraph.domains.task import Task
from taugraph.experiments.langsmith.identifiers import example_id

Example = dict[str, Any]
"""An example as the client takes it: `id`, `inputs`, `outputs`, `metadata`, `split`."""


def example_of(dataset: str, domain: Domain, task: Task, goals: Iterable[NetChanges]) -> Example:
    """Return a task as an example.

    Args:
        dataset: Name of the dataset, from which the id derives.
        domain: The domain of the task.
        task: The task, without a persona.
        goals: Net changes of every accepted end, the gold's first.
    """
    return {
        "id": example_id(dataset, task.id),
        "inputs": {"task_id": task.id},
        "outputs": {
            "reward": 1.0,
            "changes": list(goals),
            "claims": [claim.model_dump(mode="json") for claim in task.claims],
            "must_not_say": [claim.model_dump(mode="json") for claim in task.must_not_say],
            "handoff": task.handoff,
            "task": task.model_dump(mode="json", exclude_defaults=True),
        },
        "metadata": {
            "domain": domain.name,
            "data": domain.source,
            "task_id": task.id,
            "task_hash": task.content_hash,
            "tags": list(task.tags),
        },
        "split": list(task.splits),
    }


def task_of_example(place: str, outputs: Mapping[str, Any] | None) -> Task:
    """Return the task that stands in an example's reference outputs.

    Raises:
        DataError: If there is none, or it breaks the schema.
    """
    document = (outputs or {}).get("task")
    if document is None:
        raise DataError(place, None, "outputs.task", outputs, "a task, as `taugraph dataset push` writes it")
    try:
        return Task.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, ("outputs", "task", *first["loc"])))
        raise DataError(place, None, field, first["input"], first["msg"]) from error
