"""The results store: every trial is a row, written once, in one transaction, the moment it ends.

A scored trial is the only one of its (experiment, task, trial). Attempts that infrastructure broke are kept apart and
never counted. A store is an SQLite file, or any database that SQLAlchemy has a URL for; its methods may be called from
any thread and from several processes at once, because each call is a session of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Engine, Insert, func, insert
from sqlmodel import Session, col, select

from taugraph.domains.errors import StoreError, UnknownNameError
from taugraph.domains.trial import Trial
from taugraph.experiments.store_database import build_engine, prepare_tables, store_errors
from taugraph.experiments.tables import (
    Experiment,
    Experiments,
    ExperimentSummary,
    Published,
    TrialCount,
    Trials,
    Unscored,
    UnscoredAttempt,
    to_utc,
)

__all__ = ["Experiment", "Store", "open_store"]


class Store:
    """An open results store; as a context manager it closes itself."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @property
    def path(self) -> Path | None:
        """The file it is kept in; `None` for a database elsewhere."""
        url = self._engine.url
        is_file = url.get_backend_name() == "sqlite" and url.database not in {None, "", ":memory:"}
        return Path(url.database or "") if is_file else None

    def create_experiment(self, experiment: Experiment) -> None:
        """Store a new experiment.

        Raises:
            StoreError: If the name is taken, be it by another process at this moment, or nothing can be written.
        """
        name = experiment.name
        taken = f"experiment {name!r} exists: choose another --name or continue it with `taugraph resume {name}`"
        with self._session(f"create experiment {name!r}", taken) as session:
            session.add(Experiments.model_validate(experiment.model_dump()))

    def experiment(self, name: str) -> Experiment:
        """Return one experiment.

        Raises:
            UnknownNameError: If there is none of that name.
            StoreError: If the store cannot be read.
        """
        with self._session(f"read experiment {name!r}") as session:
            return _load_experiment(_find(session, name))

    def experiments(self) -> list[ExperimentSummary]:
        """Return every experiment, newest first, counted by the database.

        Raises:
            StoreError: If the store cannot be read.
        """
        mine = select(func.count(col(Trials.id))).where(Trials.experiment == Experiments.name)
        passed, failed = (mine.where(Trials.outcome == outcome).scalar_subquery() for outcome in ("passed", "failed"))
        place = (Trials.experiment == Unscored.experiment, Trials.task_id == Unscored.task_id)
        scored = select(Trials.id).where(*place, Trials.trial == Unscored.trial).exists()
        attempts = select(func.count(col(Unscored.id))).where(Unscored.experiment == Experiments.name, ~scored)
        unscored = attempts.where(Unscored.attempt == 0).scalar_subquery()
        newest_first = (col(Experiments.created_at).desc(), Experiments.name)
        with self._session("list the experiments") as session:
            rows = session.exec(select(Experiments, passed, failed, unscored).order_by(*newest_first))
            return [
                ExperimentSummary(_load_experiment(row), won, lost, broken, len(row.task_ids) * row.trials)
                for row, won, lost, broken in rows
            ]

    def add_trial(self, name: str, trial: Trial) -> None:
        """Store one finished trial: it is on disk when this returns.

        One without a reward is kept apart, as the next attempt at its place in the plan.

        Raises:
            UnknownNameError: If there is no such experiment.
            StoreError: If the trial was not planned or is scored already, or nothing can be written.
        """
        place = f"trial {trial.trial} of task {trial.task_id!r} in experiment {name!r}"
        with self._session(f"store {place}", f"{place} is scored already: the first score stands") as session:
            plan = _find(session, name, lock=True)
            if trial.task_id not in plan.task_ids or trial.trial >= plan.trials:
                raise StoreError(
                    f"{place} was not planned: the plan has {plan.trials} trials of {len(plan.task_ids)} tasks"
                )
            session.exec(_insert_unscored(name, trial) if trial.outcome == "unscored" else _insert_scored(name, trial))

    def trials(self, name: str, task_id: str | None = None) -> list[Trial]:
        """Return the scored trials, ordered by task and trial; those of one task if it is given.

        Raises:
            UnknownNameError: If there is no such experiment.
            StoreError: If the store cannot be read.
        """
        wanted = select(Trials.record).where(Trials.experiment == name)
        with self._session(f"read the trials of {name!r}") as session:
            _find(session, name)
            records = session.exec(wanted if task_id is None else wanted.where(Trials.task_id == task_id))
            return sorted(map(Trial.model_validate, records), key=lambda trial: (trial.task_id, trial.trial))

    def counts(self, name: str) -> list[TrialCount]:
        """Return the scored trials without their records, ordered by task and trial.

        Raises:
            UnknownNameError: If there is no such experiment.
            StoreError: If the store cannot be read.
        """
        with self._session(f"count the trials of {name!r}") as session:
            _find(session, name)
            columns = select(Trials.task_id, Trials.trial, Trials.outcome)
            return sorted(map(TrialCount._make, session.exec(columns.where(Trials.experiment == name))))

    def unscored(self, name: str) -> list[UnscoredAttempt]:
        """Return the attempts that infrastructure broke, in the order they were written.

        Raises:
            UnknownNameError: If there is no such experiment.
            StoreError: If the store cannot be read.
        """
        with self._session(f"read the unscored attempts of {name!r}") as session:
            _find(session, name)
            rows = session.exec(select(Unscored).where(Unscored.experiment == name).order_by(col(Unscored.id)))
            return [UnscoredAttempt(row.attempt, row.cause, Trial.model_validate(row.record)) for row in rows]

    def missing(self, name: str) -> list[tuple[str, int]]:
        """Return (task, trial) of what is planned and not scored, in the order of the plan.

        Raises:
            UnknownNameError: If there is no such experiment.
            StoreError: If the store cannot be read.
        """
        with self._session(f"read the plan of {name!r}") as session:
            plan = _find(session, name)
            scored = set(session.exec(select(Trials.task_id, Trials.trial).where(Trials.experiment == name)))
            planned = ((task_id, trial) for task_id in plan.task_ids for trial in range(plan.trials))
            return [place for place in planned if place not in scored]

    def published(self, name: str, project_id: str) -> set[tuple[str, int]]:
        """Return (task, trial) of what was sent to one of LangSmith's experiments.

        Raises:
            StoreError: If the store cannot be read.
        """
        mine = (Published.experiment == name, Published.project_id == project_id)
        with self._session(f"read what was published of {name!r}") as session:
            return set(session.exec(select(Published.task_id, Published.trial).where(*mine)))

    def mark_published(self, name: str, project_id: str, task_id: str, trial: int) -> None:
        """Note that a trial was sent to one of LangSmith's experiments; once or again.

        Raises:
            StoreError: If nothing can be written.
        """
        with self._session(f"note what was published of {name!r}") as session:
            session.merge(Published(experiment=name, project_id=project_id, task_id=task_id, trial=trial))

    @contextmanager
    def _session(self, doing: str, conflict: str | None = None) -> Iterator[Session]:
        with store_errors(doing, conflict=conflict), Session(self._engine) as session, session.begin():
            yield session


def open_store(location: str | Path) -> Store:
    """Open the store at a path or database URL; create it if it does not exist.

    Raises:
        StoreError: If it cannot be written, is no database, or holds tables of another program or version.
    """
    scheme, is_url, _ = str(location).partition("://")
    shown = f"{scheme}://..." if is_url else location  # a URL may hold a password
    advice = "give a writable file, or the URL of a database whose driver is installed"
    with store_errors(f"open the results store {shown}", advice=advice):
        engine = build_engine(location)
        try:
            prepare_tables(engine)
        except BaseException:
            engine.dispose()
            raise
    return Store(engine)


def _find(session: Session, name: str, *, lock: bool = False) -> Experiments:
    # The lock makes writers of one experiment take turns on PostgreSQL; SQLite has one writer anyway.
    if row := session.get(Experiments, name, with_for_update=lock or None):
        return row
    raise UnknownNameError("experiment", name, session.exec(select(Experiments.name)).all())


def _load_experiment(row: Experiments) -> Experiment:
    return Experiment.model_validate(row, from_attributes=True)


def _insert_scored(name: str, trial: Trial) -> Insert:
    copied = ("task_id", "trial", "termination", "reward", "outcome", "turns", "steps", "tool_errors", "duration_s")
    return insert(Trials).values(
        experiment=name,
        seed=str(trial.seed),
        started_at=trial.started_at and to_utc(trial.started_at),
        scoring_version=trial.scoring_version,
        record=trial.model_dump(),
        **{column: getattr(trial, column) for column in copied},
    )


def _insert_unscored(name: str, trial: Trial) -> Insert:
    mine = (Unscored.experiment == name, Unscored.task_id == trial.task_id, Unscored.trial == trial.trial)
    cause = trial.failure.kind if trial.failure else "unknown"
    return insert(Unscored).values(
        experiment=name,
        task_id=trial.task_id,
        trial=trial.trial,
        attempt=select(func.coalesce(func.max(col(Unscored.attempt)) + 1, 0)).where(*mine).scalar_subquery(),
        cause=cause.encode(errors="backslashreplace").decode().replace("\0", "\\x00"),
        record=trial.model_dump(),
    )
