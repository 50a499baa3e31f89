"""At home on LangGraph's server: run, watch, interrupt, edit, fork, recorded trials, and results over HTTP."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from starlette.testclient import TestClient
from support.langgraph_server import find_langgraph, langgraph_server
from typer.testing import CliRunner, Result

import taugraph
from taugraph.cli import app
from taugraph.domains.protocol import PROTOCOLS
from taugraph.domains.trial import SCORING_VERSION
from taugraph.experiments.serving import app as routes
from taugraph.experiments.store import open_store
from taugraph.experiments.studio import rebuild_trials, register, trials_to_open
from taugraph.graphs.agents.strategies import STRATEGIES
from taugraph.graphs.users.building import STRATEGIES as USER_STRATEGIES

CANCEL = "cancel-within-a-day"
DEMO = {"agent": "demo:0"}


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Play an experiment whose trials keep one record each."""
    place = tmp_path_factory.mktemp("studio")
    before = Path.cwd()
    os.chdir(place)
    played = call("run", "airline", "--limit", "3", "-k", "2", "--agent", "demo:0.5", "--name", "x", "--store", "r.db")
    assert played.exit_code == 0, played.output
    yield place
    os.chdir(before)


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    command = find_langgraph()
    if command is None:
        pytest.skip("langgraph-cli is not installed")
    shutil.copy(Path(taugraph.__file__).with_name("langgraph.json"), folder / "langgraph.json")
    os.environ |= {"TAUGRAPH_STORE": str(folder / "r.db"), "TAUGRAPH_CHECKPOINTS": str(folder / "checkpoints.db")}
    try:
        with langgraph_server(folder, command) as url:
            yield url
        log = (folder / "server.log").read_text(errors="replace")
        assert "BlockingError" not in log
    finally:
        del os.environ["TAUGRAPH_STORE"], os.environ["TAUGRAPH_CHECKPOINTS"]


async def test_every_domain_has_a_graph_with_schemas_and_a_readable_drawing(client: LangGraphClient) -> None:
    served = {assistant["graph_id"]: assistant for assistant in await client.assistants.search()}
    assert set(served) == {"simulation", "airline", "retail", "phone"}
    schemas = await client.assistants.get_schemas(served["retail"]["assistant_id"])
    context = schemas["context_schema"]["properties"]
    assert context["domain"]["default"] == "retail"
    assert all("default" in field and "description" in field for field in context.values())
    choices = {"strategy": STRATEGIES, "user_strategy": USER_STRATEGIES, "protocol": PROTOCOLS}
    assert {name: context[name]["enum"] for name in choices} == {name: [*known] for name, known in choices.items()}
    assert set(schemas["input_schema"]["properties"]) == {"task_id", "trial", "seed"}
    drawn = await client.assistants.get_graph(served["phone"]["assistant_id"])
    assert {"user", "agent", "tools", "user_tools", "score"} <= {node["id"] for node in drawn["nodes"]}


async def test_a_trial_runs_streams_and_keeps_its_history(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    seen: list[str] = []
    async for part in client.runs.stream(
        thread["thread_id"], "airline", input={"task_id": CANCEL}, context=DEMO, stream_mode="updates"
    ):
        seen += list(part.data) if part.event == "updates" else []
    assert (seen[:2], seen[-1]) == (["user", "agent"], "score")
    state = await client.threads.get_state(thread["thread_id"])
    assert state["values"]["reward"] == 1.0
    assert len(await client.threads.get_history(thread["thread_id"], limit=100)) > len(seen)


async def test_an_edited_and_forked_trial_has_the_database_of_that_moment(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    await client.runs.wait(thread["thread_id"], "airline", input={"task_id": CANCEL}, context=DEMO)
    history = await client.threads.get_history(thread["thread_id"], limit=100)
    place = next(state for state in reversed(history) if state["next"] == ["agent"])
    last = place["values"]["messages"][-1]
    edited = await client.threads.update_state(
        thread["thread_id"],
        {"messages": [{**last, "content": "Hello, I only wanted to say thank you."}]},
        as_node="user",
        checkpoint_id=place["checkpoint"]["checkpoint_id"],
    )
    noop = {"agent": "noop"}
    ended = await client.runs.wait(thread["thread_id"], "airline", checkpoint=edited["checkpoint"], context=noop)
    assert ended["reward"] == 0.0
    state = await client.threads.get_state(thread["thread_id"])
    assert not state["values"].get("changes")
    assert history[0]["values"]["changes"]


async def test_a_person_plays_the_user_through_interrupts(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    human = {"agent": "noop", "user": "human"}
    await client.runs.wait(thread["thread_id"], "airline", input={"task_id": CANCEL}, context=human)
    state = await client.threads.get_state(thread["thread_id"])
    [question] = state["interrupts"]
    assert "You play a customer." in question["value"]["you_play"]
    await client.runs.wait(thread["thread_id"], "airline", command={"resume": "Hello?"}, context=human)
    bye = {"text": "Bye.", "stop": True}
    ended = await client.runs.wait(thread["thread_id"], "airline", command={"resume": bye}, context=human)
    assert ended["termination"] == "user_stop"


async def test_a_recorded_trial_opens_with_its_full_history(server: str, client: LangGraphClient, folder: Path) -> None:
    with open_store(folder / "r.db") as store:
        experiment, trials = store.experiment("x"), trials_to_open(store, "x", None)
    opened = await asyncio.to_thread(rebuild_trials, experiment, trials, folder / "checkpoints.db")
    assert len(opened) == 6
    assert [one.differs for one in opened] == [()] * 6
    outcomes = [one.trial.outcome for one in opened]
    assert outcomes == sorted(outcomes)
    await register(server, experiment, opened)
    one = next(one for one in opened if one.trial.outcome == "passed")
    state = await client.threads.get_state(one.thread_id)
    assert state["values"]["reward"] == one.trial.reward
    history = await client.threads.get_history(one.thread_id, limit=100)
    assert len(history) > len(one.trial.timeline)
    place = next(state for state in reversed(history) if state["next"] == ["agent"])
    ended = await client.runs.wait(one.thread_id, "airline", checkpoint=place["checkpoint"], context={"agent": "noop"})
    assert ended["termination"] == "user_stop"


def test_results_are_served_beside_the_graphs(server: str) -> None:
    health = httpx.get(f"{server}/taugraph/health", timeout=10).json()
    assert health == {"version": taugraph.__version__, "scoring_version": SCORING_VERSION}
    served = httpx.get(f"{server}/taugraph/experiments/x/pass-hat-k", timeout=10).json()
    reported = json.loads(call("report", "x", "--json", "--store", "r.db").stdout)
    assert served["pass_hat_k"] == reported["pass_hat_k"]


def test_the_routes_list_page_and_refuse(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAUGRAPH_STORE", str(folder / "r.db"))
    client = TestClient(routes)
    [row] = client.get("/taugraph/experiments").json()
    assert (row["experiment"], row["counts"]["planned"], row["privileged"]) == ("x", 6, True)
    assert client.get("/taugraph/experiments/x").json()["trials"] == 2
    page = client.get("/taugraph/experiments/x/trials?limit=2&offset=1").json()
    assert (page["total"], page["offset"], len(page["trials"])) == (6, 1, 2)
    failed = client.get("/taugraph/experiments/x/trials?outcome=failed").json()
    assert all(row["outcome"] == "failed" for row in failed["trials"])
    one = page["trials"][0]
    whole = client.get(f"/taugraph/experiments/x/trials/{one['task_id']}/{one['trial']}").json()
    assert whole["messages"]
    for path, status in {
        "x/trials?limit=many": 400,
        "gone": 404,
        "x/trials/gone/0": 404,
        "gone/pass-hat-k": 404,
    }.items():
        answer = client.get(f"/taugraph/experiments/{path}")
        assert (answer.status_code, set(answer.json())) == (status, {"error"})
    monkeypatch.setenv("TAUGRAPH_STORE", str(folder / "gone.db"))
    assert client.get("/taugraph/experiments").status_code == 503


def test_what_is_not_there_is_refused_before_a_server_starts(folder: Path) -> None:
    ended = call("studio", "x", "gone/0", "--store", "r.db")
    assert (ended.exit_code, "no trial named 'gone/0'" in ended.stderr) == (2, True)
