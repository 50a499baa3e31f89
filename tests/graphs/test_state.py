"""The state is JSON and messages after every step, and the graph shows Studio what it needs."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from acting import BYE, CANCEL, HELLO, REFUND, call, calls, cancel, failing
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage, message_to_dict
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from taugraph.domains.errors import UnknownNameError
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationInput, SimulationOutput, SimulationState
from taugraph.graphs.studio import graph
from taugraph.graphs.transcript import first_call_only, next_id, plain_reply, with_ids
from taugraph.graphs.user import UserTurn

SetStage = Callable[..., Stage]
STRICT = JsonPlusSerializer(allowed_msgpack_modules=None)


class OwnMessage(AIMessage):
    """What a user's framework may hand over in place of a plain message."""


ODD_REPLIES = [
    AIMessageChunk(content="Hi."),
    OwnMessage(content="Hi."),
    AIMessage("Hi.", response_metadata={"at": datetime(2024, 5, 15, tzinfo=UTC), "parts": (1, 2), "set": {1}}),
    AIMessage("Hi.", additional_kwargs={"parsed": object(), "tool_calls": [{"id": "x"}]}),
    AIMessage("Half a pair: \ud83d."),
    calls(call("calculate", expression=float("nan"))),
    calls(call("calculate", expression="\ud83d")),
    calls(call("calculate", None, expression="1+1"), call("calculate", None, expression="2+2")),
]


def every_value(value: Any) -> Iterator[Any]:
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from every_value(item)


def assert_is_json(value: Any) -> None:
    assert json.loads(json.dumps(value, allow_nan=False).encode()) == value
    assert {type(item) for item in every_value(value)} <= {dict, list, str, int, float, bool, type(None)}
    json.dumps(value, ensure_ascii=False).encode()


async def checkpoints_of(stage: Stage) -> list[dict[str, Any]]:
    saver = InMemorySaver(serde=STRICT)
    simulation = build_simulation(stage).copy(update={"checkpointer": saver})
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": CANCEL}
    await simulation.ainvoke(start, config, durability="sync")
    return [snapshot.values async for snapshot in simulation.aget_state_history(config)]


@pytest.mark.parametrize("reply", ODD_REPLIES, ids=range(len(ODD_REPLIES)))
async def test_every_checkpoint_holds_json_and_plain_messages_whatever_the_agent_returns(
    reply: AIMessage, set_stage: SetStage
) -> None:
    agent = [failing(), cancel(), reply, REFUND]
    found = await checkpoints_of(set_stage(agent, [HELLO, UserTurn("Half: \ud83d, go on."), BYE]))
    assert len(found) > 6
    for values in found:
        for message in values.get("messages", []):
            assert type(message) in (HumanMessage, AIMessage, ToolMessage)
            assert_is_json(message_to_dict(message))
        assert_is_json({name: value for name, value in values.items() if name != "messages"})


async def test_a_failure_is_json_in_the_checkpoint_too(set_stage: SetStage) -> None:
    found = await checkpoints_of(set_stage([ValueError("half: \ud83d")], [HELLO]))
    assert found[0]["failure"]["kind"] == "agent_raised"
    assert_is_json(found[0]["failure"])


async def test_an_agent_whose_message_json_cannot_hold_fails(set_stage: SetStage) -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    found = await checkpoints_of(set_stage([AIMessage("Hi.", response_metadata=loop)], [HELLO]))
    assert (found[0]["termination"], found[0]["reward"]) == ("agent_error", 0.0)


async def test_a_message_object_returned_twice_is_two_messages(set_stage: SetStage) -> None:
    same = AIMessage("", id="provider-1", tool_calls=[call("calculate", None, expression="1+1")])
    found = await checkpoints_of(set_stage([same, same, cancel(), REFUND], [HELLO, BYE]))
    messages = found[0]["messages"]
    assert [message.type for message in messages] == ["human", *["ai", "tool"] * 3, "ai"]
    assert len({message.id for message in messages}) == len(messages)
    assert messages[1].tool_calls[0]["id"] != messages[3].tool_calls[0]["id"]
    assert same.id == "provider-1"
    assert same.tool_calls[0]["id"] is None


def test_a_message_keeps_its_own_call_ids_and_gets_what_it_lacks() -> None:
    message = calls(call("a", "x"), call("b", "x"), call("c", ""), call("d", None), call("e", "y"))
    assert [item["id"] for item in with_ids(message, "agent-2").tool_calls] == [
        "x",
        "agent-2-call-2",
        "agent-2-call-3",
        "agent-2-call-4",
        "y",
    ]


def test_an_id_is_never_given_twice() -> None:
    assert next_id([], "user") == "user-1"
    assert next_id([HumanMessage("a", id="user-1"), AIMessage("b", id="agent-3")], "agent") == "agent-4"


def test_what_a_provider_needs_back_stays_on_the_message() -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "text", "text": "x"},
    ]
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    message = AIMessage(blocks, additional_kwargs={"thought_signature": "s"}, usage_metadata=usage)
    plain = plain_reply(message)
    assert (plain.content, plain.additional_kwargs, plain.usage_metadata) == (blocks, {"thought_signature": "s"}, usage)


def test_a_message_with_one_call_is_left_as_it_is() -> None:
    assert dumpd(first_call_only(cancel())) == dumpd(cancel())


@pytest.mark.parametrize("schema", [SimulationInput, SimulationOutput, SimulationState])
def test_every_key_of_the_state_is_described(schema: type) -> None:
    source = {SimulationInput: graph.get_input_jsonschema, SimulationOutput: graph.get_output_jsonschema}
    if schema in source:
        properties = source[schema]()["properties"]
        assert set(properties) == set(schema.__annotations__)
        assert all(entry["description"] for entry in properties.values())
    assert schema.__doc__


def test_every_setting_of_a_run_has_a_default_and_a_description() -> None:
    schema = graph.get_context_jsonschema()
    assert schema is not None
    assert set(schema["properties"]) == set(SimulationContext.model_fields)
    assert all(entry["description"] for entry in schema["properties"].values())
    assert "required" not in schema


def test_studio_asks_for_task_trial_and_seed_and_shows_the_reward() -> None:
    asked = graph.get_input_jsonschema()["properties"]
    assert list(asked) == ["task_id", "trial", "seed"]
    assert (asked["trial"]["default"], asked["seed"]["default"]) == (0, 0)
    assert "reward" in graph.get_output_jsonschema()["properties"]


def test_the_exported_graph_brings_no_checkpointer() -> None:
    assert graph.checkpointer is None


def test_the_graph_is_drawn_with_its_four_nodes_joined_by_conditional_edges(set_stage: SetStage) -> None:
    drawn = build_simulation(set_stage([], [])).get_graph()
    assert set(drawn.nodes) == {"__start__", "user", "agent", "tools", "score", "__end__"}
    fixed = {(edge.source, edge.target) for edge in drawn.edges if not edge.conditional}
    free = {(edge.source, edge.target) for edge in drawn.edges if edge.conditional}
    assert fixed == {("__start__", "user"), ("score", "__end__")}
    assert free == {
        *(("user", "agent"), ("user", "score")),
        *(("agent", "tools"), ("agent", "user"), ("agent", "score")),
        *(("tools", "agent"), ("tools", "score")),
    }
    picture = drawn.draw_mermaid()
    assert all(f"{name}({name})" in picture for name in ("user", "agent", "tools", "score"))


def test_the_exported_graph_serves_users_with_tools_of_their_own_too() -> None:
    drawn = graph.get_graph()
    free = {(edge.source, edge.target) for edge in drawn.edges if edge.conditional}
    assert {("user", "user_tools"), ("user_tools", "user"), ("user_tools", "agent"), ("user_tools", "score")} <= free


async def test_the_exported_graph_plays_a_task_with_nothing_but_its_id() -> None:
    result = await graph.ainvoke({"task_id": CANCEL})
    assert set(result) == {"reward", "termination", "scores", "messages"}
    assert result["termination"] == "user_stop"


async def test_the_exported_graph_takes_its_settings_from_the_context() -> None:
    result = await graph.ainvoke({"task_id": CANCEL}, context=SimulationContext(agent="demo:0", max_turns=1))
    assert (result["termination"], result["reward"]) == ("max_turns", 0.0)


async def test_a_wrong_setting_is_refused_by_name_each_time_it_is_asked_for() -> None:
    for _ in range(2):
        with pytest.raises(UnknownNameError, match=r"no protocol named 'strickt'.*did you mean 'strict'"):
            await graph.ainvoke({"task_id": CANCEL}, context=SimulationContext(protocol="strickt"))


async def test_an_empty_form_is_answered_with_the_known_tasks() -> None:
    with pytest.raises(UnknownNameError, match=rf"no task named ''.*{CANCEL}"):
        await graph.ainvoke({"trial": 0})
