"""The results store under threads, event loops and real processes, killed ones included."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from support.store import ended, planned, rows

from taugraph.domains.errors import StoreError
from taugraph.experiments.store import Store, open_store
from taugraph.experiments.tables import TrialCount

WRITER = """
import sys
from taugraph.domains.errors import StoreError
from taugraph.domains.trial import Trial
from taugraph.experiments.store import Experiment, open_store

def trial(task_id, index, size=0):
    messages = [{"type": "ai", "content": "x" * size}]
    return Trial(task_id=task_id, trial=index, seed=index, termination="user_stop", reward=1.0, messages=messages)

path, *arguments = sys.argv[1:]
"""


def start_writer(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", WRITER + script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(*writers: subprocess.Popen[str]) -> list[str]:
    answers = [writer.communicate(timeout=60)[0].strip() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(writers)
    return answers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        opened.create_experiment(planned())
        yield opened


def test_threads_lose_no_trial(path: Path) -> None:
    with open_store(path) as store, ThreadPoolExecutor(8) as threads:
        store.create_experiment(planned(trials=40))
        places = store.missing("first")
        list(threads.map(lambda place: store.add_trial("first", ended(*place)), places))
        assert [(task_id, trial) for task_id, trial, _ in store.counts("first")] == sorted(places)


def test_threads_that_break_the_same_trial_get_a_number_each(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda seed: store.add_trial("first", ended(reward=None, seed=seed)), range(40)))
    kept = store.unscored("first")
    assert [attempt.attempt for attempt in kept] == list(range(40))
    assert {attempt.trial.seed for attempt in kept} == set(range(40))


def test_threads_that_score_the_same_trial_store_one_score(store: Store) -> None:
    def is_stored(seed: int) -> bool:
        try:
            store.add_trial("first", ended(seed=seed))
        except StoreError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        stored = list(threads.map(is_stored, range(16)))
    assert [trial.seed for trial in store.trials("first")] == [stored.index(True)]
    assert stored.count(True) == 1


def test_threads_that_open_a_new_store_at_once_all_open_it(tmp_path: Path) -> None:
    together = Barrier(8)

    def experiments_after_opening(path: Path) -> int:
        together.wait(timeout=60)
        with open_store(path) as store:
            return len(store.experiments())

    with ThreadPoolExecutor(8) as threads:
        for number in range(5):
            found = list(threads.map(experiments_after_opening, [tmp_path / f"{number}.sqlite"] * 8))
            assert found == [0] * 8


async def test_an_event_loop_writes_through_worker_threads(path: Path) -> None:
    with open_store(path) as store:
        store.create_experiment(planned(trials=30))
        places = store.missing("first")
        await asyncio.gather(*(asyncio.to_thread(store.add_trial, "first", ended(*place)) for place in places))
        assert store.missing("first") == []


def test_a_store_in_memory_is_one_store_for_all_threads() -> None:
    with open_store("sqlite://") as store, ThreadPoolExecutor(4) as threads:
        store.create_experiment(planned(trials=20))
        list(threads.map(lambda place: store.add_trial("first", ended(*place)), store.missing("first")))
        assert len(store.counts("first")) == 40


def test_two_processes_of_eight_threads_lose_no_trial(path: Path) -> None:
    script = """
from concurrent.futures import ThreadPoolExecutor
with open_store(path) as store, ThreadPoolExecutor(8) as threads:
    list(threads.map(lambda index: store.add_trial("first", trial(arguments[0], index, 1000)), range(60)))
"""
    with open_store(path) as store:
        store.create_experiment(planned(trials=60))
        finish(start_writer(script, path, "a"), start_writer(script, path, "b"))
        assert store.missing("first") == []
        assert len(store.trials("first")) == 120


def test_of_processes_that_create_one_experiment_in_a_new_store_exactly_one_wins(path: Path) -> None:
    script = """
import time
time.sleep(max(0.0, float(arguments[1]) - time.time()))
with open_store(path) as store:
    plan = Experiment(name="same", domain=arguments[0], fingerprint="f", package_version="0", scoring_version=1,
                      trials=1, task_ids=("a",))
    try:
        store.create_experiment(plan)
        print("won", arguments[0])
    except StoreError as error:
        print("lost" if "experiment 'same' exists" in str(error) else error)
"""
    start = str(time.time() + 2)
    answers = finish(*(start_writer(script, path, f"process-{number}", start) for number in range(8)))
    [winner] = [answer for answer in answers if answer != "lost"]
    with open_store(path) as store:
        assert winner == f"won {store.experiment('same').domain}"
        assert len(store.experiments()) == 1


def test_killed_writers_leave_every_finished_trial_once(path: Path) -> None:
    script = """
with open_store(path) as store:
    for task_id, index in store.missing("first"):
        store.add_trial("first", trial(task_id, index, 200_000))
        print(task_id, index, flush=True)
"""
    finished: list[tuple[str, int]] = []
    with open_store(path) as store:
        store.create_experiment(planned(trials=500))
    for _ in range(10):
        acknowledged = random.randrange(1, 20)
        with start_writer(script, path) as writer:
            assert writer.stdout is not None
            for line in writer.stdout:
                task_id, index = line.split()
                finished.append((task_id, int(index)))
                acknowledged -= 1
                if acknowledged == 0:
                    time.sleep(random.uniform(0, 0.02))
                    writer.kill()
        assert writer.returncode == -9
        with open_store(path) as store:
            stored = [(trial.task_id, trial.trial) for trial in store.trials("first")]
        assert len(set(stored)) == len(stored)
        assert set(finished) <= set(stored)
        assert len(set(finished)) == len(finished)
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]
        finished = stored


def test_a_transaction_that_was_killed_half_way_leaves_nothing(path: Path) -> None:
    script = """
import os, signal
from sqlalchemy import Engine, event
store = open_store(path)
event.listen(Engine, "commit", lambda connection: os.kill(os.getpid(), signal.SIGKILL))
store.add_trial("first", trial("a", 1))
"""
    with open_store(path) as store:
        store.create_experiment(planned())
        store.add_trial("first", ended("a", 0))
    with start_writer(script, path) as writer:
        writer.wait(timeout=60)
    assert writer.returncode == -9
    with open_store(path) as store:
        assert store.counts("first") == [TrialCount("a", 0, "passed")]
        store.add_trial("first", ended("a", 1))
