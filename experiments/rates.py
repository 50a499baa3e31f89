"""Rates as reports show them, and the base of all that a report is made of."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from taugraph.evaluators.reliability import Estimate, TaskCount, infrastructure_bounds


class Part(BaseModel):
    """A value of a report: frozen, and standard JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class Rate(Part):
    """A chance with its 95 % interval for new tasks."""

    value: float | None
    """Mean over the used tasks, in [0, 1]; `None` when no task has k scored trials."""
    low: float | None
    """Lower end, in [0, 1]; `None` below two used tasks."""
    high: float | None
    """Upper end, in [0, 1]; `None` as `low`."""
    used: int
    """Tasks with at least k scored trials."""


class Rerun(Part):
    """How far pass^k would move were the same tasks run again."""

    half_width: float | None
    """Half of the 95 % interval; `None` where the trials cannot say."""
    modelled: bool
    """Whether a beta-binomial model stood in for trials beyond k."""


class Bounds(Part):
    """What pass^k would be if the unscored trials were known; `None` where they too leave every task below k."""

    as_failure: float | None
    """In [0, 1], had all of them failed."""
    as_pass: float | None
    """In [0, 1], had all of them passed."""


def rate_of(estimate: Estimate) -> Rate:
    """Return an estimate as a report shows it."""
    return Rate(value=estimate.value, low=estimate.low, high=estimate.high, used=estimate.tasks_used)


def bounds_of(counts: Sequence[TaskCount], k: int) -> Bounds:
    """Return the bounds of pass^k that the unscored trials leave open."""
    as_failure, as_pass = infrastructure_bounds(counts, k) or (None, None)
    return Bounds(as_failure=as_failure, as_pass=as_pass)
