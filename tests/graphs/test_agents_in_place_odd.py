"""What a graph cannot be asked for is refused before it runs, and what it should not do fails its trial."""

from collections.abc import Callable
from typing import Any

import pytest
from acting import BYE, HELLO, REFUND, call, calls, play, said
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from support import own_graphs
from support.in_place import agent_of
from support.scripted_model import ScriptedModel

from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.domains.trial import Termination
from taugraph.graphs.stage import Stage

SetStage = Callable[..., Stage]
LOOK_UP = call("get_reservation_details", "look", reservation_id="GV36FQ")
CANCEL_IT = call("cancel_reservation", "cancel", reservation_id="GV36FQ")
NOTE = call("remember", "note", note="cancelled")


def note_only(name: str, arguments: Any) -> str:
    assert name == "remember"
    return f"noted {arguments['note']}"


def with_a_function_for_tools(model: ScriptedModel, answer: Callable[[str, Any], str] = note_only) -> Any:
    """Calls its tools in a function of its own, whose name says nothing."""

    def think(state: MessagesState) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    def do_it(state: MessagesState) -> Any:
        made = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        answers = [ToolMessage(answer(each["name"], each["args"]), tool_call_id=each["id"]) for each in made]
        return {"messages": answers}

    def route(state: MessagesState) -> str:
        return "do_it" if getattr(state["messages"][-1], "tool_calls", None) else END

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("do_it", do_it)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", route, ["do_it", END])
    builder.add_edge("do_it", "think")
    return builder


@pytest.mark.parametrize("lines", [[calls(NOTE), calls(CANCEL_IT), REFUND], [calls(CANCEL_IT, NOTE), REFUND]])
async def test_a_tools_node_that_cannot_be_told_is_named(lines: Any, set_stage: SetStage) -> None:
    model = ScriptedModel(lines=lines)
    state = await play(set_stage(agent_of(with_a_function_for_tools(model), tools_nodes=["do_it"]), [HELLO, BYE]))
    assert state["reward"] == 1.0
    assert "noted cancelled" in [each.text for each in model.prompts[-1]]


async def test_a_tools_node_that_is_not_named_is_told_of_when_it_runs_a_domains_tool(set_stage: SetStage) -> None:
    model = ScriptedModel(lines=[calls(LOOK_UP), REFUND])
    hidden = with_a_function_for_tools(model, answer=lambda name, arguments: "a trip")
    state = await play(set_stage(agent_of(hidden), [HELLO, BYE]))
    assert state["termination"] == Termination.AGENT_ERROR
    assert "by itself: it was not stopped before the node that did; name it with" in state["failure"]["message"]


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"no option .*'polcy'.*did you mean 'policy'"):
        agent_of(own_graphs.by_hand(ScriptedModel(lines=[])), polcy="system")


def test_an_option_that_does_not_fit_is_named() -> None:
    with pytest.raises(ConfigurationError, match="cannot use 'policy' of --agent-options: wanted 'system'"):
        agent_of(own_graphs.by_hand(ScriptedModel(lines=[])), policy="user")


def test_a_tools_node_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownNameError, match="no node in agent 'mine' named 'tool': known are think, tools"):
        agent_of(own_graphs.by_hand(ScriptedModel(lines=[])), tools_nodes=["tool"])


def test_a_state_without_messages_is_refused_with_its_keys() -> None:
    with pytest.raises(ConfigurationError, match="no messages under 'chat', the keys are messages"):
        agent_of(own_graphs.by_hand(ScriptedModel(lines=[])), input_key="chat")


def test_a_graph_inside_a_function_that_has_tools_of_the_domain_is_refused() -> None:
    helper = own_graphs.with_create_agent(ScriptedModel(lines=[REFUND]))

    def delegate(state: MessagesState) -> Any:
        return helper.invoke(state)

    builder = StateGraph(MessagesState)
    builder.add_node("delegate", delegate)
    builder.add_edge(START, "delegate")
    with pytest.raises(ConfigurationError, match="its node 'delegate' calls a graph by itself"):
        agent_of(builder)


def test_an_agent_that_is_the_tool_of_another_and_has_tools_of_the_domain_is_refused() -> None:
    helper = own_graphs.with_create_agent(ScriptedModel(lines=[REFUND]))

    @tool
    def ask_helper(question: str) -> str:
        """Ask the helper."""
        return str(helper.invoke({"messages": [("user", question)]})["messages"][-1].text)

    with pytest.raises(ConfigurationError, match="its tool 'ask_helper' calls a graph by itself"):
        agent_of(create_agent(ScriptedModel(lines=[]), [ask_helper]))


def ending_with(update: Callable[[MessagesState], Any]) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("think", update)
    builder.add_edge(START, "think")
    return builder


def silent(state: MessagesState) -> Any:
    return {"messages": []}


def echoing(state: MessagesState) -> Any:
    return {"messages": [HumanMessage("me too")]}


def repeating(state: MessagesState) -> Any:
    return {"messages": [AIMessage("Hello.", id="always")]}


def asking(state: MessagesState) -> Any:
    return {"messages": [AIMessage(interrupt("approve?"))]}


def acting_alone(state: MessagesState) -> Any:
    done = ToolMessage("ok", tool_call_id="look")
    return {"messages": [calls(LOOK_UP), done, AIMessage("Done.")]}


NONSENSE = {
    "nothing": (silent, "without a new AI message: got no new messages"),
    "another's words": (echoing, r"without a new AI message: got 1 new messages \(human\)"),
    "a message again": (repeating, "without a new AI message"),
    "a question to nobody": (asking, "interrupts itself before think .*: approve?"),
    "a domain's tool run": (acting_alone, "ran 'get_reservation_details', a tool of the domain, by itself"),
}


@pytest.mark.parametrize("kind", NONSENSE)
async def test_nonsense_is_the_agents_own_failure(kind: str, set_stage: SetStage) -> None:
    update, reason = NONSENSE[kind]
    state = await play(set_stage(agent_of(ending_with(update)), [HELLO, "Yes?", BYE]))
    assert (state["termination"], state["failure"]["kind"]) == (Termination.AGENT_ERROR, "agent_raised")
    assert state["reward"] == 0.0
    with pytest.raises(ValueError, match=reason):
        raise ValueError(state["failure"]["message"])
    assert said(state)[0] == ("human", HELLO)


async def test_a_graph_that_never_stops_calling_its_own_tools_fails_its_trial(set_stage: SetStage) -> None:
    graph = own_graphs.with_create_agent(ScriptedModel(lines=[calls(NOTE)]))
    state = await play(set_stage(agent_of(graph), [HELLO, BYE]))
    assert (state["termination"], state["reward"]) == ("agent_error", 0.0)
    assert "called tools of its own 50 times and said nothing" in state["failure"]["message"]
