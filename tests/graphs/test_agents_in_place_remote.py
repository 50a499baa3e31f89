"""A deployed graph is evaluated as a local one is, on a real LangGraph server; what the server does is not its."""

import shutil
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from acting import AIRLINE, BYE, CANCEL, HELLO, REFUND, FollowingUser, call, play
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client
from support import scripted_model
from support.in_place import agent_of
from support.langgraph_server import find_langgraph, langgraph_server

from taugraph.domains.errors import ModelCallError, UnknownNameError
from taugraph.domains.trial import Termination
from taugraph.experiments.play import Player
from taugraph.graphs.agents.building import build_agent
from taugraph.graphs.agents.graph_options import GraphOptions
from taugraph.graphs.agents.hooks import close_agent, open_agent
from taugraph.graphs.agents.pausing import PausingAgent
from taugraph.graphs.agents.remote import RemoteThreads
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage

SetStage = Callable[..., Stage]
LOOK_UP = call("get_reservation_details", "look", reservation_id="GV36FQ")
CANCEL_IT = call("cancel_reservation", "cancel", reservation_id="GV36FQ")
NOTE = call("remember", "note", note="cancelled")
SERVED = f"""
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from scripted_model import ScriptedModel


@tool
def get_reservation_details(reservation_id: str) -> str:
    "Look up."
    raise SystemError("must not run")


@tool
def cancel_reservation(reservation_id: str) -> str:
    "Cancel."
    raise SystemError("must not run")


@tool
def remember(note: str) -> str:
    "Note."
    return f"noted {{note}}"


TOOLS = [get_reservation_details, cancel_reservation, remember]


def serving(*lines):
    return create_agent(ScriptedModel(lines=list(lines)), TOOLS)


def calls(*made):
    return AIMessage("", tool_calls=list(made))


def heard(messages):
    return "; ".join(message.text for message in messages)


plain = serving(calls({LOOK_UP}), "Shall I cancel it?", calls({CANCEL_IT}), {REFUND!r})
own = serving(calls({NOTE}), calls({LOOK_UP}), {REFUND!r})
mixed = serving(calls({LOOK_UP}, {NOTE}, {CANCEL_IT}), {REFUND!r})
listening = serving(calls({LOOK_UP}), heard, heard)


def fail(state: MessagesState):
    raise ValueError("no shop")


def nothing(state: MessagesState):
    return {{"messages": []}}


class RateLimitError(Exception):
    pass


def limit(state: MessagesState):
    raise RateLimitError("slow down")


limited = StateGraph(MessagesState).add_node("limit", limit).add_edge(START, "limit").compile()
failing = StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail").compile()
silent = StateGraph(MessagesState).add_node("nothing", nothing).add_edge(START, "nothing").compile()
"""
NAMES = ("plain", "own", "mixed", "listening", "failing", "limited", "silent")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = find_langgraph()
    if command is None:
        pytest.skip("langgraph-cli is not installed, so there is no server to ask")
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(scripted_model.__file__, folder / "scripted_model.py")
    (folder / "served.py").write_text(SERVED)
    graphs = ", ".join(f'"{name}": "./served.py:{name}"' for name in NAMES)
    (folder / "langgraph.json").write_text(f'{{"dependencies": ["."], "graphs": {{{graphs}}}}}')
    with langgraph_server(folder, command) as url:
        yield url


@pytest.fixture
async def deployed(server: str) -> AsyncIterator[Callable[..., Any]]:
    made: list[Any] = []

    def build(name: str, url: str = server, **settings: Any) -> Any:
        context = SimulationContext(agent=f"{url}#{name}", **settings)
        made.append(build_agent(context, AIRLINE, ChatModels(context.calls)))
        return made[-1]

    yield build
    for agent in made:
        await close_agent(agent)


async def open_threads(server: str) -> int:
    async with get_client(url=server) as client:
        return len(await client.threads.search(limit=100))


def types_and_calls(state: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(each.type, [made["name"] for made in getattr(each, "tool_calls", [])]) for each in state["messages"]]


async def test_the_harness_answers_the_calls_of_a_deployed_agent(
    deployed: Callable[..., Any], server: str, set_stage: SetStage
) -> None:
    stage = set_stage(deployed("plain"), FollowingUser(HELLO, "Yes.", BYE))
    trial = await Player(stage).play(CANCEL, 0, 0)
    assert (trial.termination, trial.reward) == (Termination.USER_STOP, 1.0)
    assert trial.usage["agent"].input_tokens == 28
    assert await open_threads(server) == 0


async def test_a_remote_graph_in_code_is_evaluated_like_a_reference_to_it(server: str, set_stage: SetStage) -> None:
    async with get_client(url=server) as client:
        agent = agent_of(RemoteGraph("plain", client=client))
        trial = await Player(set_stage(agent, FollowingUser(HELLO, "Yes.", BYE))).play(CANCEL, 0, 0)
    assert trial.reward == 1.0
    assert await open_threads(server) == 0


async def test_its_own_tools_are_run_by_the_server_and_told(deployed: Callable[..., Any], set_stage: SetStage) -> None:
    state = await play(set_stage(deployed("own"), [HELLO, BYE]))
    assert types_and_calls(state)[1:4] == [("ai", ["remember"]), ("tool", []), ("ai", ["get_reservation_details"])]
    assert state["messages"][2].text == "noted cancelled"
    assert state["termination"] == "user_stop"


async def test_own_and_domain_calls_of_one_message_are_each_run_by_their_owner(
    deployed: Callable[..., Any], set_stage: SetStage
) -> None:
    state = await play(set_stage(deployed("mixed"), [HELLO, BYE]))
    assert types_and_calls(state)[1:4] == [
        ("ai", ["remember"]),
        ("tool", []),
        ("ai", ["get_reservation_details", "cancel_reservation"]),
    ]
    assert state["reward"] == 1.0


async def test_a_fork_of_the_trial_forks_what_the_server_remembers(
    deployed: Callable[..., Any], set_stage: SetStage
) -> None:
    stage = set_stage(deployed("listening"), FollowingUser(HELLO, BYE))
    graph = build_simulation(stage).copy(update={"checkpointer": InMemorySaver()})
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": CANCEL, "trial": 0, "seed": 0}
    await graph.ainvoke(start, config)
    history = [each async for each in graph.aget_state_history(config) if each.next == ("tools",)]
    for answer in ("first", "second"):
        told = ToolMessage(answer, tool_call_id="look", id="tool-3", name="get_reservation_details")
        fork = await graph.aupdate_state(history[0].config, {"messages": [told]}, "tools")
        ended = await graph.ainvoke(None, fork)
        assert ended["messages"][3].text == f"{HELLO}; ; {answer}"


async def test_a_graph_that_fails_on_the_server_fails_its_trial(
    deployed: Callable[..., Any], set_stage: SetStage
) -> None:
    state = await play(set_stage(deployed("failing"), [HELLO, BYE]))
    assert (state["termination"], state["failure"]["kind"]) == (Termination.AGENT_ERROR, "agent_raised")
    assert "the graph failed on the server: ValueError" in state["failure"]["message"]


async def test_a_provider_that_fails_the_deployed_graph_leaves_the_trial_unscored(
    deployed: Callable[..., Any], set_stage: SetStage
) -> None:
    state = await play(set_stage(deployed("limited"), [HELLO, BYE]))
    assert (state["termination"], state["failure"]["kind"]) == (Termination.INFRASTRUCTURE, "rate_limit")


async def test_a_graph_that_says_nothing_fails_its_trial(
    deployed: Callable[..., Any], set_stage: SetStage, server: str
) -> None:
    state = await play(set_stage(deployed("silent"), [HELLO, BYE]))
    assert state["termination"] == Termination.AGENT_ERROR
    assert "without a new AI message" in state["failure"]["message"]
    assert await open_threads(server) == 0


async def test_an_unknown_assistant_or_node_is_told_before_the_first_trial(deployed: Callable[..., Any]) -> None:
    with pytest.raises(UnknownNameError, match=r"no assistant .* named 'plian': known are .*; did you mean 'plain'"):
        await open_agent(deployed("plian"))
    with pytest.raises(UnknownNameError, match=r"no node in agent .* named 'act': known are .*tools"):
        await open_agent(deployed("plain", agent_options='{"tools_nodes": ["act"]}'))


async def test_a_server_that_is_not_there_is_told_before_the_first_trial(deployed: Callable[..., Any]) -> None:
    with pytest.raises(ModelCallError, match=r"\(connection\)"):
        await open_agent(deployed("plain", "http://127.0.0.1:9"))


HANG_UP = 0


class Refusing(BaseHTTPRequestHandler):
    """Answers every request with the status that its path begins with, or not at all."""

    def do_POST(self) -> None:
        status = int(self.path.split("/")[1])
        if status == HANG_UP:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def refusing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


STATUSES = {
    HANG_UP: (Termination.INFRASTRUCTURE, "connection"),
    500: (Termination.INFRASTRUCTURE, "provider_error"),
    503: (Termination.INFRASTRUCTURE, "provider_error"),
    429: (Termination.INFRASTRUCTURE, "rate_limit"),
    401: (Termination.INFRASTRUCTURE, "authentication"),
    422: (Termination.AGENT_ERROR, "agent_raised"),
}


@pytest.mark.parametrize("status", STATUSES)
async def test_what_a_server_answers_decides_whose_failure_it_is(
    status: int, refusing: str, set_stage: SetStage
) -> None:
    threads = RemoteThreads(get_client(url=f"{refusing}/{status}"), "plain", GraphOptions())
    agent = PausingAgent("mine", threads, GraphOptions())
    state = await play(set_stage(agent, [HELLO, BYE]))
    assert (state["termination"], state["failure"]["kind"]) == STATUSES[status]
    await close_agent(agent)
