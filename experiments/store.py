"""The results store: every trial is a row, written once, in one transaction, the moment it ends.

A scored trial is the only one of its (experiment, task, trial). Attempts that infrastructure broke are kept apart and
never counted. A store is an SQLite file, or any database that SQLAlchemy has a URL for; its methods may be called from
any thread and from several processes at once, because each call is a session of its own.
"""

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, model_validator
from pydantic_core import to_jsonable_python
from sqlalchemy import JSON, DateTime, Engine, Insert, String, UniqueConstraint, event, func, insert, inspect, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.orm import registry
from sqlalchemy.pool import QueuePool
from sqlalchemy.schema import CreateTable
from sqlmodel import Field, Session, SQLModel, col, create_engine, select

from taugraph.domains.errors import StoreError, UnknownNameError
from taugraph.domains.trial import Outcome, Trial

SCHEMA_VERSION = 1
"""Moves with anything that changes the tables; kept inside every store."""

BUSY_TIMEOUT_S = 30
"""How long a writer waits for the others."""

SETUP_ATTEMPTS = 8
"""Tries at creating the tables while other processes do the same."""


def _check_name(value: str) -> str:
    if not value or any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{value!r} cannot be a key: wanted text without NUL and lone surrogates")
    return value


def _to_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


Name = Annotated[str, AfterValidator(_check_name)]
"""Text that every database can hold as a key."""

Moment = Annotated[datetime, AfterValidator(_to_utc)]
"""A moment in UTC; one without a zone, as SQLite returns them, is UTC."""


class StoreTable(SQLModel, registry=registry()):
    """A table of the store, in metadata of its own."""


class TaugraphStore(StoreTable, table=True):
    """What the store says about itself."""

    key: str = Field(primary_key=True)
    """`schema_version`."""
    value: str
    """Decimal text."""


class ExperimentColumns(StoreTable):
    """What was planned, and under which configuration."""

    name: Name = Field(primary_key=True)
    """Unique in the store."""
    created_at: Moment = Field(default_factory=lambda: datetime.now(UTC), sa_type=DateTime(timezone=True))
    """Moment of creation."""
    kind: Literal["run", "replay"] = Field(default="run", sa_type=String)
    """`run` where models spoke, `replay` where recorded conversations were scored."""
    domain: Name
    """Name of the domain."""
    fingerprint: Name
    """What must agree for a resume or a comparison."""
    package_version: Name
    """Version of taugraph that created it."""
    scoring_version: int
    """Version of the scoring behind its rewards."""
    privileged: bool = False
    """Whether the agent was given the answers: such results are never ranked."""
    trials: int = Field(ge=1)
    """Trials planned for every task: the k of pass^k."""
    task_ids: tuple[Name, ...] = Field(sa_type=JSON)
    """Planned tasks, in the order of the plan."""
    configuration: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """Resolved settings."""


class Experiments(ExperimentColumns, table=True):
    """Every experiment of the store."""


class Experiment(ExperimentColumns):
    """Tasks x trials under one configuration, fixed at creation."""

    model_config = {"extra": "forbid", "frozen": True}

    @model_validator(mode="after")
    def _check_tasks(self) -> Self:
        if not self.task_ids or len(set(self.task_ids)) < len(self.task_ids):
            raise ValueError("task_ids must name at least one task and none twice: more attempts are more trials")
        return self


class TrialColumns(StoreTable):
    """The place of a trial in the plan."""

    id: int | None = Field(default=None, primary_key=True)
    """Order of writing."""
    experiment: str = Field(foreign_key="experiments.name")
    """Experiment."""
    task_id: str
    """Task."""
    trial: int
    """Index of the trial, from 0."""


class Trials(TrialColumns, table=True):
    """Every scored trial: columns for lists and statistics, and the whole record."""

    __table_args__ = (UniqueConstraint("experiment", "task_id", "trial"),)

    seed: str
    """Decimal text, because a seed may be wider than a database's integers."""
    termination: str
    """Why it ended."""
    reward: float
    """In [0, 1]."""
    outcome: Outcome = Field(sa_type=String)
    """`passed` or `failed`."""
    turns: int
    """User messages."""
    steps: int
    """Agent messages."""
    tool_errors: int
    """Tool calls that were errors."""
    duration_s: float = Field(nullable=True)
    """Wall time in seconds."""
    started_at: datetime | None = Field(sa_type=DateTime(timezone=True))
    """Wall clock in UTC; `None` where the trial did not say."""
    scoring_version: int
    """Version of the scoring behind `reward`."""
    record: dict[str, Any] = Field(sa_type=JSON)
    """The whole trial."""


class Unscored(TrialColumns, table=True):
    """Every attempt that infrastructure broke."""

    __table_args__ = (UniqueConstraint("experiment", "task_id", "trial", "attempt"),)

    attempt: int
    """Index among the broken attempts of one trial, from 0."""
    cause: str
    """The failure's kind."""
    record: dict[str, Any] = Field(sa_type=JSON)
    """The trial as far as it came."""


class ExperimentSummary(NamedTuple):
    """An experiment and how far it has come: planned trials by what they came to, the rest was not tried."""

    experiment: Experiment
    passed: int
    failed: int
    unscored: int
    planned: int


class TrialCount(NamedTuple):
    """A scored trial without its record."""

    task_id: str
    trial: int
    outcome: Outcome


class UnscoredAttempt(NamedTuple):
    """An attempt that infrastructure broke."""

    attempt: int
    cause: str
    trial: Trial


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

    @contextmanager
    def _session(self, doing: str, conflict: str | None = None) -> Iterator[Session]:
        with _store_errors(doing, conflict=conflict), Session(self._engine) as session, session.begin():
            yield session


def open_store(location: str | Path) -> Store:
    """Open the store at a path or database URL; create it if it does not exist.

    Raises:
        StoreError: If it cannot be written, is no database, or holds tables of another program or version.
    """
    scheme, is_url, _ = str(location).partition("://")
    shown = f"{scheme}://..." if is_url else location  # a URL may hold a password
    advice = "give a writable file, or the URL of a database whose driver is installed"
    with _store_errors(f"open the results store {shown}", advice=advice):
        engine = _build_engine(location)
        try:
            _prepare(engine)
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
        started_at=trial.started_at and _to_utc(trial.started_at),
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


def _to_json(value: Any) -> str:
    """Return ASCII JSON that every database takes: NUL and lone surrogates as escapes, NaN and infinities as text."""
    return json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return _finite(to_jsonable_python(value, bytes_mode="base64", fallback=repr))


def _build_engine(location: str | Path) -> Engine:
    if "://" not in str(location):
        path = Path(location).expanduser().absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        url = URL.create("sqlite", database=str(path))
    else:
        try:
            url = make_url(str(location))
        except ArgumentError:
            raise ValueError("it is not a database URL") from None  # SQLAlchemy before 2.1 repeats it, password and all
        if url.drivername in {"postgres", "postgresql"}:
            url = url.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {"json_serializer": _to_json, "hide_parameters": True}
    if url.get_backend_name() != "sqlite":
        return create_engine(url, **options, pool_pre_ping=True)
    if url.database in {None, "", ":memory:"}:
        options |= {"pool_size": 1, "max_overflow": 0}
    sqlite_options = {"check_same_thread": False, "timeout": BUSY_TIMEOUT_S}
    engine = create_engine(url, **options, poolclass=QueuePool, connect_args=sqlite_options)
    event.listen(engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _: object) -> None:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise


def _prepare(engine: Engine) -> None:
    for attempt in range(SETUP_ATTEMPTS):
        try:
            with Session(engine) as session, session.begin():
                _create_tables(session)
            return
        except SQLAlchemyError as error:
            lost_a_race = isinstance(error, IntegrityError) or "locked" in str(error) or "already exists" in str(error)
            if not lost_a_race or attempt + 1 == SETUP_ATTEMPTS:
                raise
            time.sleep(0.05 * 2**attempt)


def _create_tables(session: Session) -> None:
    connection = session.connection()
    own = StoreTable.metadata.tables
    present = own.keys() & set(inspect(connection).get_table_names())
    meta = own["taugraphstore"]
    if present and meta.name not in present:
        raise StoreError(
            f"the database has tables of another program: {', '.join(sorted(present))}; give another database"
        )
    connection.execute(CreateTable(meta, if_not_exists=True))
    version = session.get(TaugraphStore, "schema_version")
    if version and version.value != str(SCHEMA_VERSION):
        raise StoreError(
            f"the store has schema version {version.value} and this taugraph reads version {SCHEMA_VERSION}: "
            "open it with the taugraph that wrote it, or give another store"
        )
    for table in StoreTable.metadata.sorted_tables:
        if table.name not in present:
            connection.execute(CreateTable(table, if_not_exists=True))
    if version is None:
        session.add(TaugraphStore(key="schema_version", value=str(SCHEMA_VERSION)))
    else:  # writes nothing new, but fails now rather than after the first conversation if nothing can be written
        session.exec(update(TaugraphStore).values(value=TaugraphStore.value))


@contextmanager
def _store_errors(
    doing: str, *, conflict: str | None = None, advice: str = "make the store usable, then run again"
) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, ValueError, OverflowError, RuntimeError, OSError, ImportError) as error:
        if conflict and isinstance(error, IntegrityError):
            raise StoreError(conflict) from error
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise StoreError(f"cannot {doing}: {reason:.500}; {advice}") from error
