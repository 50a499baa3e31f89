"""Every reference vector for pass^k, pass@k and their intervals, to the tolerance the file states.

The file is shared between implementations and stays outside this repository; TAUGRAPH_CONFORMANCE_DIR names its folder.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from taugraph.evaluators.reliability import (
    Z975,
    Estimate,
    TaskCount,
    infrastructure_bounds,
    pass_at_k,
    pass_hat_k,
    reliability,
    wilson_interval,
)

FOLDER = Path(os.environ.get("TAUGRAPH_CONFORMANCE_DIR", Path(__file__).parents[2] / "../shared/conformance"))
PATH = FOLDER / "pass_hat_k_vectors.json"

if not PATH.exists():
    pytest.skip(f"no reference vectors at {PATH}: set TAUGRAPH_CONFORMANCE_DIR to run them", allow_module_level=True)

FILE: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
VECTORS = [pytest.param(vector, id=vector["id"]) for vector in FILE["vectors"]]
ESTIMATES = [
    pytest.param(vector, int(k), id=f"{vector['id']}-k{k}") for vector in FILE["vectors"] for k in vector["ks"]
]
BOUNDS = [
    pytest.param(vector, int(k), bounds, id=f"{vector['id']}-k{k}")
    for vector in FILE["vectors"]
    for k, bounds in vector["expected"].get("infra_bounds", {}).items()
]


def counts_of(tasks: list[dict[str, Any]]) -> list[TaskCount]:
    return [TaskCount(task["id"], task["n"], task["c"], task.get("infra", 0)) for task in tasks]


def near(expected: Any) -> Any:
    """Compare a vector's number, exact rational, pair or null to the file's tolerance."""
    if isinstance(expected, dict):
        expected = expected["value"]
    return None if expected is None else pytest.approx(expected, abs=FILE["tolerance"], rel=FILE["tolerance"])


def pair(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]


def test_the_normal_quantile_is_that_of_the_vectors() -> None:
    assert near(FILE["z975"]) == Z975


@pytest.mark.parametrize(("vector", "k"), ESTIMATES)
def test_an_estimate_agrees_with_its_vector(vector: dict[str, Any], k: int) -> None:
    expected = vector["expected"]["by_k"][str(k)]
    estimate: Estimate = pass_hat_k(counts_of(vector["tasks"]), k)
    observed = {
        "tasks_used": estimate.tasks_used,
        "tasks_total": estimate.tasks_total,
        "trials_used": estimate.trials_used,
        "pass_hat": estimate.value,
        "pass_at": pass_at_k(counts_of(vector["tasks"]), k).value,
        "se": estimate.standard_error,
        "n_eff": estimate.effective_n,
        "t975": estimate.t_quantile,
        "ci95": pair(estimate.low, estimate.high),
        "lb95": estimate.lower_bound,
        "t_ci95": pair(estimate.t_low, estimate.t_high),
        "se_fixed": estimate.rerun_standard_error,
    }
    assert observed == {name: near(value) for name, value in expected.items()}


@pytest.mark.parametrize("vector", VECTORS)
def test_the_spread_of_a_run_agrees_with_its_vector(vector: dict[str, Any]) -> None:
    report, expected = reliability(counts_of(vector["tasks"])), vector["expected"]
    observed = {
        "max_k_all_tasks": report.max_k_all_tasks,
        "micro_rate": report.micro_rate,
        "flip_task_share": report.flip_share,
        "pairwise_disagreement": report.pairwise_disagreement,
        "sigma2_within": report.sigma2_within,
        "sigma2_between": report.sigma2_between,
        "icc1": report.icc,
    }
    stated = observed.keys() & expected.keys()
    assert {"max_k_all_tasks", "micro_rate"} <= stated
    assert {name: observed[name] for name in stated} == {name: near(expected[name]) for name in stated}


@pytest.mark.parametrize("vector", VECTORS)
def test_the_rows_of_a_run_are_its_single_estimates(vector: dict[str, Any]) -> None:
    counts = counts_of(vector["tasks"])
    report = reliability(counts)
    assert len(report.pass_hat) == len(report.pass_at) == max((task.trials for task in counts), default=0)
    for k in (k for k in vector["ks"] if k <= len(report.pass_hat)):
        assert report.pass_hat[k - 1] == pass_hat_k(counts, k, model=report.beta_binomial)
        assert report.pass_at[k - 1] == pass_at_k(counts, k, model=report.beta_binomial)
        assert report.infrastructure_bounds[k - 1] == infrastructure_bounds(counts, k)


@pytest.mark.parametrize(("vector", "k", "bounds"), BOUNDS)
def test_infrastructure_bounds_agree_with_their_vector(vector: dict[str, Any], k: int, bounds: dict[str, Any]) -> None:
    observed = infrastructure_bounds(counts_of(vector["tasks"]), k)
    assert observed is not None
    assert list(observed) == [near(bounds["as_failure"]), near(bounds["as_pass"])]


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c['c']}-of-{c['n']}") for c in FILE["wilson_single_task"]])
def test_the_interval_of_one_task_agrees_with_its_vector(case: dict[str, Any]) -> None:
    assert list(wilson_interval(case["c"], case["n"])) == near(case["ci95_z"])
    assert wilson_interval(case["c"], case["n"], z=FILE["z95"])[0] == near(case["lb95_z"])


@pytest.mark.parametrize("case", [pytest.param(c, id=c["why"]) for c in FILE["errors"]])
def test_an_input_the_vectors_call_wrong_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"came.* wanted; "):
        pass_hat_k(counts_of(case["tasks"]), case["k"])
