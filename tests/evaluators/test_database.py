"""The database's comparison: equal where the outcome is equal, and the evidence names what is not."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taugraph.domains.changes import NetChanges, Row, row_key
from taugraph.domains.domain import RowComparison
from taugraph.evaluators.database import database_matches_goal

ORDER: Row = {"order_id": "W1", "status": "pending", "total_cents": 1999, "note": None}
DONE: Row = {**ORDER, "status": "cancelled"}
PLAIN = RowComparison()
LOOSE = RowComparison(
    unordered={"lines": "position"}, ignored={"orders": frozenset({"note"}), "lines": frozenset({"note"})}
)


def orders(before: Row | None, after: Row | None, key: str = "W1") -> NetChanges:
    return {"orders": {row_key([key]): [before, after]}}


def line(position: int, item: object = "cup", **fields: Any) -> Row:
    return {"order_id": "W1", "position": position, "item": item, **fields}


def lines(*pairs: tuple[Row | None, Row | None]) -> NetChanges:
    found = {}
    for before, after in pairs:
        row = before or after
        assert row is not None
        found[row_key(["W1", row["position"]])] = [before, after]
    return {"lines": found}


def added(*rows: Row) -> NetChanges:
    return lines(*((None, row) for row in rows))


def value_of(actual: NetChanges, goal: NetChanges, comparison: RowComparison = PLAIN) -> float:
    value = database_matches_goal(actual, goal, comparison).value
    assert value in (0.0, 1.0)
    return value or 0.0


def evidence_of(actual: NetChanges, goal: NetChanges, comparison: RowComparison = PLAIN) -> list[dict[str, Any]]:
    score = database_matches_goal(actual, goal, comparison)
    assert score.key == "database_matches_goal"
    assert score.value == (0.0 if score.evidence else 1.0)
    assert json.loads(json.dumps(score.evidence, allow_nan=False)) == score.evidence
    return score.evidence


@pytest.mark.parametrize(
    "changes", [{}, {"orders": {}}, orders(ORDER, DONE), orders(None, ORDER), orders(ORDER, None), added(line(0))]
)
@pytest.mark.parametrize("comparison", [PLAIN, LOOSE])
def test_the_same_changes_match(changes: NetChanges, comparison: RowComparison) -> None:
    assert evidence_of(deepcopy(changes), changes, comparison) == []


def test_a_table_without_a_change_is_like_a_table_that_is_not_named() -> None:
    assert value_of({"orders": {}, "lines": {}}, {}, LOOSE) == 1.0


def test_doing_nothing_misses_a_goal_and_names_field_and_values() -> None:
    assert evidence_of({}, orders(ORDER, DONE)) == [
        {"table": "orders", "key": ["W1"], "fields": {"status": {"expected": "cancelled", "got": "pending"}}}
    ]


def test_a_change_where_nothing_may_change_is_named() -> None:
    assert evidence_of(orders(ORDER, DONE), {}) == [
        {"table": "orders", "key": ["W1"], "fields": {"status": {"expected": "pending", "got": "cancelled"}}}
    ]


def test_a_near_miss_names_every_wrong_field_and_no_right_one() -> None:
    assert evidence_of(orders(ORDER, {**DONE, "total_cents": 0, "note": "x"}), orders(ORDER, DONE)) == [
        {
            "table": "orders",
            "key": ["W1"],
            "fields": {"total_cents": {"expected": 1999, "got": 0}, "note": {"expected": None, "got": "x"}},
        }
    ]


def test_the_right_change_of_the_wrong_row_is_two_differences() -> None:
    other = {**ORDER, "order_id": "W2"}
    found = evidence_of(orders(other, {**other, "status": "cancelled"}, "W2"), orders(ORDER, DONE))
    assert [(entry["key"], entry["fields"]["status"]["got"]) for entry in found] == [
        (["W1"], "pending"),
        (["W2"], "cancelled"),
    ]


def test_a_missing_row_and_an_extra_row_are_shown_whole() -> None:
    new = {**ORDER, "order_id": "W2"}
    assert evidence_of({}, orders(None, new, "W2")) == [
        {"table": "orders", "key": ["W2"], "fields": {"(row)": {"expected": new, "got": None}}}
    ]
    assert evidence_of(orders(None, new, "W2"), {}) == [
        {"table": "orders", "key": ["W2"], "fields": {"(row)": {"expected": None, "got": new}}}
    ]


def test_a_row_that_should_be_gone_and_one_that_should_have_stayed_are_named() -> None:
    assert evidence_of({}, orders(ORDER, None))[0]["fields"] == {"(row)": {"expected": None, "got": ORDER}}
    assert evidence_of(orders(ORDER, None), {})[0]["fields"] == {"(row)": {"expected": ORDER, "got": None}}
    assert evidence_of(orders(ORDER, DONE), orders(ORDER, None))[0]["fields"]["(row)"]["got"] == DONE


@pytest.mark.parametrize(
    ("expected", "got", "is_same"),
    [
        (5, 5.0, True),
        (0.0, -0.0, True),
        (5, "5", False),
        (5.0, "5.0", False),
        (None, "", False),
        (None, 0, False),
        (1, True, True),
        ("a", "A", False),
        ("a", "a ", False),
        (2**53 + 1, float(2**53), False),
        (0.1, 0.1 + 1e-12, False),
    ],
)
def test_numbers_are_compared_by_value_and_nothing_else_is_converted(
    expected: object, got: object, is_same: bool
) -> None:
    for wanted, came in ((expected, got), (got, expected)):
        goal, actual = {**ORDER, "total_cents": wanted}, {**ORDER, "total_cents": came}
        assert value_of(orders(ORDER, actual), orders(ORDER, goal)) == is_same
        assert value_of(added(line(0, came)), added(line(0, wanted)), LOOSE) == is_same


@pytest.mark.parametrize(
    ("expected", "got", "is_same"),
    [
        ('{"a": 1, "b": [2]}', '{"b":[2.0],"a":1.0}', True),
        ('["x", {"c": null}]', '[ "x", {"c":null} ]', True),
        ("[100]", "[1e2]", True),
        ('["\\u00e9"]', '["\u00e9"]', True),
        ("[0]", "[-0.0]", True),
        ("[1]", "[true]", False),
        ("[0]", "[false]", False),
        ("[null]", "[false]", False),
        ("[1, 2]", "[2, 1]", False),
        ('["1"]', "[1]", False),
        ('{"a": 1}', '{"a": 1, "b": null}', False),
        ("{}", "[]", False),
        ("[9007199254740993]", "[9007199254740992.0]", False),
        ("[0.1]", "[0.1000001]", False),
        ("[1", "[1 ", False),
        ("1", "1.0", False),
        ('"a"', '"a" ', False),
        ("[]", None, False),
    ],
)
def test_json_columns_are_compared_as_values(expected: str, got: str | None, is_same: bool) -> None:
    for wanted, came in ((expected, got), (got, expected), (expected, expected)):
        goal, actual = {**ORDER, "note": wanted}, {**ORDER, "note": came}
        same = is_same or wanted == came
        assert value_of(orders(ORDER, actual), orders(ORDER, goal)) == same
        assert value_of(added(line(0, came)), added(line(0, wanted)), LOOSE) == same


def test_a_json_column_that_differs_is_shown_as_it_is_stored() -> None:
    goal = orders(ORDER, {**DONE, "note": '{"b": 1, "a": 2}'})
    assert evidence_of(orders(ORDER, {**DONE, "note": '{"b": 1, "a": 3}'}), goal)[0]["fields"] == {
        "note": {"expected": '{"b": 1, "a": 2}', "got": '{"b": 1, "a": 3}'}
    }


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, "[" + "9" * 10_000 + "]"])
def test_json_nobody_can_read_is_compared_as_text(text: str) -> None:
    assert value_of(orders(ORDER, {**ORDER, "note": text}), orders(ORDER, {**ORDER, "note": text})) == 1.0
    assert value_of(orders(ORDER, {**ORDER, "note": text}), orders(ORDER, {**ORDER, "note": f"{text} "})) == 0.0


def test_ignored_columns_are_neither_compared_nor_shown() -> None:
    goal = orders(ORDER, {**DONE, "note": "by phone"})
    assert value_of(orders(ORDER, {**DONE, "note": "by mail"}), goal, LOOSE) == 1.0
    assert value_of(orders(ORDER, {**ORDER, "note": "hello"}), {}, LOOSE) == 1.0
    assert evidence_of({}, orders(None, ORDER), LOOSE)[0]["fields"]["(row)"]["expected"].keys() == ORDER.keys() - {
        "note"
    }
    assert value_of(orders(None, {**ORDER, "note": "x"}), orders(None, ORDER), LOOSE) == 1.0


def test_a_row_must_be_there_even_if_all_its_wording_is_ignored() -> None:
    handoffs = RowComparison(ignored={"handoffs": frozenset({"summary"})})
    goal: NetChanges = {"handoffs": {"[0]": [None, {"position": 0, "summary": "a"}]}}
    assert value_of({}, goal, handoffs) == 0.0
    assert value_of({"handoffs": {"[0]": [None, {"position": 0, "summary": "b"}]}}, goal, handoffs) == 1.0


def test_columns_are_ignored_in_their_own_table_only() -> None:
    comparison = RowComparison(ignored={"lines": frozenset({"note"})})
    assert value_of(orders(ORDER, {**ORDER, "note": "hello"}), {}, comparison) == 0.0


def test_the_order_of_rows_counts_unless_their_table_is_unordered() -> None:
    goal, actual = added(line(0, "cup"), line(1, "pan")), added(line(0, "pan"), line(1, "cup"))
    assert value_of(actual, goal, PLAIN) == 0.0
    assert value_of(actual, goal, LOOSE) == 1.0


def test_unordered_rows_count_by_how_many_there_are() -> None:
    goal = added(line(0), line(1))
    assert value_of(added(line(5), line(7)), goal, LOOSE) == 1.0
    cup = {"order_id": "W1", "item": "cup"}
    assert evidence_of(added(line(0)), goal, LOOSE) == [
        {"table": "lines", "row": cup, "fields": {"(count)": {"expected": "+2", "got": "+1"}}}
    ]
    assert evidence_of(lines((line(0), None)), {}, LOOSE) == [
        {"table": "lines", "row": cup, "fields": {"(count)": {"expected": "+0", "got": "-1"}}}
    ]


def test_swapping_two_unordered_rows_is_no_change() -> None:
    swapped = lines((line(0, "cup"), line(0, "pan")), (line(1, "pan"), line(1, "cup")))
    assert value_of(swapped, {}, LOOSE) == 1.0
    assert value_of(swapped, {}, PLAIN) == 0.0


def test_any_of_two_equal_unordered_rows_may_go() -> None:
    assert value_of(lines((line(0), None)), lines((line(1), None)), LOOSE) == 1.0


def test_an_unordered_row_stays_with_its_parent() -> None:
    moved = {**line(0), "order_id": "W2"}
    assert value_of(lines((None, moved)), added(line(0)), LOOSE) == 0.0


def test_wording_of_unordered_rows_is_ignored_too() -> None:
    assert value_of(added(line(0, note="x")), added(line(3, note="y")), LOOSE) == 1.0


def test_a_row_with_other_columns_is_a_difference_and_no_error() -> None:
    older = {name: value for name, value in DONE.items() if name != "note"}
    assert evidence_of(orders(ORDER, {**older, "new": 1}), orders(ORDER, DONE)) == [
        {
            "table": "orders",
            "key": ["W1"],
            "fields": {
                "note": {"expected": None, "got": "(no such column)"},
                "new": {"expected": "(no such column)", "got": 1},
            },
        }
    ]


@pytest.mark.parametrize("text", ["\0", "\ud800", "\u2028", '"', "[1]", "x" * 100_000])
def test_text_nobody_can_read_is_compared_like_any_other(text: str) -> None:
    odd = {**ORDER, "status": text}
    for actual in (orders(ORDER, odd, text), added(line(0, text))):
        assert len(evidence_of(actual, {}, LOOSE)) == 1
        assert value_of(deepcopy(actual), actual, LOOSE) == 1.0


cells = st.none() | st.integers(-5, 5) | st.sampled_from([0.5, 5.0, "5", "", "cup", "\ud800"])
row_lists = st.lists(st.fixed_dictionaries({"item": cells, "price": cells}), max_size=5)


@given(rows=row_lists, data=st.data())
def test_any_permutation_of_unordered_rows_matches(rows: list[Row], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    goal = added(*({**line(position), **row} for position, row in enumerate(rows)))
    actual = added(*({**line(position + 10), **row} for position, row in enumerate(shuffled)))
    assert evidence_of(actual, goal, LOOSE) == []


@given(rows=row_lists.filter(bool), field=st.sampled_from(["item", "price"]), other=cells, data=st.data())
@pytest.mark.parametrize("comparison", [PLAIN, LOOSE])
def test_any_single_field_that_differs_is_found(
    comparison: RowComparison, rows: list[Row], field: str, other: object, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    assume(other != rows[place][field])
    changed = [{**row, field: other} if index == place else row for index, row in enumerate(rows)]
    goal = added(*({**line(position), **row} for position, row in enumerate(rows)))
    actual = added(*({**line(position), **row} for position, row in enumerate(changed)))
    assert value_of(actual, goal, comparison) == value_of(goal, actual, comparison) == 0.0


@given(left=row_lists, right=row_lists, comparison=st.sampled_from([PLAIN, LOOSE]))
def test_the_comparison_is_the_same_from_both_sides(
    left: list[Row], right: list[Row], comparison: RowComparison
) -> None:
    first, second = (added(*({**line(at), **row} for at, row in enumerate(side))) for side in (left, right))
    before = deepcopy((first, second))
    assert value_of(first, second, comparison) == value_of(second, first, comparison)
    assert (first, second) == before
