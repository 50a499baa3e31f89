"""Plans and trials for tests of the results store."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from taugraph.domains.trial import Termination, Trial
from taugraph.experiments.tables import Experiment


def planned(name: str = "first", **changes: Any) -> Experiment:
    fields: dict[str, Any] = {
        "name": name,
        "domain": "airline",
        "fingerprint": "f1",
        "package_version": "0.1.0",
        "scoring_version": 1,
        "trials": 2,
        "task_ids": ("b", "a"),
        "configuration": {"agent": {"model": "openai:gpt-4.1"}, "max_turns": 30},
    }
    return Experiment(**fields | changes)


def ended(task_id: str = "a", trial: int = 0, reward: float | None = 1.0, **changes: Any) -> Trial:
    termination = Termination.INFRASTRUCTURE if reward is None else Termination.USER_STOP
    return Trial(
        **{"task_id": task_id, "trial": trial, "seed": 7, "termination": termination, "reward": reward} | changes
    )


def rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()
