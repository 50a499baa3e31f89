"""Call rules: what was called, what was not, in which order and how often."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taugraph.domains.task import CallRules
from taugraph.evaluators.trajectory import call_scores

LOOK, REFUND = ("look_up", {"id": "A1"}), ("refund", {"id": "A1", "cents": 500})


def judged(made: list[tuple[str, dict[str, Any]]], **rules: Any) -> dict[str, float | None]:
    return {score.key: score.value for score in call_scores(CallRules.model_validate(rules), made)}


def test_a_task_without_call_rules_gets_no_score() -> None:
    assert judged([LOOK]) == {}


def test_a_required_call_may_have_more_arguments_and_must_have_those() -> None:
    rules = {"required": [{"name": "refund", "arguments": {"cents": 500}}]}
    assert judged([LOOK, REFUND], **rules) == {"required_calls_were_made": 1.0}
    assert judged([("refund", {"id": "A1", "cents": 400})], **rules) == {"required_calls_were_made": 0.0}
    assert judged([], **rules) == {"required_calls_were_made": 0.0}


def test_one_call_does_not_stand_for_two_required_ones() -> None:
    rules = {"required": [{"name": "refund"}, {"name": "refund", "arguments": {"cents": 500}}]}
    assert judged([REFUND], **rules) == {"required_calls_were_made": 0.0}
    assert judged([REFUND, ("refund", {"cents": 1})], **rules) == {"required_calls_were_made": 1.0}


@pytest.mark.parametrize(("got", "same"), [(500.0, True), (501, False), ("500", False), (True, False)])
def test_arguments_are_compared_as_json_values(got: object, same: bool) -> None:
    made = [("refund", {"cents": got})]
    assert judged(made, required=[{"name": "refund", "arguments": {"cents": 500}}]) == {
        "required_calls_were_made": float(same)
    }


def test_a_forbidden_call_is_named_with_its_arguments() -> None:
    rules = CallRules.model_validate({"forbidden": [{"name": "refund"}], "at_most": {"look_up": 1}})
    [score] = call_scores(rules, [LOOK, LOOK, REFUND])
    assert (score.key, score.value) == ("no_forbidden_call_was_made", 0.0)
    assert score.evidence == [
        {"forbidden": "refund", "arguments": {"id": "A1", "cents": 500}},
        {"too_often": "look_up", "calls": 2, "at_most": 1},
    ]


def test_a_call_is_forbidden_only_with_the_arguments_that_the_rule_names() -> None:
    rules = {"forbidden": [{"name": "refund", "arguments": {"cents": 900}}]}
    assert judged([REFUND], **rules) == {"no_forbidden_call_was_made": 1.0}


def test_the_order_is_that_of_first_calls() -> None:
    rules = {"order": ["look_up", "refund"]}
    assert judged([LOOK, REFUND, LOOK], **rules) == {"calls_came_in_order": 1.0}
    assert judged([REFUND, LOOK], **rules) == {"calls_came_in_order": 0.0}
    assert judged([REFUND], **rules) == {"calls_came_in_order": 1.0}


@given(st.lists(st.sampled_from([LOOK, REFUND]), max_size=5))
def test_what_was_made_satisfies_the_rule_to_make_it(made: list[tuple[str, dict[str, Any]]]) -> None:
    required = [{"name": name, "arguments": arguments} for name, arguments in made]
    assert judged(made, required=required) in ({}, {"required_calls_were_made": 1.0})
    if made:
        assert judged(made[1:], required=required) == {"required_calls_were_made": 0.0}
