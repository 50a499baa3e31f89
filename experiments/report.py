"""What the trials of one experiment say, as a value; `report_text` puts it into words.

The plan is the denominator. A trial without a score is counted beside the others and moves the bounds, never a rate;
a trial counted twice is an error, never an average. Nothing here reads a store or prints.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from pydantic import Field

from taugraph.domains.trial import Termination, Trial, Usage
from taugraph.evaluators.assertions import KEY as ASSERTIONS
from taugraph.evaluators.reliability import TaskCount, pass_at_k, pass_hat_k, reliability
from taugraph.experiments.model_notes import dropped_parameters
from taugraph.experiments.outages import Outage, outages_of
from taugraph.experiments.rates import Bounds, Part, Rate, Rerun, bounds_of, rate_of
from taugraph.experiments.reasons import failure_reasons
from taugraph.experiments.slices import (
    PersonaSlices,
    UserFaults,
    Variant,
    clustered,
    persona_slices,
    user_faults,
)

DEMONSTRATION_NOTE = (
    "This agent is a demonstration that was given the answers: its numbers say nothing about a real agent."
)
"""Stands in every report of a privileged experiment."""


class _Plan(Part):
    experiment: str
    """Name of the experiment."""
    domain: str
    """Name of the domain."""
    agent: str
    """Who played the agent."""
    user: str
    """Who played the user."""
    protocol: str
    """Rules of the conversation and the scoring."""
    kind: Literal["run", "replay"]
    """`run` where models spoke, `replay` where recorded conversations were scored."""
    privileged: bool
    """Whether the agent was given the answers."""
    tasks: int = Field(ge=0)
    """Planned tasks."""
    trials: int = Field(ge=1)
    """Trials planned for every task: the largest k."""
    floors: dict[str, float] = Field(default_factory=dict)
    """Shares of the tasks, in [0, 1], that agents pass which deserve nothing; empty where they were not worked out."""


class ReportIdentity(_Plan):
    """What a report is about, as far as the trials do not say it themselves."""

    scoring_version: int
    """Version of the scoring behind the rewards."""
    package_version: str
    """Version of taugraph that created the experiment."""
    fingerprint: str
    """What must agree for a comparison."""


class Counts(Part):
    """The planned trials by what they came to; what is left of `planned` was not tried."""

    passed: int
    """Scored trials that passed."""
    failed: int
    """Scored trials that failed."""
    unscored: int
    """Trials that infrastructure broke and no later attempt scored."""
    planned: int
    """Tasks x trials."""


class TrialFailure(Part):
    """A scored trial that did not pass."""

    task_id: str
    """Task that was played."""
    trial: int
    """Index of the trial, from 0."""
    termination: Termination
    """Why it ended."""
    reasons: tuple[str, ...]
    """One per score below 1, or how it ended if there is none."""


class TaskRow(Part):
    """The trials of one task, counted."""

    task_id: str
    """Unique in the report."""
    passed: int
    """Scored trials that passed."""
    scored: int
    """Trials with a score."""
    planned: int
    """Trials of the plan."""


class Duration(Part):
    """Wall time of the scored trials."""

    median: float | None
    """Seconds; `None` without a scored trial."""
    p95: float | None
    """Seconds that 95 % of the trials did not exceed (nearest rank); `None` as `median`."""


class Report(_Plan):
    """Everything one experiment says, in the order people read it."""

    counts: Counts
    """Planned trials by outcome."""
    pass_hat_k: dict[int, Rate]
    """Chance that k trials of a task all pass, for every k of the plan."""
    pass_at_k: dict[int, Rate]
    """Chance that at least one of k trials passes, for the same k."""
    rerun: dict[int, Rerun]
    """Noise of pass^k alone, for the same k."""
    flip_share: float | None
    """Share of tasks that both passed and failed, in [0, 1]; `None` without a task of two scored trials."""
    pairwise_disagreement: float | None
    """Chance that two trials of one task differ, in [0, 1]; `None` as `flip_share`."""
    icc: float | None
    """Share of the variance that lies between tasks, at most 1; `None` without variance or below two such tasks."""
    infrastructure_bounds: dict[int, Bounds] | None
    """Bounds of pass^k, for the same k; `None` when no trial is unscored."""
    outages: tuple[Outage, ...] = ()
    """What left trials without a score, the most frequent cause first; empty when every trial played has one."""
    terminations: dict[str, int]
    """Scored trials by how they ended, the most frequent first."""
    failures: tuple[TrialFailure, ...]
    """Every failed trial, in the order of the plan."""
    tasks_table: tuple[TaskRow, ...]
    """Every task, in the order of the plan."""
    usage: dict[str, Usage]
    """Tokens by actor, broken attempts included: they were spent."""
    duration_s: Duration
    """Wall time of a scored trial."""
    scoring_version: int
    """Version of the scoring behind the rewards."""
    package_version: str
    """Version of taugraph that created the experiment."""
    fingerprint: str
    """What must agree for a comparison."""
    note: str | None
    """What a reader must know before the numbers; `None` if nothing."""
    user_faults: UserFaults | None
    """Trials that the simulated user spoiled; `None` where it was never judged."""
    personas: PersonaSlices | None
    """The personas that were played; `None` where none was."""
    dropped_parameters: tuple[str, ...] = ()
    """Parameters that a provider refused and that were left out, such as `agent temperature`."""


def build_report(
    *,
    identity: ReportIdentity,
    planned: Sequence[tuple[str, int]],
    trials: Iterable[Trial],
    unscored: Iterable[Trial],
    variants: Mapping[str, Variant] | None = None,
) -> Report:
    """Summarise the trials of one experiment.

    Args:
        identity: What the report is about.
        planned: Every (task, trial) of the plan, in its order.
        trials: Scored trials, in any order.
        unscored: Attempts that infrastructure broke, in any order; those scored later count once, as scored.
        variants: Planned tasks that play another one's scenario with a persona; `None` for none.

    Raises:
        ValueError: If the plan does not fit the identity, a trial was not planned, is scored twice or is given on the
            wrong side.
    """
    _check_plan(identity, planned)
    found, attempts = _by_place(planned, trials, are_scored=True), list(unscored)
    lost = _by_place(planned, attempts, are_scored=False).keys() - found.keys()
    scored = [found[place] for place in planned if place in found]
    variants, ks = variants or {}, range(1, identity.trials + 1)
    counts = clustered(_task_counts(planned, scored, lost), variants)
    summary, passed = reliability(counts), sum(task.passes for task in counts)
    estimates = [pass_hat_k(counts, k, model=summary.beta_binomial) for k in ks]
    plan = Counter(task_id for task_id, _ in planned)
    return Report(
        **identity.model_dump(),
        counts=Counts(passed=passed, failed=len(scored) - passed, unscored=len(lost), planned=len(planned)),
        pass_hat_k={e.k: rate_of(e) for e in estimates},
        pass_at_k={k: rate_of(pass_at_k(counts, k)) for k in ks},
        rerun={e.k: Rerun(half_width=e.rerun_half_width, modelled=e.rerun_is_modelled) for e in estimates},
        flip_share=summary.flip_share,
        pairwise_disagreement=summary.pairwise_disagreement,
        icc=summary.icc,
        infrastructure_bounds={k: bounds_of(counts, k) for k in ks} if lost else None,
        outages=outages_of(attempts, lost),
        terminations=dict(Counter(sorted(t.termination.value for t in scored)).most_common()),
        failures=tuple(_failure(trial) for trial in scored if trial.outcome == "failed"),
        tasks_table=tuple(
            TaskRow(task_id=t.task_id, passed=t.passes, scored=t.trials, planned=plan[t.task_id]) for t in counts
        ),
        usage=_summed_usage([*scored, *attempts]),
        duration_s=_duration(scored),
        note=_note(identity, scored),
        user_faults=user_faults(counts, scored, ks),
        personas=persona_slices(counts, variants, identity.trials),
        dropped_parameters=dropped_parameters([*scored, *attempts]),
    )


def _note(identity: ReportIdentity, scored: Iterable[Trial]) -> str | None:
    """Say what a reader must know before the numbers."""
    unjudged = {trial.task_id for trial in scored if _holds_unjudged(trial)}
    holds = "1 task holds" if len(unjudged) == 1 else f"{len(unjudged)} tasks hold"
    parts = [DEMONSTRATION_NOTE] if identity.privileged else []
    if unjudged:
        parts.append(f"{holds} statements only a judge can decide; they were not judged.")
    return " ".join(parts) or None


def _holds_unjudged(trial: Trial) -> bool:
    found = [score for score in trial.scores if score.key == ASSERTIONS]
    return any(score.evidence for score in found) and all(score.value is None for score in found)


def _check_plan(identity: ReportIdentity, planned: Sequence[tuple[str, int]]) -> None:
    tasks = len({task_id for task_id, _ in planned})
    if len(set(planned)) < len(planned) or tasks != identity.tasks:
        raise ValueError(
            f"the plan does not fit: {len(planned)} trials of {tasks} tasks came, "
            f"each trial once and {identity.tasks} tasks were wanted; pass the plan of the experiment"
        )


def _by_place(
    planned: Sequence[tuple[str, int]], trials: Iterable[Trial], *, are_scored: bool
) -> dict[tuple[str, int], Trial]:
    found: dict[tuple[str, int], Trial] = {}
    known = set(planned)
    for trial in trials:
        place, is_scored = (trial.task_id, trial.trial), trial.outcome != "unscored"
        wrong = "it was not planned" if place not in known else ""
        if is_scored is not are_scored:
            wrong = f"it is {trial.outcome} and came among the {'scored' if are_scored else 'unscored'} trials"
        elif is_scored and place in found:
            wrong = "a second score came, one was wanted"
        if wrong:
            raise ValueError(
                f"trial {trial.trial} of task {trial.task_id!r} cannot be counted: {wrong}; "
                "pass the records of one experiment once, each on its side"
            )
        found[place] = trial
    return found


def _task_counts(
    planned: Sequence[tuple[str, int]], scored: Iterable[Trial], lost: Iterable[tuple[str, int]]
) -> list[TaskCount]:
    by_outcome = Counter((trial.task_id, trial.outcome) for trial in scored)
    broken = Counter(task_id for task_id, _ in lost)
    counts = []
    for task_id in dict.fromkeys(task_id for task_id, _ in planned):
        passed, failed = by_outcome[task_id, "passed"], by_outcome[task_id, "failed"]
        counts.append(TaskCount(task_id, passed + failed, passed, broken[task_id]))
    return counts


def _summed_usage(trials: Iterable[Trial]) -> dict[str, Usage]:
    totals: dict[str, Counter[str]] = {}
    for trial in trials:
        for actor, usage in trial.usage.items():
            totals.setdefault(actor, Counter()).update(usage.model_dump())
    return {actor: Usage(**totals[actor]) for actor in sorted(totals)}


def _duration(trials: Iterable[Trial]) -> Duration:
    seconds = sorted(trial.duration_s for trial in trials if math.isfinite(trial.duration_s))
    if not seconds:
        return Duration(median=None, p95=None)
    return Duration(median=median(seconds), p95=seconds[math.ceil(0.95 * len(seconds)) - 1])


def _failure(trial: Trial) -> TrialFailure:
    reasons = tuple(failure_reasons(trial))
    return TrialFailure(task_id=trial.task_id, trial=trial.trial, termination=trial.termination, reasons=reasons)
