"""Evaluators of one's own: functions that a task names, asked about the finished trial.

A function takes what it wants, by the names of its parameters: `task`, `messages`, `calls`, `changes`, `termination`,
or LangSmith's `inputs`, `outputs` and `reference_outputs`. It returns a truth value, a number in [0, 1], a `Score`, or
a dictionary with `score` and perhaps `key` and `comment`. What it raises is a fault of the evaluation, never a 0: it
leaves the trial unscored.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from taugraph.domains.errors import ConfigurationError
from taugraph.domains.trial import Score

Evaluator = Callable[..., Any]
"""A function of one's own."""

PARAMETERS = ("task", "messages", "calls", "changes", "termination", "inputs", "outputs", "reference_outputs")
"""What an evaluator may ask for."""


@dataclass(frozen=True)
class CustomEvaluator:
    """An evaluator of one's own with the parameters it takes.

    Attributes:
        name: What its score is called, unless it says otherwise.
        function: The function.
        parameters: Which of `PARAMETERS` it is given.
    """

    name: str
    function: Evaluator
    parameters: tuple[str, ...]

    def score(self, known: Mapping[str, Any]) -> Score:
        """Return its score of a trial.

        Args:
            known: Value by parameter.

        Raises:
            TypeError: If it returns something else than a score.
            Exception: Whatever it raises.
        """
        found = self.function(**{name: known[name] for name in self.parameters})
        return _as_score(self.name, found)


def as_evaluator(reference: str, function: object) -> CustomEvaluator:
    """Check a function that a task names.

    Raises:
        ConfigurationError: If it cannot be called with what there is.
    """
    if not callable(function):
        raise ConfigurationError(f"evaluator {reference!r} is a {type(function).__name__}, wanted a function")
    if inspect.iscoroutinefunction(function):
        raise ConfigurationError(f"evaluator {reference!r} is async; write a plain function")
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return CustomEvaluator(_name(reference, function), function, PARAMETERS)
    wanted = [one for one in parameters if one.name in PARAMETERS]
    strange = [one.name for one in parameters if one.name not in PARAMETERS and one.default is one.empty]
    if strange:
        raise ConfigurationError(
            f"evaluator {reference!r} wants {strange[0]!r}; it can be given {', '.join(PARAMETERS)}"
        )
    return CustomEvaluator(_name(reference, function), function, tuple(one.name for one in wanted))


def _name(reference: str, function: object) -> str:
    return str(getattr(function, "__name__", reference.rpartition(":")[2]))


def _as_score(name: str, found: object) -> Score:
    if isinstance(found, Score):
        return found
    if isinstance(found, bool | int | float):
        return Score(key=name, value=_checked(name, float(found)))
    if isinstance(found, Mapping) and "score" in found:
        value, comment = found["score"], found.get("comment")
        evidence = [{"comment": str(comment)}] if comment else []
        checked = None if value is None else _checked(name, float(value))
        return Score(key=str(found.get("key") or name), value=checked, evidence=evidence)
    raise TypeError(
        f"evaluator {name!r} returned {type(found).__name__}, wanted a truth value, a number in [0, 1], or a "
        "dictionary with `score`"
    )


def _checked(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise TypeError(f"evaluator {name!r} returned {value}, wanted a number in [0, 1]")
    return value
