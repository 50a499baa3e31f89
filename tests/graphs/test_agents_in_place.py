"""A team's own graph is evaluated unmodified: the harness runs the domain's calls, the graph its own."""

from collections.abc import Callable
from typing import Any

import pytest
from acting import AIRLINE, BYE, HELLO, REFUND, call, calls, play, scores
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from support import own_graphs
from support.in_place import agent_of
from support.scripted_model import ScriptedModel

from taugraph.graphs.stage import Stage

SetStage = Callable[..., Stage]
LOOK_UP = call("get_reservation_details", "look", reservation_id="GV36FQ")
CANCEL_IT = call("cancel_reservation", "cancel", reservation_id="GV36FQ")
NOTE = call("remember", "note", note="cancelled")
USER = [HELLO, "Yes.", BYE]
LINES = [calls(LOOK_UP), "Shall I cancel it?", calls(CANCEL_IT), REFUND]


def types_and_calls(state: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(each.type, [made["name"] for made in getattr(each, "tool_calls", [])]) for each in state["messages"]]


GRAPHS: dict[str, Callable[[ScriptedModel], Any]] = {
    "create_agent": own_graphs.with_create_agent,
    "react v1": lambda model: own_graphs.with_react_agent(model, "v1"),
    "react v2": lambda model: own_graphs.with_react_agent(model, "v2"),
    "by hand": lambda model: own_graphs.by_hand(model, "run_them").compile(),
    "uncompiled": own_graphs.by_hand,
    "wrapped tools node": lambda model: own_graphs.by_hand(model, "run_them", wrap=True).compile(),
    "inside a graph": lambda model: inside(own_graphs.with_create_agent(model)),
    "twice inside": lambda model: inside(inside(own_graphs.by_hand(model).compile())),
}


def inside(graph: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("inner", graph)
    builder.add_edge(START, "inner")
    builder.add_edge("inner", END)
    return builder.compile()


@pytest.mark.parametrize("kind", GRAPHS)
async def test_the_harness_answers_the_calls_and_the_agent_passes(kind: str, set_stage: SetStage) -> None:
    model = ScriptedModel(lines=LINES)
    state = await play(set_stage(agent_of(GRAPHS[kind](model)), USER))
    assert state["reward"] == 1.0
    assert scores(state)["database_matches_goal"] == 1.0
    assert [each.type for each in model.prompts[-1]] == ["human", "ai", "tool", "ai", "human", "ai", "tool"]
    answers = [each for each in model.prompts[-1] if isinstance(each, ToolMessage)]
    assert [each.tool_call_id for each in answers] == ["look", "cancel"]
    assert "GV36FQ" in answers[0].text
    assert state["usage"]["agent"] == {"calls": 4, "input_tokens": 28, "output_tokens": 12, "uncounted_calls": 0}


@pytest.mark.parametrize("kind", GRAPHS)
async def test_an_agents_own_tools_are_run_by_its_graph_and_told(kind: str, set_stage: SetStage) -> None:
    model = ScriptedModel(lines=[calls(NOTE), calls(LOOK_UP), REFUND])
    state = await play(set_stage(agent_of(GRAPHS[kind](model)), [HELLO, BYE]))
    assert types_and_calls(state) == [
        ("human", []),
        ("ai", ["remember"]),
        ("tool", []),
        ("ai", ["get_reservation_details"]),
        ("tool", []),
        ("ai", []),
    ]
    assert state["messages"][2].text == "noted cancelled"


@pytest.mark.parametrize("kind", GRAPHS)
async def test_own_and_domain_calls_of_one_message_are_each_run_by_their_owner(kind: str, set_stage: SetStage) -> None:
    parallel = calls(LOOK_UP, NOTE, CANCEL_IT, text="One moment.")
    model = ScriptedModel(lines=[parallel, REFUND])
    state = await play(set_stage(agent_of(GRAPHS[kind](model)), [HELLO, BYE]))
    assert types_and_calls(state)[1:5] == [
        ("ai", ["remember"]),
        ("tool", []),
        ("ai", ["get_reservation_details", "cancel_reservation"]),
        ("tool", []),
    ]
    assert state["reward"] == 1.0
    prompt = model.prompts[-1]
    assert len(prompt[1].tool_calls) == 3  # type: ignore[attr-defined]
    assert {each.tool_call_id for each in prompt if isinstance(each, ToolMessage)} == {"look", "note", "cancel"}
    assert len(model.prompts) == 2
    assert state["usage"]["agent"]["calls"] == 2


async def test_parallel_calls_are_answered_in_the_order_of_the_message(set_stage: SetStage) -> None:
    sums = [call("calculate", f"c{number}", expression=f"{number} + {number}") for number in range(3)]
    model = ScriptedModel(lines=[calls(*sums), REFUND])
    await play(set_stage(agent_of(own_graphs.with_create_agent(model)), [HELLO, BYE]))
    answers = [each for each in model.prompts[-1] if isinstance(each, ToolMessage)]
    assert [(each.tool_call_id, each.text) for each in answers] == [("c0", "0.0"), ("c1", "2.0"), ("c2", "4.0")]


async def test_a_protocol_of_one_call_a_message_leaves_the_agent_the_one_that_was_run(set_stage: SetStage) -> None:
    model = ScriptedModel(lines=[calls(LOOK_UP, CANCEL_IT), REFUND])
    state = await play(set_stage(agent_of(own_graphs.with_create_agent(model)), [HELLO, BYE], "tau-bench"))
    assert types_and_calls(state)[1] == ("ai", ["get_reservation_details"])
    prompt = model.prompts[-1]
    assert [each["id"] for each in prompt[1].tool_calls] == ["look"]  # type: ignore[attr-defined]
    assert [each.type for each in prompt] == ["human", "ai", "tool"]


async def test_calls_without_ids_are_answered_under_those_they_were_given(set_stage: SetStage) -> None:
    nameless = [{**LOOK_UP, "id": None}, {**CANCEL_IT, "id": None}]
    model = ScriptedModel(lines=[AIMessage("", tool_calls=nameless), REFUND])
    state = await play(set_stage(agent_of(own_graphs.by_hand(model)), [HELLO, BYE]))
    prompt = model.prompts[-1]
    asked = [each["id"] for each in prompt[1].tool_calls]  # type: ignore[attr-defined]
    assert asked == [each.tool_call_id for each in prompt if isinstance(each, ToolMessage)]
    assert None not in asked
    assert state["reward"] == 1.0


async def test_an_unknown_tool_is_refused_by_the_harness(set_stage: SetStage) -> None:
    model = ScriptedModel(lines=[calls(call("no_such_tool", "bad")), REFUND])
    state = await play(set_stage(agent_of(own_graphs.with_create_agent(model)), [HELLO, BYE]))
    assert state["tool_errors"] == 1
    assert "there is no tool named" in model.prompts[-1][-1].text


async def test_unreadable_arguments_come_back_as_an_error_that_the_agent_reads(set_stage: SetStage) -> None:
    unreadable = {"name": "cancel_reservation", "args": "{", "id": None, "error": None, "type": "invalid_tool_call"}
    model = ScriptedModel(lines=[AIMessage("", invalid_tool_calls=[unreadable]), calls(CANCEL_IT), REFUND])
    state = await play(set_stage(agent_of(own_graphs.with_create_agent(model)), [HELLO, BYE]))
    assert [each.type for each in model.prompts[1]] == ["human", "ai", "tool"]
    assert model.prompts[1][2].tool_call_id == model.prompts[1][1].invalid_tool_calls[0]["id"]  # type: ignore[attr-defined]
    assert (state["tool_errors"], state["reward"]) == (1, 1.0)


@pytest.mark.parametrize("kind", [own_graphs.handing_over, own_graphs.flat_handing_over])
async def test_agents_that_hand_over_to_each_other_stay_where_they_are(kind: Any, set_stage: SetStage) -> None:
    hand_over = call("to_back_office", "over")
    front = ScriptedModel(lines=[calls(LOOK_UP), calls(hand_over)])
    back = ScriptedModel(lines=["", "", "Shall I cancel it?", calls(CANCEL_IT), REFUND])
    state = await play(set_stage(agent_of(kind(front, back)), USER))
    assert [name for _, made in types_and_calls(state) for name in made] == [
        "get_reservation_details",
        "to_back_office",
        "cancel_reservation",
    ]
    assert state["reward"] == 1.0
    assert (len(front.prompts), len(back.prompts)) == (2, 3)


async def test_a_graph_that_keeps_no_messages_is_given_all_of_them(set_stage: SetStage) -> None:
    model = ScriptedModel(lines=LINES)
    state = await play(set_stage(agent_of(own_graphs.without_reducer(model)), USER))
    assert state["reward"] == 1.0
    assert [each.type for each in model.prompts[-1]] == ["human", "ai", "tool", "ai", "human", "ai", "tool"]


async def test_the_graph_itself_stays_as_it_is(set_stage: SetStage) -> None:
    graph = inside(own_graphs.with_create_agent(ScriptedModel(lines=LINES)))
    inner = graph.nodes["inner"].bound
    before = (dict(graph.nodes), dict(inner.nodes), inner.interrupt_before_nodes, graph.checkpointer)
    await play(set_stage(agent_of(graph), USER))
    assert (dict(graph.nodes), dict(inner.nodes), inner.interrupt_before_nodes, graph.checkpointer) == before


async def test_the_policy_reaches_the_model_only_if_asked_for(set_stage: SetStage) -> None:
    asked, unasked = ScriptedModel(lines=[REFUND]), ScriptedModel(lines=[REFUND])
    await play(set_stage(agent_of(own_graphs.by_hand(asked), policy="system"), USER))
    await play(set_stage(agent_of(own_graphs.by_hand(unasked)), USER))
    assert isinstance(asked.prompts[-1][0], SystemMessage)
    assert asked.prompts[-1][0].text == AIRLINE.policy
    assert sum(isinstance(each, SystemMessage) for each in asked.prompts[-1]) == 1
    assert isinstance(unasked.prompts[-1][0], HumanMessage)


async def test_config_and_context_reach_the_graph(set_stage: SetStage) -> None:
    seen: list[Any] = []

    def think(state: MessagesState, config: Any, runtime: Any) -> dict[str, Any]:
        seen.append((config["configurable"]["tier"], runtime.context))
        return {"messages": [AIMessage(REFUND)]}

    think.__annotations__ |= {"config": "RunnableConfig", "runtime": "Runtime[dict]"}
    builder = StateGraph(MessagesState, context_schema=dict)
    builder.add_node("think", think)
    builder.add_edge(START, "think")
    await play(set_stage(agent_of(builder, config={"tier": "gold"}, context={"shop": 1}), [HELLO, BYE]))
    assert seen == [("gold", {"shop": 1})]


@pytest.mark.parametrize("kind", [own_graphs.handing_over, own_graphs.flat_handing_over])
async def test_a_call_beside_a_handover_is_answered_before_the_other_agent_goes_on(
    kind: Any, set_stage: SetStage
) -> None:
    front = ScriptedModel(lines=[calls(call("to_back_office", "over"), CANCEL_IT)])
    back = ScriptedModel(lines=["", REFUND])
    state = await play(set_stage(agent_of(kind(front, back)), [HELLO, BYE]))
    assert types_and_calls(state)[1:4] == [("ai", ["to_back_office"]), ("tool", []), ("ai", ["cancel_reservation"])]
    assert state["reward"] == 1.0
    assert {each.tool_call_id for each in back.prompts[0] if isinstance(each, ToolMessage)} == {"over", "cancel"}
    assert len(back.prompts) == 1
