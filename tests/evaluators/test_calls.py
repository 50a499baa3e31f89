"""Gold calls are matched one to one, on all of the gold's arguments, by calls that were not refused."""

import pytest

from taugraph.domains.domain import RowComparison
from taugraph.domains.protocol import STRICT
from taugraph.domains.task import Component, GoldCall, Scenario, Task
from taugraph.evaluators.assertions import assertions_hold
from taugraph.evaluators.calls import Made, gold_calls_were_made
from taugraph.evaluators.reward import Played, score_trial

GOLD = GoldCall(name="ship", arguments={"order": "1", "items": ["a", "b"]})


@pytest.mark.parametrize(
    ("made", "value"),
    [
        ([("ship", {"order": "1", "items": ["a", "b"]})], 1.0),
        ([("look", {}), ("ship", {"order": "1", "items": ["a", "b"], "note": "x"})], 1.0),
        ([("ship", {})], 0.0),
        ([("ship", {"order": "1"})], 0.0),
        ([("ship", {"order": "1", "items": ["b", "a"]})], 0.0),
        ([("send", {"order": "1", "items": ["a", "b"]})], 0.0),
        ([], 0.0),
    ],
)
def test_a_gold_call_is_made_by_a_call_with_all_its_arguments(made: list[Made], value: float) -> None:
    assert gold_calls_were_made([GOLD], made).value == value


def test_two_equal_gold_calls_want_two_calls() -> None:
    made = [(GOLD.name, dict(GOLD.arguments))]
    assert gold_calls_were_made([GOLD, GOLD], made).value == 0.0
    assert gold_calls_were_made([GOLD, GOLD], made * 2).value == 1.0


def test_without_gold_calls_there_is_nothing_to_judge() -> None:
    assert gold_calls_were_made([], [("ship", {})]).value is None


def test_statements_that_nobody_judged_are_no_pass() -> None:
    score = assertions_hold(["The agent is kind."])
    assert (score.value, score.evidence) == (None, [{"assertion": "The agent is kind.", "verdict": None}])


def test_components_without_a_criterion_are_not_applicable() -> None:
    basis = (Component.DATABASE, Component.ASSERTIONS, Component.ACTIONS)
    task = Task(id="t", scenario=Scenario(instructions="x"), has_goal=False, basis=basis)
    scores = score_trial(task, [{}], Played({}, []), STRICT, RowComparison())
    assert {score.key: score.value for score in scores if score.gates} == {
        "database_matches_goal": None,
        "gold_calls_were_made": None,
        "assertions_hold": None,
    }
