"""A task: what a simulated customer wants, what the right outcome is, and what nobody but the evaluators may see.

`Task` holds everything. `Task.scenario` is all that the simulated user is given; the agent under test sees neither.
"""

import re
from datetime import date
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from taugraph.domains.errors import DataError

_NUMBER = re.compile(r"-?\$?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d", re.ASCII)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ClaimKind(StrEnum):
    """How a required claim is looked for in what the agent said."""

    TEXT = "text"
    """Whole words, letter case and runs of spaces ignored."""
    NUMBER = "number"
    """A number standing by itself, compared by value."""
    MONEY = "money"
    """An amount of dollars standing by itself, compared by value; its sign is left to the words around it."""
    DATE = "date"
    """A calendar day, however it is written; the value is `YYYY-MM-DD`."""
    TIME = "time"
    """A time of day, however it is written; the value is `HH:MM`."""
    ID = "id"
    """An identifier, letter case kept, standing by itself."""
    SUBSTRING = "substring"
    """tau-bench's rule: lower case, commas removed from the reply, found anywhere."""


_WANTED = {
    ClaimKind.NUMBER: "a number such as 23553 or 1,052.00",
    ClaimKind.MONEY: "a number such as 23553 or 1,052.00",
    ClaimKind.DATE: "a calendar day as YYYY-MM-DD",
    ClaimKind.TIME: "a time of day as HH:MM, from 00:00 to 23:59",
    ClaimKind.ID: "an identifier without spaces",
}


def _is_written_as(kind: ClaimKind, value: str) -> bool:
    match kind:
        case ClaimKind.NUMBER | ClaimKind.MONEY:
            return _NUMBER.fullmatch(value) is not None
        case ClaimKind.DATE:
            return _is_calendar_day(value)
        case ClaimKind.TIME:
            return _TIME.fullmatch(value) is not None
        case ClaimKind.ID:
            return re.search(r"\s", value) is None
        case _:
            return True


def _is_calendar_day(value: str) -> bool:
    try:
        return _DATE.fullmatch(value) is not None and bool(date.fromisoformat(value))
    except ValueError:
        return False


class Claim(_Record):
    """Something the agent must, or must not, have told the user."""

    value: str = Field(min_length=1)
    """What must be said, as a person would write it: `23553`, `HAT005`."""
    kind: ClaimKind = ClaimKind.TEXT
    """How it is looked for."""
    unit: str | None = None
    """What a claim of kind `number` counts, such as `bags`; `None` where the number alone says it."""
    tolerance: Decimal = Field(default=Decimal(0), ge=0)
    """How far a number or amount may be off, in its own unit; 0 for the other kinds."""

    @field_validator("value", mode="before")
    @classmethod
    def _accept_numbers(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _check_value(self) -> Self:
        if not self.value.strip():
            raise PydanticCustomError("blank_claim", "a value that is not blank")
        if self.kind in _WANTED and not _is_written_as(self.kind, self.value):
            raise PydanticCustomError(f"claim_{self.kind}", f"{_WANTED[self.kind]} for this kind of claim")
        if self.kind is ClaimKind.MONEY and re.search(r"\.\d{3}", self.value):
            raise PydanticCustomError("claim_amount", "an amount of dollars with at most two decimals")
        if self.unit is not None and (self.kind is not ClaimKind.NUMBER or not self.unit.strip()):
            raise PydanticCustomError("claim_unit", "a unit that is not blank, and only for a claim of a number")
        if self.tolerance and self.kind not in {ClaimKind.NUMBER, ClaimKind.MONEY}:
            raise PydanticCustomError("claim_tolerance", "a tolerance only for a claim of a number or money")
        return self

    def number(self) -> Decimal:
        """Return the value of a claim of kind `number` or `money`, exactly.

        Raises:
            decimal.InvalidOperation: If the claim is of another kind and its value is no number.
        """
        return Decimal(re.sub(r"[$,]", "", self.value))


class GoldCall(_Record):
    """One tool call of the reference solution."""

    name: str = Field(min_length=1)
    """Tool name."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Arguments by name."""
    actor: Literal["agent", "user"] = "agent"
    """Who makes it: the agent, or the user with a tool of its own."""


class Scenario(_Record):
    """What the simulated user is told about itself and its wishes."""

    instructions: str = Field(min_length=1)
    """Second person: who you are, why you call, how you decide."""
    known: tuple[str, ...] = ()
    """Facts the user knows and may tell when asked."""
    unknown: tuple[str, ...] = ()
    """Things the user does not know and must not make up."""
    opening: str | None = None
    """First words of a scripted user; `None` where a model finds its own."""
    exit_when: str | None = None
    """When the user is done; `None` for "when your wishes are met or clearly refused"."""


class CallRules(_Record):
    """What must hold of the calls that the agent made and that were not refused, its own tools' included."""

    required: tuple[GoldCall, ...] = ()
    """Calls that must have been made, with at least these arguments."""
    forbidden: tuple[GoldCall, ...] = ()
    """Calls that must not have been made; with arguments, only calls that have them."""
    order: tuple[str, ...] = ()
    """Tools whose first calls must come in this order."""
    at_most: dict[str, int] = Field(default_factory=dict)
    """Tool -> calls at most."""

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden or self.order or self.at_most)


class Component(StrEnum):
    """What a task's reward may rest on."""

    DATABASE = "database"
    """The database is as one of the accepted solutions leaves it."""
    CLAIMS = "claims"
    """The user was told what had to be told, and nothing that must not be said."""
    ASSERTIONS = "assertions"
    """Statements about the conversation that only a judge can decide."""
    ACTIONS = "actions"
    """The gold calls themselves were made."""
    ENVIRONMENT = "environment"
    """Functions of the domain answer as wanted at the end."""
    POLICY = "policy"
    """The rules named by the task were kept."""
    TRAJECTORY = "trajectory"
    """The calls were as the task's call rules want them."""
    EVALUATORS = "evaluators"
    """The evaluators named by the task say so."""


class InitialState(_Record):
    """What has already happened when the trial begins."""

    data: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """Collection -> record id -> fields that differ from the seed, as published documents."""
    calls: tuple[GoldCall, ...] = ()
    """Tool calls made before."""
    messages: tuple[dict[str, JsonValue], ...] = ()
    """Messages exchanged before: `role`, `content`, and `tool_calls` or `tool_call_id` where there are any."""


class Task(_Record):
    """One scenario with its right outcome."""

    id: str = Field(min_length=1)
    """Unique within its domain and data."""
    scenario: Scenario
    """What the simulated user is given."""
    gold: tuple[GoldCall, ...] = ()
    """Calls that reach the right database; empty where nothing may change."""
    has_goal: bool = True
    """Whether the gold calls say how the database must end; false where published data leave it open."""
    alternatives: tuple[tuple[GoldCall, ...], ...] = ()
    """Further solutions whose database is accepted as well."""
    claims: tuple[Claim, ...] = ()
    """What the user must have been told."""
    must_not_say: tuple[Claim, ...] = ()
    """What the user must not have been told."""
    handoff: str | None = None
    """Why the policy demands handing over to a human; `None` where it does not."""
    rules: tuple[str, ...] = ()
    """Names of policy rules that gate the reward; all rules are reported anyway."""
    assertions: tuple[str, ...] = ()
    """Statements about the conversation for a judge."""
    calls: CallRules = Field(default_factory=CallRules)
    """What must hold of the agent's calls."""
    evaluators: tuple[str, ...] = ()
    """Evaluators of one's own, as `module:attr` or `./file.py:attr`."""
    basis: tuple[Component, ...] = (
        Component.DATABASE,
        Component.CLAIMS,
        Component.POLICY,
        Component.TRAJECTORY,
        Component.EVALUATORS,
    )
    """What the reward rests on; a component without a criterion is not applicable."""
    initial: InitialState | None = None
    """What has already happened; `None` for nothing."""
    splits: tuple[str, ...] = ("test",)
    """Splits this task belongs to."""
    persona: str | None = None
    """How the user talks, by name; `None` for no particular way."""
    variant_of: str | None = None
    """Task whose scenario it plays with another persona; `None` for a task of its own."""
    tags: tuple[str, ...] = ()
    """Free labels for slicing a report."""
    author: str = ""
    """Who wrote it; empty where the data do not say."""

    @property
    def has_solution(self) -> bool:
        """Whether it says how it is solved, so that an agent that knows the answers can be played."""
        return self.has_goal or bool(self.gold)

    @property
    def is_decidable(self) -> bool:
        """Whether something that the reward rests on has a criterion that can be decided without a judge."""
        criteria = {
            Component.DATABASE: self.has_goal,
            Component.CLAIMS: bool(self.claims or self.must_not_say),
            Component.ACTIONS: bool(self.gold),
            Component.POLICY: bool(self.rules),
            Component.TRAJECTORY: bool(self.calls),
            Component.EVALUATORS: bool(self.evaluators),
        }
        return any(criteria.get(component, False) for component in self.basis)

    @property
    def content_hash(self) -> str:
        """Digest of everything the task says."""
        return sha256(self.model_dump_json().encode()).hexdigest()[:16]


def load_tasks(path: Path) -> tuple[Task, ...]:
    """Read tasks from a file of JSON lines.

    Raises:
        DataError: If a line breaks the schema or an id occurs twice.
    """
    tasks: dict[str, Task] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            task = Task.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or None
            raise DataError(path, f"in line {number}", field, first["input"], first["msg"]) from error
        if task.id in tasks:
            raise DataError(path, f"in line {number}", "id", task.id, "an id that no other task has")
        tasks[task.id] = task
    return tuple(tasks.values())
