"""Two experiments beside each other: pass^1..k, the tasks that changed, and what differs in the configuration.

The tasks that both scored are compared, each with itself. Whether one experiment is better is decided on pass^1, which
has about twice the power of pass^k; the others are shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from statistics import mean

from taugraph.domains.errors import ConfigurationError
from taugraph.evaluators.paired import paired_difference
from taugraph.evaluators.reliability import TaskCount, pass_hat_k
from taugraph.experiments.rates import Part, Rate, rate_of
from taugraph.experiments.slices import Variant, clustered, variants_of
from taugraph.experiments.store import Store
from taugraph.experiments.users import PairedDifference

REMOTE = "langsmith:"
"""What an experiment of LangSmith is named with."""


@dataclass(frozen=True)
class Side:
    """One experiment, from wherever it comes.

    Attributes:
        name: As it was typed.
        outcomes: Task -> whether each of its scored trials passed.
        trials: Trials planned for every task.
        settings: What it was played under, name by name.
        privileged: Whether its agent was given the answers.
        variants: Task -> scenario and persona, for tasks that are variants of one scenario.
    """

    name: str
    outcomes: Mapping[str, Sequence[bool]]
    trials: int
    settings: Mapping[str, str]
    privileged: bool = False
    variants: Mapping[str, Variant] = field(default_factory=dict)


class ComparedRate(Part):
    """pass^k of both experiments over the common tasks."""

    first: Rate
    """The first experiment's."""
    second: Rate
    """The second's."""
    difference: PairedDifference
    """The second less the first, task by task."""


class ChangedTask(Part):
    """A task that did better or worse in the second experiment."""

    task_id: str
    """The task."""
    first: tuple[int, int]
    """Passed and scored trials in the first experiment."""
    second: tuple[int, int]
    """Passed and scored trials in the second."""
    p: float
    """Chance of such a change if nothing had changed, one-sided (Fisher), in [0, 1]; it orders, it is no verdict."""


class Comparison(Part):
    """Two experiments on the same tasks."""

    first: str
    """Name of the first experiment."""
    second: str
    """Name of the second."""
    tasks: int
    """Tasks that both scored."""
    only_first: int
    """Tasks that only the first scored."""
    only_second: int
    """Tasks that only the second scored."""
    pass_hat_k: dict[int, ComparedRate]
    """pass^k for every k that both planned."""
    verdict: str
    """`better`, `worse` or `unclear`: the second against the first, decided on pass^1 at 95 %."""
    worse: tuple[ChangedTask, ...]
    """Tasks that passed less often in the second, the least likely by chance first."""
    better: tuple[ChangedTask, ...]
    """Tasks that passed more often, in the same order."""
    differs: dict[str, tuple[str, str]]
    """Settings that differ: the first's value and the second's."""
    notes: tuple[str, ...]
    """What a reader must know before the numbers."""


def compare(first: Side, second: Side) -> Comparison:
    """Compare two experiments over the tasks that both scored.

    Raises:
        ConfigurationError: If there is no such task.
    """
    common = [task_id for task_id in first.outcomes if first.outcomes[task_id] and second.outcomes.get(task_id)]
    if not common:
        raise ConfigurationError(
            f"cannot compare {first.name!r} with {second.name!r}: they scored no common task; play the same with both"
        )
    ks = range(1, min(first.trials, second.trials) + 1)
    rates = {k: _compared(first, second, common, k) for k in ks}
    changed = [_changed(task_id, first.outcomes[task_id], second.outcomes[task_id]) for task_id in common]
    return Comparison(
        first=first.name,
        second=second.name,
        tasks=len(common),
        only_first=sum(bool(tried) for tried in first.outcomes.values()) - len(common),
        only_second=sum(bool(tried) for tried in second.outcomes.values()) - len(common),
        pass_hat_k=rates,
        verdict=_verdict(rates[1].difference),
        worse=_ordered(one for one in changed if _share(one.second) < _share(one.first)),
        better=_ordered(one for one in changed if _share(one.second) > _share(one.first)),
        differs=_differing(*_told_by_both(first, second)),
        notes=tuple(_notes(first, second)),
    )


def local_side(name: str, store: Store) -> Side:
    """Return an experiment of the store.

    Raises:
        UnknownNameError: If there is no such experiment.
        StoreError: If the store cannot be read.
    """
    experiment = store.experiment(name)
    outcomes: dict[str, list[bool]] = {task_id: [] for task_id in experiment.task_ids}
    for count in store.counts(name):
        outcomes[count.task_id].append(count.outcome == "passed")
    identity = dict(experiment.configuration.get("identity") or {})
    settings = {"agent": experiment.configuration.get("agent"), **identity, "version": experiment.package_version}
    shown = {key: str(value) for key, value in settings.items() if value not in (None, "", "{}")}
    variants = variants_of(experiment.task_ids, experiment.configuration.get("personas") or ())
    return Side(name, outcomes, experiment.trials, shown, experiment.privileged, variants)


def _compared(first: Side, second: Side, common: Sequence[str], k: int) -> ComparedRate:
    counts = [_counts(side, common) for side in (first, second)]
    by_scenario: dict[str, list[Fraction]] = {}
    for left, right in zip(*counts, strict=True):
        if min(left.trials, right.trials) >= k:
            by_scenario.setdefault(left.cluster or left.task_id, []).append(_all_of(k, right) - _all_of(k, left))
    found = paired_difference([mean(differences) for differences in by_scenario.values()])
    return ComparedRate(
        first=rate_of(pass_hat_k(counts[0], k)),
        second=rate_of(pass_hat_k(counts[1], k)),
        difference=PairedDifference(
            value=found.value,
            low=None if found.low is None else max(-1.0, found.low),
            high=None if found.high is None else min(1.0, found.high),
            tasks=found.tasks,
        ),
    )


def _counts(side: Side, common: Sequence[str]) -> list[TaskCount]:
    tried = [side.outcomes[task_id] for task_id in common]
    counts = [TaskCount(task_id, len(one), sum(one)) for task_id, one in zip(common, tried, strict=True)]
    return clustered(counts, side.variants)


def _all_of(k: int, task: TaskCount) -> Fraction:
    return Fraction(comb(task.passes, k), comb(task.trials, k))


def _changed(task_id: str, first: Sequence[bool], second: Sequence[bool]) -> ChangedTask:
    left, right = (sum(first), len(first)), (sum(second), len(second))
    return ChangedTask(task_id=task_id, first=left, second=right, p=_fisher(left, right))


def _fisher(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the one-sided chance of a split at least as uneven, in the direction that was seen."""
    if _share(second) > _share(first):
        first, second = second, first
    passed, trials = first[0] + second[0], first[1] + second[1]
    top = min(passed, first[1])
    ways = sum(comb(first[1], count) * comb(second[1], passed - count) for count in range(first[0], top + 1))
    return ways / comb(trials, passed)


def _share(counted: tuple[int, int]) -> Fraction:
    return Fraction(counted[0], counted[1])


def _ordered(tasks: Iterable[ChangedTask]) -> tuple[ChangedTask, ...]:
    return tuple(sorted(tasks, key=lambda one: (one.p, -abs(_share(one.second) - _share(one.first)), one.task_id)))


def _verdict(difference: PairedDifference) -> str:
    if difference.low is not None and difference.low > 0:
        return "better"
    return "worse" if difference.high is not None and difference.high < 0 else "unclear"


def _told_by_both(first: Side, second: Side) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the settings; of a local and a remote experiment, which tell different things, those that both tell."""
    if first.name.startswith(REMOTE) == second.name.startswith(REMOTE):
        return first.settings, second.settings
    names = first.settings.keys() & second.settings.keys()
    return {name: first.settings[name] for name in names}, {name: second.settings[name] for name in names}


def _differing(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    return {
        name: (first.get(name, ""), second.get(name, ""))
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    }


def _notes(first: Side, second: Side) -> list[str]:
    notes = [
        f"The agent of {side.name} is a demonstration that was given the answers."
        for side in (first, second)
        if side.privileged
    ]
    user = {"user", "user_code", "user_prompt", "user_strategy", "user_options"}
    moved = {"scoring_version", "protocol", "policy", "tools", *user}
    if moved := moved & _differing(*_told_by_both(first, second)).keys():
        notes.append(f"More than the agent differs: {', '.join(sorted(moved))}.")
    return notes
