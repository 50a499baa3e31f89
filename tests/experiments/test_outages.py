"""What broke the trials without a score stands in the report, once per cause."""

from typing import Any

import pytest

from taugraph.domains.trial import Failure, Termination, Trial
from taugraph.experiments.outages import outages_of
from taugraph.experiments.report import Report, ReportIdentity, build_report
from taugraph.experiments.report_text import render_report

CUT = "reasons are cut; --json has more of them"


def attempt(trial: int, kind: str | None = "rate_limit", message: str = "HTTP 429", actor: Any = "agent") -> Trial:
    failure = kind and Failure(kind=kind, message=message, actor=actor)
    return Trial(task_id="a", trial=trial, seed=1, termination=Termination.INFRASTRUCTURE, failure=failure or None)


def reported(*attempts: Trial) -> Report:
    trials = 1 + max(one.trial for one in attempts)
    identity = ReportIdentity(
        experiment="x",
        domain="airline",
        agent="A",
        user="B",
        protocol="strict",
        kind="run",
        privileged=False,
        tasks=1,
        trials=trials,
        scoring_version=1,
        package_version="0",
        fingerprint="f",
    )
    planned = [("a", trial) for trial in range(trials)]
    return build_report(identity=identity, planned=planned, trials=[], unscored=attempts)


def test_each_cause_has_a_line_with_its_count_and_its_last_message() -> None:
    text = render_report(
        reported(
            attempt(0),
            attempt(1, "connection", "refused", "user"),
            attempt(2, message="HTTP 429:\ntry later"),
        )
    )
    assert text.splitlines()[-2:] == [
        "infra 2 x rate_limit (agent): HTTP 429: try later",
        "infra 1 x connection (user): refused",
    ]


def test_only_the_last_attempt_of_a_trial_counts_and_its_message_is_the_latest() -> None:
    found = outages_of(
        [attempt(0, "connection", "refused"), attempt(1, message="early"), attempt(0, message="late")],
        {("a", 0), ("a", 1)},
    )
    assert [(one.cause, one.trials, one.message) for one in found] == [("rate_limit", 2, "late")]


def test_a_trial_that_was_scored_later_was_not_lost() -> None:
    assert outages_of([attempt(0)], set()) == ()


def test_an_attempt_without_a_recorded_failure_has_an_unknown_cause() -> None:
    assert render_report(reported(attempt(0, kind=None))).splitlines()[-1] == "infra 1 x unknown (harness)"


@pytest.mark.parametrize("message", ["y" * 300, "\u4e88" * 60])
def test_a_long_message_is_cut_with_a_hint_and_whole_in_json(message: str) -> None:
    report = reported(attempt(0, message=message))
    assert render_report(report).splitlines()[-1] == CUT
    assert report.model_dump(mode="json")["outages"][0]["message"] == message


def test_nothing_is_said_of_cuts_where_nothing_was_cut() -> None:
    assert CUT not in render_report(reported(attempt(0)))
