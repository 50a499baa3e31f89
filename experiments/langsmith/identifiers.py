"""Ids that follow from what they name, so that sending twice is sending once."""

from uuid import UUID, uuid5

_NAMESPACE = UUID("6f1d2c1e-9a0b-5d55-8f8b-7a7567726170")


def example_id(dataset: str, task_id: str) -> UUID:
    """Return the id of a task's example in a dataset."""
    return _of("example", dataset, task_id)


def run_id(project_id: object, task_id: str, trial: int, *path: object) -> UUID:
    """Return the id of a trial's root run in a LangSmith project, or of one below it by its path."""
    return _of("run", project_id, task_id, trial, *path)


def feedback_id(place: object, key: str) -> UUID:
    """Return the id of one piece of feedback on a run or a project."""
    return _of("feedback", place, key)


def _of(*parts: object) -> UUID:
    return uuid5(_NAMESPACE, "\x1f".join(map(str, parts)))
