"""Whether the user was told what had to be told, and nothing that must not be said.

Only what was delivered counts: the texts of agent messages that went to the user. Words that travelled beside a tool
call, tool answers and the user's own words do not. What a text mentions is read by `mentions`; whether its sentence
states it, and does not deny, suppose, ask or guess it, by `sentences`.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property

from pydantic import JsonValue

from taugraph.domains.task import Claim, ClaimKind
from taugraph.domains.trial import Score
from taugraph.evaluators.attribution import only_repeats_user
from taugraph.evaluators.mentions import (
    Day,
    Mention,
    Number,
    as_plain,
    find_days,
    find_ids,
    find_numbers,
    find_times,
    find_words,
)
from taugraph.evaluators.sentences import Lists, Sentences

KEY = "claims_were_said"
"""Name of the score for what had to be said."""
FORBIDDEN_KEY = "nothing_forbidden_was_said"
"""Name of the score for what must not be said."""

_BETWEEN = r"(?:[ \t(*_-]+(?!(?:with|and|or|for|per|plus|at|in|from|to|but)\b)[^\W\d_]+){0,2}?"
_COUNTED_BEFORE = r"(?:[\s:=|*_(]|\b(?:is|are|was|were|equals|count|allowed|total|included|remaining|left|now)\b){1,8}$"
_SAME_UNITS = {"%": r"%|per\s?cent(?!\w)", "percent": r"%|per\s?cent(?!\w)"}


def claims_were_said(claims: Sequence[Claim], delivered: Sequence[str], *, by_substring: bool = False) -> Score:
    """Score which claims stand in the delivered texts; each must fit in one of them.

    Args:
        claims: What had to be said.
        delivered: Texts that went to the user, in order.
        by_substring: Search every claim as tau-bench does, whatever its kind.

    Returns:
        1.0 if all were said, 0.0 if one is missing, `None` if nothing had to be said; the evidence is one object per
        claim with `claim`, `kind` and `said_in`, the index of the first text that says it or `None`.
    """
    texts = [_Text(text) for text in delivered]
    evidence = []
    for claim in claims:
        kind = ClaimKind.SUBSTRING if by_substring else claim.kind
        said_in = next((index for index, text in enumerate(texts) if text.says(claim, kind)), None)
        evidence.append({"claim": claim.value, "kind": kind.value, "said_in": said_in})
    missing = any(entry["said_in"] is None for entry in evidence)
    return Score(key=KEY, value=None if not claims else 0.0 if missing else 1.0, evidence=evidence)


def claims_were_not_said(claims: Sequence[Claim], delivered: Sequence[str]) -> Score:
    """Score whether none of the claims stands in the delivered texts.

    Doubt is read against the agent: a claim in a list of guesses was said, and an identifier was given away wherever
    it stands, even in a question or a denial. What the agent repeats as the user's own words gives nothing away.

    Args:
        claims: What must not be said.
        delivered: Texts that went to the user, in order.

    Returns:
        1.0 if none was said, 0.0 if one was, `None` if nothing is forbidden; the evidence is one object per claim that
        was said, with `forbidden`, `kind` and `said_in`, the index of the first text that says it.
    """
    texts = [_Text(text) for text in delivered]
    evidence: list[dict[str, JsonValue]] = []
    for claim in claims:
        said_in = next((index for index, text in enumerate(texts) if text.gives_away(claim)), None)
        if said_in is not None:
            evidence.append({"forbidden": claim.value, "kind": claim.kind.value, "said_in": said_in})
    return Score(key=FORBIDDEN_KEY, value=None if not claims else 0.0 if evidence else 1.0, evidence=evidence)


class _Text:
    """One delivered text, taken apart as far as the claims ask."""

    def __init__(self, text: str) -> None:
        self._text = text

    def says(self, claim: Claim, kind: ClaimKind) -> bool:
        if kind is ClaimKind.SUBSTRING:
            return claim.value.lower() in self._without_commas
        mentions = list(self._mentions(claim))
        found = [mention for mention in mentions if self._fits(claim, mention)]
        lists = Lists(self._plain, mentions) if found else None
        return lists is not None and any(
            not lists.is_guess(mention) and self._sentences.state(mention, lists.opening(mention)) for mention in found
        )

    def gives_away(self, claim: Claim) -> bool:
        if claim.kind is ClaimKind.SUBSTRING:
            return self.says(claim, claim.kind)
        mentions = list(self._mentions(claim))
        lists = Lists(self._plain, mentions)
        found = [mention for mention in mentions if self._fits(claim, mention)]
        return any(
            (claim.kind is ClaimKind.ID or self._sentences.state(mention, lists.opening(mention)))
            and not only_repeats_user(self._plain, mention)
            for mention in found
        )

    def _mentions(self, claim: Claim) -> Iterator[Mention] | Sequence[Mention]:
        match claim.kind:
            case ClaimKind.NUMBER | ClaimKind.MONEY:
                return self._numbers
            case ClaimKind.DATE:
                return self._days
            case ClaimKind.TIME:
                return self._times
            case ClaimKind.ID:
                return find_ids(self._plain, as_plain(claim.value))
            case _:
                return find_words(self._plain, as_plain(claim.value))

    def _fits(self, claim: Claim, mention: Mention) -> bool:
        match mention.value:
            case Number() as number:
                return _is_near(claim, number) and self._is_counted(claim.unit, mention, number)
            case Day() as day:
                return day.can_be(date.fromisoformat(claim.value))
            case same:
                return claim.kind is ClaimKind.TEXT or same == as_plain(claim.value)

    def _is_counted(self, unit: str | None, mention: Mention, number: Number) -> bool:
        if unit is None:
            return not number.needs_unit
        pattern = _unit(unit)
        if re.compile(rf"{_BETWEEN}[ \t(*_-]*{pattern}", re.IGNORECASE).match(self._plain, mention.end):
            return True
        before = self._plain[max(0, mention.start - 60) : mention.start]
        return not number.needs_unit and re.search(f"{pattern}{_COUNTED_BEFORE}", before, re.IGNORECASE) is not None

    @cached_property
    def _without_commas(self) -> str:
        return self._text.lower().replace(",", "")

    @cached_property
    def _plain(self) -> str:
        return as_plain(self._text)

    @cached_property
    def _sentences(self) -> Sentences:
        return Sentences(self._plain)

    @cached_property
    def _numbers(self) -> list[Mention]:
        return list(find_numbers(self._plain))

    @cached_property
    def _days(self) -> list[Mention]:
        return list(find_days(self._plain))

    @cached_property
    def _times(self) -> list[Mention]:
        return list(find_times(self._plain))


def _is_near(claim: Claim, number: Number) -> bool:
    value = claim.number()
    if claim.kind is ClaimKind.NUMBER:
        return abs(number.value - value) <= claim.tolerance
    # "a refund of $58" says -58.00: words give the direction
    return number.is_amount and abs(number.value.copy_abs() - value.copy_abs()) <= claim.tolerance


def _unit(unit: str) -> str:
    """Return an expression for the unit in its singular and plural."""
    words = " ".join(as_plain(unit).split())
    if words.lower() in _SAME_UNITS:
        return f"(?:{_SAME_UNITS[words.lower()]})"
    if not words[-1].isalpha():
        return re.escape(words)
    stem = re.escape(words[:-1] if words.endswith("s") and not words.endswith("ss") else words)
    return rf"(?<![^\W\d_]){stem}(?:e?s)?\b"
