"""Evaluators of one's own take what they name, and an answer that is none is a fault and not a 0."""

from collections.abc import Callable
from typing import Any

import pytest

from taugraph.domains.errors import ConfigurationError
from taugraph.domains.trial import Score
from taugraph.evaluators.custom import PARAMETERS, as_evaluator

KNOWN: dict[str, Any] = {name: f"the {name}" for name in PARAMETERS}


def answer(function: Callable[..., Any]) -> Score:
    return as_evaluator("checks.py:it", function).score(KNOWN)


def test_a_function_is_given_what_it_names() -> None:
    assert answer(lambda calls, task: (calls, task) == ("the calls", "the task")).value == 1.0
    assert answer(lambda **everything: set(everything) == set(PARAMETERS)).value == 1.0
    assert answer(lambda outputs, strictness=3: strictness == 3).value == 1.0
    assert answer(lambda: True).value == 1.0


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (True, 1.0),
        (False, 0.0),
        (0.25, 0.25),
        (1, 1.0),
        ({"score": 0.5}, 0.5),
        ({"score": None}, None),
        ({"score": True}, 1.0),
    ],
)
def test_what_counts_as_an_answer(found: object, value: float | None) -> None:
    assert answer(lambda: found).value == value


def test_a_score_is_named_after_its_function_unless_it_says_otherwise() -> None:
    def refund_was_offered() -> dict[str, Any]:
        return {"score": 0, "comment": "never mentioned"}

    score = answer(refund_was_offered)
    assert (score.key, score.evidence) == ("refund_was_offered", [{"comment": "never mentioned"}])
    assert answer(lambda: {"key": "other", "score": 1}).key == "other"
    assert answer(lambda: Score(key="mine", value=None)).key == "mine"


@pytest.mark.parametrize("found", [None, "yes", [1.0], 1.5, -0.1, {"value": 1}, {"score": 2}])
def test_an_answer_that_is_none_is_a_fault_of_the_evaluator(found: object) -> None:
    with pytest.raises(TypeError, match="wanted a"):
        answer(lambda: found)


def test_what_cannot_be_called_is_refused_before_the_first_trial() -> None:
    async def slow() -> bool:
        return True

    with pytest.raises(ConfigurationError, match="is a int, wanted a function"):
        as_evaluator("checks.py:it", 3)
    with pytest.raises(ConfigurationError, match="is async"):
        as_evaluator("checks.py:it", slow)
    with pytest.raises(ConfigurationError, match="wants 'transcript'; it can be given task, messages"):
        as_evaluator("checks.py:it", lambda transcript: True)
