"""Whether a claim can be known: from the answers to the gold calls, by itself or by arithmetic."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Any

from taugraph.domains.task import Claim, ClaimKind
from taugraph.experiments.check_suite import Finding, Suite, fault, told

_NUMBER = re.compile(r"(?<![\w.])\$?(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?!\w)")
_MOST_OPERANDS = 300
_MOST_TIMES = 12


def reachable_claims(suite: Suite) -> Iterator[Finding]:
    """Every claim follows from the tool outputs of the gold."""
    policy = _numbers_in(suite.domain.policy)
    for task in suite.tasks:
        if not task.has_solution:
            continue
        known = Known(suite.answers(task), policy | _numbers_in(" ".join(told(task))))
        for claim in task.claims:
            if not known.holds(claim, suite.domain.policy):
                yield fault(
                    task,
                    "reachable_claims",
                    f"the claim {claim.value!r} is in no answer to a gold call, and no sum, difference or product of "
                    f"amounts in them; add the reads that lead to it",
                )


class Known:
    """What the answers to some calls let one know."""

    def __init__(self, answers: Iterable[str], figures: set[Decimal]) -> None:
        """Take the answers, and figures that policy and user add to the arithmetic."""
        self._answers = [_parsed(text) for text in answers]
        self._figures = figures

    def holds(self, claim: Claim, policy: str) -> bool:
        """Tell whether the claim follows from the answers; words may come from the policy too."""
        numeric = _NUMBER.fullmatch(claim.value.strip().lstrip("-"))
        if numeric and claim.kind in (ClaimKind.NUMBER, ClaimKind.MONEY, ClaimKind.SUBSTRING, ClaimKind.TEXT):
            return self._has_number(_as_number(numeric), claim.tolerance)
        wanted = _plain(claim.value)
        return wanted in self._text or (claim.kind is not ClaimKind.ID and wanted in _plain(policy))

    def _has_number(self, wanted: Decimal, tolerance: Decimal) -> bool:
        if any(abs(wanted - number) <= tolerance for number in self._within_one_step):
            return True
        return any(wanted - number in self._within_one_step for number in self._within_one_step)

    @cached_property
    def _text(self) -> str:
        return _plain(" ".join(json.dumps(answer, ensure_ascii=False, default=str) for answer in self._answers))

    @cached_property
    def _read(self) -> set[Decimal]:
        """The numbers in the answers, and how many there are of a thing."""
        return {number for answer in self._answers for number in _numbers_of(answer)}

    @cached_property
    def _within_one_step(self) -> set[Decimal]:
        """What one sum, difference or product makes of them."""
        read = sorted(self._read)[:_MOST_OPERANDS]
        operands = sorted({*read, *self._figures})
        made = set(self._read)
        for first, second in combinations(operands, 2):
            made |= {first + second, abs(first - second)}
        for factor in (*range(1, _MOST_TIMES + 1), *self._figures):
            made |= {number * factor for number in (*read, *self._figures)}
        most = max((size for answer in self._answers for size in _sizes(answer)), default=0)
        return made | {Decimal(count) for count in range(most + 1)}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        return text


def _as_number(match: re.Match[str]) -> Decimal:
    return Decimal(f"{match[1].replace(',', '')}.{match[2] or '0'}")


def _numbers_in(text: str) -> set[Decimal]:
    return {_as_number(match) for match in _NUMBER.finditer(text)}


def _numbers_of(value: Any) -> Iterator[Decimal]:
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _numbers_of(child)
    elif isinstance(value, str):
        yield from _numbers_in(value)
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        yield abs(Decimal(value))


def _sizes(value: Any) -> Iterator[int]:
    """Yield how many things are in each list or object: what can be counted."""
    if isinstance(value, dict | list):
        yield len(value)
        for child in value.values() if isinstance(value, dict) else value:
            yield from _sizes(child)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[_-]", " ", text.lower()).split())
