"""A graph's memory follows the trial: it forks with it, outlives a restart where the trial does, and ends with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acting import BYE, CANCEL, HELLO, REFUND, FollowingUser, call, calls
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from support import own_graphs
from support.in_place import agent_of
from support.scripted_model import ScriptedModel

from taugraph.experiments.play import Player
from taugraph.graphs.agents.graph import GraphThreads
from taugraph.graphs.agents.graph_options import GraphOptions
from taugraph.graphs.agents.own import OwnAgent
from taugraph.graphs.agents.stopping import find_stops
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage

SetStage = Callable[..., Stage]
LOOK_UP = call("get_reservation_details", "look", reservation_id="GV36FQ")
SUM = call("calculate", "sum", expression="1 + 1")
CANCEL_IT = call("cancel_reservation", "cancel", reservation_id="GV36FQ")
LINES = [calls(LOOK_UP), "Shall I cancel it?", calls(CANCEL_IT), REFUND]
USER = [HELLO, "Yes.", BYE]
START_OF: Any = {"task_id": CANCEL, "trial": 0, "seed": 0}
THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


def one_graph(model: ScriptedModel) -> Any:
    return own_graphs.with_create_agent(model)


def graph_inside(model: ScriptedModel) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("inner", create_agent(model, own_graphs.TOOLS))
    builder.add_edge(START, "inner")
    builder.add_edge("inner", END)
    return builder.compile()


def texts(prompt: Any) -> list[str]:
    return [each.text for each in prompt]


@pytest.mark.parametrize("build", [one_graph, graph_inside])
async def test_a_fork_of_the_trial_forks_what_the_agent_remembers(build: Any, set_stage: SetStage) -> None:
    model = ScriptedModel(lines=LINES)
    stage = set_stage(agent_of(build(model)), FollowingUser(HELLO, "Yes.", BYE))
    graph = build_simulation(stage).copy(update={"checkpointer": InMemorySaver()})
    await graph.ainvoke(START_OF, THREAD)
    # Every place at which the agent was about to act, latest first: each new path sees its own history and no other.
    places = [each async for each in graph.aget_state_history(THREAD) if each.next == ("agent",)]
    assert len(places) == 4
    for place in places:
        before, last = place.values["messages"][:-1], place.values["messages"][-1]
        author = "tools" if isinstance(last, ToolMessage) else "user"
        other = {"messages": [last.model_copy(update={"content": "Something else."})]}
        model.prompts.clear()
        await graph.ainvoke(None, await graph.aupdate_state(place.config, other, author))
        assert texts(model.prompts[0]) == [*texts(before), "Something else."]


@pytest.mark.parametrize("build", [one_graph, graph_inside])
async def test_two_paths_from_one_place_do_not_see_each_other(build: Any, set_stage: SetStage) -> None:
    model = ScriptedModel(lines=[calls(LOOK_UP), calls(SUM), "Well?"])
    stage = set_stage(agent_of(build(model)), FollowingUser(HELLO, BYE))
    graph = build_simulation(stage).copy(update={"checkpointer": InMemorySaver()})
    await graph.ainvoke(START_OF, THREAD)
    straight = model.prompts[:]
    history = [each async for each in graph.aget_state_history(THREAD) if each.next == ("tools",)]
    looked_up = history[-1]
    for answer in ("first", "second"):
        model.prompts.clear()
        answered = ToolMessage(answer, tool_call_id="look", id="tool-3", name="get_reservation_details")
        fork = await graph.aupdate_state(looked_up.config, {"messages": [answered]}, "tools")
        await graph.ainvoke(None, fork)
        assert [texts(prompt)[2] for prompt in model.prompts] == [answer] * 2
        assert [len(prompt) for prompt in model.prompts] == [len(prompt) for prompt in straight[1:]]


async def test_a_trial_that_has_ended_leaves_nothing_behind(set_stage: SetStage) -> None:
    agent = agent_of(graph_inside(ScriptedModel(lines=LINES)))
    stage = set_stage(agent, FollowingUser(HELLO, "Yes.", BYE))
    player = Player(stage)
    trials = [await player.play(CANCEL, number, number) for number in range(3)]
    assert [trial.reward for trial in trials] == [1.0, 1.0, 1.0]
    saver = agent._threads._saver
    assert not saver.storage
    assert not saver.blobs
    assert not agent._threads._open


async def test_a_first_turn_that_fails_leaves_nothing_behind(set_stage: SetStage) -> None:
    agent = agent_of(one_graph(ScriptedModel(lines=[ValueError("no")])))
    trial = await Player(set_stage(agent, [HELLO])).play(CANCEL, 0, 0)
    assert trial.termination == "agent_error"
    assert not agent._threads._saver.storage


async def test_threads_of_trials_that_never_tell_of_their_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taugraph.graphs.agents.graph._MOST_THREADS", 2)
    graph = one_graph(ScriptedModel(lines=LINES))
    threads = GraphThreads(graph, find_stops("mine", graph, frozenset(), GraphOptions()), GraphOptions())
    for _ in range(5):
        await threads.run(await threads.begin(), [HumanMessage("Hello.")])
    assert len(threads._saver.storage) == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("build", [one_graph, graph_inside])
async def test_a_restart_with_a_saver_that_keeps_goes_on_exactly(
    build: Any, set_stage: SetStage, tmp_path: Path
) -> None:
    async def session(path: Path, stop: tuple[str, ...]) -> tuple[Any, ScriptedModel]:
        model = ScriptedModel(lines=LINES)
        stage = set_stage(agent_of(build(model)), FollowingUser(HELLO, "Yes.", BYE))
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            player = Player(stage, checkpointer=saver, durability="sync")
            config: RunnableConfig = {"configurable": {"thread_id": player.thread_id(CANCEL, 0)}}
            start = START_OF if stop else None
            await player._graph.ainvoke(start, config, interrupt_after=list(stop))
            return (await player._graph.aget_state(config)).values, model

    first, _ = await session(tmp_path / "kept.db", ("agent",))
    assert len(first["messages"]) == 2
    ended, model = await session(tmp_path / "kept.db", ())
    assert ended["reward"] == 1.0
    assert "agent_memory_rebuilt" not in ended["notes"]
    assert [len(prompt) for prompt in model.prompts] == [3, 5, 7]


async def test_a_memory_that_nobody_knows_is_rebuilt_from_the_transcript(set_stage: SetStage) -> None:
    saver: BaseCheckpointSaver[Any] = InMemorySaver()

    async def session(start: Any, stop: list[str]) -> tuple[Any, ScriptedModel]:
        model = ScriptedModel(lines=LINES)
        stage = set_stage(agent_of(one_graph(model)), FollowingUser(HELLO, "Yes.", BYE))
        graph = build_simulation(stage).copy(update={"checkpointer": saver})
        return await graph.ainvoke(start, THREAD, interrupt_after=stop), model

    await session(START_OF, ["agent"])
    await session(None, [])
    state = (
        await build_simulation(set_stage([""], [BYE])).copy(update={"checkpointer": saver}).aget_state(THREAD)
    ).values
    assert state["reward"] == 1.0
    assert state["notes"]["agent_memory_rebuilt"] == 1


async def test_an_own_agent_hands_saver_and_forgetting_on(set_stage: SetStage) -> None:
    agent = agent_of(one_graph(ScriptedModel(lines=LINES)))
    own = OwnAgent("mine", agent, timeout_s=10)
    saver = InMemorySaver()
    stage = set_stage(own, FollowingUser(HELLO, "Yes.", BYE))
    await Player(stage, checkpointer=saver).play(CANCEL, 0, 0)
    assert len(saver.storage) == 2
    assert agent._threads._saver is saver
    await own.aclose()
    assert len(saver.storage) == 2
