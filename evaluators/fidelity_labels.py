"""Facts that a scenario gives under a label: what contradicts them, and who denies having them."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from taugraph.evaluators.fidelity_words import Given
from taugraph.evaluators.mentions import Day, Mention, find_days

_ZIP = re.compile(r"\b(?:zip|postal|post)(?:[ -]?code)?\b\D{0,20}?(?P<value>\d{5})\b", re.IGNORECASE)
_ENDING = re.compile(
    r"\b(?:ending|ends|end|last (?:four|4)(?: (?:digits|numbers))?)\b\W*(?:(?:with|in|are|is)\W+)?(?P<value>\d{4})\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\b(?:(?i:my (?:(?:full|first|last|family) )?name(?: is|'s|:)|name's)|[Mm]y name)\s+"
    r"(?P<value>[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)?|[a-z][\w'-]+\s[a-z][\w'-]+(?=\s*(?:[.,;!\n]|$)))"
)
_DENIAL = re.compile(
    r"\b(?:do(?:n't|nt| not)|can(?:'t|not)|no longer|forgot|forgotten)\b[^.!?\n]{0,20}?"
    r"\b(?:have|know|remember|recall|find|got)?\s?my (?:own )?"
    r"(?P<label>user ?id|e-?mail(?: address)?|zip(?: code)?|date of birth)\b"
    r"(?=\s*(?:[.,;!?)]|$|(?:right|at|with|handy|now|anymore|but|and|though|either|so|off|by)\b))",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:You are|Your name(?: is|:)|[Nn]ame:?(?: is)?) [A-Z]")
_LABELS = {
    "u": r"\buser id(?: is|:) \S+",
    "e": r"\be-?mail(?: address)?(?: is|:) \S+@\S+",
    "z": r"\bzip(?: code)?(?: is|:) \d+",
    "d": r"\bdate of birth(?: is|:) \S+",
}
_DENIAL_TOLD = re.compile(
    r"(?:n't|\b(?:not|never|refuse|reluctant|unwilling|forgot|forgotten|without))\b[^.]{0,40}"
    r"\b(?:user id|e-?mail|zip|date of birth|identif\w+|personal)\b",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"on|in|not|the|wrong|there|still|under|and|already|spelled|misspelled|is|was|as|a|to|of", re.IGNORECASE
)
_BIRTH = re.compile(r"\b(?:date of birth|d\.?o\.?b\b\.?|birth\s?(?:day|date)|born)\b", re.IGNORECASE)
_LEADS_ON = re.compile(r"[^.!?]{1,40}")


class Fact(NamedTuple):
    """Something a turn states and nobody gave."""

    start: int
    """Where it stands in the plain text."""
    text: str
    """As the user wrote it."""
    contradicts: bool
    """Whether the scenario gives another value for it."""


def contradictions(plain: str, given: Given, scenario: str) -> Iterator[Fact]:
    """Yield values under a label for which the scenario has another one, and denials of what it gives.

    Args:
        plain: The user's turn.
        given: What the user was given before it.
        scenario: All that its scenario says.
    """
    for label in (_ZIP, _ENDING):
        for match in label.finditer(plain):
            if match["value"] not in given.lower and label.search(scenario):
                yield Fact(match.start("value"), match["value"], True)
    for match in _DENIAL.finditer(plain):
        wanted = _LABELS[match["label"][0].lower()]
        if (named := re.search(wanted, scenario, re.IGNORECASE)) and not _DENIAL_TOLD.search(scenario):
            yield Fact(match.start(), f"{match.group()} (the scenario has it: {named.group()})", True)
    for match in _NAME.finditer(plain):
        words = match["value"].split()[: 1 if plain.isupper() else 2]
        is_name = not _NO_NAME.fullmatch(words[0]) and _NAMED.search(scenario)
        if is_name and not all(_is_known_word(word, given.lower) for word in words):
            yield Fact(match.start("value"), match["value"], True)
    births = [mention.value for mention in _births(scenario)] if _BIRTH.search(plain) else []
    for mention in _births(plain) if births else ():
        day = mention.value
        if isinstance(day, Day) and not any(_same_day(day, other) for other in births) and not given.has_day(day):
            yield Fact(mention.start, plain[mention.start : mention.end], True)


def _is_known_word(word: str, lower: str) -> bool:
    word = word.lower().removesuffix("'s")
    if re.search(rf"\b{re.escape(word)}\b", lower):
        return True
    return any(SequenceMatcher(None, word, other).ratio() >= 0.8 for other in set(re.findall(r"[^\W\d_]{3,}", lower)))


def _births(plain: str) -> list[Mention]:
    """Return the days that follow a word of birth in its own sentence."""
    labels = [match.end() for match in _BIRTH.finditer(plain)]
    days = find_days(plain) if labels else ()
    return [day for day in days if any(_LEADS_ON.fullmatch(plain, end, max(end, day.start)) for end in labels)]


def _same_day(day: Day, other: object) -> bool:
    return (
        isinstance(other, Day) and day[1:3] == other[1:3] and (None in (day.year, other.year) or day.year == other.year)
    )
