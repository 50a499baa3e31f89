"""An experiment of LangSmith as one side of a comparison: its root runs, grouped by example."""

import warnings
from collections import defaultdict
from typing import Any

from langsmith import Client
from langsmith.schemas import Run, TracerSession
from langsmith.utils import LangSmithNotFoundError

from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.experiments.comparing import REMOTE, Side
from taugraph.experiments.langsmith.connection import Connection, langsmith_errors

_LEFT_OUT = frozenset(
    {"taugraph_identity", "num_repetitions", "dataset_version", "dataset_splits", "git", "revision_id"}
)
_PASSED = 1.0 - 1e-6


def remote_side(connection: Connection, name: str) -> Side:
    """Return an experiment of LangSmith.

    A run counts as passed if its outputs hold a `reward` of 1, or else its feedback does; a run that raised has failed.

    Raises:
        UnknownNameError: If there is no such experiment.
        ConfigurationError: If its runs say no reward.
        LangSmithFailedError: If LangSmith refuses.
    """
    with langsmith_errors(f"read experiment {name!r}"):
        try:
            project = connection.client.read_project(project_name=name)
        except LangSmithNotFoundError:
            raise UnknownNameError("LangSmith experiment", name, ()) from None
        runs = _root_runs(connection.client, project)
    outcomes: dict[str, list[bool]] = defaultdict(list)
    unscored = 0
    for run in runs:
        passed = _has_passed(run)
        if passed is None:
            unscored += 1
        else:
            outcomes[_task_of(run)].append(passed)
    if not outcomes:
        raise ConfigurationError(
            f"LangSmith experiment {name!r} has {unscored} runs, none with a reward: return `reward` from the target, "
            "or score it with taugraph.evaluators.task_was_solved"
        )
    metadata = {key: value for key, value in (project.metadata or {}).items() if key not in _LEFT_OUT}
    settings = {key: str(value) for key, value in metadata.items() if value not in (None, "", {}, [])}
    return Side(f"{REMOTE}{name}", dict(outcomes), max(map(len, outcomes.values())), settings)


def _root_runs(client: Client, project: TracerSession) -> list[Run]:
    # The replacement of list_runs needs a newer server; this one is served by every version that is in use.
    with warnings.catch_warnings(action="ignore"):
        return list(client.list_runs(project_id=project.id, is_root=True))


def _has_passed(run: Run) -> bool | None:
    reward: Any = (run.outputs or {}).get("reward")
    if isinstance(reward, int | float):
        return reward >= _PASSED
    stats = (run.feedback_stats or {}).get("reward") or {}
    if isinstance(stats.get("avg"), int | float):
        return bool(stats["avg"] >= _PASSED)
    return False if run.error else None


def _task_of(run: Run) -> str:
    metadata = (run.extra or {}).get("metadata") or {}
    return str(metadata.get("task_id") or (run.inputs or {}).get("task_id") or run.reference_example_id)
