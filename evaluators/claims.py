"""Whether the user was told what had to be told.

Only what was delivered counts: the texts of agent messages that went to the user. Words that travelled beside a tool
call, tool answers and the user's own words do not.

A number counts where it stands by itself in English digits. Parts of ids, dates, times of day, ranges, phone numbers
and list markers are no numbers, nor are `010` and `10-minute`. `1,093.34` is read, as is `1 093.34` with a no-break
space; the continental `1.093,34` and `54,04` say nothing, and neither do numbers in words.
"""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from taugraph.domains.task import Claim, ClaimKind
from taugraph.domains.trial import Score

KEY = "claims_were_said"
"""Name of this evaluator's score."""

_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_YEAR = r"(?:19|20)\d\d(?!\w)"
_NO_NUMBER = rf"""
    ^[ \t>*\#]*\d{{1,3}}[.)]\**[ \t]                                                   # the marker of a list item
    | (?<!\w){_MONTH}\.?\s(?:\d{{1,2}}(?:st|nd|rd|th)?(?!\w)(?:,?\s{_YEAR})?|{_YEAR})  # May 10, 2024
    | (?<![\w.,:/$-])\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}(?!\w)(?:,?\s{_YEAR})?  # 10 May 2024
    | (?:\+\d{{1,3}}[ -](?:\(\d{{3}}\)|\d{{3}})|\(\d{{3}}\))[ -]?\d{{3}}[ -]\d{{4}}(?!\d)  # +1 (555) 010-0199
"""
_NUMBER = r"""
    (?P<minus>(?<![\w)-])-)?
    (?:
        (?P<dollars>(?<!\w)(?<!\d-)(?:(?:US)?\$|USD))\s?(?P<inner_minus>-)?
        | (?<![\w\#@$€£¥₹])(?<![€£¥₹]\s)(?<!\w[.-])(?<!\d[,:/\u00a0\u2009\u202f])
    )
    (?P<digits>(?!0\d)(?:\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3})++|\d++)(?:\.\d++)?|(?<!\.)\.\d++)
    (?![\w@])(?!-[\w$])(?![.,:/]\d)(?!\s?[AaPp]\.?[Mm]\b)
    (?P<unit>\s?(?:[%€£¥₹]|(?i:per\s?cent|eur|euros?|gbp|pounds?|lbs?|kgs?|kilos?|min(?:ute)?s?|h(?:ou)?rs?|days?)\b))?
"""
_TOKEN = re.compile(f"{_NO_NUMBER} | {_NUMBER}", re.VERBOSE | re.MULTILINE)
_SEPARATORS = re.compile(r"[,\s]")
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"  # hyphens, figure and en dash, minus signs; no em dash
_PLAIN = str.maketrans(dict.fromkeys(_HYPHENS, "-") | dict.fromkeys("\u2018\u2019", "'"))


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


class _Number(NamedTuple):
    """A number standing by itself; `is_amount` unless something other than dollars follows it."""

    value: Decimal
    is_amount: bool


class _Text:
    """One delivered text, taken apart as far as the claims ask."""

    def __init__(self, text: str) -> None:
        self._text = text

    def says(self, claim: Claim, kind: ClaimKind) -> bool:
        match kind:
            case ClaimKind.SUBSTRING:
                return claim.value.lower() in self._without_commas
            case ClaimKind.TEXT:
                return _whole_words(claim.value).search(self._words) is not None
            case ClaimKind.NUMBER:
                return any(number.value == claim.number() for number in self._numbers)
            case ClaimKind.MONEY:
                amount = claim.number().copy_abs()  # "a refund of $58" says -58.00: words give the direction
                return any(number.is_amount and number.value.copy_abs() == amount for number in self._numbers)

    @cached_property
    def _without_commas(self) -> str:
        return self._text.lower().replace(",", "")

    @cached_property
    def _words(self) -> str:
        return _as_words(self._text)

    @cached_property
    def _numbers(self) -> list[_Number]:
        found = (match for match in _TOKEN.finditer(self._text.translate(_PLAIN)) if match["digits"])
        return [_as_number(match) for match in found]


def _as_number(match: re.Match[str]) -> _Number:
    value = Decimal(_SEPARATORS.sub("", match["digits"]))
    is_negative = match["minus"] or match["inner_minus"]
    return _Number(value.copy_negate() if is_negative else value, bool(match["dollars"]) or not match["unit"])


def _as_words(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).translate(_PLAIN).split())


def _whole_words(value: str) -> re.Pattern[str]:
    """Match the words where nothing goes on: no letter or digit, and no further part of a number beside a digit."""
    words = _as_words(value)
    before = r"(?<!\w)(?<!\d[.,:/-])" if words[0].isdigit() else r"(?<!\w)"
    after = r"(?!\w)(?![.,:/-]\d)" if words[-1].isdigit() else r"(?!\w)"
    return re.compile(f"{before}{re.escape(words)}{after}", re.IGNORECASE)
