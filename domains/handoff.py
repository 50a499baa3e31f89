"""Handoff: a colleague takes over only what lies beyond the agent's tools and is not forbidden either.

What a customer is after cannot be decided from words in general, so the rule reports three cases that can: a second
handoff before the customer said anything more, one before anything was looked up for a plain request, and one whose own
summary asks for nothing but what tools and rules settle, for records that they do not leave to colleagues. A word of
anything else, from the customer or in the summary, a tool that only ever refused, or a record that somebody doubts
keeps the last two silent: a wrong accusation is worse than a missed one.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlmodel import SQLModel

from taugraph.domains.rules import Moment, PolicyRule, find_row

HANDOFF_TOOL = "transfer_to_human_agents"
"""Name of the tool that hands a customer over."""

_ASIDE = ("calculate", "think")
"""Tools that look nothing up."""

_WANTS = re.compile(
    r"(?<!this )(?<!the )(?<!her )(?<!his )(?<!their )"
    r"\b(?:wants?|wish(?:es)?|request(?:s|ed|ing)?|needs?|would like|ask(?:s|ed|ing)|seek(?:s|ing)|insists?|demands?"
    r"|requires?|please)\b",
    re.IGNORECASE,
)
_UPTO = re.compile(r"[.;](?=\s|$)|\b(?:but|however|although|though)\b", re.IGNORECASE)
_AND = re.compile(r"\b(?:and|plus|as well as)\b", re.IGNORECASE)
_KEY = re.compile(r"#?\b[A-Z0-9]{5,}\b")
_LEAD = r"\W*(?:(?:to|on|for|with|in|a|an|the|have|get|further|some|human|agent|assistance|help|exception)\b\W+){0,8}?"
_NEUTRAL = re.compile(
    r"\W*(?:this|the \w+|it)?\W*$|\W*(?:lack|no|was|is|the user)\b"
    r"|\W*(?:for |(?:reservations?|orders?) )*#?[A-Z0-9]{5,}\b"
    r"|\W*(?:\w+\W+){0,4}?(?:assist|help|support|(?:human )?agent|colleague|supervisor|someone|escalat|resol|refund"
    r"|money back|compensat|keep\b|proceed|approv)\w*"
    r"(?!\W+(?:with|to|in|for) (?!this|that|it\b|further|a human|the (?:refund|request|cancel|issue|matter)"
    r"|(?:his|her|their) request|assistance|support|help))"
)
_GREETING = re.compile(
    r"\W*(?:(?:hi|hello|hey|good (?:day|morning|afternoon|evening)|there|greetings|thanks?|thank you|please"
    r"|(?:can|could) you help(?: me)?|i need (?:some |your )?help)\b\W*)+",
    re.IGNORECASE,
)
_DOUBTED = (
    r"\b(?:claim|believ|discrepan|investigat|error|mismatch|fraud|complain|lawyer|legal|sue\b|wrong(?:ly)?\b|bug\b"
    r"|glitch|double[- ]|twice|charged|thief|theft|unauthori[sz]ed|stolen|hack|scam|press\b|database|website|password"
    r"|log ?in|invoice|receipt|e-?mail|phone|account|(?<!in my )(?<!on my )profile|gdpr|privacy|delete|police|disab"
    r"|wheelchair|allerg|undo|undone|revers|reinstat|restor|reviv|reactivat|revok|withdraw|taken? back|un-?cancel)"
)
_MORE = re.compile(
    r"\b(?:and|also|plus|besides|human|person|people|agent|some(?:one|body)|colleague|supervisor|manager|representative|staff"
    r"|speak|talk)\b",
    re.IGNORECASE,
)
"""What makes a request more than a plain one: a second wish, or one for a person."""


@dataclass(frozen=True)
class Reach:
    """What the agent can settle alone, by its tools or by a refusal.

    Attributes:
        record: Table of the records that customers want changed.
        wishes: Matches, from its first word on, what a summary asks for where it is a matter of tools and rules.
        requests: Matches plain requests of customers that begin with a look at the records.
        beyond: Matches words of matters that no tool reaches, of records that are doubted or reserved.
        is_reserved: Tells whether the rules leave a record, or may leave it, to colleagues.
    """

    record: type[SQLModel]
    wishes: str
    requests: str
    beyond: str
    is_reserved: Callable[[Moment, SQLModel], bool]


def handoff_rule(reach: Reach) -> PolicyRule:
    """Return the rule that colleagues take over only what is beyond the agent.

    Args:
        reach: What is not.
    """

    def check(moment: Moment) -> Iterable[str]:
        if moment.name != HANDOFF_TOOL:
            return
        if _is_repeated(moment):
            yield "the customer was handed over once more, without having said anything since the first handoff"
        elif not _is_beyond(moment, reach):
            if asked := _asked_without_a_look(moment, reach):
                yield f"the customer was handed over before anything was looked up, having said {asked!r}"
            elif keys := _settled_records(moment, reach):
                named = ", ".join(keys)
                yield f"the customer was handed over for {named}, which tools and rules settle without a colleague"

    return PolicyRule(
        name="handoff_only_when_out_of_scope",
        text="A colleague takes over only what the rules do not forbid and no tool can do.",
        check=check,
    )


def _is_repeated(moment: Moment) -> bool:
    """Tell whether the last handoff that succeeded is younger than the customer's last words."""
    for event in reversed(moment.history):
        if event.kind == "user":
            return False
        if event.kind == "call" and event.name == HANDOFF_TOOL and not event.is_error:
            return True
    return False


def _is_beyond(moment: Moment, reach: Reach) -> bool:
    """Tell whether anything hints at a matter that tools and rules may not settle."""
    beyond = re.compile(f"{reach.beyond}|{_DOUBTED}", re.IGNORECASE)
    made = {event.name for event in moment.calls()}
    refused = {event.name for event in moment.history if event.kind == "call" and event.is_error}
    return bool(beyond.search(_summary(moment))) or moment.customer_said(beyond) or not refused <= made


def _asked_without_a_look(moment: Moment, reach: Reach) -> str:
    """Return the customer's words where no tool was tried and they are a greeting or one plain request, or nothing."""
    if any(event.kind == "call" and event.name not in _ASIDE for event in moment.history):
        return ""
    said = " ".join(event.text for event in moment.history if event.kind == "user")
    asked = [part for part in re.split(r"[.!?]+\s*", said) if part and not _GREETING.fullmatch(part)]
    is_plain = len(asked) == 1 and re.search(reach.requests, asked[0], re.IGNORECASE)
    return "" if asked and (not is_plain or _MORE.search(asked[0])) else said


def _settled_records(moment: Moment, reach: Reach) -> list[str]:
    """Return the records that the summary asks for, if it asks only for what tools and rules settle about them."""
    summary = _summary(moment)
    wishes = re.compile(f"{_LEAD}(?:{reach.wishes})", re.IGNORECASE)
    rest = [part for part in _wishes(summary) if not wishes.match(part)]
    if len(rest) == len(_wishes(summary)) or not all(map(_NEUTRAL.match, rest)):
        return []
    keys = list(dict.fromkeys(_KEY.findall(summary)))
    rows = {key: row for key in keys if (row := find_row(moment.session, reach.record, key)) is not None}
    return [] if any(reach.is_reserved(moment, row) for row in rows.values()) else list(rows)


def _wishes(summary: str) -> list[str]:
    """Return what follows each word of wanting, up to the next one or the end of the sentence, taken apart at `and`."""
    wanted = [_UPTO.split(wish, maxsplit=1)[0] for wish in _WANTS.split(summary)[1:]]
    return [part for wish in wanted for part in _AND.split(wish)]


def _summary(moment: Moment) -> str:
    summary = moment.arguments.get("summary")
    return summary if isinstance(summary, str) else ""
