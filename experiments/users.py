"""Two simulated users beside each other: the same agent on the same tasks, and what changes with who plays the user.

Only the user may differ. Everything else that can move a score must agree, or the difference would say nothing about
the users.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from statistics import mean, median

from taugraph.domains.errors import ConfigurationError
from taugraph.domains.trial import Trial
from taugraph.evaluators.paired import paired_difference
from taugraph.evaluators.reliability import TaskCount, pass_hat_k
from taugraph.experiments.plan import Identity, differing_keys
from taugraph.experiments.rates import Part, Rate, rate_of
from taugraph.experiments.slices import Variant, checks_of, clustered, fidelity_of, variants_of
from taugraph.experiments.store import Experiment, Store

MAY_DIFFER = frozenset({"user", "user_code", "user_options", "user_strategy", "user_prompt"})
"""Keys of the identity that name the simulated user."""


class UserSummary(Part):
    """How one simulated user did in one experiment, over the common tasks."""

    experiment: str
    """Name of the experiment."""
    user: str
    """Who played the user."""
    trials: int
    """Scored trials."""
    fault_share: Rate
    """Chance that the user spoils a trial, over the common tasks."""
    by_check: dict[str, int]
    """Spoiled trials by what was found, the most frequent first."""
    turns: float
    """Median of the user's messages in a trial."""
    pass_hat_k: dict[int, Rate]
    """pass^k for every k that both experiments planned."""


class PairedDifference(Part):
    """The second experiment less the first, over the common tasks."""

    value: float | None
    """In [-1, 1]; `None` without a common task that both scored."""
    low: float | None
    """Lower end of the 95 % interval; `None` below two such tasks."""
    high: float | None
    """Upper end; `None` as `low`."""
    tasks: int
    """Tasks, or scenarios where tasks are variants of one, that both scored."""


class UserComparison(Part):
    """Two simulated users on the same tasks with the same agent."""

    agent: str
    """Who played the agent."""
    domain: str
    """Name of the domain."""
    tasks: int
    """Common tasks."""
    left_out: int
    """Tasks that only one of the experiments planned."""
    differing: tuple[str, ...]
    """Settings of the user in which the experiments differ."""
    users: tuple[UserSummary, UserSummary]
    """Both users, in the order they were named."""
    pass_1: PairedDifference
    """Difference of pass^1."""
    fault_share: PairedDifference
    """Difference of the share of spoiled trials."""


def compare_users(first: str, second: str, store: Store) -> UserComparison:
    """Compare the simulated users of two experiments.

    Raises:
        UnknownNameError: If there is no such experiment.
        ConfigurationError: If something else than the user differs, they share no task, or one has no scored trial.
        StoreError: If the store cannot be read.
    """
    experiments = [store.experiment(first), store.experiment(second)]
    differing = _check_comparable(*experiments)
    common = [task_id for task_id in experiments[0].task_ids if task_id in set(experiments[1].task_ids)]
    if not common:
        raise ConfigurationError(
            f"cannot compare the users of {first!r} and {second!r}: they share no task; play the same tasks with both"
        )
    trials = [_trials_of(experiment, common, store) for experiment in experiments]
    ks = range(1, min(experiment.trials for experiment in experiments) + 1)
    variants = variants_of(common, experiments[0].configuration.get("personas") or ())
    left, right = (
        _summary(experiment, own, common, ks, variants) for experiment, own in zip(experiments, trials, strict=True)
    )
    return UserComparison(
        agent=str(experiments[0].configuration.get("agent", "?")),
        domain=experiments[0].domain,
        tasks=len(common),
        left_out=len(set(experiments[0].task_ids) ^ set(experiments[1].task_ids)),
        differing=tuple(differing),
        users=(left, right),
        pass_1=_paired(trials, common, _passed, variants),
        fault_share=_paired(trials, common, _spoiled, variants),
    )


def _check_comparable(first: Experiment, second: Experiment) -> list[str]:
    """Return the settings of the user that differ.

    Raises:
        ConfigurationError: If anything else does.
    """
    identities: list[Identity] = [one.configuration.get("identity", {}) for one in (first, second)]
    keys = differing_keys(*identities)
    # other tasks are left out of the comparison, but the same tasks must say the same
    allowed = MAY_DIFFER | ({"tasks"} if set(first.task_ids) != set(second.task_ids) else set())
    others = [key for key in keys if key not in allowed]
    if others:
        shown = "; ".join(f"{key}: {identities[0].get(key)!s:.40} and {identities[1].get(key)!s:.40}" for key in others)
        raise ConfigurationError(
            f"cannot compare the users of {first.name!r} and {second.name!r}: more than the user differs ({shown}); "
            "play both under the same conditions"
        )
    return [key for key in keys if key in MAY_DIFFER]


def _trials_of(experiment: Experiment, common: Sequence[str], store: Store) -> list[Trial]:
    found = [
        trial.model_copy(update={"messages": [], "changes": {}})
        for task_id in common
        for trial in store.trials(experiment.name, task_id)
    ]
    if not found:
        raise ConfigurationError(
            f"cannot compare the user of {experiment.name!r}: it has no scored trial of a common task; "
            f"play it with `taugraph resume {experiment.name}`"
        )
    if all(fidelity_of(trial) is None for trial in found):
        raise ConfigurationError(
            f"cannot compare the user of {experiment.name!r}: its trials were never judged for user faults; "
            "play them again with this version"
        )
    return found


def _summary(
    experiment: Experiment,
    trials: Sequence[Trial],
    common: Sequence[str],
    ks: Sequence[int],
    variants: Mapping[str, Variant],
) -> UserSummary:
    passed = clustered(_counts(trials, common, _passed), variants)
    spoiled = clustered(_counts(trials, common, _spoiled), variants)
    checks = Counter(check for trial in trials if fidelity_of(trial) == 0.0 for check in checks_of(trial))
    return UserSummary(
        experiment=experiment.name,
        user=str(experiment.configuration.get("user", "?")),
        trials=len(trials),
        fault_share=rate_of(pass_hat_k(spoiled, 1)),
        by_check=dict(sorted(checks.items(), key=lambda item: (-item[1], item[0]))),
        turns=median(trial.turns for trial in trials),
        pass_hat_k={k: rate_of(pass_hat_k(passed, k)) for k in ks},
    )


def _passed(trial: Trial) -> bool | None:
    return trial.outcome == "passed"


def _spoiled(trial: Trial) -> bool | None:
    fidelity = fidelity_of(trial)
    return None if fidelity is None else fidelity == 0.0


def _counts(trials: Sequence[Trial], common: Sequence[str], holds: Callable[[Trial], bool | None]) -> list[TaskCount]:
    """Return for each common task how many of its trials hold, of those that can be asked."""
    answers: dict[str, list[bool]] = {task_id: [] for task_id in common}
    for trial in trials:
        if (answer := holds(trial)) is not None:
            answers[trial.task_id].append(answer)
    return [TaskCount(task_id, len(found), sum(found)) for task_id, found in answers.items()]


def _paired(
    trials: Sequence[Sequence[Trial]],
    common: Sequence[str],
    holds: Callable[[Trial], bool | None],
    variants: Mapping[str, Variant],
) -> PairedDifference:
    """Return the second rate less the first; variants of one task bring one difference together."""
    first, second = (_counts(own, common, holds) for own in trials)
    by_base: dict[str, list[Fraction]] = {}
    for left, right in zip(first, second, strict=True):
        if left.trials and right.trials:
            base = variants[left.task_id].base if left.task_id in variants else left.task_id
            difference = Fraction(right.passes, right.trials) - Fraction(left.passes, left.trials)
            by_base.setdefault(base, []).append(difference)
    found = paired_difference([mean(differences) for differences in by_base.values()])
    return PairedDifference(value=found.value, low=found.low, high=found.high, tasks=found.tasks)
