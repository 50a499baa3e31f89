"""How often k fresh trials of one task all pass, and how sure a run can be of it.

A task enters with its own count of valid trials; rates stay exact fractions, averaged over tasks, until they leave.
A trial lost to infrastructure is neither a pass nor a failure: it moves `infrastructure_bounds`, never a rate.
Tasks are the unit of sampling: an interval speaks of new tasks, a re-run figure of the same tasks run again. Tasks of
one cluster, such as one scenario played with several personas, are sampled together.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import mean, variance

Z975 = 1.959963984540054  # normal quantile of a two-sided 95 % interval


@dataclass(frozen=True)
class TaskCount:
    """The trials of one task, counted. Raises ValueError if a count is no integer or is out of range."""

    task_id: str
    """Names the task; unique among the counts of one run."""
    trials: int
    """Valid (scored) trials, at least 0."""
    passes: int
    """Valid trials that passed, in [0, trials]."""
    infrastructure: int = 0
    """Trials an infrastructure fault left without a score after every retry, at least 0."""
    cluster: str | None = None
    """What the task shares with others of the same name, such as its scenario; None where it stands for itself."""

    def __post_init__(self) -> None:
        for name in ("trials", "passes", "infrastructure"):
            value, top = getattr(self, name), self.trials if name == "passes" else math.inf
            if type(value) is not int or not 0 <= value <= top:
                wanted = f"an integer in [0, trials={top!r}]" if name == "passes" else "an integer of at least 0"
                raise ValueError(
                    f"task {self.task_id!r} cannot be counted: {name}={value!r} came, {wanted} was wanted; "
                    "count each (task, trial) record exactly once"
                )


@dataclass(frozen=True)
class BetaBinomial:
    """Beta-distributed true chances of the tasks: a = mean (1/dispersion - 1), b = (1 - mean) (1/dispersion - 1)."""

    mean: float
    """Mean chance over tasks, in (0, 1)."""
    dispersion: float
    """Intraclass correlation 1/(a+b+1), in [0, 1]: near 0 all tasks are alike, near 1 each always or never passes."""

    def forecast(self, k: int) -> float:
        """Return E[p^k], in [0, 1], the model's pass^k for any k. Raises ValueError if k is below 1."""
        _require_k(k)
        own, shared = 1 - self.dispersion, self.dispersion
        return self.mean * math.prod((self.mean * own + j * shared) / (own + j * shared) for j in range(1, k))


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks of one chance per task, in [0, 1], with its uncertainty."""

    k: int
    """Trials the chance speaks of, at least 1."""
    value: float | None
    """The estimate; None when no task has k valid trials."""
    tasks_used: int
    """Tasks with at least k valid trials."""
    tasks_total: int
    """All tasks, including those without a valid trial."""
    trials_used: int
    """Valid trials of the used tasks."""
    rerun_standard_error: float | None = None
    """Standard error were the same tasks run again; None if a used task has under 2k trials and no model was given."""
    rerun_is_modelled: bool = False
    """Whether that error needed the model, for want of 2k valid trials in every used task."""
    low: float | None = None
    """Lower end of the 95 % wilson-neff-t interval; None below two used tasks, like every field after it."""
    high: float | None = None
    """Upper end of that interval."""
    lower_bound: float | None = None
    """One-sided 95 % lower bound by the same method."""
    standard_error: float | None = None
    """Standard error with the task as cluster, at least 0."""
    effective_n: float | None = None
    """Independent trials that would be as informative, in (0, trials_used]."""
    t_quantile: float | None = None
    """Student's t at .975; its degrees of freedom are the used tasks, or clusters of them, less one."""
    t_low: float | None = None
    """Lower end of the plain cluster-t interval; not clipped, so it can be below 0."""
    t_high: float | None = None
    """Upper end of the plain cluster-t interval; not clipped, so it can exceed 1."""

    @property
    def rerun_half_width(self) -> float | None:
        """Half of the 95 % interval were the same tasks run again; None as rerun_standard_error."""
        return None if self.rerun_standard_error is None else Z975 * self.rerun_standard_error


@dataclass(frozen=True)
class Reliability:
    """What the counts of one run say; spread is taken over the tasks with at least two valid trials."""

    pass_hat: tuple[Estimate, ...]
    """Pass^k for k = 1 .. the largest count of valid trials, so pass^k is item k - 1; empty when there is none."""
    pass_at: tuple[Estimate, ...]
    """Pass@k for the same k."""
    infrastructure_bounds: tuple[tuple[float, float] | None, ...]
    """`infrastructure_bounds` for the same k."""
    max_k_all_tasks: int
    """Largest k that uses every task; 0 when a task has no valid trial."""
    micro_rate: float | None
    """Passes over valid trials, in [0, 1]; pass^1 weighs tasks equally instead. None without a valid trial."""
    flip_share: float | None
    """Share of tasks that both passed and failed, in [0, 1]; None without a task of two valid trials."""
    pairwise_disagreement: float | None
    """Chance that two trials of one task differ, in [0, 1]; None as flip_share."""
    sigma2_within: float | None
    """Mean variance of a trial inside a task, in [0, 0.5]; None as flip_share."""
    sigma2_between: float | None
    """Unbiased variance of the tasks' true chances, can be below 0; None below two tasks of two valid trials."""
    icc: float | None
    """Share of the variance that lies between tasks, at most 1; None as sigma2_between, or without any variance."""
    beta_binomial: BetaBinomial | None
    """Fitted spread of the tasks' chances; None where `fit_beta_binomial` gives None."""


def pass_hat_k(counts: Sequence[TaskCount], k: int, *, model: BetaBinomial | None = None) -> Estimate:
    """Estimate the chance that k fresh trials of one task all pass: the mean of C(c, k) / C(n, k).

    Args:
        counts: One count per task, any order; tasks with fewer than k valid trials are left out.
        k: Trials that must all pass, at least 1.
        model: Gives the re-run error where 2k trials are missing; None leaves it None there.

    Raises:
        ValueError: If a task id comes twice or k is no integer of at least 1.

    Source:
        Yao et al. 2024, tau-bench, https://arxiv.org/abs/2406.12045; interval after Korn and Graubard 1998
    """
    used = _used(counts, k)
    chances = [_all_of(k, task) for task in used]
    estimate = _with_interval(Estimate(k, None, len(used), len(counts), sum(t.trials for t in used)), used, chances)
    if not used or (model is None and any(t.trials < 2 * k for t in used)):
        return estimate
    is_modelled = any(t.trials < 2 * k for t in used)
    doubled = model.forecast(2 * k) if model and is_modelled else mean([_all_of(2 * k, t) for t in used])
    spread = mean([h * h for h in chances]) - doubled
    if is_modelled and spread <= 0 and any(0 < t.passes < t.trials for t in used):
        return estimate  # the model contradicts flaky tasks: no figure is better than an exact-looking zero
    error = math.sqrt(max(0, spread) / len(used))
    return replace(estimate, rerun_standard_error=error, rerun_is_modelled=is_modelled)


def pass_at_k(counts: Sequence[TaskCount], k: int, *, model: BetaBinomial | None = None) -> Estimate:
    """Estimate the chance that at least one of k fresh trials passes: the mean of 1 - C(n - c, k) / C(n, k).

    Takes, returns and raises what `pass_hat_k` does.

    Source:
        Chen et al. 2021, Codex, https://arxiv.org/abs/2107.03374
    """
    reversed_counts = [replace(t, passes=t.trials - t.passes) for t in counts]
    reversed_model = model and BetaBinomial(1 - model.mean, model.dispersion)
    estimate = pass_hat_k(reversed_counts, k, model=reversed_model)
    used = _used(reversed_counts, k)
    return _with_interval(estimate, used, [1 - _all_of(k, task) for task in used])


def infrastructure_bounds(counts: Sequence[TaskCount], k: int) -> tuple[float, float] | None:
    """Return pass^k, in [0, 1], with every unscored trial read as a failure, then as a pass.

    Takes and raises what `pass_hat_k` does; None when no task has k trials even with its unscored ones.
    """
    failed = [TaskCount(t.task_id, t.trials + t.infrastructure, t.passes) for t in counts]
    passed = [TaskCount(t.task_id, t.trials + t.infrastructure, t.passes + t.infrastructure) for t in counts]
    low, high = pass_hat_k(failed, k).value, pass_hat_k(passed, k).value
    return None if low is None or high is None else (low, high)


def wilson_interval(passes: int, trials: int, z: float = Z975) -> tuple[float, float]:
    """Return Wilson's interval, both ends in [0, 1], for the pass chance of one task with at least one valid trial.

    At z = 1.645 the lower end is a one-sided 95 % bound. Raises ValueError if a count is no integer or out of range.

    Source:
        Wilson 1927, https://doi.org/10.2307/2276774
    """
    if not TaskCount("(wilson_interval)", trials, passes).trials:
        raise ValueError("Wilson's interval is undefined: trials=0 came, at least 1 was wanted; leave the task out")
    return _wilson(passes / trials, trials, z)


def fit_beta_binomial(counts: Sequence[TaskCount]) -> BetaBinomial | None:
    """Fit the spread of the tasks' true chances, from one count per task in any order, by maximum likelihood.

    None when all trials agree or no task has two valid ones. Raises ValueError if a task id comes twice.
    """
    table = sorted(Counter((t.trials, t.passes) for t in _used(counts, 1)).items())
    tasks = [task for task, _ in table]
    if all(c == 0 for _, c in tasks) or all(c == n for n, c in tasks) or all(n < 2 for n, _ in tasks):
        return None

    def fit_at(spread: float) -> BetaBinomial:
        return BetaBinomial(_peak(lambda rate: _log_likelihood(BetaBinomial(rate, spread), table)), spread)

    return fit_at(_peak(lambda spread: _log_likelihood(fit_at(spread), table)))


def reliability(counts: Sequence[TaskCount]) -> Reliability:
    """Summarise one run: pass^k and pass@k for every k, and how the outcomes spread.

    Takes one count per task, in any order, or none at all; raises ValueError if a task id comes twice.
    """
    model, ks = fit_beta_binomial(counts), range(1, max((t.trials for t in counts), default=0) + 1)
    trials, passes = sum(t.trials for t in counts), sum(t.passes for t in counts)
    repeated = _used(counts, 2)
    noise = [Fraction(t.passes * (t.trials - t.passes), t.trials * (t.trials - 1)) for t in repeated]
    within = float(mean(noise)) if noise else None
    between, total = None, 0.0
    if len(repeated) > 1:
        sampling = mean([v / t.trials for v, t in zip(noise, repeated, strict=True)])
        between = float(variance([_all_of(1, t) for t in repeated]) - sampling)
        total = between + float(mean(noise))
    return Reliability(
        pass_hat=tuple(pass_hat_k(counts, k, model=model) for k in ks),
        pass_at=tuple(pass_at_k(counts, k, model=model) for k in ks),
        infrastructure_bounds=tuple(infrastructure_bounds(counts, k) for k in ks),
        max_k_all_tasks=min((t.trials for t in counts), default=0),
        micro_rate=passes / trials if trials else None,
        flip_share=sum(0 < t.passes < t.trials for t in repeated) / len(repeated) if repeated else None,
        pairwise_disagreement=None if within is None else 2 * within,
        sigma2_within=within,
        sigma2_between=between,
        icc=between / total if between is not None and total else None,
        beta_binomial=model,
    )


def _require_k(k: int) -> None:
    if type(k) is not int or k < 1:
        raise ValueError(f"pass^k is undefined: k={k!r} came, an integer of at least 1 was wanted; choose another k")


def _used(counts: Sequence[TaskCount], k: int) -> list[TaskCount]:
    _require_k(k)
    if twice := sorted(name for name, times in Counter(t.task_id for t in counts).items() if times > 1):
        raise ValueError(f"tasks cannot be averaged: {twice!r} came twice, one count per task was wanted; join them")
    return [task for task in counts if task.trials >= k]


def _all_of(k: int, task: TaskCount) -> Fraction:
    return Fraction(math.comb(task.passes, k), math.comb(task.trials, k))


def _with_interval(estimate: Estimate, used: Sequence[TaskCount], chances: Sequence[Fraction]) -> Estimate:
    if not chances:
        return estimate
    rate, totals = mean(chances), _deviations(used, chances)
    estimate, clusters = replace(estimate, value=float(rate)), len(totals)
    if clusters < 2:
        return estimate
    error_squared = Fraction(clusters, clusters - 1) * sum(total * total for total in totals) / len(chances) ** 2
    value, error, t = float(rate), math.sqrt(error_squared), _t_quantile(0.975, clusters - 1)
    size = _effective_n(rate, error_squared, clusters, estimate.trials_used)
    (low, high), (bound, _) = _wilson(value, size, t), _wilson(value, size, _t_quantile(0.95, clusters - 1))
    estimate = replace(estimate, low=low, high=high, lower_bound=bound, effective_n=size, standard_error=error)
    return replace(estimate, t_quantile=t, t_low=value - t * error, t_high=value + t * error)


def _deviations(used: Sequence[TaskCount], chances: Sequence[Fraction]) -> list[Fraction]:
    """Return by how much the chances of each cluster, in all, lie above the mean."""
    rate, totals = mean(chances), dict[tuple[str, bool], Fraction]()
    for task, chance in zip(used, chances, strict=True):
        key = (task.task_id, False) if task.cluster is None else (task.cluster, True)
        totals[key] = totals.get(key, Fraction()) + chance - rate
    return list(totals.values())


def _effective_n(rate: Fraction, error_squared: Fraction, clusters: int, trials: int) -> float:
    if rate in (0, 1):
        return float(clusters)
    size = min(float(rate * (1 - rate) / error_squared), float(trials)) if error_squared else float(trials)
    return min(size, float(clusters)) if clusters * min(rate, 1 - rate) < 5 else size


def _wilson(rate: float, size: float, quantile: float) -> tuple[float, float]:
    a = quantile**2 / size
    centre = (rate + a / 2) / (1 + a)
    half = math.sqrt(a * rate * (1 - rate) + a * a / 4) / (1 + a)
    # The interval holds the rate; rounding alone could push it out at 0 and 1.
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))


def _t_quantile(level: float, freedom: int) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 - slow import, needed only once there is an interval

    return float(stdtrit(freedom, level))


def _peak(height: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - slow import, needed only for a fit

    return float(minimize_scalar(lambda x: -height(x), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}).x)


def _log_likelihood(model: BetaBinomial, table: Sequence[tuple[tuple[int, int], int]]) -> float:
    own, shared = 1 - model.dispersion, model.dispersion

    def rising(start: float, steps: int) -> float:
        return sum(math.log(start * own + j * shared) for j in range(steps))

    return sum(
        tasks * (rising(model.mean, c) + rising(1 - model.mean, n - c) - rising(1.0, n)) for (n, c), tasks in table
    )
