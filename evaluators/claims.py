"""Whether the user was told what had to be told.

Only what was delivered counts: the texts of agent messages that went to the user. Words that travelled beside a tool
call, tool answers and the user's own words do not.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from taugraph.domains.task import Claim, ClaimKind
from taugraph.domains.trial import Score

KEY = "claims_were_said"
"""Name of this evaluator's score."""

_NUMBER = re.compile(r"(?<![\w#./-])-?\$?\s?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/-])(?!\.\d)(?!,\d)")
_SPACES = re.compile(r"\s+")


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
    evidence = []
    for claim in claims:
        kind = ClaimKind.SUBSTRING if by_substring else claim.kind
        says = _CHECKS[kind]
        said_in = next((index for index, text in enumerate(delivered) if says(claim.value, text)), None)
        evidence.append({"claim": claim.value, "kind": kind.value, "said_in": said_in})
    missing = any(entry["said_in"] is None for entry in evidence)
    return Score(key=KEY, value=None if not claims else 0.0 if missing else 1.0, evidence=evidence)


def _says_substring(value: str, text: str) -> bool:
    return value.lower() in text.lower().replace(",", "")


def _says_text(value: str, text: str) -> bool:
    wanted = re.escape(_SPACES.sub(" ", value.strip()))
    return re.search(rf"(?<!\w){wanted}(?!\w)", _SPACES.sub(" ", text), re.IGNORECASE) is not None


def _says_number(value: str, text: str) -> bool:
    wanted = _number(value)
    return any(_number(found) == wanted for found in _NUMBER.findall(text))


def _says_money(value: str, text: str) -> bool:
    wanted = abs(_number(value)).quantize(Decimal("0.01"))
    return any(abs(_number(found)).quantize(Decimal("0.01")) == wanted for found in _NUMBER.findall(text))


def _number(text: str) -> Decimal:
    return Decimal(re.sub(r"[$,\s]", "", text))


_CHECKS: dict[ClaimKind, Callable[[str, str], bool]] = {
    ClaimKind.TEXT: _says_text,
    ClaimKind.NUMBER: _says_number,
    ClaimKind.MONEY: _says_money,
    ClaimKind.SUBSTRING: _says_substring,
}
