"""Slices of one experiment: the trials that the simulated user spoiled, and the personas it played.

A variant plays a task's scenario with a persona. Variants of one task are no independent tasks: the overall interval
takes them as one cluster, and personas are compared on the tasks that they share.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from pydantic import Field

from taugraph.domains.trial import Trial
from taugraph.evaluators.fidelity import KEY as FIDELITY
from taugraph.evaluators.paired import paired_difference
from taugraph.evaluators.reliability import TaskCount, pass_hat_k
from taugraph.experiments.rates import Part, Rate, rate_of

FEWEST_TASKS = 10
"""Tasks below which the figures of a slice are only a hint."""


class Variant(NamedTuple):
    """What a planned task is a variant of."""

    base: str
    """Task whose scenario is played."""
    persona: str
    """Persona it is played with."""


class UserFaults(Part):
    """Trials in which the simulated user did not play its scenario."""

    trials: int
    """Scored trials that it spoiled."""
    share: float
    """Of the scored trials in which it was judged, in [0, 1]."""
    by_check: dict[str, int]
    """Spoiled trials by what was found, the most frequent first; one trial may count under several."""
    pass_hat_k_without: dict[int, Rate]
    """pass^k over the other trials, for every k of the plan; a task counts where at least k remain."""


class PersonaSlice(Part):
    """How the agent did with one persona."""

    persona: str
    """Name of the persona."""
    pass_1: Rate
    """pass^1 over its tasks."""
    pass_k: Rate
    """pass^k over its tasks, k being the largest of the plan."""
    is_small: bool
    """Whether it has too few tasks to be more than a hint."""


class HardestPersona(Part):
    """The persona with the lowest pass^1, compared with the others on the same tasks."""

    persona: str
    """Name of the persona."""
    difference: float
    """Its pass^1 less the mean of the others', over the tasks they share, in [-1, 1]."""
    low: float | None
    """Lower end of the interval; `None` below two shared tasks."""
    high: float | None
    """Upper end of the interval; `None` as `low`."""
    tasks: int
    """Tasks they share."""
    confidence: float = Field(gt=0, lt=1)
    """Of the interval: 95 % for all personas together, because the lowest of several is looked at."""
    stands_out: bool
    """Whether the interval excludes 0, on shared tasks that differ or are not few."""


class PersonaSlices(Part):
    """The personas of an experiment."""

    slices: tuple[PersonaSlice, ...]
    """One per persona, in the order of the plan."""
    hardest: HardestPersona | None
    """`None` where no two personas share a task with scored trials."""


def variants_of(task_ids: Iterable[str], personas: Sequence[str]) -> dict[str, Variant]:
    """Return which task and persona the planned ids `TASK@PERSONA` name; empty where none was played.

    Args:
        task_ids: Ids of the plan; those of tasks may hold an `@` too.
        personas: Personas of the run as they were named: names, files, or `all`.
    """
    if not personas:
        return {}
    names = {Path(name).stem: name for name in personas if name != "all"}
    found = {}
    for task_id in task_ids:
        fitting = [stem for stem in names if task_id.endswith(f"@{stem}") and len(task_id) > len(stem) + 1]
        stem = max(fitting, key=len, default=task_id.rpartition("@")[2] if "all" in personas else "")
        base = task_id.removesuffix(f"@{stem}") if stem else task_id
        if base not in ("", task_id):
            found[task_id] = Variant(base, names.get(stem, stem))
    return found


def clustered(counts: Sequence[TaskCount], variants: Mapping[str, Variant]) -> list[TaskCount]:
    """Return the counts with the variants of one task in one cluster."""
    return [
        replace(count, cluster=variants[count.task_id].base) if count.task_id in variants else count for count in counts
    ]


def user_faults(counts: Sequence[TaskCount], scored: Sequence[Trial], ks: Iterable[int]) -> UserFaults | None:
    """Count the trials that the user spoiled; `None` where it was never judged.

    Args:
        counts: The scored trials of each task, clusters included.
        scored: Those trials.
        ks: Every k of the plan.
    """
    judged = [trial for trial in scored if fidelity_of(trial) is not None]
    if not judged:
        return None
    spoiled = [trial for trial in judged if fidelity_of(trial) == 0.0]
    checks = Counter(check for trial in spoiled for check in checks_of(trial))
    out = Counter((trial.task_id, trial.outcome) for trial in spoiled)
    left = []
    for count in counts:
        passed, failed = out[count.task_id, "passed"], out[count.task_id, "failed"]
        left.append(replace(count, trials=count.trials - passed - failed, passes=count.passes - passed))
    return UserFaults(
        trials=len(spoiled),
        share=len(spoiled) / len(judged),
        by_check=dict(sorted(checks.items(), key=lambda item: (-item[1], item[0]))),
        pass_hat_k_without={k: rate_of(pass_hat_k(left, k)) for k in ks},
    )


def fidelity_of(trial: Trial) -> float | None:
    """Return how faithfully the user played, 1.0 or 0.0; `None` where that was not judged."""
    return next((score.value for score in trial.scores if score.key == FIDELITY), None)


def checks_of(trial: Trial) -> set[str]:
    """Return the checks that found something about a trial's user."""
    found = (score.evidence for score in trial.scores if score.key == FIDELITY)
    return {str(entry["check"]) for evidence in found for entry in evidence if "check" in entry}


def persona_slices(counts: Sequence[TaskCount], variants: Mapping[str, Variant], k: int) -> PersonaSlices | None:
    """Slice an experiment by persona; `None` where none was played.

    Args:
        counts: The scored trials of each task.
        variants: Which task and persona the ids name.
        k: The largest k of the plan.
    """
    by_persona: dict[str, list[TaskCount]] = {}
    for count in counts:
        if variant := variants.get(count.task_id):
            by_persona.setdefault(variant.persona, []).append(replace(count, cluster=None))
    if not by_persona:
        return None
    slices = tuple(_slice(persona, own, k) for persona, own in by_persona.items())
    return PersonaSlices(slices=slices, hardest=_hardest(slices, by_persona, variants))


def _slice(persona: str, counts: Sequence[TaskCount], k: int) -> PersonaSlice:
    first, largest = rate_of(pass_hat_k(counts, 1)), rate_of(pass_hat_k(counts, k))
    return PersonaSlice(persona=persona, pass_1=first, pass_k=largest, is_small=first.used < FEWEST_TASKS)


def _hardest(
    slices: Sequence[PersonaSlice], by_persona: Mapping[str, Sequence[TaskCount]], variants: Mapping[str, Variant]
) -> HardestPersona | None:
    rates: dict[str, dict[str, Fraction]] = {
        persona: {variants[c.task_id].base: Fraction(c.passes, c.trials) for c in counts if c.trials}
        for persona, counts in by_persona.items()
    }
    valued = [(part.pass_1.value, part.persona) for part in slices if part.pass_1.value is not None]
    if len(valued) < 2:
        return None
    persona = min(valued)[1]
    others = [own for name, own in rates.items() if name != persona and own]
    differences = [
        rate - mean(shared)
        for base, rate in rates[persona].items()
        if (shared := [own[base] for own in others if base in own])
    ]
    confidence = 1 - 0.05 / len(valued)
    found = paired_difference(differences, confidence=confidence)
    if found.value is None:
        return None
    varies = len(set(differences)) > 1 or found.tasks >= FEWEST_TASKS
    return HardestPersona(
        persona=persona,
        difference=found.value,
        low=found.low,
        high=found.high,
        tasks=found.tasks,
        confidence=confidence,
        stands_out=found.is_clear and varies,
    )
