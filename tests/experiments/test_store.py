"""The results store, on real SQLite files."""

import json
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from support.store import ended, planned, rows

from taugraph.domains.errors import StoreError, UnknownNameError
from taugraph.domains.trial import SCORING_VERSION, Failure, Score, Termination, Trial, Usage
from taugraph.experiments.store import Store, open_store
from taugraph.experiments.tables import SCHEMA_VERSION, ExperimentSummary, TrialCount


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        opened.create_experiment(planned())
        yield opened


def test_an_experiment_is_read_back_as_it_was_created(path: Path) -> None:
    east = timezone(timedelta(hours=5))
    experiment = planned(kind="replay", privileged=True, created_at=datetime(2026, 3, 1, 2, 30, tzinfo=east))
    with open_store(path) as store:
        store.create_experiment(experiment)
    with open_store(str(path)) as store:
        found = store.experiment("first")
    assert found == experiment
    assert found.created_at == datetime(2026, 2, 28, 21, 30, tzinfo=UTC)
    assert found.created_at.tzinfo is UTC


def test_an_experiment_that_exists_is_not_created_again(store: Store) -> None:
    with pytest.raises(
        StoreError, match=r"^experiment 'first' exists: choose another --name or .*`taugraph resume first`$"
    ):
        store.create_experiment(planned(domain="retail"))
    assert store.experiment("first").domain == "airline"


def test_an_experiment_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        planned().trials = 3  # type: ignore[misc] # that is what is tested


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task_ids": ("a", "a")}, "none twice"),
        ({"task_ids": ()}, "at least one task"),
        ({"trials": 0}, "greater than or equal to 1"),
        ({"name": "a\0b"}, "cannot be a key"),
        ({"task_ids": ("\ud800",)}, "cannot be a key"),
        ({"name": ""}, "cannot be a key"),
        ({"kind": "rerun"}, "'run' or 'replay'"),
        ({"modle": "x"}, "[Ee]xtra"),
    ],
)
def test_a_plan_that_no_store_can_keep_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        planned(**changes)


def test_an_unknown_experiment_suggests_a_near_name(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="no experiment named 'frist': known are first; did you mean 'first'"):
        store.experiment("frist")


@pytest.mark.parametrize("read", [Store.trials, Store.counts, Store.unscored, Store.missing])
def test_every_question_about_an_unknown_experiment_is_refused(
    store: Store, read: Callable[[Store, str], object]
) -> None:
    with pytest.raises(UnknownNameError, match="no experiment named 'second'"):
        read(store, "second")


def test_a_trial_of_an_unknown_experiment_is_refused(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="no experiment named 'second'"):
        store.add_trial("second", ended())


def test_a_trial_is_read_back_whole(store: Store) -> None:
    trial = ended(
        reward=0.5,
        seed=2**80,
        scores=[Score(key="database_matches_goal", value=None, evidence=[{"table": "users", "cells": [1, 2.5, None]}])],
        messages=[{"type": "ai", "content": "Hi", "tool_calls": [{"name": "f", "args": {"big": 10**30}}]}],
        changes={"users": {'["u1"]': [None, {"user_id": "u1", "credit_cents": 5}]}},
        notes={"deferred_stops": 1},
        usage={"agent": Usage(calls=3, input_tokens=10)},
        failure=Failure(kind="agent_raised", message="no", actor="agent", traceback="line 1\nline 2"),
        started_at=datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC),
        duration_s=1.25,
        turns=3,
    )
    store.add_trial("first", trial)
    assert store.trials("first") == [trial]


def test_what_lists_need_stands_in_columns(store: Store, path: Path) -> None:
    moment = datetime(2026, 3, 1, 12, 0, tzinfo=timezone(timedelta(hours=2)))
    store.add_trial("first", ended(reward=0.5, turns=3, steps=4, tool_errors=1, duration_s=1.5, started_at=moment))
    columns = "seed, termination, reward, outcome, turns, steps, tool_errors, duration_s, started_at, scoring_version"
    expected = ("7", "user_stop", 0.5, "failed", 3, 4, 1, 1.5, "2026-03-01 10:00:00.000000", SCORING_VERSION)
    assert rows(path, f"SELECT {columns} FROM trials") == [expected]
    assert rows(path, "SELECT json_extract(record, '$.task_id') FROM trials") == [("a",)]


def test_a_second_score_for_a_trial_is_refused_and_the_first_stands(store: Store) -> None:
    store.add_trial("first", ended(reward=0.0))
    with pytest.raises(StoreError, match="trial 0 of task 'a' in experiment 'first' is scored already"):
        store.add_trial("first", ended(reward=1.0, seed=8))
    assert [trial.reward for trial in store.trials("first")] == [0.0]


def test_the_same_trial_of_two_experiments_is_two_trials(store: Store) -> None:
    store.create_experiment(planned("second"))
    store.add_trial("first", ended(reward=0.0))
    store.add_trial("second", ended(reward=1.0))
    assert store.counts("first") == [TrialCount("a", 0, "failed")]
    assert store.counts("second") == [TrialCount("a", 0, "passed")]


@pytest.mark.parametrize(("task_id", "trial"), [("c", 0), ("a", 2), ("\ud800", 0)])
def test_a_trial_that_was_not_planned_is_refused(store: Store, task_id: str, trial: int) -> None:
    with pytest.raises(StoreError, match="was not planned: the plan has 2 trials of 2 tasks"):
        store.add_trial("first", ended(task_id, trial))
    assert store.counts("first") == []


def test_trials_come_ordered_by_task_and_trial(store: Store) -> None:
    for task_id, trial in [("b", 1), ("a", 1), ("b", 0), ("a", 0)]:
        store.add_trial("first", ended(task_id, trial, reward=float(trial)))
    assert [(trial.task_id, trial.trial) for trial in store.trials("first")] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert [trial.trial for trial in store.trials("first", "b")] == [0, 1]
    assert store.counts("first") == [
        TrialCount("a", 0, "failed"),
        TrialCount("a", 1, "passed"),
        TrialCount("b", 0, "failed"),
        TrialCount("b", 1, "passed"),
    ]


def test_broken_attempts_are_numbered_and_never_counted(store: Store) -> None:
    limited = Failure(kind="rate_limit", message="429")
    store.add_trial("first", ended("a", 0, None, failure=limited, seed=1))
    store.add_trial("first", ended("b", 0, None, seed=2))
    store.add_trial("first", ended("a", 0, None, failure=limited, seed=3))
    attempts = [(kept.trial.task_id, kept.attempt, kept.cause, kept.trial.seed) for kept in store.unscored("first")]
    assert attempts == [("a", 0, "rate_limit", 1), ("b", 0, "unknown", 2), ("a", 1, "rate_limit", 3)]
    assert store.trials("first") == []
    assert store.counts("first") == []
    assert ("a", 0) in store.missing("first")


def test_a_broken_attempt_keeps_its_transcript(store: Store) -> None:
    trial = ended(
        reward=None, messages=[{"type": "human", "content": "Hello"}], failure=Failure(kind="k\0\ud800", message="")
    )
    store.add_trial("first", trial)
    [kept] = store.unscored("first")
    assert kept.trial == trial
    assert kept.cause == r"k\x00\ud800"


def test_missing_is_the_plan_without_what_is_scored_in_the_order_of_the_plan(store: Store) -> None:
    assert store.missing("first") == [("b", 0), ("b", 1), ("a", 0), ("a", 1)]
    store.add_trial("first", ended("b", 1))
    store.add_trial("first", ended("a", 0, None))
    assert store.missing("first") == [("b", 0), ("a", 0), ("a", 1)]


def test_experiments_are_listed_newest_first_with_their_counts(store: Store) -> None:
    older = planned("older", created_at=datetime(2020, 1, 1, tzinfo=UTC), trials=3)
    store.create_experiment(older)
    for trial in [
        ended("a", 0, 1.0),
        ended("a", 1, 0.5),
        ended("a", 2, 0.0),
        ended("b", 0, None),
        ended("b", 0, None),
        ended("b", 1, None),
        ended("b", 1, 1.0),
    ]:
        store.add_trial("older", trial)
    newest, oldest = store.experiments()
    assert newest == ExperimentSummary(store.experiment("first"), passed=0, failed=0, unscored=0, planned=4)
    assert oldest == ExperimentSummary(older, passed=2, failed=2, unscored=1, planned=6)


def test_listing_and_counting_load_no_record(store: Store, path: Path) -> None:
    store.add_trial("first", ended())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE trials SET record = 'not json'")
    assert store.counts("first") == [TrialCount("a", 0, "passed")]
    assert store.experiments()[0].passed == 1
    assert ("a", 0) not in store.missing("first")
    with pytest.raises(StoreError, match="cannot read the trials of 'first'"):
        store.trials("first")


def test_adding_a_trial_rewrites_no_other_row(path: Path) -> None:
    with open_store(path) as store:
        store.create_experiment(planned(trials=100))
        for trial in range(100):
            before = rows(path, "SELECT rowid, * FROM trials ORDER BY rowid")
            store.add_trial("first", ended("b", trial, messages=[{"content": "x" * trial}]))
            after = rows(path, "SELECT rowid, * FROM trials ORDER BY rowid")
            assert after[:-1] == before
            assert after[-1][0] == trial + 1


def test_numbers_that_json_lacks_become_text(store: Store, path: Path) -> None:
    odd = [float("nan"), float("inf"), float("-inf")]
    store.add_trial("first", ended(messages=[{"odd": odd}], notes={"odd": odd[0]}, duration_s=odd[0]))
    [trial] = store.trials("first")
    assert trial.messages == [{"odd": ["nan", "inf", "-inf"]}]
    assert trial.notes == {"odd": "nan"}
    assert rows(path, "SELECT json_valid(record), duration_s FROM trials") == [(1, None)]


def test_values_that_json_lacks_become_text(store: Store) -> None:
    message = {"bytes": b"\xff", "when": datetime(2026, 3, 1, tzinfo=UTC), "pair": (1, 2), 1: {2: 3}, "kind": object}
    store.add_trial("first", ended(messages=[{"odd": message}]))
    expected = {
        "bytes": "_w==",
        "when": "2026-03-01T00:00:00Z",
        "pair": [1, 2],
        "1": {"2": 3},
        "kind": "<class 'object'>",
    }
    assert store.trials("first")[0].messages == [{"odd": expected}]


def test_odd_text_is_stored_as_ascii_and_read_back(store: Store, path: Path) -> None:
    text = "\0 \ud800 \udcff \U0001f600 \u2028"
    store.add_trial("first", ended(messages=[{text: text}]))
    assert store.trials("first")[0].messages == [{text: text}]
    [(record,)] = rows(path, "SELECT record FROM trials")
    assert record.isascii()
    assert "\0" not in record


# Two halves of a pair side by side are the character they spell, in JSON as everywhere: `loads` joins them.
odd_text = st.text(st.characters(), max_size=8).map(lambda text: json.loads(json.dumps(text)))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | odd_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(odd_text, json_values, max_size=3)
trials = st.builds(
    Trial,
    task_id=st.just("a"),
    trial=st.just(0),
    seed=st.integers(),
    termination=st.sampled_from(Termination),
    reward=st.floats(0, 1),
    scores=st.lists(st.builds(Score, key=odd_text, value=st.floats(0, 1), evidence=st.lists(json_objects, max_size=2))),
    messages=st.lists(json_objects, max_size=4),
    changes=st.dictionaries(odd_text, st.dictionaries(odd_text, st.lists(json_objects | st.none(), max_size=2))),
    turns=st.integers(0, 1000),
    notes=json_objects,
    usage=st.dictionaries(odd_text, st.builds(Usage), max_size=2),
    failure=st.none() | st.builds(Failure, kind=odd_text, message=odd_text, traceback=st.none() | odd_text),
    started_at=st.none() | st.datetimes(timezones=st.just(UTC)),
    duration_s=st.floats(0, allow_nan=False, allow_infinity=False),
)


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Iterator[int]]]:
    with open_store(tmp_path_factory.mktemp("shared") / "store.sqlite") as opened:
        yield opened, count()


@settings(deadline=None, max_examples=50)
@given(trial=trials)
def test_any_trial_is_read_back_as_it_was_written(shared_store: tuple[Store, Iterator[int]], trial: Trial) -> None:
    store, numbers = shared_store
    name = f"example-{next(numbers)}"
    store.create_experiment(planned(name))
    store.add_trial(name, trial)
    assert store.trials(name) == [trial]


def test_a_store_is_reopened_with_what_it_holds(store: Store, path: Path) -> None:
    store.add_trial("first", ended())
    store.close()
    with open_store(f"sqlite:///{path}") as again:
        assert again.counts("first") == [TrialCount("a", 0, "passed")]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_a_setup_that_was_cut_short_is_completed(path: Path) -> None:
    with open_store(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE unscored")
    with open_store(path) as store:
        store.create_experiment(planned())
        assert store.unscored("first") == []


@pytest.mark.parametrize("place", ["file/store.sqlite", "file/below/store.sqlite", "folder"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=rf"^cannot open the results store .*{place}: .*; give a writable file.*$"):
        open_store(tmp_path / place)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc, a folder that not even root can write")
def test_a_folder_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(StoreError, match=r"results store /proc/store\.sqlite: unable to open database file; give"):
        open_store("/proc/store.sqlite")


def test_a_store_that_can_only_be_read_is_refused_before_any_trial(store: Store, path: Path) -> None:
    with pytest.raises(StoreError, match="attempt to write a readonly database; give a writable file"):
        open_store(f"sqlite:///file:{path}?mode=ro&uri=true")


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a database " * 100)
    with pytest.raises(StoreError, match=r"notes.txt: file is not a database; give a writable file"):
        open_store(notes)
    assert notes.read_text() == "not a database " * 100


def test_a_database_with_tables_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE trials (id INTEGER)")
    with pytest.raises(StoreError, match="tables of another program: trials; give another database"):
        open_store(other)
    assert rows(other, "SELECT name FROM sqlite_master") == [("trials",)]


def test_a_store_of_another_schema_is_refused_by_naming_both_versions(path: Path) -> None:
    with open_store(path):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE taugraphstore SET value = '99'")
    with pytest.raises(StoreError, match=rf"schema version 99 and this taugraph reads version {SCHEMA_VERSION}"):
        open_store(path)


@pytest.mark.parametrize(
    "url", ["nodatabase://x", "postgresql://me:secret@127.0.0.1:1/db", "two words://me:secret@x:y:z"]
)
def test_a_url_that_leads_nowhere_is_refused_without_showing_its_password(url: str) -> None:
    with pytest.raises(StoreError, match=r"^cannot open the results store [\w ]+://\.\.\.: .*; give") as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


def test_a_home_folder_of_nobody_is_refused() -> None:
    with pytest.raises(StoreError, match="cannot open the results store ~nobody-by-this-name/store"):
        open_store("~nobody-by-this-name/store")


def test_a_failed_write_says_what_to_do_and_shows_no_record(store: Store, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE trials")
    message = (
        r"^cannot store trial 0 of task 'a' in experiment 'first': no such table: trials; make the store usable.*$"
    )
    with pytest.raises(StoreError, match=message):
        store.add_trial("first", ended(messages=[{"content": "private"}]))


@pytest.mark.skipif("TAUGRAPH_TEST_POSTGRES_URL" not in os.environ, reason="TAUGRAPH_TEST_POSTGRES_URL is not set")
def test_a_postgresql_store_behaves_as_an_sqlite_one() -> None:
    name = f"test-{uuid.uuid4()}"
    odd = [{"text": "\0\ud800", "number": float("nan")}]
    with open_store(os.environ["TAUGRAPH_TEST_POSTGRES_URL"]) as store, ThreadPoolExecutor(8) as threads:
        store.create_experiment(planned(name, trials=20))
        with pytest.raises(StoreError, match="exists: choose another"):
            store.create_experiment(planned(name))
        list(threads.map(lambda seed: store.add_trial(name, ended(reward=None, seed=seed)), range(20)))
        list(threads.map(lambda place: store.add_trial(name, ended(*place, messages=odd)), store.missing(name)))
        with pytest.raises(StoreError, match="is scored already"):
            store.add_trial(name, ended())
        assert [kept.attempt for kept in store.unscored(name)] == list(range(20))
        assert store.missing(name) == []
        assert store.trials(name)[0].messages == [{"text": "\0\ud800", "number": "nan"}]
        [summary] = [summary for summary in store.experiments() if summary.experiment.name == name]
        assert summary[1:] == (40, 0, 0, 40)
