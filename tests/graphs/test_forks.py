"""A checkpoint holds the whole trial, the database included: replayed or forked, it leads where a fresh run would."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from acting import BYE, CANCEL, HELLO, REFUND, FollowingAgent, FollowingUser, call, calls, cancel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import StateSnapshot
from sqlmodel import Session, select

from taugraph.domains.airline.models import Reservation
from taugraph.graphs.simulation import Simulation, build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn

SetStage = Callable[..., Stage]
Saver = BaseCheckpointSaver[Any]
LOOK_UP = calls(call("get_reservation_details", reservation_id="GV36FQ"))
QUESTION = "Shall I cancel it?"
AGENT: list[AIMessage | str] = [LOOK_UP, QUESTION, cancel("GV36FQ"), REFUND]
OTHER = cancel("GSGD89")
USER: list[UserTurn | str] = [HELLO, "Yes.", BYE]
START: Any = {"task_id": CANCEL, "trial": 2, "seed": 5}


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Saver]:
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            yield InMemorySaver()
        else:
            yield await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")))


def thread(name: str = "t") -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


async def end_of(graph: Simulation, name: str = "t") -> dict[str, Any]:
    """Return the state but for when things happened."""
    values = (await graph.aget_state(thread(name))).values
    return {key: value for key, value in values.items() if key != "timeline"}


async def record(stage: Stage, saver: Saver, name: str = "t") -> tuple[Simulation, dict[str, Any]]:
    graph = build_simulation(stage).copy(update={"checkpointer": saver})
    await graph.ainvoke(START, thread(name), durability="sync")
    return graph, await end_of(graph, name)


async def before(graph: Simulation, node: str, *, steps: int) -> StateSnapshot:
    """Return the checkpoint at which that node comes next and the agent has sent so many messages."""
    found = [
        snapshot
        async for snapshot in graph.aget_state_history(thread())
        if snapshot.next == (node,) and snapshot.values.get("steps", 0) == steps
    ]
    assert len(found) == 1
    return found[0]


async def resume(graph: Simulation, config: RunnableConfig) -> dict[str, Any]:
    await graph.ainvoke(None, config, durability="sync")
    return await end_of(graph)


def statuses(stage: Stage, state: dict[str, Any]) -> dict[str, str | None]:
    def work(session: Session) -> dict[str, str | None]:
        wanted = ("GV36FQ", "GSGD89")
        rows = session.exec(select(Reservation).where(Reservation.reservation_id.in_(wanted)))  # type: ignore[attr-defined]
        return {row.reservation_id: row.status for row in rows}

    return stage.executor.database.read(state.get("changes", {}), work)


def course(state: dict[str, Any]) -> dict[str, Any]:
    """Return what a trial came to, without the ids of its messages."""
    messages = [
        (message.type, message.text, [(item["name"], item["args"]) for item in getattr(message, "tool_calls", [])])
        for message in state["messages"]
    ]
    left_out = ("messages", "usage", "stops_deferred_in_row")
    return {name: value for name, value in state.items() if name not in left_out} | {"messages": messages}


def assert_no_message_was_replaced(state: dict[str, Any]) -> None:
    identities = [message.id for message in state["messages"]]
    assert len(set(identities)) == len(identities)
    answered = [message.tool_call_id for message in state["messages"] if message.type == "tool"]
    asked = [item["id"] for message in state["messages"] if message.type == "ai" for item in message.tool_calls]
    assert answered == asked


async def test_every_checkpoint_leads_to_the_recorded_end(saver: Saver, set_stage: SetStage) -> None:
    stage = set_stage(FollowingAgent(*AGENT), FollowingUser(*USER))
    graph, original = await record(stage, saver)
    assert original["reward"] == 1.0
    history = [snapshot async for snapshot in graph.aget_state_history(thread())]
    assert len(history) == 12
    for snapshot in history[1:-1]:
        assert await resume(graph, snapshot.config) == original


@pytest.mark.parametrize("keeps_id", [True, False])
async def test_another_write_in_place_of_the_agents_leads_where_a_run_with_it_leads(
    keeps_id: bool, saver: Saver, set_stage: SetStage
) -> None:
    stage = set_stage(FollowingAgent(*AGENT), FollowingUser(*USER))
    other = set_stage(FollowingAgent(LOOK_UP, QUESTION, OTHER, REFUND), FollowingUser(*USER))
    graph, original = await record(stage, saver)
    _, wanted = await record(other, saver, "other")
    if keeps_id:
        place = await before(graph, "tools", steps=3)
        message = OTHER.model_copy(update={"id": place.values["messages"][-1].id})
    else:
        place = await before(graph, "agent", steps=2)
        message = OTHER
    config = await graph.aupdate_state(place.config, {"messages": [message]}, as_node="agent")
    assert (await graph.aget_state(config)).next == ("tools",)
    forked = await resume(graph, config)
    assert course(forked) == course(wanted)
    assert statuses(stage, forked) == statuses(other, wanted) == {"GV36FQ": None, "GSGD89": "cancelled"}
    assert statuses(stage, original) == {"GV36FQ": "cancelled", "GSGD89": None}
    assert (original["reward"], forked["reward"]) == (1.0, 0.0)
    assert_no_message_was_replaced(forked)


async def test_words_in_place_of_a_write_leave_the_database_as_it_was(saver: Saver, set_stage: SetStage) -> None:
    stage = set_stage(FollowingAgent(*AGENT), FollowingUser(*USER))
    graph, _ = await record(stage, saver)
    place = await before(graph, "agent", steps=2)
    config = await graph.aupdate_state(place.config, {"messages": [AIMessage("No.")]}, as_node="agent")
    assert (await graph.aget_state(config)).next == ("user",)
    forked = await resume(graph, config)
    assert (forked.get("changes", {}), forked["termination"]) == ({}, "user_stop")


async def test_other_words_of_the_user_lead_where_a_run_with_them_leads(saver: Saver, set_stage: SetStage) -> None:
    def lines(view: Any) -> AIMessage:
        return OTHER if view.messages[-1].text == "The other one." else cancel("GV36FQ")

    class Listening:
        reference, is_privileged = "listening", False

        async def reply(self, view: Any) -> AIMessage:
            return AIMessage(REFUND) if view.messages[-1].type == "tool" else lines(view)

    stage, other = (set_stage(Listening(), FollowingUser(words, BYE)) for words in (HELLO, "The other one."))
    graph, original = await record(stage, saver)
    _, wanted = await record(other, saver, "other")
    place = await before(graph, "agent", steps=0)
    message = HumanMessage("The other one.", id=place.values["messages"][-1].id)
    config = await graph.aupdate_state(place.config, {"messages": [message]}, as_node="user")
    assert (await graph.aget_state(config)).next == ("agent",)
    forked = await resume(graph, config)
    assert course(forked) == course(wanted)
    assert statuses(stage, forked) == {"GV36FQ": None, "GSGD89": "cancelled"}
    assert statuses(stage, original) == {"GV36FQ": "cancelled", "GSGD89": None}


async def test_an_added_user_message_counts_as_a_turn(saver: Saver, set_stage: SetStage) -> None:
    stage = set_stage(FollowingAgent("One?", "Two?", "Three?"), FollowingUser(HELLO, "a", "b", "c", BYE), max_turns=3)
    graph, _ = await record(stage, saver)
    place = await before(graph, "user", steps=1)
    config = await graph.aupdate_state(place.config, {"messages": [HumanMessage("typed in Studio")]}, as_node="user")
    forked = await resume(graph, config)
    assert (forked["termination"], forked["turns"]) == ("max_turns", 3)
    assert sum(message.type == "human" for message in forked["messages"]) == 3


async def test_a_repeated_tools_step_writes_once(saver: Saver, set_stage: SetStage) -> None:
    stage = set_stage(FollowingAgent(*AGENT), FollowingUser(*USER))
    graph, original = await record(stage, saver)
    place = await before(graph, "tools", steps=3)
    for _ in range(3):
        again = await resume(graph, place.config)
        assert again["changes"] == original["changes"]
        assert again["messages"] == original["messages"]
        assert again["tool_errors"] == 0


async def test_trials_side_by_side_on_one_stage_do_not_see_each_other(saver: Saver, set_stage: SetStage) -> None:
    stage = set_stage(FollowingAgent(*AGENT), FollowingUser(*USER))
    graph, original = await record(stage, saver)
    for name in ("u", "v"):
        _, state = await record(stage, saver, name)
        assert state == original
    assert await end_of(graph) == original


async def test_a_fork_may_take_back_the_users_stop(saver: Saver, set_stage: SetStage) -> None:
    stage = set_stage(FollowingAgent("Hi.", cancel(), REFUND), FollowingUser(HELLO, UserTurn("Bye.", stops=True), BYE))
    graph, original = await record(stage, saver)
    assert original["reward"] == 0.0
    place = await before(graph, "score", steps=1)
    message = HumanMessage("Cancel it.", id=place.values["messages"][-1].id)
    config = await graph.aupdate_state(place.config, {"messages": [message], "termination": ""}, as_node="user")
    forked = await resume(graph, config)
    assert (forked["termination"], forked["reward"]) == ("user_stop", 1.0)
