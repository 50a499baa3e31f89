"""Parameters that a provider did not take stand in the report, once each."""

import json
from typing import Any

import pytest

from taugraph.domains.trial import Termination, Trial
from taugraph.experiments.model_notes import dropped_parameters
from taugraph.experiments.report import ReportIdentity, build_report
from taugraph.experiments.report_text import render_report


def trial(number: int, reward: float | None = 1.0, **notes: Any) -> Trial:
    ends = Termination.INFRASTRUCTURE if reward is None else Termination.USER_STOP
    return Trial(task_id="a", trial=number, seed=1, termination=ends, reward=reward, notes=notes)


@pytest.mark.parametrize("notes", [{}, {"dropped_parameters": 3}, {"other": ["agent seed"]}])
def test_trials_without_the_note_dropped_nothing(notes: dict[str, Any]) -> None:
    assert dropped_parameters([trial(0, **notes)]) == ()


def test_a_report_names_what_was_dropped_in_words_and_json_also_of_broken_attempts() -> None:
    identity = ReportIdentity(
        **{"experiment": "e", "domain": "d", "agent": "A", "user": "B", "protocol": "strict", "kind": "run"},
        **{
            "privileged": False,
            "tasks": 1,
            "trials": 2,
            "scoring_version": 1,
            "package_version": "0",
            "fingerprint": "f",
        },
    )
    report = build_report(
        identity=identity,
        planned=[("a", 0), ("a", 1)],
        trials=[trial(0, dropped_parameters=["user temperature", "agent temperature"])],
        unscored=[trial(1, None, dropped_parameters=["agent temperature", "agent seed"])],
    )
    names = ["agent seed", "agent temperature", "user temperature"]
    assert json.loads(report.model_dump_json())["dropped_parameters"] == names
    assert "\ndropped parameters: agent seed · agent temperature · user temperature\n" in f"{render_report(report)}\n"
    clean = build_report(identity=identity, planned=[("a", 0), ("a", 1)], trials=[trial(0)], unscored=[])
    assert "dropped" not in render_report(clean)
