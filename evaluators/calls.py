"""Whether the gold calls themselves were made: a diagnosis, and a criterion only where published tasks make it one."""

from collections.abc import Sequence
from typing import Any

from taugraph.domains.task import GoldCall
from taugraph.domains.trial import Score

KEY = "gold_calls_were_made"
"""Name of this evaluator's score."""

Made = tuple[str, dict[str, Any]]
"""Name and arguments of a call that was not refused."""


def gold_calls_were_made(gold: Sequence[GoldCall], made: Sequence[Made]) -> Score:
    """Score which gold calls were made, each by a call of its own, all of the gold's arguments equal.

    Args:
        gold: Calls of the reference solution, in any order.
        made: Successful calls of the agent.

    Returns:
        1.0 if every gold call was made, else 0.0; `None` without gold calls. The evidence is one object per gold call
        with `call`, `arguments` and `made`.
    """
    left = list(made)
    evidence: list[dict[str, Any]] = []
    for call in gold:
        match = next((found for found in left if _is_same(call, found)), None)
        if match is not None:
            left.remove(match)
        evidence.append({"call": call.name, "arguments": dict(call.arguments), "made": match is not None})
    missing = any(not entry["made"] for entry in evidence)
    return Score(key=KEY, value=None if not gold else 0.0 if missing else 1.0, evidence=evidence)


def _is_same(call: GoldCall, made: Made) -> bool:
    name, arguments = made
    return name == call.name and all(
        key in arguments and arguments[key] == value for key, value in call.arguments.items()
    )
