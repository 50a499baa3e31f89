"""Graphs as teams write them, with tools of the airline's names that must never run, and one of their own that must."""

import warnings
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, create_react_agent
from langgraph.types import Command
from typing_extensions import TypedDict

from support.scripted_model import ScriptedModel


class RanError(Exception):
    """A tool of the domain was run by the agent."""


def _tools() -> list[BaseTool]:
    @tool
    def get_reservation_details(reservation_id: str) -> str:
        """Look a reservation up."""
        raise RanError

    @tool
    def cancel_reservation(reservation_id: str) -> str:
        """Cancel a reservation."""
        raise RanError

    @tool
    def calculate(expression: str) -> str:
        """Work something out."""
        raise RanError

    @tool
    def remember(note: str) -> str:
        """Write a note down."""
        return f"noted {note}"

    return [get_reservation_details, cancel_reservation, calculate, remember]


TOOLS = _tools()


def with_create_agent(model: ScriptedModel, **options: Any) -> Any:
    return create_agent(model, TOOLS, **options)


def with_react_agent(model: ScriptedModel, version: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return create_react_agent(model, TOOLS, version=version)  # type: ignore[arg-type]


def by_hand(model: ScriptedModel, tools_node: str = "tools", *, wrap: bool = False) -> Any:
    """Plain functions that are not asynchronous, as in many tutorials."""

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def route(state: MessagesState) -> str:
        last = state["messages"][-1]
        return tools_node if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    node = ToolNode(TOOLS)
    builder.add_node(tools_node, node.with_fallbacks([]) if wrap else node)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", route, [tools_node, END])
    builder.add_edge(tools_node, "think")
    return builder


class Plain(TypedDict):
    messages: list[AnyMessage]


def without_reducer(model: ScriptedModel) -> Any:
    """A state that every write replaces: such a graph is given the whole conversation at every turn."""

    def think(state: Plain) -> dict[str, Any]:
        return {"messages": [*state["messages"], model.invoke(state["messages"])]}

    def route(state: Plain) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

    def run_tools(state: Plain) -> dict[str, Any]:
        raise RanError

    builder = StateGraph(Plain)
    builder.add_node("think", think)
    builder.add_node("tools", run_tools)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", route, ["tools", END])
    builder.add_edge("tools", "think")
    return builder.compile()


class Desk(MessagesState):
    active: str


def handing_over(front: ScriptedModel, back: ScriptedModel) -> Any:
    """Two agents as graphs inside a graph; the front desk hands over to the back office with a Command."""

    @tool
    def to_back_office(
        state: Annotated[dict[str, Any], InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        """Hand over to the back office."""
        done = ToolMessage("handed over", tool_call_id=tool_call_id, name="to_back_office")
        update = {"messages": [*state["messages"], done], "active": "back"}
        return Command(goto="back", graph=Command.PARENT, update=update)

    builder = StateGraph(Desk)
    builder.add_node("front", create_agent(front, [to_back_office, *TOOLS], name="front"))
    builder.add_node("back", create_agent(back, TOOLS, name="back"))
    builder.add_conditional_edges(START, lambda state: state.get("active") or "front", ["front", "back"])
    builder.add_edge("front", END)
    builder.add_edge("back", END)
    return builder.compile()


def flat_handing_over(front: ScriptedModel, back: ScriptedModel) -> Any:
    """The same in one graph: two agent nodes, two tools nodes, a Command between them."""

    @tool
    def to_back_office(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Hand over to the back office."""
        done = ToolMessage("handed over", tool_call_id=tool_call_id, name="to_back_office")
        return Command(goto="back", update={"messages": [done], "active": "back"})

    def node(model: ScriptedModel) -> Any:
        async def think(state: Desk) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

        return think

    def route(tools_node: str) -> Any:
        return lambda state: tools_node if state["messages"][-1].tool_calls else END

    def after_front(state: Desk) -> str:
        return "front" if state.get("active") != "back" else END

    builder = StateGraph(Desk)
    builder.add_node("front", node(front))
    builder.add_node("front_tools", ToolNode([to_back_office, *TOOLS]))
    builder.add_node("back", node(back))
    builder.add_node("back_tools", ToolNode(TOOLS))
    builder.add_conditional_edges(START, lambda state: state.get("active") or "front", ["front", "back"])
    builder.add_conditional_edges("front", route("front_tools"), ["front_tools", END])
    builder.add_conditional_edges("front_tools", after_front, ["front", END])
    builder.add_conditional_edges("back", route("back_tools"), ["back_tools", END])
    builder.add_edge("back_tools", "back")
    return builder.compile()
