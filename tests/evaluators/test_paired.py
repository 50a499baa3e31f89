"""Paired differences, against values worked by hand and the reference vectors."""

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from taugraph.evaluators.paired import paired_difference

FOLDER = Path(os.environ.get("TAUGRAPH_CONFORMANCE_DIR", Path(__file__).parents[3] / "shared" / "conformance"))
PATH = FOLDER / "pass_hat_k_vectors.json"
PAIRED = json.loads(PATH.read_text(encoding="utf-8"))["paired"] if PATH.is_file() else []


def test_the_interval_is_students_t_over_the_tasks() -> None:
    # mean 1/4, variance ((1/4)^2 * 3 + (3/4)^2) / 3 = 1/4, error sqrt(1/16), t(.975, 3) = 3.18245
    found = paired_difference([Fraction(1), Fraction(0), Fraction(0), Fraction(0)])
    assert found.value == 0.25
    assert found.low == pytest.approx(0.25 - 3.182446305 / 4, abs=1e-9)
    assert found.high == pytest.approx(0.25 + 3.182446305 / 4, abs=1e-9)
    assert not found.is_clear


def test_a_difference_is_clear_where_the_interval_excludes_zero() -> None:
    differences = [Fraction(share, 10) for share in (3, 4, 5, 4)]
    assert paired_difference(differences).is_clear
    assert paired_difference([-share for share in differences]).is_clear
    assert not paired_difference(differences, confidence=0.999999).is_clear


def test_one_task_has_a_difference_and_no_interval_and_none_has_neither() -> None:
    one, none = paired_difference([Fraction(1, 2)]), paired_difference([])
    assert (one.value, one.low, one.tasks) == (0.5, None, 1)
    assert (none.value, none.high, none.tasks, none.is_clear) == (None, None, 0, False)


def test_a_confidence_that_is_no_chance_is_refused() -> None:
    with pytest.raises(ValueError, match=r"confidence=1\.0 came"):
        paired_difference([], confidence=1.0)


@pytest.mark.parametrize("case", PAIRED, ids=lambda case: case["id"])
def test_pass_1_agrees_with_the_reference_vectors(case: dict[str, Any]) -> None:
    first, second = ({t["id"]: Fraction(t["c"], t["n"]) for t in case[arm] if t["n"]} for arm in "AB")
    wanted = next(row for row in case["expected"] if row["k"] == 1)
    found = paired_difference([second[name] - rate for name, rate in first.items() if name in second])
    assert found.tasks == wanted["tasks_paired"]
    assert found.value == pytest.approx(wanted["delta"]["value"], abs=1e-9)
    if wanted["ci95"] is not None:
        assert (found.low, found.high) == pytest.approx(tuple(wanted["ci95"]), abs=1e-9)
