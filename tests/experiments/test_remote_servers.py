"""Two real LangGraph servers play what one process plays, and a server killed in the middle costs no trial."""

import asyncio
import json
import logging
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.langgraph_server import Serving, find_langgraph, served

from taugraph.domains.trial import Trial
from taugraph.experiments.run import Run, resume_run, start_run
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import Store, open_store

TASKS, TRIALS = 6, 4
SERVED = {
    "dependencies": ["."],
    "graphs": {"simulation": "taugraph.graphs.studio:graph"},
    "http": {"app": "taugraph.experiments.serving:app"},
    "env": {},
}


class Servers:
    """Servers that live as long as the module's tests, replaced where a test killed one."""

    def __init__(self, folder: Path, command: str, stack: ExitStack) -> None:
        self._folder, self._command, self._stack = folder, command, stack
        self._alive: list[Serving] = []
        self._number = 0

    def take(self, count: int) -> list[Serving]:
        """Return so many that run, starting what is lacking side by side."""
        self._alive = [server for server in self._alive if server.process.poll() is None]
        lacking = range(count - len(self._alive))
        with ThreadPoolExecutor(count) as pool:
            self._alive += pool.map(self._start, lacking)
        return self._alive[:count]

    def _start(self, index: int) -> Serving:
        self._number += 1
        folder = self._folder / f"{self._number}-{index}"
        folder.mkdir()
        (folder / "langgraph.json").write_text(json.dumps(SERVED))
        return self._stack.enter_context(served(folder, self._command))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    command = find_langgraph()
    if command is None:
        pytest.skip("langgraph-cli[inmem] is not installed")
    folder = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        yield Servers(folder, command, stack)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.chdir(tmp_path)
    with open_store(tmp_path / "results.db") as opened:
        yield opened


def start(store: Store, name: str, *playing: Serving, **given: Any) -> Run:
    base = {"agent": "demo:0.6", "limit": TASKS, "trials": TRIALS, "concurrency": 16}
    server = ",".join(one.url for one in playing) or None
    return start_run(load_settings(**base | {"server": server} | given), store, name)


def records(store: Store, name: str) -> list[dict[str, Any]]:
    exclude = {"started_at", "duration_s", "timeline"}
    return [trial.model_dump(mode="json", exclude=exclude) for trial in store.trials(name)]


def after(count: int, act: Callable[[], None]) -> Callable[[Trial], None]:
    """Return what acts once, after so many trials have been stored."""
    left = [count]

    def tell(trial: Trial) -> None:
        left[0] -= 1
        if left[0] == 0:
            act()

    return tell


def threads_on(server: Serving) -> int:
    return len(httpx.post(f"{server.url}/threads/search", json={"limit": 100}).json())


def test_two_runs_with_different_agents_on_the_same_servers_equal_local_ones(servers: Servers, store: Store) -> None:
    playing = servers.take(2)
    agents = {"often": "demo:0.3", "seldom": "demo:0.9"}
    runs = [start(store, name, *playing, agent=agent, trials=2) for name, agent in agents.items()]

    async def both() -> list[str | None]:
        return await asyncio.gather(*(run.play_async() for run in runs))

    assert asyncio.run(both()) == [None, None]
    for name, agent in agents.items():
        start(store, f"{name} here", agent=agent, trials=2).play()
        assert records(store, name) == records(store, f"{name} here")
    assert records(store, "often") != records(store, "seldom")
    assert [threads_on(server) for server in playing] == [0, 0]
    trial = store.trials("often")[0]
    assert [step.node for step in trial.timeline][:2] == ["user", "agent"]
    assert 0 < trial.duration_s < 30


def test_a_server_killed_in_the_middle_costs_no_trial_and_doubles_none(
    servers: Servers, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    staying, dying = servers.take(2)
    run = start(store, "far", staying, dying)
    told: list[tuple[str, int]] = []
    kill = after(5, dying.kill)

    def tell(trial: Trial) -> None:
        told.append((trial.task_id, trial.trial))
        kill(trial)

    with caplog.at_level(logging.WARNING, "taugraph"):
        assert run.play(tell) is None
    assert f"a server is left out until it answers again: {dying.url} cannot be reached" in caplog.text
    assert run.missing == 0
    assert len(told) == len(set(told)) == TASKS * TRIALS
    assert store.unscored("far") == []
    start(store, "near").play()
    assert records(store, "far") == records(store, "near")
    assert threads_on(staying) == 0


def test_when_both_are_killed_the_rest_is_missing_until_it_is_resumed_on_a_fresh_server(
    servers: Servers, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taugraph.experiments.remote.FLEET_PATIENCE_S", 1.0)
    playing = servers.take(2)
    run = start(store, "far", *playing)

    def kill() -> None:
        for server in playing:
            server.kill()

    assert run.play(after(5, kill)) is None
    done = len(store.counts("far"))
    assert 5 <= done < TASKS * TRIALS
    assert run.missing == TASKS * TRIALS - done
    assert {attempt.trial.failure.kind for attempt in store.unscored("far") if attempt.trial.failure} == {"no_server"}
    [fresh] = servers.take(1)
    again = resume_run("far", store, server=fresh.url)
    assert again.play() is None
    assert again.missing == 0
    start(store, "near").play()
    assert records(store, "far") == records(store, "near")
