"""The policy's scores: all rules are reported, those the task names gate, and what was not checked is not claimed."""

import pytest

from taugraph.domains.rules import PolicyRule
from taugraph.domains.task import Component, Scenario, Task
from taugraph.evaluators.policy import policy_scores

RULES = [PolicyRule(name, f"{name}.", lambda moment: ()) for name in ("asked", "known")]
BREACH = {"rule": "asked", "message": 3, "call": "cancel", "explanation": "nobody was asked"}


def task(*rules: str, basis: tuple[Component, ...] = (Component.POLICY,)) -> Task:
    return Task(id="a", scenario=Scenario(instructions="x"), rules=rules, basis=basis)


@pytest.mark.parametrize(
    ("rules", "violations", "values"),
    [
        ((), [], [1.0, None]),
        ((), [BREACH], [0.0, None]),
        (("asked",), [], [1.0, 1.0]),
        (("asked",), [BREACH], [0.0, 0.0]),
        (("known",), [BREACH], [0.0, 1.0]),
    ],
)
def test_all_rules_are_judged_and_those_of_the_task_once_more(
    rules: tuple[str, ...], violations: list[dict[str, object]], values: list[float | None]
) -> None:
    scores = policy_scores(task(*rules), violations, RULES)
    assert [score.key for score in scores] == ["policy_was_followed", "required_rules_were_kept"]
    assert [score.value for score in scores] == values
    assert scores[0].evidence == violations


def test_only_the_required_rules_gate_and_only_where_the_reward_rests_on_the_policy() -> None:
    assert [score.gates for score in policy_scores(task("asked"), [], RULES)] == [False, True]
    other = task("asked", basis=(Component.DATABASE,))
    assert [score.gates for score in policy_scores(other, [], RULES)] == [False, False]


def test_a_domain_without_rules_and_a_rule_that_failed_leave_the_policy_undecided() -> None:
    assert policy_scores(task(), [], [])[0].value is None
    assert policy_scores(task(), [], RULES, ["known at cancel: KeyError"])[0].value is None
    assert policy_scores(task(), [BREACH], RULES, ["known at cancel: KeyError"])[0].value == 0.0
