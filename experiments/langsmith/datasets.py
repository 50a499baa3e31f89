"""Datasets: a domain's tasks as examples, pushed so that pushing twice changes nothing, and pulled back as tasks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError
from pydantic import BaseModel, ConfigDict

from taugraph.domains.domain import Domain
from taugraph.domains.errors import UnknownNameError
from taugraph.domains.protocol import STRICT
from taugraph.domains.task import Task
from taugraph.experiments.langsmith.connection import Connection, langsmith_errors
from taugraph.experiments.langsmith.examples import Example, example_of, task_of_example
from taugraph.experiments.untraced import untraced
from taugraph.graphs.agents.baselines import BASELINES
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser


class PushedDataset(BaseModel):
    """What a push came to."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    dataset: str
    """Its name."""
    dataset_id: UUID
    """Its id."""
    added: tuple[str, ...] = ()
    """Tasks that had no example yet."""
    changed: tuple[str, ...] = ()
    """Tasks whose example said something else."""
    same: int = 0
    """Tasks whose example was left alone."""
    elsewhere: tuple[str, ...] = ()
    """Examples of the dataset that belong to no task pushed now; they are left alone."""


def dataset_name(domain: Domain) -> str:
    """Return the name of a domain's dataset: `taugraph/airline`, or with the data it was built on."""
    return f"taugraph/{domain.name}" if domain.source == "own" else f"taugraph/{domain.name}/{domain.source}"


def push_dataset(
    connection: Connection, domain: Domain, tasks: Sequence[Task] | None = None, name: str | None = None
) -> PushedDataset:
    """Make LangSmith's dataset hold the tasks.

    Args:
        connection: Where to.
        domain: The domain.
        tasks: Which tasks; `None` for all of the domain.
        name: Name of the dataset; `None` for the domain's own.

    Raises:
        LangSmithFailedError: If LangSmith refuses.
        TaskInvalidError: If a task's gold is refused.
    """
    chosen = name or dataset_name(domain)
    wanted = _examples(chosen, domain, domain.tasks if tasks is None else tasks)
    with langsmith_errors(f"push dataset {chosen!r}"):
        dataset_id = _dataset(connection, chosen, domain)
        stored = {example.id: example for example in connection.client.list_examples(dataset_id=dataset_id)}
        added = [example for example in wanted if example["id"] not in stored]
        changed = [each for each in wanted if each["id"] in stored and _differs(each, stored[each["id"]])]
        if added:
            connection.client.create_examples(dataset_id=dataset_id, examples=[_new(each) for each in added])
        if changed:
            connection.client.update_examples(dataset_id=dataset_id, updates=changed)
    ours = {example["id"] for example in wanted}
    return PushedDataset(
        dataset=chosen,
        dataset_id=dataset_id,
        added=tuple(each["inputs"]["task_id"] for each in added),
        changed=tuple(each["inputs"]["task_id"] for each in changed),
        same=len(wanted) - len(added) - len(changed),
        elsewhere=tuple(str((stored[one].inputs or {}).get("task_id", one)) for one in stored if one not in ours),
    )


def pull_dataset(connection: Connection, name: str) -> list[Task]:
    """Return the tasks of a dataset, in the order of their ids.

    Raises:
        UnknownNameError: If there is no such dataset.
        DataError: If an example holds no task.
        LangSmithFailedError: If LangSmith refuses.
    """
    with langsmith_errors(f"pull dataset {name!r}"):
        try:
            dataset = connection.client.read_dataset(dataset_name=name)
        except LangSmithNotFoundError:
            known = [each.name for each in connection.client.list_datasets(dataset_name_contains="taugraph/")]
            raise UnknownNameError("LangSmith dataset", name, known) from None
        examples = list(connection.client.list_examples(dataset_id=dataset.id))
    tasks = [task_of_example(f"example {example.id} of {name}", example.outputs) for example in examples]
    return sorted(tasks, key=lambda task: task.id)


def write_tasks(tasks: Sequence[Task], path: Path) -> None:
    """Write tasks as JSON lines, as a domain's own file holds them."""
    lines = [task.model_dump_json(exclude_defaults=True) for task in tasks]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _dataset(connection: Connection, name: str, domain: Domain) -> UUID:
    client = connection.client
    try:
        found: UUID = client.read_dataset(dataset_name=name).id
    except LangSmithNotFoundError:
        description = f"Tasks of taugraph's domain {domain.name} on the data {domain.source!r}."
        try:
            found = client.create_dataset(name, description=description, metadata={"domain": domain.name}).id
        except LangSmithConflictError:  # another process was faster
            found = client.read_dataset(dataset_name=name).id
    return found


@untraced
def _examples(name: str, domain: Domain, tasks: Sequence[Task]) -> list[Example]:
    silent = BASELINES["noop"]()
    stage = Stage(domain, silent, DemoUser(), STRICT.model_copy(update={"gold_may_fail": True}))
    try:
        return [example_of(name, domain, task, stage.goals(task)) for task in tasks]
    finally:
        stage.close()


def _differs(wanted: Example, stored: Any) -> bool:
    """Tell whether an example is not as it should be; LangSmith keeps the splits in its metadata."""
    metadata = stored.metadata or {}
    known = {name: metadata.get(name) for name in wanted["metadata"]}
    splits = metadata.get("dataset_split") or []
    return bool(
        stored.inputs != wanted["inputs"]
        or stored.outputs != wanted["outputs"]
        or known != wanted["metadata"]
        or sorted(splits) != sorted(wanted["split"])
    )


def _new(example: Example) -> dict[str, Any]:
    return {
        **{name: value for name, value in example.items() if name != "outputs"},
        "reference_outputs": example["outputs"],
    }
