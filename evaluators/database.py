"""Whether the trial left the database as the task's gold calls leave it, row by row and typed.

Both sides are net changes against one seed, so the cost grows with what changed and the difference is the evidence.
Rows of a table that is declared unordered are compared as a set: what was removed and what was added, without the
column that numbers them. Columns of free wording are left out.

A text that holds a JSON object or list, as JSON columns do, is compared as that value: numbers by value, true and false
as themselves, objects without regard to the order of their names, lists with regard to theirs.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from taugraph.domains.changes import NetChanges, Row, iterate_changes
from taugraph.domains.domain import RowComparison
from taugraph.domains.trial import Score

KEY = "database_matches_goal"
"""Name of this evaluator's score."""

_ABSENT = "(no such column)"


def database_matches_goal(actual: NetChanges, goal: NetChanges, comparison: RowComparison) -> Score:
    """Score a trial's net changes against the goal's.

    Args:
        actual: What the trial changed.
        goal: What the gold calls change; empty where nothing may change.
        comparison: How rows are compared.

    Returns:
        1.0 if they agree, else 0.0; the evidence is one object per differing row with `table`, `key` and `fields`:
        each differing column with `expected` and `got`. A row that only one side has differs in `(row)`. A row of an
        unordered table is shown as `row`, without a key, and differs in `(count)`: how many more than in the seed.
    """
    evidence = [*_keyed_differences(actual, goal, comparison), *_unordered_differences(actual, goal, comparison)]
    return Score(key=KEY, value=0.0 if evidence else 1.0, evidence=evidence)


def database_matches_a_goal(actual: NetChanges, goals: Sequence[NetChanges], comparison: RowComparison) -> Score:
    """Score a trial's net changes against several accepted ends; the evidence is of the one that comes closest."""
    scores = [database_matches_goal(actual, goal, comparison) for goal in goals]
    return min(scores, key=lambda score: len(score.evidence))


def _keyed_differences(actual: NetChanges, goal: NetChanges, comparison: RowComparison) -> Iterator[dict[str, Any]]:
    for table in sorted(actual.keys() | goal.keys()):
        if table in comparison.unordered:
            continue
        ignored = comparison.ignored.get(table, frozenset())
        ours, wanted = actual.get(table, {}), goal.get(table, {})
        for key in sorted(ours.keys() | wanted.keys()):
            before = (ours.get(key) or wanted[key])[0]
            got = ours[key][1] if key in ours else before
            expected = wanted[key][1] if key in wanted else before
            if fields := _differing_fields(got, expected, ignored):
                yield {"table": table, "key": json.loads(key), "fields": fields}


def _differing_fields(got: Row | None, expected: Row | None, ignored: frozenset[str]) -> dict[str, Any]:
    """Return field -> {expected, got}; a missing row is one difference of the pseudo-field `(row)`."""
    if got is None or expected is None:
        if got is expected:
            return {}
        return {"(row)": {"expected": _shown(expected, ignored), "got": _shown(got, ignored)}}
    pairs = {name: (expected.get(name, _ABSENT), got.get(name, _ABSENT)) for name in expected | got}
    return {
        name: {"expected": wanted, "got": came}
        for name, (wanted, came) in pairs.items()
        if name not in ignored and not _same(wanted, came)
    }


def _shown(row: Row | None, ignored: frozenset[str]) -> Row | None:
    return None if row is None else {name: value for name, value in row.items() if name not in ignored}


def _same(expected: Any, got: Any) -> bool:
    """Compare stored values: numbers by value, JSON objects and lists as such, anything else by type and value."""
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return expected == got
    return type(expected) is type(got) and bool(_plain(expected) == _plain(got))


def _unordered_differences(actual: NetChanges, goal: NetChanges, comparison: RowComparison) -> Iterator[dict[str, Any]]:
    for table, position in sorted(comparison.unordered.items()):
        left_out = comparison.ignored.get(table, frozenset()) | {position}
        ours, wanted = _balance(actual, table, left_out), _balance(goal, table, left_out)
        for text in sorted(ours.keys() | wanted.keys()):
            got, expected = ours.get(text, 0), wanted.get(text, 0)
            if got != expected:
                yield {"table": table, "row": json.loads(text), "fields": {"(count)": _counts(expected, got)}}


def _balance(changes: NetChanges, table: str, left_out: frozenset[str]) -> dict[str, int]:
    """Return row text -> how many more (or, negative, fewer) such rows there are than in the seed."""
    balance: Counter[str] = Counter()
    for _, _, before, after in iterate_changes({table: changes.get(table, {})}):
        for row, step in ((before, -1), (after, 1)):
            if row is not None:
                balance[_row_text(row, left_out)] += step
    return {text: count for text, count in balance.items() if count}


def _row_text(row: Row, left_out: frozenset[str]) -> str:
    kept = {name: _plain(value) for name, value in sorted(row.items()) if name not in left_out}
    return json.dumps(kept, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Write whole numbers as integers and JSON in one way, so that equal values have one text."""
    if isinstance(value, str):
        return _canonical(value) if value.lstrip()[:1] in ("{", "[") else value
    return int(value) if isinstance(value, bool) else _whole(value)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _canonical(text: str) -> str:
    """Return the JSON object or list of a text written in one way; a text that is none stays as it is."""
    try:
        return json.dumps(json.loads(text, parse_float=lambda digits: _whole(float(digits))), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _counts(expected: int, got: int) -> dict[str, str]:
    return {"expected": f"{expected:+d}", "got": f"{got:+d}"}
