"""Policy rules as code: what must hold at the moment of a tool call, and what was broken by which call.

A rule sees the call before it runs, the conversation up to it, and the database as it stands. It reports; whether a
report gates the reward is the task's or the protocol's affair. A call is judged when it is made, even if the tool then
refuses it. What neither the records nor the words decide is never reported.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict
from sqlmodel import Session, SQLModel

from taugraph.domains.errors import UnknownNameError
from taugraph.domains.task import Task

_Row = TypeVar("_Row", bound=SQLModel)


class Violation(BaseModel):
    """One breach of a rule."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    rule: str
    """Name of the rule."""
    message: int
    """Index in the transcript of the agent message that broke it."""
    call: str
    """Name of the tool that was called."""
    explanation: str
    """What was done, and what the rule wanted."""


@dataclass(frozen=True)
class Event:
    """One thing that happened in a trial.

    Attributes:
        message: Index in the transcript.
        kind: `user` and `agent` for words that reached the other side, `call` for a tool call.
        text: The words, or the answer of the tool.
        name: Tool name; empty unless a call.
        arguments: Arguments of the call; `None` unless a call whose arguments could be read.
        is_error: Whether the call was refused.
    """

    message: int
    kind: Literal["user", "agent", "call"]
    text: str = ""
    name: str = ""
    arguments: dict[str, Any] | None = None
    is_error: bool = False


@dataclass(frozen=True)
class Moment:
    """A tool call about to run.

    Attributes:
        name: Tool name.
        arguments: Its arguments by name, as the agent sent them: their values may be of any JSON type.
        changes_database: Whether the tool is of a kind that writes; a handoff is not.
        history: What happened before, in order.
        session: The database as it stands, only to be read; `info` holds `dialect` and `now`.
    """

    name: str
    arguments: dict[str, Any]
    changes_database: bool
    history: Sequence[Event]
    session: Session

    def find(self, model: type[_Row], argument: str) -> _Row | None:
        """Return the row whose key is an argument of the call; `None` if there is none."""
        return find_row(self.session, model, self.arguments.get(argument))

    def records(self, argument: str) -> list[dict[str, Any]]:
        """Return the JSON objects in a list argument."""
        value = self.arguments.get(argument)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def number(self, argument: str) -> float | None:
        """Return a number argument; `None` if it is none."""
        return as_number(self.arguments.get(argument))

    def calls(self, *names: str) -> Iterator[Event]:
        """Yield the earlier calls that were not refused, of these tools or of any."""
        for event in self.history:
            if event.kind == "call" and not event.is_error and (not names or event.name in names):
                yield event

    def customer_said(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether something the customer said matches."""
        return any(event.kind == "user" and pattern.search(event.text) for event in self.history)

    def customer_named(self, identifier: str) -> bool:
        """Tell whether the customer said an identifier, in whatever letter case."""
        return self.customer_said(re.compile(rf"(?<!\w){re.escape(identifier)}(?!\w)", re.IGNORECASE))


@dataclass(frozen=True)
class PolicyRule:
    """A rule of a domain's policy.

    Attributes:
        name: What holds where it is kept, such as `consent_before_write`.
        text: The rule in one sentence.
        check: Yields one explanation for each breach by the call.
    """

    name: str
    text: str
    check: Callable[[Moment], Iterable[str]]

    def violations(self, moment: Moment, message: int) -> Iterator[Violation]:
        """Yield the breaches by a call of the agent message at that place in the transcript."""
        for explanation in self.check(moment):
            yield Violation(rule=self.name, message=message, call=moment.name, explanation=explanation)


def check_rule_names(task: Task, rules: Sequence[PolicyRule]) -> None:
    """Refuse a task that rests on a rule the domain does not have.

    Raises:
        UnknownNameError: If it does.
    """
    known = [rule.name for rule in rules]
    for name in task.rules:
        if name not in known:
            raise UnknownNameError("policy rule", name, known)


def find_row(session: Session, model: type[_Row], key: object) -> _Row | None:
    """Return the row of a text key; `None` if there is none, or the key is no text."""
    return session.get(model, key) if isinstance(key, str) else None


def as_number(value: object) -> float | None:
    """Return a JSON number as it is; `None` for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


CustomerOf = Callable[[Session, Mapping[str, Any]], str | None]
"""Tells whose private data a call with these arguments is about; `None` for nobody's."""


def one_customer_rule(customer_of: CustomerOf, *, record_argument: str) -> PolicyRule:
    """Return the rule that a conversation is about one customer only.

    Args:
        customer_of: Tells whose data a call is about.
        record_argument: Argument that names a record; looking up one that the customer named breaks nothing, as nobody
            knows before whose it is.
    """

    def check(moment: Moment) -> Iterable[str]:
        customer = customer_of(moment.session, moment.arguments)
        if customer is None:
            return
        first = first_customer(moment, customer_of)
        if first in (None, customer) or _looks_up_named(moment, record_argument):
            return
        yield f"{moment.name} concerns {customer}, but the conversation is with {first}"

    return PolicyRule(
        name="one_customer_per_conversation",
        text="One conversation concerns the data of one customer only.",
        check=check,
    )


def first_customer(moment: Moment, customer_of: CustomerOf) -> str | None:
    """Return whose data was read or written first; `None` before that."""
    for event in moment.calls():
        if (customer := customer_of(moment.session, event.arguments or {})) is not None:
            return customer
    return None


def _looks_up_named(moment: Moment, record_argument: str) -> bool:
    named = moment.arguments.get(record_argument)
    return not moment.changes_database and isinstance(named, str) and moment.customer_named(named)
