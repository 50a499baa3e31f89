"""Where a graph's tools nodes are, and copies of the graph that stop there, the graphs inside it included."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableSequence, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from pydantic import BaseModel

from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.graphs.agents.graph_options import GraphOptions

AnyGraph = Pregel[Any, Any, Any, Any]
"""Any compiled graph."""

_USUAL_NAME = "tools"
"""A node of that name runs tools, whatever it is made of."""


@dataclass(frozen=True)
class Stops:
    """The tools nodes of a graph.

    Attributes:
        nodes: Their names, in the graph and the graphs inside it.
        tools: Their tools by name, as far as they can be seen.
        are_seen: Whether the tools of all of them can be seen, and there are any.
        domain: Names of the domain's tools.
        key: Key of the state that holds the messages.
    """

    nodes: frozenset[str]
    tools: Mapping[str, BaseTool]
    are_seen: bool
    domain: frozenset[str]
    key: str

    def owns(self, name: str) -> bool:
        """Tell whether a tool is the graph's own to run; a name that nobody has is for the harness to refuse."""
        return name not in self.domain and (name in self.tools or not self.are_seen)


def find_stops(reference: str, graph: AnyGraph, domain: frozenset[str], options: GraphOptions) -> Stops:
    """Find the tools nodes.

    Args:
        reference: How the agent is named, for the error.
        graph: The graph.
        domain: Names of the domain's tools.
        options: Names the nodes, if they cannot be told, and the key of the messages.

    Raises:
        UnknownNameError: If a node is named that does not exist.
        ConfigurationError: If a graph that a node calls by itself has tools of the domain, or there are no messages.
    """
    if options.input_key not in graph.channels:
        keys = ", ".join(name for name in graph.channels if not name.startswith(("__", "branch:")))
        raise ConfigurationError(
            f"cannot use --agent {reference!r}: its state has no messages under {options.input_key!r}, the keys are "
            f'{keys}; name the right one with --agent-options \'{{"input_key": "KEY"}}\''
        )
    found = list(_tools_nodes(graph, options.tools_nodes))
    for name in options.tools_nodes:
        if name not in dict(found):
            raise UnknownNameError(f"node in agent {reference!r}", name, _node_names(graph))
    tools = {tool.name: tool for _, node in found if node is not None for tool in node.tools_by_name.values()}
    for caller, inside in [*_called_graphs(graph), *_graphs_of_tools(tools)]:
        if shared := sorted(_tool_names(inside) & domain):
            raise ConfigurationError(
                f"cannot use --agent {reference!r}: its {caller} calls a graph by itself, so that graph cannot be "
                f"stopped before {', '.join(shared[:3])}; make that graph a node: add_node(NAME, graph)"
            )
    return Stops(
        nodes=frozenset(name for name, _ in found),
        tools=tools,
        are_seen=all(node is not None for _, node in found),
        domain=domain,
        key=options.input_key,
    )


def stopping(graph: AnyGraph, stops: Stops, *, after: bool = False) -> AnyGraph:
    """Return a copy of the graph that stops before its tools nodes.

    Args:
        graph: The graph; it stays as it is.
        stops: Its tools nodes.
        after: Whether to stop after them instead, and run only the graph's own calls in them.
    """
    nodes: dict[str, Any] = {}
    for name, node in graph.nodes.items():
        if name in stops.nodes:
            nodes[name] = node.copy({"bound": _only_own(node.bound, stops)}) if after else node
        elif isinstance(node.bound, Pregel):
            inside = stopping(node.bound, stops, after=after)
            nodes[name] = node.copy({"bound": inside, "subgraphs": [inside]})
        else:
            nodes[name] = node
    here = [name for name in nodes if name in stops.nodes]
    # A call that hands over leaves the graph inside; the next agent must not begin before all is answered.
    left = [name for name, node in nodes.items() if isinstance(node.bound, Pregel)]
    return graph.copy(
        update={
            "nodes": nodes,
            "interrupt_before_nodes": [] if after else here,
            "interrupt_after_nodes": here + left if after else [],
        }
    )


def _tools_nodes(graph: AnyGraph, named: tuple[str, ...]) -> Iterator[tuple[str, ToolNode | None]]:
    """Yield name and ToolNode of the tools nodes; `None` where its tools cannot be seen."""
    for name, node in graph.nodes.items():
        if isinstance(node.bound, Pregel):
            yield from _tools_nodes(node.bound, named)
            continue
        found = _tool_node_in(node.bound)
        if (name in named) if named else (found is not None or name == _USUAL_NAME):
            yield name, found


def _tool_node_in(bound: object) -> ToolNode | None:
    """Return the ToolNode that a Runnable is, or is wrapped around."""
    if isinstance(bound, ToolNode):
        return bound
    inside: list[Any] = []
    if isinstance(bound, RunnableBindingBase):
        inside = [bound.bound]
    elif isinstance(bound, RunnableWithFallbacks):
        inside = [bound.runnable]
    elif isinstance(bound, RunnableSequence):
        inside = bound.steps
    return next((found for each in inside if (found := _tool_node_in(each)) is not None), None)


def _called_graphs(graph: AnyGraph) -> Iterator[tuple[str, AnyGraph]]:
    """Yield the graphs that a node's function calls, where no copy can take their place."""
    for name, node in graph.nodes.items():
        if isinstance(node.bound, Pregel):
            yield from _called_graphs(node.bound)
        else:
            yield from ((f"node {name!r}", each) for each in node.subgraphs if isinstance(each, Pregel))


def _graphs_of_tools(tools: Mapping[str, BaseTool]) -> Iterator[tuple[str, AnyGraph]]:
    """Yield the graphs that a tool's function calls: agents who are another agent's tools."""
    for name, each in tools.items():
        for function in (getattr(each, "func", None), getattr(each, "coroutine", None)):
            values = _names_of(function).values() if inspect.isfunction(function) else ()
            yield from ((f"tool {name!r}", value) for value in values if isinstance(value, Pregel))


def _names_of(function: FunctionType) -> dict[str, Any]:
    """Return what the names in a function stand for, as far as they stand for something yet."""
    try:
        known = inspect.getclosurevars(function)
    except ValueError:  # a name of the function around it that is bound later
        return {}
    return {**known.globals, **known.nonlocals}


def _tool_names(graph: AnyGraph) -> set[str]:
    return {name for _, node in _tools_nodes(graph, ()) if node is not None for name in node.tools_by_name}


def _node_names(graph: AnyGraph) -> list[str]:
    names = [name for name in graph.nodes if name != "__start__"]
    return names + [
        each for node in graph.nodes.values() if isinstance(node.bound, Pregel) for each in _node_names(node.bound)
    ]


def _only_own(bound: Runnable[Any, Any], stops: Stops) -> Runnable[Any, Any]:
    """Return a node that runs only the graph's own calls and leaves the others unanswered."""

    def run(state: Any, config: RunnableConfig) -> Any:
        kept = _own_part(state, stops)
        return bound.invoke(kept, config) if kept is not None else _nothing(state, stops)

    async def arun(state: Any, config: RunnableConfig) -> Any:
        kept = _own_part(state, stops)
        return await bound.ainvoke(kept, config) if kept is not None else _nothing(state, stops)

    return RunnableLambda(run, afunc=arun)


def _own_part(state: Any, stops: Stops) -> Any:
    """Return a tools node's input with only the graph's own calls in it; `None` if it has none."""
    if isinstance(state, dict) and "tool_call" in state:  # one call of its own, as create_agent sends it
        return state if stops.owns(state["tool_call"]["name"]) else None
    if isinstance(state, list) and state and isinstance(state[-1], dict) and "name" in state[-1]:
        return [call for call in state if stops.owns(call["name"])] or None
    messages = state if isinstance(state, list) else _get(state, stops.key)
    if not isinstance(messages, list):
        return None
    at = max((index for index, each in enumerate(messages) if isinstance(each, AIMessage)), default=None)
    if at is None:
        return None
    calls = [call for call in messages[at].tool_calls if stops.owns(call["name"])]
    if not calls:
        return None
    narrowed: list[BaseMessage] = [
        *messages[:at],
        messages[at].model_copy(update={"tool_calls": calls}),
        *messages[at + 1 :],
    ]
    return narrowed if isinstance(state, list) else _with(state, stops.key, narrowed)


def _get(state: Any, key: str) -> Any:
    return state.get(key) if isinstance(state, dict) else getattr(state, key, None)


def _with(state: Any, key: str, messages: list[BaseMessage]) -> Any:
    if isinstance(state, dict):
        return {**state, key: messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={key: messages})
    return {**vars(state), key: messages}


def _nothing(state: Any, stops: Stops) -> Any:
    is_list_of_messages = isinstance(state, list) and state and isinstance(state[-1], BaseMessage)
    return [] if is_list_of_messages else {stops.key: []}
