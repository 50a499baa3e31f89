"""The statistics over trials, against values worked by hand and laws that hold for any run."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taugraph.evaluators.reliability import (
    BetaBinomial,
    TaskCount,
    fit_beta_binomial,
    infrastructure_bounds,
    pass_at_k,
    pass_hat_k,
    reliability,
    wilson_interval,
)


def counted(*pairs: tuple[int, int]) -> list[TaskCount]:
    """Name (passes, trials) pairs t0, t1, ..."""
    return [TaskCount(f"t{index}", trials, passes) for index, (passes, trials) in enumerate(pairs)]


def histogram(*tasks: int) -> list[TaskCount]:
    """Build a complete run from its tasks with 0, 1, 2, ... passes."""
    return counted(*[(passes, len(tasks) - 1) for passes, many in enumerate(tasks) for _ in range(many)])


GPT_4O_AIRLINE = histogram(14, 12, 10, 4, 10)  # tau-bench, historical_trajectories/gpt-4o-airline.json
GEMINI_3_FLASH_AIRLINE = histogram(4, 3, 1, 8, 34)  # tau2-bench leaderboard row


@st.composite
def any_counts(draw: st.DrawFn) -> list[TaskCount]:
    trials = draw(st.lists(st.integers(0, 6), max_size=8))
    return counted(*[(draw(st.integers(0, n)), n) for n in trials])


@st.composite
def complete_counts(draw: st.DrawFn) -> list[TaskCount]:
    trials = draw(st.integers(2, 6))
    return counted(*[(c, trials) for c in draw(st.lists(st.integers(0, trials), min_size=1, max_size=8))])


def test_pass_hat_k_averages_the_share_of_all_passing_k_subsets() -> None:
    counts = counted((4, 4), (3, 4), (2, 4), (0, 4))
    assert pass_hat_k(counts, 1).value == pytest.approx((1 + 3 / 4 + 2 / 4) / 4)
    assert pass_hat_k(counts, 2).value == pytest.approx((1 + 3 / 6 + 1 / 6) / 4)
    assert pass_hat_k(counts, 4).value == pytest.approx(1 / 4)


def test_pass_at_k_averages_the_share_of_k_subsets_with_a_pass() -> None:
    counts = counted((2, 4), (1, 4))
    assert pass_at_k(counts, 2).value == pytest.approx((5 / 6 + 3 / 6) / 2)
    assert pass_at_k(counts, 4).value == 1


def test_pass_hat_k_reproduces_the_published_gpt_4o_airline_row() -> None:
    published = [pass_hat_k(GPT_4O_AIRLINE, k).value for k in (1, 2, 3, 4)]
    assert published == pytest.approx([0.420, 0.273, 0.220, 0.200], abs=5e-4)


@pytest.mark.parametrize("chance", [Fraction(3, 10), Fraction(1, 2), Fraction(7, 8)])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_pass_hat_k_is_p_to_the_k_on_average(chance: Fraction, k: int) -> None:
    n = 5
    weights = [math.comb(n, c) * chance**c * (1 - chance) ** (n - c) for c in range(n + 1)]
    values = [pass_hat_k(counted((c, n)), k).value or 0 for c in range(n + 1)]
    expected = sum(float(w) * value for w, value in zip(weights, values, strict=True))
    assert expected == pytest.approx(float(chance**k))


def test_a_task_with_fewer_than_k_trials_is_left_out_and_counted() -> None:
    estimate = pass_hat_k(counted((4, 4), (0, 4), (3, 3), (0, 0)), 4)
    assert (estimate.value, estimate.tasks_used, estimate.tasks_total, estimate.trials_used) == (0.5, 2, 4, 8)


@pytest.mark.parametrize("estimator", [pass_hat_k, pass_at_k])
@pytest.mark.parametrize("counts", [[], counted((2, 2), (3, 3)), counted((0, 0))])
def test_k_beyond_every_task_gives_no_value(estimator, counts: Sequence[TaskCount]) -> None:  # type: ignore[no-untyped-def]
    estimate = estimator(counts, 4)
    assert (estimate.value, estimate.low, estimate.rerun_half_width, estimate.tasks_used) == (None, None, None, 0)
    assert estimate.tasks_total == len(counts)


def test_one_task_has_a_value_and_a_rerun_error_but_no_interval() -> None:
    estimate = pass_hat_k(counted((2, 4)), 1)
    assert (estimate.value, estimate.low, estimate.standard_error) == (0.5, None, None)
    assert estimate.rerun_standard_error == pytest.approx(math.sqrt(2 * 2 / (4**2 * 3)))


def test_three_perfect_tasks_are_worth_three_trials() -> None:
    estimate = pass_hat_k(counted((4, 4), (4, 4), (4, 4)), 1)
    t = 4.302652729749459
    assert estimate.effective_n == 3
    assert estimate.high == 1
    assert estimate.low == pytest.approx(3 / (3 + t * t))
    assert estimate.lower_bound == pytest.approx(3 / (3 + 2.919985580355516**2))


def test_two_opposite_tasks_give_the_cluster_interval_worked_by_hand() -> None:
    estimate = pass_hat_k(counted((4, 4), (0, 4)), 4)
    t = 12.706204736174687
    assert (estimate.value, estimate.standard_error, estimate.effective_n) == (0.5, 0.5, 1)
    assert (estimate.t_low, estimate.t_high) == pytest.approx((0.5 - t / 2, 0.5 + t / 2))
    half = math.sqrt(t**2 / 4 + t**4 / 4) / (1 + t**2)
    assert (estimate.low, estimate.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_tasks_of_one_rate_are_worth_every_trial_once_five_passes_are_expected() -> None:
    assert pass_hat_k(counted(*[(2, 4)] * 10), 1).effective_n == 40
    assert pass_hat_k(counted(*[(2, 4)] * 9), 1).effective_n == 9


def test_tasks_of_almost_one_rate_are_worth_no_more_than_every_trial() -> None:
    assert pass_hat_k(counted((3, 4), *[(2, 4)] * 10), 1).effective_n == 44


def test_a_rare_failure_is_not_worth_more_than_its_tasks() -> None:
    assert pass_hat_k(counted((3, 4), *[(4, 4)] * 49), 1).effective_n == 50


def test_the_printed_report_of_a_real_run_can_be_computed() -> None:
    report = reliability(GEMINI_3_FLASH_AIRLINE)
    rows = [(e.value, e.low, e.high, e.rerun_half_width) for e in report.pass_hat]
    assert rows[0] == pytest.approx((0.825, 0.719, 0.897, 0.034), abs=5e-4)
    assert rows[1] == pytest.approx((0.763, 0.643, 0.852, 0.056), abs=5e-4)
    assert rows[3] == pytest.approx((0.680, 0.537, 0.796, 0.067), abs=5e-4)
    assert [e.rerun_is_modelled for e in report.pass_hat] == [False, False, True, True]
    assert report.pass_at[3].value == 0.92
    assert (report.flip_share, report.pairwise_disagreement) == pytest.approx((12 / 50, 0.123), abs=5e-4)
    assert report.icc == pytest.approx(0.58, abs=5e-3)


def test_spread_is_split_by_hand_for_two_tasks() -> None:
    report = reliability(counted((4, 4), (2, 4)))
    assert report.sigma2_within == pytest.approx(1 / 6)  # (0 + 2*2/12) / 2
    assert report.sigma2_between == pytest.approx(1 / 8 - 1 / 24)  # variance of 1 and .5, less sampling noise
    assert report.icc == pytest.approx(1 / 3)
    assert report.flip_share == 0.5


def test_a_run_of_single_trials_says_nothing_about_spread() -> None:
    report = reliability(counted((1, 1), (0, 1)))
    assert (report.flip_share, report.pairwise_disagreement, report.sigma2_within) == (None, None, None)
    assert (report.sigma2_between, report.icc, report.beta_binomial) == (None, None, None)
    assert (report.pass_hat[0].value, report.pass_hat[0].rerun_half_width) == (0.5, None)


def test_an_empty_run_has_no_rows_and_no_rates() -> None:
    report = reliability([])
    assert (report.pass_hat, report.pass_at, report.max_k_all_tasks, report.micro_rate) == ((), (), 0, None)


def test_the_micro_rate_weighs_trials_and_pass_hat_1_weighs_tasks() -> None:
    report = reliability(counted((4, 4), (0, 1)))
    assert (report.micro_rate, report.pass_hat[0].value, report.max_k_all_tasks) == (0.8, 0.5, 1)


def test_unscored_trials_move_only_the_bounds() -> None:
    counts = [TaskCount("a", 3, 3, infrastructure=1), TaskCount("b", 4, 2)]
    assert pass_hat_k(counts, 1).value == 0.75
    assert infrastructure_bounds(counts, 1) == pytest.approx(((3 / 4 + 2 / 4) / 2, (1 + 2 / 4) / 2))
    assert infrastructure_bounds(counts, 4) == (0, 0.5)
    assert infrastructure_bounds(counts, 5) is None
    assert reliability(counts).infrastructure_bounds[3] == (0, 0.5)


def test_wilson_matches_the_figures_known_for_four_trials() -> None:
    assert wilson_interval(4, 4) == pytest.approx((0.510, 1), abs=5e-4)
    assert wilson_interval(2, 4) == pytest.approx((0.150, 0.850), abs=5e-4)


def test_the_beta_binomial_fit_and_forecast_match_gpt_4o_airline() -> None:
    fit = fit_beta_binomial(GPT_4O_AIRLINE)
    assert fit is not None
    a, b = (rate * (1 / fit.dispersion - 1) for rate in (fit.mean, 1 - fit.mean))
    assert (a, b) == pytest.approx((0.642, 0.858), abs=5e-4)
    assert fit.forecast(8) == pytest.approx(0.100, abs=5e-4)


def test_a_forecast_follows_the_rising_factorials_of_the_beta_parameters() -> None:
    a, b = 2.0, 3.0
    model = BetaBinomial(mean=a / (a + b), dispersion=1 / (a + b + 1))
    assert model.forecast(1) == pytest.approx(2 / 5)
    assert model.forecast(3) == pytest.approx(2 * 3 * 4 / (5 * 6 * 7))


def test_a_forecast_at_the_limits_is_a_shared_chance_or_an_eternal_one() -> None:
    assert BetaBinomial(0.5, 0.0).forecast(3) == 0.125
    assert BetaBinomial(0.5, 1.0).forecast(3) == 0.5


def test_tasks_of_one_rate_are_fitted_without_spread() -> None:
    fit = fit_beta_binomial(counted(*[(3, 4)] * 10))
    assert fit is not None
    assert (fit.mean, fit.dispersion) == pytest.approx((0.75, 0), abs=1e-6)


def test_tasks_without_a_flip_are_fitted_as_always_or_never() -> None:
    report = reliability(counted((4, 4), (4, 4), (4, 4), (0, 4)))
    assert report.beta_binomial is not None
    assert (report.beta_binomial.mean, report.beta_binomial.dispersion) == pytest.approx((0.75, 1), abs=1e-6)
    assert report.pass_hat[3].rerun_half_width == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("counts", [counted((4, 4), (4, 4)), counted((0, 4)), counted((1, 1), (0, 1)), []])
def test_a_run_that_says_nothing_about_spread_is_not_fitted(counts: Sequence[TaskCount]) -> None:
    assert fit_beta_binomial(counts) is None


def test_a_perfect_run_has_a_rerun_error_only_where_it_is_observed() -> None:
    assert [e.rerun_half_width for e in reliability(counted((4, 4), (4, 4))).pass_hat] == [0, 0, None, None]


def test_the_rerun_error_is_the_spread_of_simulated_reruns() -> None:
    rng, chances, n, k = random.Random(7), [0.2, 0.5, 0.7, 0.9] * 10, 4, 2
    runs = [counted(*[(sum(rng.random() < p for _ in range(n)), n) for p in chances]) for _ in range(400)]
    estimates = [pass_hat_k(run, k) for run in runs]
    values = [e.value or 0 for e in estimates]
    centre = sum(values) / len(values)
    spread = sum((v - centre) ** 2 for v in values) / (len(values) - 1)
    claimed = sum((e.rerun_standard_error or 0) ** 2 for e in estimates) / len(estimates)
    assert claimed == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize(
    ("trials", "passes", "infrastructure", "message"),
    [
        (4, 5, 0, r"task 't0' cannot be counted: passes=5 came, an integer in \[0, trials=4\] was wanted; count each"),
        (4, -1, 0, r"passes=-1 came"),
        (-1, 0, 0, r"trials=-1 came, an integer of at least 0 was wanted"),
        (4, 2.0, 0, r"passes=2\.0 came"),
        (4, True, 0, r"passes=True came"),
        ("4", 2, 0, r"trials='4' came"),
        (4, 2, -1, r"infrastructure=-1 came"),
    ],
)
def test_a_count_that_cannot_be_is_refused(trials: int, passes: int, infrastructure: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TaskCount("t0", trials, passes, infrastructure)


@pytest.mark.parametrize("k", [0, -1, 1.0, True])
def test_a_k_that_is_no_positive_integer_is_refused(k: int) -> None:
    message = rf"k={k!r} came, an integer of at least 1 was wanted; choose another k"
    for estimate in (pass_hat_k, pass_at_k, infrastructure_bounds):
        with pytest.raises(ValueError, match=message):
            estimate(counted((2, 4)), k)
    with pytest.raises(ValueError, match=message):
        BetaBinomial(0.5, 0.5).forecast(k)


def test_a_task_counted_twice_is_refused() -> None:
    counts = [TaskCount("t0", 4, 2), TaskCount("t0", 4, 3)]
    message = r"tasks cannot be averaged: \['t0'\] came twice, one count per task was wanted; join them"
    for summarise in (reliability, fit_beta_binomial, lambda counts: pass_hat_k(counts, 1)):
        with pytest.raises(ValueError, match=message):
            summarise(counts)


def test_wilson_without_a_trial_is_refused() -> None:
    with pytest.raises(ValueError, match="trials=0 came, at least 1 was wanted; leave the task out"):
        wilson_interval(0, 0)
    with pytest.raises(ValueError, match="passes=5 came"):
        wilson_interval(5, 4)


@given(complete_counts())
@settings(deadline=None)
def test_pass_hat_k_never_rises_and_pass_at_k_never_falls_with_k(counts: list[TaskCount]) -> None:
    report = reliability(counts)
    hats, ats = [e.value or 0 for e in report.pass_hat], [e.value or 0 for e in report.pass_at]
    assert hats == sorted(hats, reverse=True)
    assert ats == sorted(ats)
    assert hats[0] == ats[0]


@given(any_counts(), st.integers(1, 6))
def test_pass_hat_k_is_below_pass_1_and_pass_at_k_above_on_the_used_tasks(counts: list[TaskCount], k: int) -> None:
    used = [t for t in counts if t.trials >= k]
    hat, one, at = pass_hat_k(used, k).value, pass_hat_k(used, 1).value, pass_at_k(used, k).value
    assert (hat is None) == (one is None) == (at is None) == (not used)
    assert (hat or 0) <= (one or 0) <= (at or 0)
    assert hat == pass_hat_k(counts, k).value


@given(any_counts(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_names_and_order_of_tasks_do_not_matter(counts: list[TaskCount], rng: random.Random) -> None:
    renamed = [replace(t, task_id=f"other-{t.task_id}") for t in counts]
    rng.shuffle(renamed)
    assert reliability(renamed) == reliability(counts)


@given(any_counts(), st.integers(1, 6))
def test_every_interval_is_ordered_holds_the_value_and_stays_a_chance(counts: list[TaskCount], k: int) -> None:
    for estimate in (pass_hat_k(counts, k), pass_at_k(counts, k)):
        if estimate.low is None:
            assert estimate.tasks_used < 2
            continue
        assert estimate.value is not None
        assert estimate.high is not None
        assert estimate.lower_bound is not None
        assert 0 <= estimate.low <= estimate.lower_bound <= estimate.value <= estimate.high <= 1
        assert 0 < (estimate.effective_n or 0) <= estimate.trials_used


@given(any_counts(), st.integers(1, 6))
def test_pass_at_k_mirrors_pass_hat_k_of_the_reversed_outcomes(counts: list[TaskCount], k: int) -> None:
    turned = [replace(t, passes=t.trials - t.passes) for t in counts]
    at = pass_at_k(counts, k, model=BetaBinomial(0.25, 0.5))
    hat = pass_hat_k(turned, k, model=BetaBinomial(0.75, 0.5))
    assert at.rerun_standard_error == hat.rerun_standard_error
    if at.value is not None:
        assert at.value == pytest.approx(1 - (hat.value or 0))
    if at.low is not None:
        assert (at.low, at.high) == pytest.approx((1 - (hat.high or 0), 1 - (hat.low or 0)))


@given(any_counts())
@settings(deadline=None)
def test_disagreement_is_twice_the_drop_from_pass_1_to_pass_2(counts: list[TaskCount]) -> None:
    repeated = [t for t in counts if t.trials >= 2]
    report = reliability(counts)
    if not repeated:
        assert report.pairwise_disagreement is None
        return
    drop = (pass_hat_k(repeated, 1).value or 0) - (pass_hat_k(repeated, 2).value or 0)
    assert report.pairwise_disagreement == pytest.approx(2 * drop)
    assert report.sigma2_within == pytest.approx(drop)


@given(complete_counts())
def test_the_rerun_error_of_pass_1_is_the_summed_binomial_noise(counts: list[TaskCount]) -> None:
    noise = sum(t.passes * (t.trials - t.passes) / (t.trials**2 * (t.trials - 1)) for t in counts)
    assert pass_hat_k(counts, 1).rerun_standard_error == pytest.approx(math.sqrt(noise) / len(counts), abs=1e-12)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_four_rates_of_four_trials_give_back_the_histogram(passes: list[int]) -> None:
    p1, p2, p3, p4 = (pass_hat_k(counted(*[(c, 4) for c in passes]), k).value or 0 for k in (1, 2, 3, 4))
    tasks = len(passes)
    n4 = tasks * p4
    n3 = 4 * tasks * (p3 - p4)
    n2 = 6 * (tasks * p2 - n3 / 2 - n4)
    n1 = 4 * (tasks * p1 - n2 / 2 - 3 * n3 / 4 - n4)
    assert [n1, n2, n3, n4] == pytest.approx([passes.count(c) for c in (1, 2, 3, 4)], abs=1e-9)


@given(complete_counts())
@settings(deadline=None)
def test_a_fit_is_a_proper_model_and_its_forecasts_never_rise(counts: list[TaskCount]) -> None:
    fit = fit_beta_binomial(counts)
    if fit is None:
        assert sum(t.passes for t in counts) in (0, sum(t.trials for t in counts))
        return
    forecasts = [fit.forecast(k) for k in range(1, 9)]
    assert 0 < fit.mean < 1
    assert 0 <= fit.dispersion <= 1
    assert forecasts == sorted(forecasts, reverse=True)
