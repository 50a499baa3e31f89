"""Why a trial failed, in one printable line for each score below 1."""

import json
from itertools import islice
from typing import Any

from taugraph.domains.trial import Score, Trial

REASON_LENGTH = 160
"""Characters of one reason at most."""

_SHOWN_EVIDENCE = 3


def failure_reasons(trial: Trial) -> list[str]:
    """Say why a trial failed: what broke it, and each score below 1 with its evidence; or how it ended."""
    reasons = [_reason(score) for score in trial.scores if score.gates and score.value is not None and score.value < 1]
    if trial.failure is not None:
        return [_short(f"{trial.termination}: {trial.failure.message}"), *reasons]
    return reasons or [trial.termination.value]


def _reason(score: Score) -> str:
    shown = filter(None, map(_evidence, score.evidence))
    return _short(f"{score.key}: {'; '.join(islice(shown, _SHOWN_EVIDENCE)) or f'{score.value:.3g}'}")


def _evidence(entry: dict[str, Any]) -> str:
    """Return one object of evidence in words; nothing for a claim that was said, which is no reason to fail."""
    if "claim" in entry and "said_in" in entry:
        return f"{entry['claim']!r} was not said" if entry["said_in"] is None else ""
    fields = entry.get("fields")
    if not isinstance(fields, dict):
        return ", ".join(f"{name} {value!r}" for name, value in entry.items())
    place = " ".join(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in entry.items()
        if name != "fields"
    )
    return "; ".join(f"{place}{_difference(name, pair)}" for name, pair in fields.items())


def _difference(name: str, pair: Any) -> str:
    field = f" {name}" if name.startswith("(") else f".{name}"
    if isinstance(pair, dict) and pair.keys() == {"expected", "got"}:
        return f"{field} expected {pair['expected']!r}, got {pair['got']!r}"
    return f"{field} {pair!r}"


def _short(text: str) -> str:
    clean = printable(text[: REASON_LENGTH + 1])
    return clean if len(clean) <= REASON_LENGTH else f"{clean[: REASON_LENGTH - 1]}…"


def printable(text: str) -> str:
    """Escape what would break a line or a terminal: control characters, separators, lone surrogates."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
