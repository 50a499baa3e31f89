"""A run plays every planned trial once, whatever interrupts it, and its results do not depend on how it was run."""

import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import Fault, OpenAIServer
from support.tiny_airline import PASSWORD, Place, TinyAirlineScript, write_tiny_airline

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, StoreError, TaskInvalidError, UnknownNameError
from taugraph.domains.trial import Termination, Trial
from taugraph.experiments.run import Run, as_counted, keeper, new_name, report_on, resume_run, start_run
from taugraph.experiments.schedule import in_rounds
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import Store, open_store
from taugraph.graphs.users.demo import DemoUser

TASKS, TRIALS = 6, 4
GRID = set(in_rounds([str(index) for index in range(TASKS)], TRIALS))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_tiny_airline(tmp_path / "data", tasks=TASKS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "results.db") as opened:
        yield opened


def options(server: OpenAIServer, **more: Any) -> dict[str, Any]:
    return {"base_url": server.base_url, "api_key": "local", **more}


def over_http(server: OpenAIServer, data: Path, **given: Any) -> dict[str, Any]:
    spoken = {"agent_options": options(server), "user_options": options(server)}
    base = {"agent": "openai:scripted", "user": "openai:scripted", "data": data, "trials": TRIALS, "concurrency": 16}
    return base | spoken | {"attempts": 1} | given


def passes(place: Place) -> bool:
    """Task 0 always, task 1 never, the others every other time."""
    task, trial = int(place[0]), place[1]
    return task == 0 or (task != 1 and trial % 2 == 0)


def script_for(data: Path, **given: Any) -> TinyAirlineScript:
    return TinyAirlineScript(load_domain("airline", data).tasks, trials=TRIALS, **given)


def outcomes(store: Store, name: str) -> dict[Place, str]:
    return {(row.task_id, row.trial): row.outcome for row in store.counts(name)}


def comparable(trial: Trial) -> dict[str, Any]:
    record = trial.model_dump(mode="json", exclude={"started_at", "duration_s", "timeline"})
    for message in record["messages"]:
        message["data"].get("response_metadata", {}).pop("id", None)  # the provider's own, new for each answer
    return record


def test_a_run_over_http_gives_the_right_results_at_concurrency_16(data: Path, store: Store) -> None:
    script = script_for(data, passes=passes, delay_s=0.01)
    with OpenAIServer(script) as server:
        run = start_run(load_settings(**over_http(server, data)), store, "http")
        assert run.play() is None
    assert outcomes(store, "http") == {place: "passed" if passes(place) else "failed" for place in GRID}
    assert script.openings == Counter(GRID)
    assert 4 < server.peak_in_flight <= 16
    report = report_on("http", store)
    assert (report.counts.passed, report.counts.failed, report.counts.unscored) == (12, 12, 0)
    assert report.pass_hat_k[1].value == pytest.approx(0.5)
    assert report.pass_hat_k[4].value == pytest.approx(1 / 6)
    assert report.note is None


@pytest.mark.parametrize("agent", ["demo:0.6", "openai:scripted"])
def test_results_are_the_same_at_concurrency_1_and_16(data: Path, store: Store, agent: str) -> None:
    records: dict[int, list[dict[str, Any]]] = {}
    with OpenAIServer(script_for(data, passes=passes)) as server:
        spoken = over_http(server, data, trials=2) if agent != "demo:0.6" else {"data": data, "agent": agent}
        for concurrency in (1, 16):
            name = f"at {concurrency}"
            start_run(load_settings(**spoken | {"concurrency": concurrency}), store, name).play()
            records[concurrency] = [comparable(trial) for trial in store.trials(name)]
    assert records[1] == records[16]
    assert len({record["seed"] for record in records[1]}) == len(records[1])
    assert len({record["reward"] for record in records[1]}) == 2


def test_trials_a_provider_broke_are_kept_apart_and_resume_plays_just_those(data: Path, store: Store) -> None:
    broken = {("0", 1), ("3", 0)}
    faults = {place: Fault(500, "overloaded") for place in broken}
    script = script_for(data, fault=faults.get)
    with OpenAIServer(script) as server:
        settings = over_http(server, data)
        assert start_run(load_settings(**settings), store, "x").play() is None
        assert set(store.missing("x")) == broken
        report = report_on("x", store)
        assert (report.counts.passed, report.counts.unscored, report.counts.planned) == (22, 2, 24)
        assert report.pass_hat_k[1].value == 1.0
        faults.clear()
        secrets = {name: settings[name] for name in ("agent_options", "user_options")}
        assert resume_run("x", store, **secrets).play() is None
    assert store.missing("x") == []
    assert script.openings == Counter(GRID) + Counter(broken)
    assert report_on("x", store).counts.unscored == 0
    assert len(store.unscored("x")) == 2


def test_a_refused_key_stops_the_run_and_says_what_to_do(data: Path, store: Store) -> None:
    script = script_for(data, fault=lambda place: Fault(401, "bad key"))
    with OpenAIServer(script) as server:
        ended = start_run(load_settings(**over_http(server, data, concurrency=2)), store, "x").play()
    assert ended is not None
    assert "bad key" in ended
    assert "give a valid key in the environment or in --agent-options, then resume" in ended
    assert sum(script.openings.values()) <= 4
    assert store.counts("x") == []


def test_an_interrupted_run_goes_on_where_it_stopped(data: Path, store: Store) -> None:
    script = script_for(data)
    with OpenAIServer(script) as server:
        settings = over_http(server, data, concurrency=3)
        run = start_run(load_settings(**settings), store, "x")
        assert run.play(lambda trial: run.interrupt.request() if not run.interrupt.requests else None) == "interrupted"
        assert 0 < len(store.counts("x")) <= 4
        assert run.missing == len(GRID) - len(store.counts("x"))
        again = resume_run("x", store, agent_options=options(server), user_options=options(server), concurrency=16)
        assert again.play() is None
    assert script.openings == Counter(GRID)
    assert again.missing == 0


def test_a_run_whose_store_fails_ends_and_keeps_what_was_stored(data: Path, store: Store, tmp_path: Path) -> None:
    run = start_run(load_settings(data=data, concurrency=2), store, "x")
    stored: list[Trial] = []

    def rename(old: str, new: str) -> None:
        with closing(sqlite3.connect(tmp_path / "results.db")) as connection:
            connection.execute(f"ALTER TABLE {old} RENAME TO {new}")

    def lose_the_table(trial: Trial) -> None:
        stored.append(trial)
        if len(stored) == 3:
            rename("trials", "gone")

    with pytest.raises(StoreError, match=r"cannot store trial .*: no such table: trials; make the store usable"):
        run.play(lose_the_table)
    rename("gone", "trials")
    assert {(trial.task_id, trial.trial) for trial in stored} <= outcomes(store, "x").keys()
    assert len(outcomes(store, "x")) <= len(stored) + 1


def test_a_trial_that_another_process_scored_meanwhile_stands_and_the_run_goes_on(
    data: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    started = start_run(load_settings(data=data, agent="demo:0", concurrency=1), store, "x")
    other = resume_run("x", store)
    finished: list[Trial] = []

    def let_the_other_finish(trial: Trial) -> None:
        finished.append(trial)
        if len(finished) == 1:
            for place in store.missing("x"):
                store.add_trial("x", trial.model_copy(update={"task_id": place[0], "trial": place[1], "reward": 0.0}))

    with caplog.at_level(logging.WARNING):
        assert started.play(let_the_other_finish) is None
    assert "was scored by another process: that stands" in caplog.text
    assert Counter(outcomes(store, "x").values()) == {"passed": 1, "failed": 23}
    assert other.play() is None


async def test_a_trial_that_was_not_planned_is_not_taken_for_one_scored_elsewhere(data: Path, store: Store) -> None:
    demo(data, store)._stage.close()
    trial = Trial(task_id="0", trial=99, seed=0, termination=Termination.USER_STOP, reward=1.0)
    with pytest.raises(StoreError, match="was not planned"):
        await keeper("x", store, print)(trial)


def demo(data: Path, store: Store, **given: Any) -> Run:
    return start_run(load_settings(**({"data": data, "trials": 1} | given)), store, "x")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda data: edit(data / "users.json", '"gold"', '"silver"'), "seed_data"),
        (lambda data: edit(data / "wiki.md", "Help", "Hinder"), "policy"),
        (lambda data: edit(data / "tasks_test.json", "caller 0", "caller zero"), "tasks"),
    ],
)
def test_a_resume_on_changed_data_is_refused_by_naming_what_changed(
    data: Path, store: Store, change: Callable[[Path], None], key: str
) -> None:
    demo(data, store)._stage.close()
    change(data)
    with pytest.raises(ConfigurationError, match=rf"'x' cannot go on under other conditions \({key}: was [^;]*\);"):
        resume_run("x", store)
    assert len(store.missing("x")) == TASKS


def test_a_resume_under_a_changed_user_prompt_is_refused(
    data: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo(data, store)._stage.close()
    monkeypatch.setattr(DemoUser, "instructions", "Be kind.", raising=False)
    with pytest.raises(ConfigurationError, match="user_prompt: was"):
        resume_run("x", store)


@pytest.mark.parametrize(("given", "key"), [({"agent": "demo:0.9"}, "agent"), ({"seed": 5}, "seed")])
def test_a_resume_with_another_agent_or_seed_is_refused(
    data: Path, store: Store, given: dict[str, Any], key: str
) -> None:
    demo(data, store)._stage.close()
    with pytest.raises(ConfigurationError, match=rf"\({key}: was"):
        resume_run("x", store, **given)


def test_a_resume_on_data_that_moved_goes_on(data: Path, store: Store, tmp_path: Path) -> None:
    demo(data, store)._stage.close()
    moved = data.rename(tmp_path / "moved")
    assert resume_run("x", store, data=moved).play() is None
    assert store.missing("x") == []


def test_secrets_never_reach_the_store_and_are_asked_for_again(data: Path, store: Store, tmp_path: Path) -> None:
    with OpenAIServer(script_for(data)) as server:
        secret = options(server, api_key=PASSWORD)
        given = over_http(server, data, agent_options=secret, trials=1, default_headers=None)
        given.pop("default_headers")
        start_run(load_settings(**given), store, "x").play()
    store.close()
    for path in tmp_path.glob("results.db*"):
        assert PASSWORD.encode() not in path.read_bytes()
    with pytest.raises(ConfigurationError, match="a secret in --agent-options; give --agent-options again"):
        resume_run("x", store)


def test_a_finished_run_resumed_plays_nothing(data: Path, store: Store) -> None:
    demo(data, store).play()
    before = [trial.model_dump() for trial in store.trials("x")]
    again = resume_run("x", store)
    assert again.missing == 0
    assert again.play() is None
    assert [trial.model_dump() for trial in store.trials("x")] == before


def test_an_experiment_that_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="no experiment named 'y'"):
        resume_run("y", store)
    with pytest.raises(UnknownNameError, match="no experiment named 'y'"):
        report_on("y", store)


@pytest.mark.parametrize("name", ["two words", "a/b", "Größe Ω 漢字", "--json", "it's", "..", "a\nb"])
def test_any_readable_name_will_do(data: Path, store: Store, name: str) -> None:
    start_run(load_settings(data=data, trials=1, limit=1, agent="demo:0"), store, name).play()
    assert report_on(name, store).counts.passed == 1


def test_a_name_that_no_database_holds_is_refused(data: Path, store: Store) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot plan experiment .*; choose another --name"):
        start_run(load_settings(data=data), store, "a\udc80")
    assert store.experiments() == []


def test_a_name_that_is_made_up_says_the_domain_and_is_new_each_time() -> None:
    assert new_name("my_package.worlds:hotel").startswith("worlds-")
    assert len({new_name("airline") for _ in range(50)}) == 50


def test_nothing_is_stored_when_setting_up_fails(tmp_path: Path, data: Path, store: Store) -> None:
    bad = write_tiny_airline(tmp_path / "bad", gold={"name": "cancel_reservation", "kwargs": {"reservation_id": "?"}})
    with pytest.raises(TaskInvalidError, match="task '0' cannot be scored"):
        start_run(load_settings(data=bad), store, "x")
    assert store.experiments() == []


def test_a_report_is_built_without_transcripts(data: Path, store: Store) -> None:
    demo(data, store).play()
    (trial, *_) = store.trials("x")
    slim = as_counted(trial)
    assert len(slim.model_dump_json()) < len(trial.model_dump_json()) / 2
    assert (slim.outcome, slim.scores, slim.usage) == (trial.outcome, trial.scores, trial.usage)
    assert json.loads(report_on("x", store).model_dump_json())["counts"]["planned"] == TASKS
