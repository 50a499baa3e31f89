"""Differences between two conditions over the same tasks: their mean, and how sure a run can be of it.

The task is the unit: each brings one difference, whatever it rests on, and the interval is Student's t over the tasks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, variance


@dataclass(frozen=True)
class Difference:
    """A mean difference with its interval."""

    value: float | None
    """Mean over the tasks; None without a task."""
    low: float | None
    """Lower end; None below two tasks."""
    high: float | None
    """Upper end; None as low."""
    tasks: int
    """Tasks that both conditions share."""

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def paired_difference(differences: Sequence[Fraction], *, confidence: float = 0.95) -> Difference:
    """Return the mean of one difference per task with its two-sided t interval.

    Args:
        differences: One per task, such as the task's rate under B less that under A.
        confidence: Chance that the interval covers the mean over all tasks of the kind, in (0, 1).

    Raises:
        ValueError: If the confidence is out of range.

    Source:
        Miller 2024, https://arxiv.org/abs/2411.00640, section on paired differences
    """
    if not 0 < confidence < 1:
        raise ValueError(f"no such interval: confidence={confidence!r} came, a number in (0, 1) was wanted")
    tasks = len(differences)
    if tasks < 2:
        return Difference(float(differences[0]) if differences else None, None, None, tasks)
    from scipy.special import stdtrit  # noqa: PLC0415 - slow import, needed only once there is an interval

    value, error = float(mean(differences)), math.sqrt(variance(differences) / tasks)
    half = float(stdtrit(tasks - 1, (1 + confidence) / 2)) * error
    return Difference(value, value - half, value + half, tasks)
