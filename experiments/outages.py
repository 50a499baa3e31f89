"""What left trials without a score, one entry per cause."""

from collections.abc import Collection, Iterable
from typing import Literal

from pydantic import Field

from taugraph.domains.trial import Trial
from taugraph.experiments.rates import Part

_UNKNOWN = "unknown"


class Outage(Part):
    """One cause of unscored trials."""

    cause: str
    """One word, such as `rate_limit`; `unknown` where none was recorded."""
    actor: Literal["agent", "user", "tools", "harness"]
    """On whose side it happened."""
    trials: int = Field(ge=1)
    """Unscored trials whose last attempt it broke."""
    message: str
    """The error in words as it came last; empty where none was recorded."""


def outages_of(attempts: Iterable[Trial], lost: Collection[tuple[str, int]]) -> tuple[Outage, ...]:
    """Sum up what broke the trials that have no score, the most frequent cause first.

    Args:
        attempts: Attempts that infrastructure broke, the oldest first; only the last one of a trial counts.
        lost: Every (task, trial) that has no score.
    """
    last: dict[tuple[str, int], Trial] = {}
    for trial in attempts:
        place = (trial.task_id, trial.trial)
        if place in lost:
            last.pop(place, None)  # a later attempt moves to the end, so that the last message is the latest one
            last[place] = trial
    found: dict[tuple[str, str], list[str]] = {}
    for trial in last.values():
        failure = trial.failure
        kind, actor, message = (failure.kind, failure.actor, failure.message) if failure else (_UNKNOWN, "harness", "")
        found.setdefault((kind, actor), []).append(message)
    outages = [
        Outage.model_validate({"cause": kind, "actor": actor, "trials": len(messages), "message": messages[-1]})
        for (kind, actor), messages in found.items()
    ]
    return tuple(sorted(outages, key=lambda outage: -outage.trials))
