"""Whether the agent's calls were as the task's call rules want them: the calls that were made and not refused."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from taugraph.domains.task import CallRules, GoldCall
from taugraph.domains.trial import Score
from taugraph.evaluators.calls import Made


def call_scores(rules: CallRules, made: Sequence[Made]) -> list[Score]:
    """Return a score for every kind of rule that the task has; none for a task without.

    Args:
        rules: The task's rules.
        made: Name and arguments of the calls, in order.
    """
    scores = []
    if rules.required:
        scores.append(required_calls_were_made(rules, made))
    if rules.forbidden or rules.at_most:
        scores.append(no_forbidden_call_was_made(rules, made))
    if rules.order:
        scores.append(calls_came_in_order(rules, made))
    return scores


def required_calls_were_made(rules: CallRules, made: Sequence[Made]) -> Score:
    """Tell whether every required call was made, each by a call of its own; evidence: those that were not."""
    left = list(made)
    missing = []
    # The one with the most arguments first: it has the fewest calls to choose from.
    for wanted in sorted(rules.required, key=lambda call: -len(call.arguments)):
        found = next((place for place, call in enumerate(left) if _fits(call, wanted)), None)
        if found is None:
            missing.append({"missing": wanted.name, "arguments": dict(wanted.arguments)})
        else:
            del left[found]
    return _score("required_calls_were_made", missing)


def no_forbidden_call_was_made(rules: CallRules, made: Sequence[Made]) -> Score:
    """Tell whether no forbidden call was made, and none too often; evidence: those that were."""
    return _score("no_forbidden_call_was_made", [*_forbidden(rules, made), *_too_often(rules, made)])


def calls_came_in_order(rules: CallRules, made: Sequence[Made]) -> Score:
    """Tell whether the ordered tools were first called in that order; one that was not called breaks nothing."""
    first: dict[str, int] = {}
    for place, (name, _) in enumerate(made):
        first.setdefault(name, place)
    called = [name for name in rules.order if name in first]
    evidence = [
        {"call": later, "came_before": sooner} for sooner, later in pairwise(called) if first[later] < first[sooner]
    ]
    return _score("calls_came_in_order", evidence)


def _forbidden(rules: CallRules, made: Sequence[Made]) -> Iterator[dict[str, Any]]:
    for call in made:
        if any(_fits(call, forbidden) for forbidden in rules.forbidden):
            yield {"forbidden": call[0], "arguments": dict(call[1])}


def _too_often(rules: CallRules, made: Sequence[Made]) -> Iterator[dict[str, Any]]:
    counts = Counter(name for name, _ in made)
    for name, most in rules.at_most.items():
        if counts[name] > most:
            yield {"too_often": name, "calls": counts[name], "at_most": most}


def _fits(call: Made, wanted: GoldCall) -> bool:
    name, arguments = call
    return name == wanted.name and all(
        key in arguments and _same(arguments[key], value) for key, value in wanted.arguments.items()
    )


def _same(got: object, wanted: object) -> bool:
    """Compare as JSON values: 1 is 1.0, and neither is true."""
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    if isinstance(got, int | float) and isinstance(wanted, int | float):
        return got == wanted
    return json.dumps(got, sort_keys=True, default=str) == json.dumps(wanted, sort_keys=True, default=str)


def _score(key: str, evidence: list[dict[str, Any]]) -> Score:
    return Score(key=key, value=float(not evidence), evidence=evidence)
