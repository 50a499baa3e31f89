"""The reward: a product of what is gated, and only of trials that came to their end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import RowComparison
from taugraph.domains.protocol import STRICT, TAU_BENCH
from taugraph.domains.task import Claim, ClaimKind, Component, Scenario, Task
from taugraph.domains.trial import Score, Termination, Trial
from taugraph.evaluators.reward import SCORED_ENDS, Played, reward_of, score_trial

GOAL: NetChanges = {"orders": {'["W1"]': [{"id": "W1", "status": "pending"}, {"id": "W1", "status": "cancelled"}]}}
TASK = Task(
    id="a", scenario=Scenario(instructions="x"), claims=(Claim(value="1,093.34", kind=ClaimKind.MONEY),)
)  # fmt: skip
FAILED_ENDS = sorted(set(Termination) - SCORED_ENDS - {Termination.INFRASTRUCTURE})


def scored(*values: float | None) -> list[Score]:
    return [Score(key=f"s{index}", value=value) for index, value in enumerate(values)]


def values_of(changes: NetChanges, *delivered: str) -> list[float | None]:
    return [score.value for score in score_trial(TASK, [GOAL], Played(changes, delivered), STRICT, RowComparison())]


@pytest.mark.parametrize(
    ("values", "reward"),
    [
        ((1.0,), 1.0),
        ((1.0, 1.0), 1.0),
        ((1.0, 0.0), 0.0),
        ((0.0, 1.0), 0.0),
        ((0.5, 0.5), 0.25),
        ((1.0, None), 1.0),
        ((None, 0.5), 0.5),
    ],
)
@pytest.mark.parametrize("termination", sorted(SCORED_ENDS))
def test_the_reward_is_the_product_of_what_was_judged(
    termination: Termination, values: tuple[float | None, ...], reward: float
) -> None:
    assert reward_of(scored(*values), termination) == reward


@pytest.mark.parametrize("values", [(), (None,), (None, None)])
def test_a_trial_that_nothing_judged_is_not_passed(values: tuple[None, ...]) -> None:
    assert reward_of(scored(*values), Termination.USER_STOP) is None


def test_only_the_users_stop_and_a_handover_end_a_trial_that_can_pass() -> None:
    assert {Termination.USER_STOP, Termination.TRANSFER} == SCORED_ENDS


@pytest.mark.parametrize("termination", FAILED_ENDS)
def test_a_limit_or_an_error_is_a_reward_of_zero_whatever_was_right(termination: Termination) -> None:
    assert reward_of(scored(1.0, 1.0), termination) == 0.0
    assert reward_of([], termination) == 0.0


@pytest.mark.parametrize("values", [(), (1.0, 1.0), (0.0,)])
def test_a_trial_that_infrastructure_broke_has_no_reward(values: tuple[float, ...]) -> None:
    reward = reward_of(scored(*values), Termination.INFRASTRUCTURE)
    assert reward is None
    trial = Trial(task_id="a", trial=0, seed=0, termination=Termination.INFRASTRUCTURE, reward=reward)
    assert trial.outcome == "unscored"


@given(st.lists(st.floats(0, 1), min_size=1))
def test_the_reward_lies_between_zero_and_the_least_score(values: list[float]) -> None:
    reward = reward_of(scored(*values), Termination.USER_STOP)
    assert reward is not None
    assert 0 <= reward <= min(values)


def test_every_component_is_computed_whatever_the_others_say() -> None:
    assert values_of(GOAL, "It was $1,093.34.") == [1.0, 1.0, None]
    assert values_of(GOAL, "It was $1,093.") == [1.0, 0.0, None]
    assert values_of({}, "It was $1,093.34.") == [0.0, 1.0, None]
    assert values_of({}) == [0.0, 0.0, None]


def test_right_words_do_not_make_up_for_a_wrong_database() -> None:
    scores = score_trial(TASK, [GOAL], Played({}, ["It was $1,093.34."]), STRICT, RowComparison())
    assert reward_of(scores, Termination.USER_STOP) == 0.0


def test_a_task_without_claims_is_judged_by_the_database_alone() -> None:
    task = TASK.model_copy(update={"claims": ()})
    scores = score_trial(task, [GOAL], Played(GOAL, []), STRICT, RowComparison())
    assert [score.value for score in scores] == [1.0, None, None]
    assert reward_of(scores, Termination.USER_STOP) == 1.0


def test_the_published_protocol_searches_claims_as_substrings() -> None:
    task = TASK.model_copy(update={"claims": (Claim(value="10", kind=ClaimKind.NUMBER),)})
    for protocol, said in ((STRICT, 0.0), (TAU_BENCH, 1.0)):
        scores = score_trial(task, [{}], Played({}, ["Order 2103."]), protocol, RowComparison())
        assert [score.value for score in scores] == [1.0, said, None]


def test_the_domains_comparison_decides_what_is_equal() -> None:
    comparison = RowComparison(ignored={"orders": frozenset({"status"})})
    scores = score_trial(TASK, [GOAL], Played({}, []), STRICT, comparison)
    assert scores[0].value == 1.0


FORBIDDING = TASK.model_copy(update={"claims": (), "must_not_say": (Claim(value="60", kind=ClaimKind.MONEY),)})


@pytest.mark.parametrize(("text", "value"), [("It is $60.", 0.0), ("It is $54.", 1.0), ("It is not $60.", 1.0)])
def test_what_must_not_be_said_gates_the_reward(text: str, value: float) -> None:
    scores = score_trial(FORBIDDING, [GOAL], Played(GOAL, [text]), STRICT, RowComparison())
    assert [(score.key, score.value) for score in scores][2] == ("nothing_forbidden_was_said", value)
    assert reward_of(scores, Termination.USER_STOP) == value


def test_what_must_not_be_said_gates_only_where_the_basis_holds_claims() -> None:
    task = FORBIDDING.model_copy(update={"basis": (Component.DATABASE,)})
    scores = score_trial(task, [GOAL], Played(GOAL, ["It is $60."]), STRICT, RowComparison())
    assert [(score.value, score.gates) for score in scores] == [(1.0, True), (None, False), (0.0, False)]
    assert reward_of(scores, Termination.USER_STOP) == 1.0


def test_the_published_protocol_forbids_nothing_to_be_said() -> None:
    scores = score_trial(FORBIDDING, [GOAL], Played(GOAL, ["It is $60."]), TAU_BENCH, RowComparison())
    assert [score.value for score in scores] == [1.0, None, None]
