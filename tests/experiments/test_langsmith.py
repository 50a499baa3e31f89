"""LangSmith gets what the store has, once, and nothing unless it was asked for."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from langsmith import utils
from support.langsmith_recorder import LangSmithRecorder, Record
from typer.testing import CliRunner, Result

from taugraph.cli import app
from taugraph.domains.domain import load_domain
from taugraph.domains.task import load_tasks

TASKS, TRIALS = 6, 4
RUN = ("run", "airline", "--limit", str(TASKS), "-k", str(TRIALS), "--agent", "demo:0.5", "--json")


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LangSmithRecorder]:
    monkeypatch.chdir(tmp_path)
    with LangSmithRecorder() as server:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2-test")
        utils.get_env_var.cache_clear()
        yield server
    utils.get_env_var.cache_clear()


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def assert_whole(recorder: LangSmithRecorder, report: Record) -> None:
    """Check an experiment of 6 tasks x 4 against its local report."""
    roots = recorder.roots()
    places = Counter(run["reference_example_id"] for run in roots)
    assert sorted(places.values()) == [TRIALS] * TASKS
    assert set(places) <= set(recorder.examples)
    for example in places:
        mine = [run for run in roots if run["reference_example_id"] == example]
        assert sorted(run["extra"]["metadata"]["trial"] for run in mine) == list(range(TRIALS))
        assert len({run["extra"]["metadata"]["thread_id"] for run in mine}) == 1
    [session] = recorder.sessions.values()
    assert (session["num_repetitions"], session["reference_dataset_id"]) == (TRIALS, *recorder.datasets)
    summary = recorder.summary_of(session["id"])
    for k in range(1, TRIALS + 1):
        assert summary[f"pass^{k}"] == pytest.approx(report["pass_hat_k"][str(k)]["value"], abs=5e-5)
    assert summary["coverage"] == 1.0
    for run in roots:
        feedback = recorder.feedback_of(run["id"])
        assert feedback["reward"] == run["outputs"]["reward"]
        assert {"database_matches_goal", "claims_were_said", "policy_was_followed", "termination"} <= feedback.keys()
        names = [child["name"] for child in recorder.children(run["id"])]
        assert (names[0], names[-1]) == ("user", "score")
        assert {"agent", "tools"} <= set(names)
    calls = [run for run in recorder.runs.values() if run["run_type"] == "tool"]
    assert calls
    assert all(recorder.runs[run["parent_run_id"]]["name"] == "tools" for run in calls)
    assert recorder.duplicates == []


def test_a_run_becomes_an_experiment_with_traces_and_scores(recorder: LangSmithRecorder) -> None:
    ended = call(*RUN, "--langsmith", "--name", "x")
    assert ended.exit_code == 0, ended.output
    assert_whole(recorder, json.loads(ended.stdout))
    assert "24 of 24 trials sent" in ended.stderr


def test_a_finished_experiment_is_pushed_as_if_it_had_been_sent_while_it_ran(recorder: LangSmithRecorder) -> None:
    played = call(*RUN, "--name", "x")
    assert recorder.requests == []
    pushed = call("push", "x", "--json")
    assert pushed.exit_code == 0, pushed.output
    assert (json.loads(pushed.stdout)["sent"], json.loads(pushed.stdout)["failed"]) == (24, 0)
    assert_whole(recorder, json.loads(played.stdout))


def test_pushing_again_sends_no_trial_again(recorder: LangSmithRecorder) -> None:
    played = call(*RUN, "--name", "x")
    call("push", "x")
    before = len(recorder.runs), len(recorder.feedback)
    again = call("push", "x", "--json")
    assert (json.loads(again.stdout)["sent"], json.loads(again.stdout)["before"]) == (0, 24)
    assert (len(recorder.runs), len(recorder.feedback)) == before
    assert_whole(recorder, json.loads(played.stdout))


def test_a_push_that_is_refused_in_the_middle_goes_on_where_it_stopped(recorder: LangSmithRecorder) -> None:
    played = call(*RUN, "--name", "x")
    recorder.refuse_after = 10
    broken = call("push", "x", "--json")
    assert broken.exit_code == 1
    assert (json.loads(broken.stdout)["sent"], json.loads(broken.stdout)["failed"]) == (9, 15)
    assert "503" in json.loads(broken.stdout)["reason"]
    recorder.refuse_after = None
    assert json.loads(call("push", "x", "--json").stdout)["before"] == 9
    recorder.duplicates.clear()  # the tenth had its trace taken and its feedback refused: it comes again, the same
    assert_whole(recorder, json.loads(played.stdout))


def test_uploads_that_fail_cost_no_result(recorder: LangSmithRecorder) -> None:
    recorder.refuse = 503
    ended = call(*RUN, "--langsmith", "--name", "x")
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["counts"]["planned"] == 24
    assert "24 could not be sent, but are safe in the store: `taugraph push x` sends them" in ended.stderr
    recorder.refuse = None
    assert call("push", "x").exit_code == 0
    assert_whole(recorder, json.loads(ended.stdout))


def test_a_run_that_is_killed_and_resumed_is_one_whole_experiment(recorder: LangSmithRecorder) -> None:
    words = [sys.executable, "-c", "from taugraph.cli import main; main()", *RUN, "--langsmith", "--name", "x"]
    process = subprocess.Popen(
        [*words, "--concurrency", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    )
    try:
        deadline = time.monotonic() + 60
        while len(recorder.roots()) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    finally:
        process.communicate(timeout=30)
    assert 5 <= len(recorder.roots()) < 24
    resumed = call("resume", "x", "--langsmith", "--json")
    assert resumed.exit_code == 0, resumed.output
    recorder.duplicates.clear()  # the trial that was being sent when the process died may come twice, under one id
    assert_whole(recorder, json.loads(resumed.stdout))


def test_nothing_is_sent_without_being_asked_for_whatever_the_environment_says(
    recorder: LangSmithRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    utils.get_env_var.cache_clear()
    environment = {**os.environ, "LANGSMITH_RUNS_ENDPOINTS": ""}
    words = [sys.executable, "-c", "from taugraph.cli import main; main()", *RUN, "--name", "x"]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120, check=True)
    assert json.loads(ended.stdout)["counts"]["planned"] == 24
    assert recorder.requests == []


def test_the_trace_grows_with_the_conversation_and_not_with_its_square(recorder: LangSmithRecorder) -> None:
    call(*RUN, "--langsmith", "--name", "x")
    for run in recorder.roots():
        words = len(json.dumps(run["outputs"]["messages"]))
        whole = sum(len(json.dumps(one)) for one in recorder.runs.values() if one.get("trace_id") == run["id"])
        bookkeeping = 1_500 * sum(one.get("trace_id") == run["id"] for one in recorder.runs.values())
        assert whole < 5 * words + bookkeeping


def test_gold_is_in_the_trace_of_the_score_only(recorder: LangSmithRecorder) -> None:
    call(*RUN, "--langsmith", "--name", "x")
    for run in recorder.runs.values():
        assert ("gold" in run["inputs"]) == (run["name"] == "score"), run["name"]


def test_pushing_tasks_twice_changes_nothing_and_a_changed_task_updates_its_example(
    recorder: LangSmithRecorder,
) -> None:
    first = json.loads(call("dataset", "push", "airline", "--json").stdout)
    tasks = load_domain("airline").tasks
    assert (len(first["added"]), first["changed"], first["same"]) == (len(tasks), [], 0)
    again = json.loads(call("dataset", "push", "airline", "--json").stdout)
    assert (again["added"], again["changed"], again["same"]) == ([], [], len(tasks))
    example = next(one for one in recorder.examples.values() if one["inputs"]["task_id"] == tasks[3].id)
    example["outputs"]["task"]["scenario"]["instructions"] = "You changed your mind."
    third = call("dataset", "push", "airline")
    assert f"0 added, 1 changed, {len(tasks) - 1} same\n  changed: {tasks[3].id}" in third.stdout
    assert example["outputs"]["task"]["scenario"]["instructions"] == tasks[3].scenario.instructions


def test_examples_hold_what_the_graph_takes_and_what_evaluators_need(recorder: LangSmithRecorder) -> None:
    call("dataset", "push", "airline")
    for example in recorder.examples.values():
        assert set(example["inputs"]) == {"task_id"}
        assert {"reward", "changes", "claims", "task"} <= example["outputs"].keys()
        assert example["split"]
        assert example["metadata"]["task_hash"]


def test_pulled_tasks_are_the_tasks_that_were_pushed(recorder: LangSmithRecorder) -> None:
    call("dataset", "push", "airline")
    pulled = call("dataset", "pull", "taugraph/airline", "--out", "tasks.jsonl")
    assert pulled.exit_code == 0, pulled.output
    tasks = load_domain("airline").tasks
    assert {task.id: task for task in load_tasks(Path("tasks.jsonl"))} == {task.id: task for task in tasks}
    refused = call("dataset", "pull", "taugraph/airline", "--out", "tasks.jsonl")
    assert refused.exit_code == 2
    assert "tasks.jsonl exists" in refused.stderr


def test_an_unknown_dataset_is_refused_with_those_that_exist(recorder: LangSmithRecorder) -> None:
    call("dataset", "push", "airline")
    ended = call("dataset", "pull", "taugraph/airlne")
    assert ended.exit_code == 2
    assert "did you mean 'taugraph/airline'?" in ended.stderr


def test_the_hosted_service_needs_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    utils.get_env_var.cache_clear()
    ended = call(*RUN, "--langsmith", "--name", "x")
    assert ended.exit_code == 2
    assert "set LANGSMITH_API_KEY" in ended.stderr
    assert json.loads(call("experiments", "--json").stdout) == []


def test_another_experiment_of_the_same_name_is_not_written_into(recorder: LangSmithRecorder) -> None:
    call(*RUN, "--langsmith", "--name", "x", "--store", "a.db")
    ended = call(*RUN, "--langsmith", "--name", "x", "--store", "b.db", "--seed", "1")
    assert ended.exit_code == 2
    assert "choose another name with --experiment-prefix" in ended.stderr
    assert len(recorder.roots()) == 24
