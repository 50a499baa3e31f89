"""Policy rules as code: what must hold at the moment of a tool call, and what was broken by which call.

A rule sees the call before it runs, the conversation up to it, and the database as it stands. It reports; whether a
report gates the reward is the task's or the protocol's affair.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from sqlmodel import Session


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
        arguments: Arguments of the call; empty unless a call.
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
        arguments: Its arguments, as the agent sent them.
        changes_database: Whether the tool is of a kind that writes.
        hands_off: Whether the tool hands over to a human.
        history: What happened before, in order.
        session: The database as it stands; `info` holds `dialect` and `now`.
    """

    name: str
    arguments: dict[str, Any]
    changes_database: bool
    hands_off: bool
    history: Sequence[Event]
    session: Session


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


_YES = re.compile(
    r"\b(?:yes|yeah|yep|sure|ok|okay|confirm(?:ed)?|go ahead|do it|please do|proceed|correct|agreed?|sounds good|perfect"
    r"|that works|absolutely|definitely)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:no|not|don't|do not|wait|hold on|stop|rather|instead|never mind|cancel that)\b", re.IGNORECASE)


def consent_before_write(moment: Moment) -> Iterable[str]:
    """Want the customer's explicit agreement to this very change before it is made.

    The last words of the customer must agree, the agent must have asked, and its question must have named what the call
    is about: a yes to something else is no consent.
    """
    if not moment.changes_database:
        return
    words = [event for event in moment.history if event.kind in ("user", "agent")]
    if not words or words[-1].kind != "user":
        yield f"{moment.name} was called before the customer said anything"
        return
    answer = words[-1].text
    asked = words[-2].text if len(words) > 1 and words[-2].kind == "agent" else ""
    if not _YES.search(answer) or _NO.search(answer.split(".")[0]):
        yield f"{moment.name} was called after {answer[:80]!r}, which agrees to nothing"
    elif not asked:
        yield f"{moment.name} was called without asking first"
    elif not _names_the_change(asked, moment.arguments):
        yield f"{moment.name} was called, but the question before it names none of its details"


def _names_the_change(asked: str, arguments: dict[str, Any]) -> bool:
    """Tell whether a text names at least one detail that sets the call apart."""
    text = re.sub(r"[\s,$]", "", asked).lower()
    details = [re.sub(r"[\s,$]", "", str(value)).lower() for value in _leaves(arguments)]
    return any(len(detail) > 1 and detail in text for detail in details) or not details


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield value


CONSENT = PolicyRule(
    name="consent_before_write",
    text="Every change is listed to the customer and agreed to before it is made.",
    check=consent_before_write,
)
"""The rule that every service domain has."""
