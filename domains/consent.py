"""Consent: every change is laid out to the customer and clearly agreed to before it is made.

A yes to something else is none, so the question must have proposed this very change; one yes to a list covers all that
it names, each of them once. What an answer means is read by `answers`.

It reads words by patterns and misreads some of what people say, so none of our own tasks rests its reward on it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlmodel import SQLModel

from taugraph.domains.answers import agrees, refuses, withdraws
from taugraph.domains.rules import Event, Moment, PolicyRule, as_number, find_row


@dataclass(frozen=True)
class Proposal:
    """How a question that proposes a change can be told.

    Attributes:
        words: Matches what such a question says of the kind of change.
        details: Arguments of which the question names at least one value; empty if the words are enough.
    """

    words: str
    details: tuple[str, ...] = ()


def consent_rule(proposals: Mapping[str, Proposal] | None = None, record: type[SQLModel] | None = None) -> PolicyRule:
    """Return the rule that every change is agreed to before it is made.

    Args:
        proposals: By tool, how its question can be told; for other tools it must name one value of the call.
        record: Table whose ids tell changes of one kind apart; a question that names only others is about those.
    """
    known = proposals or {}

    def check(moment: Moment) -> Iterable[str]:
        if moment.changes_database:
            yield from _missing_consent(moment, lambda asked: _aim(asked, moment, known.get(moment.name), record))

    return PolicyRule(
        name="consent_before_write",
        text="Every change is laid out to the customer and clearly agreed to before it is made.",
        check=check,
    )


_Aim = Literal["this", "unnamed", "another", "nothing"]
"""What a question proposes: this change, one of its kind on a record it does not name or on another, or none of it."""


def _missing_consent(moment: Moment, aim_of: Callable[[str], _Aim]) -> Iterable[str]:
    """Go back to the last question that proposed this change: its answer must agree, and nothing since may stop it.

    A question that names no record is about this one, unless a later question of its kind was about another.
    """
    exchanges = _exchanges(moment.history)
    if not exchanges:
        yield f"{moment.name} was called before the customer was asked anything"
        return
    went_elsewhere = False
    for asked, answer, start in reversed(exchanges):
        aim = aim_of(asked) if _ASKS.search(asked) else "nothing"
        went_elsewhere = went_elsewhere or aim == "another"
        if aim == "this" or (aim == "unnamed" and not went_elsewhere):
            if not agrees(answer):
                yield f"{moment.name} was called after the answer {_shown(answer)}, which is no clear yes"
            elif _was_made(moment, since=start):
                yield f"{moment.name} was called once more with the same arguments on a single yes"
            return
        if withdraws(answer) or (_GOES_AHEAD.search(asked) and refuses(answer)):
            yield f"{moment.name} was called after the answer {_shown(answer)}, which stops it"
            return
    yield f"{moment.name} was called, but no question before it proposes this change"


_GOES_AHEAD = re.compile(r"\b(?:proceed|go ahead|confirm|continue)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\?|\b(?:confirm|let me know|proceed|go ahead|yes|agree|approve|is that (?:ok|okay|right|correct))\b",
    re.IGNORECASE,
)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _exchanges(history: Sequence[Event]) -> list[tuple[str, str, int]]:
    """Return (what the agent said, what the customer answered, place of the answer in the history)."""
    exchanges: list[tuple[str, str, int]] = []
    asked: str | None = None
    for place, event in enumerate(history):
        if event.kind == "agent":
            asked = event.text
        elif event.kind == "user" and asked is not None:
            exchanges.append((asked, event.text, place))
            asked = None
        elif event.kind == "user" and exchanges:
            before = exchanges.pop()
            exchanges.append((before[0], f"{before[1]}\n{event.text}", place))
    return exchanges


def _was_made(moment: Moment, since: int) -> bool:
    """Tell whether the very same call succeeded since that place in the history."""
    return any(
        event.kind == "call" and not event.is_error and (event.name, event.arguments) == (moment.name, moment.arguments)
        for event in moment.history[since:]
    )


def _aim(asked: str, moment: Moment, proposal: Proposal | None, record: type[SQLModel] | None) -> _Aim:
    """Tell what a question proposes, by kind of change, details and record."""
    words = proposal.words if proposal else ""
    details = [moment.arguments.get(name) for name in proposal.details] if proposal else [moment.arguments]
    if not re.search(words, asked, re.IGNORECASE) or not _names_any(asked, list(leaves(details))):
        return "nothing"
    return "this" if record is None else _record_aim(asked, moment, record)


def _record_aim(asked: str, moment: Moment, record: type[SQLModel]) -> _Aim:
    ids = [value for name, value in moment.arguments.items() if name.endswith("_id") and isinstance(value, str)]
    own = [value for value in ids if find_row(moment.session, record, value) is not None]
    if not own or any(value.lower() in asked.lower() for value in own):
        return "this"
    named = set(re.findall(r"#?\b[A-Z0-9]{5,}\b", asked))
    return "another" if any(find_row(moment.session, record, token) is not None for token in named) else "unnamed"


def leaves(value: object) -> Iterator[object]:
    """Yield the plain values inside JSON."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield value


_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _names_any(asked: str, values: Sequence[object]) -> bool:
    """Tell whether a text names at least one of the values, as a person would write it; nothing to name is named."""
    text = re.sub(r"(?<=\d),(?=\d{3})|\.0+(?!\d)", "", asked.lower())
    return not values or any(_names(text, value) for value in values)


def _names(text: str, value: object) -> bool:
    number = as_number(value)
    if number is None:
        wanted = str(value).lower()
        return len(wanted) > 1 and any(form in text for form in (wanted, wanted.replace("_", " ")))
    whole = int(number) if number == number // 1 else None
    if re.search(rf"(?<![\d.]){re.escape(f'{number:g}' if whole is None else str(whole))}(?!\d|\.\d)", text):
        return True
    return whole is not None and 0 <= whole <= 10 and bool(re.search(rf"\b{_NUMBER_WORDS[whole]}\b", text))


CONSENT = consent_rule()
"""The rule for a domain that says nothing of how its changes are proposed."""
