"""What `taugraph studio` starts: a server of its own that plays recorded trials on with what they were played with."""

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from support.langgraph_server import find_langgraph
from support.langsmith_recorder import LangSmithRecorder
from support.store import ended, planned
from typer.testing import CliRunner, Result

from taugraph.cli import app
from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.domains.trial import Failure, Termination
from taugraph.experiments.store import open_store
from taugraph.experiments.studio import (
    MOST_TRIALS,
    OpenedTrial,
    context_of,
    rebuild_trials,
    register,
    settings_of,
    trials_to_open,
)
from taugraph.experiments.studio_server import StudioServer, serving
from taugraph.graphs.context import SimulationContext

TASK = "abroad-needs-both-roamings"
needs_server = pytest.mark.skipif(find_langgraph() is None, reason="langgraph-cli is not installed")

AGENTS = """
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

def make_agent(tools, policy):
    return RunnableLambda(lambda given: AIMessage("Said by an agent of one's own."))
"""


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Play an experiment with an agent whose file is named from the working directory."""
    place = tmp_path_factory.mktemp("own")
    before = Path.cwd()
    os.chdir(place)
    (place / "agents.py").write_text(AGENTS)
    played = call("run", "phone", "--tasks", TASK, "-k", "1", "--agent", "./agents.py:make_agent", "--name", "own")
    assert played.exit_code == 0, played.output
    yield place
    os.chdir(before)


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[tuple[StudioServer, OpenedTrial, LangSmithRecorder]]:
    """Open the experiment in a server whose environment asks for traces."""
    if find_langgraph() is None:
        pytest.skip("langgraph-cli is not installed")
    with open_store(folder / ".taugraph/results.db") as store:
        experiment, trials = store.experiment("own"), trials_to_open(store, "own", None)
    [one] = rebuild_trials(experiment, trials, folder / ".taugraph/checkpoints.db")
    with pytest.MonkeyPatch.context() as patch, LangSmithRecorder() as recorder:
        asks = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING_V2": "true", "LANGSMITH_API_KEY": "key"}
        for name, value in {**asks, "LANGSMITH_ENDPOINT": recorder.url}.items():
            patch.setenv(name, value)
        with serving(".taugraph/results.db", folder / ".taugraph/checkpoints.db", None) as server:
            asyncio.run(register(server.url, experiment, [one]))
            yield server, one, recorder
            assert "BlockingError" not in server.log.read_text(errors="replace")


async def test_a_recorded_trial_is_played_on_by_the_agent_of_its_experiment(
    opened: tuple[StudioServer, OpenedTrial, LangSmithRecorder],
) -> None:
    server, one, recorder = opened
    assert one.differs == ()
    async with get_client(url=server.url) as client:
        [thread] = await client.threads.search(metadata={"experiment": "own"})
        metadata = thread["metadata"]
        assert (thread["thread_id"], metadata["task_id"], metadata["trial"]) == (one.thread_id, TASK, 0)
        history = await client.threads.get_history(one.thread_id, limit=100)
        assert len(history) > len(one.trial.timeline)
        place = next(state for state in reversed(history) if state["next"] == ["agent"])
        ended = await client.runs.wait(
            one.thread_id, metadata["assistant"], checkpoint=place["checkpoint"], context=None
        )
        assert ended["termination"] == "user_stop"
        state = await client.threads.get_state(one.thread_id)
        assert state["values"]["messages"][1]["content"] == "Said by an agent of one's own."
    assert recorder.requests == []


async def test_what_is_opened_twice_stays_one_assistant_and_one_thread(
    opened: tuple[StudioServer, OpenedTrial, LangSmithRecorder], folder: Path
) -> None:
    server, one, _ = opened
    with open_store(folder / ".taugraph/results.db") as store:
        experiment = store.experiment("own")
    assert await register(server.url, experiment, [one]) == "own"
    async with get_client(url=server.url) as client:
        found = await client.assistants.search(limit=100)
        assert [assistant["name"] for assistant in found].count("own") == 1
        assert len(await client.threads.search(metadata={"experiment": "own"}, limit=100)) == 1


@needs_server
def test_one_command_opens_a_trial_and_leaves_nothing_behind_when_it_is_told_to_end(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, seen = f"http://127.0.0.1:{port}", []

    def end_when_it_is_there() -> None:
        deadline = time.monotonic() + 100
        while not seen and time.monotonic() < deadline:
            time.sleep(0.2)
            try:
                seen.extend(httpx.post(f"{url}/threads/search", json={}, timeout=5).raise_for_status().json())
            except httpx.HTTPError:
                continue
        os.kill(os.getpid(), signal.SIGTERM)

    watcher = threading.Thread(target=end_when_it_is_there)
    watcher.start()
    ended = call("studio", "own", f"{TASK}/0", "--no-browser", "--port", str(port))
    watcher.join()
    assert ended.exit_code == 130, ended.output
    assert [thread["metadata"]["task_id"] for thread in seen] == [TASK]
    assert ended.stdout.splitlines()[:3] == [
        f"Studio: https://smith.langchain.com/studio/?baseUrl={url}",
        f"API:    {url}/docs",
        "Assistant: own",
    ]
    assert ended.stdout.splitlines()[3].split() == [seen[0]["thread_id"], "failed", f"{TASK}/0"]
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{url}/ok", timeout=5)


@needs_server
def test_a_port_that_is_taken_is_refused_instead_of_another_servers_being_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(ConfigurationError, match=f"cannot use --port {port}: .*; choose another"),
            serving("r.db", tmp_path / "c.db", port),
        ):
            raise AssertionError("it must not come up")
    with pytest.raises(ConfigurationError, match="cannot use --port 70000"), serving("r.db", tmp_path / "c.db", 70_000):
        raise AssertionError("it must not come up")


def test_a_server_that_does_not_come_up_is_told_with_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin/langgraph"
    broken.write_text(f"#!{sys.executable}\nraise SystemExit('out of luck')\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    with (
        pytest.raises(ConfigurationError, match=r"did not come up at http.*server\.log, ends with: out of luck"),
        serving("r.db", tmp_path / "c.db", None),
    ):
        raise AssertionError("it must not come up")


def test_without_langgraphs_command_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with open_store("r.db") as store:
        store.create_experiment(planned("x", trials=1, task_ids=("a",)))
    ended = call("studio", "--store", "r.db")
    assert ended.exit_code == 2
    assert "pip install 'taugraph[studio]'" in ended.stderr


def test_failed_trials_come_first_then_broken_ones_and_not_too_many(tmp_path: Path) -> None:
    tasks = tuple(f"task/{number}" for number in range(MOST_TRIALS + 5))
    with open_store(tmp_path / "r.db") as store:
        store.create_experiment(planned("x", trials=2, task_ids=tasks))
        for number, task_id in enumerate(tasks):
            store.add_trial("x", ended(task_id, 0, float(number % 2)))
        for message in ("first", "last"):
            failure = Failure(kind="rate_limit", message=message, actor="agent")
            broken = ended(tasks[0], 1, None).model_copy(
                update={"failure": failure, "termination": Termination.INFRASTRUCTURE}
            )
            store.add_trial("x", broken)
        found = trials_to_open(store, "x", None)
        assert len(found) == MOST_TRIALS
        order = [trial.outcome for trial in found]
        assert order == ["failed"] * 28 + ["unscored"] + ["passed"] * 21
        [one] = trials_to_open(store, "x", f"{tasks[0]}/1")
        assert one.failure is not None
        assert one.failure.message == "last"
        assert [(trial.task_id, trial.trial) for trial in trials_to_open(store, "x", "task/7/0")] == [("task/7", 0)]
        for place in ("task/7/1", "task/7", "gone/0", "0"):
            with pytest.raises(UnknownNameError, match=f"no trial named '{place}'"):
                trials_to_open(store, "x", place)


def test_a_domain_that_has_lost_its_task_says_so_and_opens_the_others(tmp_path: Path) -> None:
    experiment = planned("x", trials=1, task_ids=("gone", TASK), configuration={"domain": "phone", "agent": "demo"})
    stop = {"termination": Termination.USER_STOP, "messages": [], "timeline": []}
    gone = ended("gone", 0, 0.0).model_copy(update=stop)
    [found] = rebuild_trials(experiment, [gone], tmp_path / "c.db")
    assert found.differs
    assert any("termination: was user_stop" in difference for difference in found.differs)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("agent", "./agents.py:make", "{}/agents.py:make"),
        ("agent", "agents.py:make", "{}/agents.py:make"),
        ("agent", "langgraph.json#mine", "{}/langgraph.json#mine"),
        ("agent", "sub/langgraph.json", "{}/sub/langgraph.json"),
        ("agent", "demo:0.5", "demo:0.5"),
        ("agent", "openai:gpt-4.1", "openai:gpt-4.1"),
        ("agent", "package.module:attr", "package.module:attr"),
        ("agent", "http://127.0.0.1:2024#a.json", "http://127.0.0.1:2024#a.json"),
        ("user", "scripted:talk.yaml", "scripted:{}/talk.yaml"),
        ("user", "human", "human"),
        ("data", "files", "{}/files"),
        ("data", None, None),
        ("domain", "shop", "{}/shop"),
        ("domain", "airline", "airline"),
        ("domain", "package.module:attr", "package.module:attr"),
        ("examples", "talks.jsonl", "{}/talks.jsonl"),
        ("examples", "an-experiment", "an-experiment"),
        ("personas", ["furious", "mine.md"], ["furious", "{}/mine.md"]),
    ],
)
def test_files_of_an_experiment_are_named_so_that_any_folder_leads_to_them(
    name: str, value: object, expected: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for made in ("shop", "airline"):
        (tmp_path / made).mkdir()
    (tmp_path / "talks.jsonl").touch()
    experiment = planned("x", trials=1, task_ids=("a",), configuration={name: value})
    context = context_of(experiment)
    assert context[name] == json.loads(json.dumps(expected).replace("{}", str(tmp_path)))
    SimulationContext.model_validate(context)


def test_an_experiment_played_with_a_key_opens_without_it() -> None:
    options = {"api_key": "***", "temperature": 0, "default_headers": {"x": "***"}, "stop": ["a"]}
    experiment = planned("x", trials=1, task_ids=("a",), configuration={"agent_options": options})
    assert settings_of(experiment).agent_options == {"temperature": 0, "default_headers": {}, "stop": ["a"]}
