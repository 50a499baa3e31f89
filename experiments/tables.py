"""The tables of the results store, and the values it answers with.

An experiment is a plan that never changes; every scored trial is one row and the only one of its place in that plan.
Attempts that infrastructure broke have a table of their own.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, model_validator
from sqlalchemy import JSON, DateTime, String, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from taugraph.domains.trial import Outcome, Trial

SCHEMA_VERSION = 1
"""Moves with anything that changes the tables; kept inside every store."""


def _check_name(value: str) -> str:
    if not value or any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{value!r} cannot be a key: wanted text without NUL and lone surrogates")
    return value


def to_utc(moment: datetime) -> datetime:
    """Return a moment in UTC; one without a zone, as SQLite returns them, is UTC."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


Name = Annotated[str, AfterValidator(_check_name)]
"""Text that every database can hold as a key."""

Moment = Annotated[datetime, AfterValidator(to_utc)]
"""A moment in UTC."""


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


class Published(StoreTable, table=True):
    """Every trial that was sent to LangSmith."""

    experiment: str = Field(primary_key=True, foreign_key="experiments.name")
    """Experiment."""
    project_id: str = Field(primary_key=True)
    """LangSmith's experiment."""
    task_id: str = Field(primary_key=True)
    """Task."""
    trial: int = Field(primary_key=True)
    """Index of the trial, from 0."""


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
