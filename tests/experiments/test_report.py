"""The report of one experiment, against counts worked by hand and the layout people read."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.cells import cell_len

from taugraph.domains.trial import Failure, Score, Termination, Trial, Usage
from taugraph.experiments.report import DEMONSTRATION_NOTE, Report, ReportIdentity, build_report
from taugraph.experiments.report_text import render_report
from taugraph.experiments.slices import variants_of

DIFFERENCE = {
    "table": "reservations",
    "key": ["ABC123"],
    "fields": {"status": {"expected": "cancelled", "got": None}},
}
NASTY = [
    "x" * 300,
    "予約を取り消す" * 20,
    "e\u0301" * 90,
    "a\nb\tc\r\x1b[31mred",
    "\u202eright",
    "👩\u200d🚀" * 50,
    "  ",
    "|",
]


def identity(tasks: int = 2, trials: int = 2, **changes: Any) -> ReportIdentity:
    fields: dict[str, Any] = {
        "experiment": "first",
        "domain": "airline",
        "agent": "A",
        "user": "B",
        "protocol": "strict",
        "kind": "run",
        "privileged": False,
        "tasks": tasks,
        "trials": trials,
        "scoring_version": 1,
        "package_version": "0.1.0",
        "fingerprint": "f1",
    }
    return ReportIdentity(**fields | changes)


def ended(task_id: str = "a", trial: int = 0, reward: float | None = 1.0, **changes: Any) -> Trial:
    termination = Termination.INFRASTRUCTURE if reward is None else Termination.USER_STOP
    return Trial(
        **{"task_id": task_id, "trial": trial, "seed": 7, "termination": termination, "reward": reward} | changes
    )


def mismatched(task_id: str = "a", trial: int = 0, **changes: Any) -> Trial:
    score = Score(key="database_matches_goal", value=0.0, evidence=[DIFFERENCE])
    return ended(task_id, trial, 0.0, **{"scores": [score]} | changes)


def grid(tasks: Sequence[str], trials: int) -> list[tuple[str, int]]:
    return [(task_id, trial) for task_id in tasks for trial in range(trials)]


def reported(outcomes: dict[str, str], trials: int, *, attempts: Sequence[Trial] = (), **changes: Any) -> Report:
    """Report tasks whose trials are written as text: p passed, f failed, i broken by infrastructure, - not tried."""
    rewards = {"p": 1.0, "f": 0.0, "i": None}
    records = [
        ended(task_id, index, rewards[mark])
        for task_id, marks in outcomes.items()
        for index, mark in enumerate(marks)
        if mark != "-"
    ]
    return build_report(
        identity=identity(len(outcomes), trials, **changes),
        planned=grid(list(outcomes), trials),
        trials=[trial for trial in records if trial.reward is not None],
        unscored=[*attempts, *(trial for trial in records if trial.reward is None)],
    )


def failing(trial: Trial) -> tuple[str, ...]:
    report = build_report(identity=identity(1, 1), planned=[(trial.task_id, trial.trial)], trials=[trial], unscored=[])
    return report.failures[0].reasons


def gemini_3_flash_airline() -> Report:
    """Report the leaderboard row with 4, 3, 1, 8 and 34 tasks of 0, 1, 2, 3 and 4 passes."""
    passes = [count for count, tasks in enumerate((4, 3, 1, 8, 34)) for _ in range(tasks)]
    return reported({f"t{index}": "p" * c + "f" * (4 - c) for index, c in enumerate(passes)}, 4)


def test_rates_match_counts_worked_by_hand() -> None:
    report = reported({"a": "pp", "b": "pf"}, 2)
    assert {k: (rate.value, rate.used) for k, rate in report.pass_hat_k.items()} == {1: (0.75, 2), 2: (0.5, 2)}
    assert {k: (rate.value, rate.used) for k, rate in report.pass_at_k.items()} == {1: (0.75, 2), 2: (1.0, 2)}
    assert report.counts.model_dump() == {"passed": 3, "failed": 1, "unscored": 0, "planned": 4}
    assert (report.flip_share, report.pairwise_disagreement) == (0.5, 0.5)
    assert report.infrastructure_bounds is None


def test_the_layout_shows_a_published_row_as_the_design_prints_it() -> None:
    head, columns, first, second, third, fourth, spread, *_ = render_report(gemini_3_flash_airline()).splitlines()
    assert head == "airline · agent A vs user B · 50 tasks x 4 · 200/200 valid · 0 infra"
    assert columns == "          est    95% (new tasks)   re-run ±   used"
    assert first == "pass^1   .825    .719 \N{EN DASH} .897        .034     50/50"
    assert second == "pass^2   .763    .643 \N{EN DASH} .852        .056     50/50"
    assert third.startswith("pass^3   .720    ")  # (34 + 8 / 4) / 50
    assert fourth == "pass^4   .680    .537 \N{EN DASH} .796        .067*    50/50   (* beta-binomial)"
    assert spread == "flaky 12/50 · disagreement .123 · ICC .58 · pass@4 .920"


def test_json_has_the_promised_shape_in_the_promised_order() -> None:
    shown = reported({"a": "pi", "b": "ff"}, 2).model_dump(mode="json")
    assert list(shown) == [
        *("experiment", "domain", "agent", "user", "protocol", "kind", "privileged", "tasks", "trials"),
        *("floors", "counts"),
        *(
            "pass_hat_k",
            "pass_at_k",
            "rerun",
            "flip_share",
            "pairwise_disagreement",
            "icc",
            "infrastructure_bounds",
            "outages",
        ),
        *("terminations", "failures", "tasks_table", "usage", "duration_s", "scoring_version", "package_version"),
        *("fingerprint", "note", "user_faults", "personas", "dropped_parameters"),
    ]
    assert list(shown["pass_hat_k"]) == list(shown["rerun"]) == ["1", "2"]
    assert shown["pass_at_k"]["2"] == {"value": 0.0, "low": None, "high": None, "used": 1}
    assert shown["infrastructure_bounds"] == {
        "1": {"as_failure": 0.25, "as_pass": 0.5},
        "2": {"as_failure": 0.0, "as_pass": 0.5},
    }
    assert shown["tasks_table"][0] == {"task_id": "a", "passed": 1, "scored": 1, "planned": 2}
    assert shown["failures"][0] == {
        "task_id": "b",
        "trial": 0,
        "termination": "user_stop",
        "reasons": ["user_stop"],
    }
    assert shown["duration_s"] == {"median": 0.0, "p95": 0.0}


def test_json_is_standard_and_reads_back_as_the_same_report() -> None:
    strange = ended("a", 0, 0.0, duration_s=math.nan, scores=[Score(key="k", value=0, evidence=[{"x": math.inf}])])
    report = build_report(
        identity=identity(1, 2), planned=grid("a", 2), trials=[strange, ended("a", 1, duration_s=2)], unscored=[]
    )
    text = json.dumps(report.model_dump(mode="json"), allow_nan=False)
    assert Report.model_validate_json(text) == report
    assert report.duration_s.median == 2


def test_a_report_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        reported({"a": "p"}, 1).icc = 1.0  # type: ignore[misc]


def test_an_unscored_trial_moves_the_bounds_and_no_rate() -> None:
    report = reported({"a": "pppi", "b": "pppp"}, 4)
    assert report.pass_hat_k[1].value == 1.0
    assert (report.pass_hat_k[4].value, report.pass_hat_k[4].used) == (1.0, 1)
    assert report.counts.model_dump() == {"passed": 7, "failed": 0, "unscored": 1, "planned": 8}
    assert report.infrastructure_bounds is not None
    assert report.infrastructure_bounds[1].model_dump() == {"as_failure": 0.875, "as_pass": 1.0}
    assert report.infrastructure_bounds[4].model_dump() == {"as_failure": 0.5, "as_pass": 1.0}
    assert report.failures == ()
    lines = render_report(report).splitlines()
    assert lines[0].endswith("7/8 valid · 1 infra")
    dash = "\N{EN DASH}"
    assert f"if all infra failed or passed · pass^1 .875 {dash} 1.000 · pass^4 .500 {dash} 1.000" in lines


def test_an_attempt_that_was_scored_later_is_not_unscored() -> None:
    attempts = [ended("a", 0, None), ended("a", 0, None), ended("a", 1, None), ended("a", 1, None)]
    report = reported({"a": "p-"}, 2, attempts=attempts)
    assert report.counts.model_dump() == {"passed": 1, "failed": 0, "unscored": 1, "planned": 2}
    assert report.infrastructure_bounds is not None
    assert report.infrastructure_bounds[2].model_dump() == {"as_failure": 0.0, "as_pass": 1.0}


def test_a_trial_that_was_not_tried_is_neither_unscored_nor_failed() -> None:
    report = reported({"a": "p-", "b": "--"}, 2)
    assert report.counts.model_dump() == {"passed": 1, "failed": 0, "unscored": 0, "planned": 4}
    assert (report.pass_hat_k[1].value, report.pass_hat_k[1].used) == (1.0, 1)
    assert render_report(report).splitlines()[0].endswith("1/4 valid · 0 infra · 3 not tried")


def test_k_beyond_every_tasks_scored_trials_has_no_value() -> None:
    report = reported({"a": "pp-", "b": "p--"}, 3)
    assert [report.pass_hat_k[k].used for k in (1, 2, 3)] == [2, 1, 0]
    assert report.pass_hat_k[3].model_dump() == {"value": None, "low": None, "high": None, "used": 0}
    assert report.rerun[3].model_dump() == {"half_width": None, "modelled": False}
    assert "pass^3      —    —                  —          0/2" in render_report(report).splitlines()


def test_a_run_that_infrastructure_broke_whole_has_bounds_and_no_rates() -> None:
    report = reported({"a": "ii", "b": "ii"}, 2)
    assert {rate.value for rate in (*report.pass_hat_k.values(), *report.pass_at_k.values())} == {None}
    assert report.counts.model_dump() == {"passed": 0, "failed": 0, "unscored": 4, "planned": 4}
    assert report.infrastructure_bounds is not None
    assert report.infrastructure_bounds[2].model_dump() == {"as_failure": 0.0, "as_pass": 1.0}
    assert (report.duration_s.median, report.duration_s.p95) == (None, None)
    assert "flaky — · disagreement — · ICC — · pass@2 —" in render_report(report)


def test_bounds_are_unknown_where_no_task_reaches_k() -> None:
    report = reported({"a": "i-"}, 2)
    assert report.infrastructure_bounds is not None
    assert report.infrastructure_bounds[2].model_dump() == {"as_failure": None, "as_pass": None}


@pytest.mark.parametrize("outcomes", [{}, {"a": "--"}])
def test_a_report_of_no_trials_has_no_rates(outcomes: dict[str, str]) -> None:
    report = reported(outcomes, 2)
    assert [rate.value for rate in report.pass_hat_k.values()] == [None, None]
    assert (report.terminations, report.failures, report.usage) == ({}, (), {})
    assert f"0/{2 * len(outcomes)} valid" in render_report(report)


def test_a_trial_scored_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="trial 0 of task 'a' cannot be counted: a second score came, one was wanted"):
        build_report(identity=identity(1), planned=grid("a", 2), trials=[ended(), ended(reward=0.0)], unscored=[])


@pytest.mark.parametrize(
    ("trials", "unscored", "message"),
    [
        ([ended("z")], [], "trial 0 of task 'z' cannot be counted: it was not planned"),
        ([ended(trial=2)], [], "trial 2 of task 'a' cannot be counted: it was not planned"),
        ([], [ended("z", 0, None)], "it was not planned"),
        ([ended(reward=None)], [], "it is unscored and came among the scored trials"),
        ([], [ended(reward=0.0)], "it is failed and came among the unscored trials"),
    ],
)
def test_a_record_out_of_place_is_refused(trials: list[Trial], unscored: list[Trial], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_report(identity=identity(1), planned=grid("a", 2), trials=trials, unscored=unscored)


@pytest.mark.parametrize("planned", [grid("a", 2), [*grid("ab", 2), ("a", 0)]])
def test_a_plan_that_does_not_fit_is_refused(planned: list[tuple[str, int]]) -> None:
    with pytest.raises(ValueError, match=r"the plan does not fit: \d trials of \d tasks came, each trial once and 2"):
        build_report(identity=identity(2), planned=planned, trials=[], unscored=[])


def test_the_order_of_the_records_does_not_matter() -> None:
    records = [mismatched("b", 1), ended("a", 1), ended("b", 0), mismatched("a", 0)]
    one, other = (
        build_report(identity=identity(), planned=grid("ba", 2), trials=trials, unscored=[])
        for trials in (records, records[::-1])
    )
    assert one == other
    assert [(failure.task_id, failure.trial) for failure in one.failures] == [("b", 1), ("a", 0)]
    assert [row.task_id for row in one.tasks_table] == ["b", "a"]


def test_a_demonstration_says_so_in_json_and_before_the_numbers() -> None:
    report = reported({"a": "p"}, 1, privileged=True)
    assert report.model_dump(mode="json")["note"] == DEMONSTRATION_NOTE
    assert " ".join(render_report(report).splitlines()[:2]) == DEMONSTRATION_NOTE
    assert "nothing about a real agent" in DEMONSTRATION_NOTE


def test_an_ordinary_report_has_no_note() -> None:
    report = reported({"a": "p"}, 1)
    assert report.note is None
    assert render_report(report).startswith("airline · ")


def test_a_reason_names_the_differing_field_and_both_values() -> None:
    assert failing(mismatched()) == (
        """database_matches_goal: reservations ["ABC123"].status expected 'cancelled', got None""",
    )


def test_a_reason_shows_a_missing_row_and_a_count_of_rows() -> None:
    row = {"table": "users", "key": ["ü"], "fields": {"(row)": {"expected": None, "got": {"id": 1}}}}
    count = {"table": "bags", "row": {"kg": 2}, "fields": {"(count)": {"expected": "+1", "got": "+0"}}}
    assert failing(ended(reward=0, scores=[Score(key="db", value=0, evidence=[row, count])])) == (
        """db: users ["ü"] (row) expected None, got {'id': 1}; bags {"kg": 2} (count) expected '+1', got '+0'""",
    )


def test_a_reason_names_the_missing_claims_only() -> None:
    claims: list[Any] = [
        {"claim": "12", "kind": "money", "said_in": 3},
        {"claim": "7", "kind": "text", "said_in": None},
    ]
    assert failing(ended(reward=0, scores=[Score(key="claims_were_said", value=0, evidence=claims)])) == (
        "claims_were_said: '7' was not said",
    )


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ([{"rule": 4, "quote": "no"}], "rule 4, quote 'no'"),
        ([{"fields": {"x": [1]}}], ".x [1]"),
        ([{"fields": "x"}], "fields 'x'"),
        ([{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}], "n 1; n 2; n 3"),
        ([{}], "0.25"),
        ([], "0.25"),
    ],
)
def test_evidence_of_any_shape_is_readable(evidence: list[Any], words: str) -> None:
    assert failing(ended(reward=0.25, scores=[Score(key="k", value=0.25, evidence=evidence)])) == (f"k: {words}",)


def test_a_reason_is_given_per_score_below_one_and_none_for_the_others() -> None:
    scores = [Score(key=key, value=value) for key, value in [("a", 0.0), ("b", None), ("c", 1.0), ("d", 0.5)]]
    assert failing(ended(reward=0, scores=scores)) == ("a: 0", "d: 0.5")


def test_the_end_is_the_reason_when_every_score_is_one() -> None:
    fine = [Score(key="database_matches_goal", value=1.0)]
    broken = Failure(kind="agent_raised", message="ValueError: no", actor="agent")
    assert failing(ended(reward=0, termination="max_turns", scores=fine)) == ("max_turns",)
    assert failing(ended(reward=0, termination="agent_error", failure=broken)) == ("agent_error: ValueError: no",)


@pytest.mark.parametrize("value", ["x" * 5000, "\x1b\u2028" * 300, "予" * 900])
def test_a_long_reason_is_cut_to_one_printable_line(value: str) -> None:
    (reason,) = failing(ended(reward=0, scores=[Score(key="k" + value, value=0, evidence=[{"got": value}])]))
    assert len(reason) == 160
    assert reason.endswith("…")
    assert reason.isprintable()


def test_failing_tasks_are_listed_worst_first_with_their_first_reason() -> None:
    trials = [ended("fine", 0), ended("fine", 1), ended("cancel-refused", 0), mismatched("cancel-refused", 1)]
    trials += [mismatched("book", trial, termination="max_steps") for trial in (0, 1)]
    report = build_report(
        identity=identity(3), planned=grid(["fine", "cancel-refused", "book"], 2), trials=trials, unscored=[]
    )
    assert render_report(report).splitlines()[-4:] == [
        "ended · user_stop 4 · max_steps 2",
        'book           0/2  max_steps, database_matches_goal: reservations ["ABC123"].s…',
        'cancel-refused 1/2  database_matches_goal: reservations ["ABC123"].status expec…',
        "reasons are cut; --json has more of them",
    ]


@pytest.mark.parametrize(("tasks", "last"), [(10, "t9 "), (11, "and 1 more failing task"), (12, "and 2 more failing")])
def test_at_most_ten_failing_tasks_are_listed(tasks: int, last: str) -> None:
    lines = render_report(reported({f"t{index}": "f" for index in range(tasks)}, 1)).splitlines()
    assert sum(" 0/1  user_stop" in line for line in lines) == 10
    assert lines[-1].startswith(last)


def test_ends_are_shown_unless_every_user_stopped() -> None:
    assert "ended" not in render_report(reported({"a": "pf"}, 2))
    assert reported({"a": "pf"}, 2).terminations == {"user_stop": 2}


def test_usage_is_summed_by_actor_over_every_attempt() -> None:
    spent = {"agent": Usage(calls=2, input_tokens=30, output_tokens=5), "user": Usage(calls=1, uncounted_calls=1)}
    report = build_report(
        identity=identity(1, 2),
        planned=grid("a", 2),
        trials=[ended("a", 0, usage=spent), ended("a", 1)],
        unscored=[ended("a", 1, None, usage={"agent": Usage(calls=1, input_tokens=4)})],
    )
    assert report.model_dump(mode="json")["usage"] == {
        "agent": {"calls": 3, "input_tokens": 34, "output_tokens": 5, "uncounted_calls": 0},
        "user": {"calls": 1, "input_tokens": 0, "output_tokens": 0, "uncounted_calls": 1},
    }


def test_durations_are_those_of_scored_trials_by_nearest_rank() -> None:
    trials = [ended("a", index, duration_s=index + 1) for index in range(20)]
    report = build_report(
        identity=identity(1, 21), planned=grid("a", 21), trials=trials, unscored=[ended("a", 20, None, duration_s=999)]
    )
    assert report.duration_s.model_dump() == {"median": 10.5, "p95": 19.0}


def test_a_long_plan_shows_the_first_k_then_powers_of_two_and_the_last() -> None:
    lines = render_report(reported({"a": "p" * 100, "b": "pf" * 50}, 100)).splitlines()
    shown = [int(line.split()[0].removeprefix("pass^")) for line in lines if line.startswith("pass^")]
    assert shown == [*range(1, 9), 16, 32, 64, 100]


def test_numbers_lose_their_leading_zero_and_nothing_else() -> None:
    text = render_report(reported({"a": "pf", "b": "fp"}, 2))
    assert "ICC -1.00" in text
    assert "pass@2 1.000" in text
    assert " 1.000 " in render_report(reported({"a": "pp", "b": "pp"}, 2))


@pytest.mark.parametrize("name", NASTY)
def test_no_name_makes_a_line_wide_or_breaks_it(name: str) -> None:
    trials = [mismatched(name, 0), ended("b", 0)]
    report = build_report(
        identity=identity(2, 2, domain=name, agent=name, user=name),
        planned=grid([name, "b"], 2),
        trials=trials,
        unscored=[ended(name, 1, None)],
    )
    lines = render_report(report).split("\n")
    assert max(map(cell_len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    assert " 0/1  database_matches_goal: reservations" in lines[-2]


@given(st.dictionaries(st.text(max_size=120), st.text("pfi-", min_size=3, max_size=3), max_size=6), st.text())
@settings(deadline=None)
def test_every_report_is_standard_json_and_printable_text_of_80_columns(outcomes: dict[str, str], name: str) -> None:
    report = reported(outcomes, 3, agent=name, domain=name, privileged=True)
    assert Report.model_validate_json(json.dumps(report.model_dump(mode="json"), allow_nan=False)) == report
    lines = render_report(report).split("\n")
    assert all(line.isprintable() and cell_len(line) <= 80 for line in lines)
    counts = report.counts
    assert counts.passed + counts.failed == sum(marks.count("p") + marks.count("f") for marks in outcomes.values())
    assert counts.unscored == sum(marks.count("i") for marks in outcomes.values())


def faulty(task_id: str, trial: int, reward: float, *checks: str) -> Trial:
    evidence = [{"turn": 2, "check": check, "what": "x"} for check in checks]
    score = Score(key="user_was_faithful", value=0.0 if checks else 1.0, evidence=evidence, gates=False)
    return ended(task_id, trial, reward, scores=[score])


def test_user_faults_are_reported_beside_the_rates_and_change_none_of_them() -> None:
    trials = [
        faulty("a", 0, 1.0),
        faulty("a", 1, 0.0, "stops_early"),
        faulty("b", 0, 1.0),
        faulty("b", 1, 1.0, "stops_early", "says_unknown_fact"),
    ]
    report = build_report(identity=identity(), planned=grid("ab", 2), trials=trials, unscored=[])
    assert report.pass_hat_k[1].value == 0.75
    shown = report.model_dump(mode="json")["user_faults"]
    assert (shown["trials"], shown["share"], shown["by_check"]) == (2, 0.5, {"stops_early": 2, "says_unknown_fact": 1})
    assert [(k, rate["value"], rate["used"]) for k, rate in shown["pass_hat_k_without"].items()] == [
        ("1", 1.0, 2),
        ("2", None, 0),
    ]
    lines = render_report(report).splitlines()
    assert "user faults 2/4 (50.0 %) · stops early 2 · says unknown fact 1" in lines
    assert any(line.startswith("without them · pass^1 1.000 [") and line.endswith("pass^2 — [—] 0/2") for line in lines)


def test_faithful_users_need_no_line() -> None:
    report = build_report(identity=identity(1, 1), planned=[("a", 0)], trials=[faulty("a", 0, 1.0)], unscored=[])
    assert report.user_faults is not None
    assert report.user_faults.trials == 0
    assert "user faults" not in render_report(report)


def personas(outcomes: dict[str, str], trials: int) -> Report:
    planned = grid([f"{task}@{name}" for name in outcomes for task in "abcdefghijkl"], trials)
    marks = {
        f"{task}@{name}": mark for name, own in outcomes.items() for task, mark in zip("abcdefghijkl", own, strict=True)
    }
    records = [ended(task, index, 1.0 if index < int(marks[task]) else 0.0) for task, index in planned]
    variants = variants_of([task for task, _ in planned], list(outcomes))
    return build_report(
        identity=identity(len(marks), trials), planned=planned, trials=records, unscored=[], variants=variants
    )


def test_personas_have_a_line_each_and_the_hardest_is_named_if_it_stands_out() -> None:
    report = personas({"calm": "444344443444", "loud": "222122232122"}, 4)
    lines = render_report(report).splitlines()
    assert [line.split()[:2] for line in lines if line.startswith(("persona", "calm", "loud"))] == [
        ["persona", "pass^1"],
        ["calm", ".958"],
        ["loud", ".479"],
    ]
    assert any(line.startswith("hardest persona: loud -.479 [-.") for line in lines)
    assert all(cell_len(line) <= 80 for line in lines)


def test_no_persona_is_named_where_none_stands_out() -> None:
    report = personas({"calm": "404344043444", "loud": "440444403433"}, 4)
    assert "no persona stands out · lowest " in render_report(report)


def test_the_interval_of_variants_is_that_of_their_tasks() -> None:
    twice = personas({"calm": "400340430044", "loud": "400340430044"}, 4)
    once = reported(
        {
            task: "p" * int(mark) + "f" * (4 - int(mark))
            for task, mark in zip("abcdefghijkl", "400340430044", strict=True)
        },
        4,
    )
    assert (twice.pass_hat_k[1].low, twice.pass_hat_k[1].high) == pytest.approx(
        (once.pass_hat_k[1].low, once.pass_hat_k[1].high), abs=1e-12
    )
    assert twice.pass_hat_k[1].used == 2 * once.pass_hat_k[1].used


def test_statements_that_nobody_judged_are_noted() -> None:
    def with_statement(task_id: str, value: float | None) -> Trial:
        return ended(
            task_id, scores=[Score(key="assertions_hold", value=value, evidence=[{"assertion": "It is kind."}])]
        )

    trials = [with_statement("a", None), with_statement("b", 1.0)]
    report = build_report(identity=identity(2, 1), planned=grid("ab", 1), trials=trials, unscored=[])
    assert report.note == "1 task holds statements only a judge can decide; they were not judged."
    assert render_report(report).startswith(report.note)
