"""A compiled graph of someone's own, run in this process on a saver that is ours.

The graph itself is never touched. What is run are copies of it, shallow but for the nodes that differ: one that stops
before the tools nodes, of the graphs inside it too, and one that stops after them and runs only the graph's own calls.

A thread is a straight line. Where a trial is forked, the new path gets a thread of its own, begun with a copy of the
checkpoints up to the fork; so it sees its own history and no other's.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import InvalidUpdateError
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot
from pydantic import JsonValue

from taugraph.graphs.agents.answers import AgentGraphError, keyed
from taugraph.graphs.agents.copying import copy_thread
from taugraph.graphs.agents.graph_options import GraphOptions
from taugraph.graphs.agents.pausing import PausingAgent, Place, halted, interrupted
from taugraph.graphs.agents.stopping import Stops, find_stops, stopping
from taugraph.graphs.agents.tool_match import Schema, ToolMatch, match_tools, schemas_of

_MOST_THREADS = 1_000
"""Threads that are kept in this process at most; a server's trials never tell that they have ended."""

AnyGraph = Pregel[Any, Any, Any, Any]
"""Any compiled graph."""


class GraphAgent(PausingAgent):
    """A compiled graph of this process."""

    def __init__(self, reference: str, graph: AnyGraph, domain: frozenset[str], options: GraphOptions) -> None:
        """Find the graph's tools nodes.

        Args:
            reference: How it is named on the command line.
            graph: The graph.
            domain: Names of the domain's tools.
            options: How it is called.

        Raises:
            ConfigurationError: If it cannot be stopped before its tools.
        """
        super().__init__(
            reference, GraphThreads(graph, find_stops(reference, graph, domain, options), options), options
        )


def has_messages(graph: AnyGraph, key: str) -> bool:
    """Tell whether a graph's state has messages under that key, or at least is a state with keys of its own."""
    return key in graph.channels or "__previous__" not in graph.channels


class GraphThreads:
    """Threads of a compiled graph."""

    def __init__(self, graph: AnyGraph, stops: Stops, options: GraphOptions) -> None:
        self._graph = graph
        self._stops = stops
        self._options = options
        self._is_kept = False
        self._open: OrderedDict[str, None] = OrderedDict()
        self.needs_all = isinstance(graph.channels[options.input_key], LastValue)
        # Nothing leaves this process, so a state may hold whatever it likes.
        serde = JsonPlusSerializer(pickle_fallback=True, allowed_msgpack_modules=True)
        self._run_on(InMemorySaver(serde=serde))

    def keep_in(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Keep threads in that saver from now on."""
        self._is_kept = True
        self._run_on(saver)

    def owns(self, name: str, domain: frozenset[str]) -> bool:
        """Tell whether a tool is the graph's own to run."""
        return name not in domain and self._stops.owns(name)

    def match(self, domain: Mapping[str, Schema]) -> ToolMatch | None:
        """Compare the graph's tools with the domain's; `None` if they cannot be seen."""
        return match_tools(schemas_of(self._stops.tools.values()), domain) if self._stops.are_seen else None

    async def begin(self) -> Place:
        """Open a thread."""
        thread_id = str(uuid4())
        await self._note(thread_id)
        return Place({"thread_id": thread_id, "checkpoint_id": None})

    async def find(self, memory: Mapping[str, JsonValue]) -> Place | None:
        """Return where a turn ended; on a copy of its thread, if that has gone on since."""
        thread_id, checkpoint_id = memory.get("thread_id"), memory.get("checkpoint_id")
        if not isinstance(thread_id, str) or not isinstance(checkpoint_id, str):
            return None
        place = await self._place(thread_id)
        last = place.memory["checkpoint_id"]
        if last == checkpoint_id or not isinstance(last, str):
            return place if last else None
        new_id = str(uuid4())
        if not await copy_thread(self._saver, thread_id, new_id, checkpoint_id):
            return None
        await self._note(new_id)
        return await self._place(new_id)

    async def run(
        self, place: Place, messages: Sequence[AnyMessage] | None, *, own_calls: Collection[str] = ()
    ) -> Place:
        """Run to the next stop.

        Raises:
            AgentGraphError: If it stops where nobody can go on.
        """
        thread_id = str(place.memory["thread_id"])
        given: Any = {self._options.input_key: list(messages)} if messages is not None else None
        if place.held:
            given = Command(update={self._options.input_key: self._joined(place, place.held)})
        graph = self._stepping if own_calls else self._pausing
        await graph.ainvoke(given, self._config(thread_id), context=self._options.context, durability="exit")
        reached = await self._place(thread_id)
        if reached.stuck and not own_calls:
            raise AgentGraphError(reached.stuck)
        return reached

    async def answer(self, place: Place, node: str, messages: Sequence[AnyMessage]) -> Place | None:
        """Put in what a tools node would have put in; `None` if that node is not under way any more."""
        is_outermost = not place.config.get("configurable", {}).get("checkpoint_ns")
        if place.stops_at is None and is_outermost:
            return replace(place, held=messages)  # a part has run already and may have said where to go on
        update = {self._options.input_key: self._joined(place, messages)}
        try:
            await self._pausing.aupdate_state(place.config, update, as_node=node)
        except InvalidUpdateError:
            return None
        return await self._place(str(place.memory["thread_id"]))

    async def forget(self, memory: Mapping[str, JsonValue]) -> None:
        """Drop a thread, unless threads are kept."""
        thread_id = memory.get("thread_id")
        if isinstance(thread_id, str) and not self._is_kept:
            self._open.pop(thread_id, None)
            await self._saver.adelete_thread(thread_id)

    async def aclose(self) -> None:
        """Drop all threads that are not kept."""
        while self._open:
            await self.forget({"thread_id": next(iter(self._open))})

    def _run_on(self, saver: BaseCheckpointSaver[Any]) -> None:
        self._saver = saver
        self._pausing = stopping(self._graph, self._stops).copy(update={"checkpointer": saver})
        self._stepping = stopping(self._graph, self._stops, after=True).copy(update={"checkpointer": saver})

    async def _note(self, thread_id: str) -> None:
        if self._is_kept:
            return
        self._open[thread_id] = None
        if len(self._open) > _MOST_THREADS:
            await self.forget({"thread_id": next(iter(self._open))})

    def _config(self, thread_id: str) -> RunnableConfig:
        return {"configurable": {**self._options.config, "thread_id": thread_id}}

    def _joined(self, place: Place, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return what to write so that the messages join the others: all of them where the state only replaces."""
        if not self.needs_all:
            return list(messages)
        return list({**keyed(place.messages), **keyed(messages)}.values())

    async def _place(self, thread_id: str) -> Place:
        snapshot = await self._pausing.aget_state(self._config(thread_id), subgraphs=True)
        levels = list(_levels(snapshot))
        inner = levels[-1]
        ids = [level.config.get("configurable", {}).get("checkpoint_id") for level in levels]
        messages: dict[str, AnyMessage] = {}
        for depth, level in enumerate(levels):
            messages |= keyed(self._messages(level, is_outermost=depth == 0))
        nodes = tuple(dict.fromkeys(inner.next))
        stuck = None
        if inner.interrupts:
            stuck = interrupted(nodes, inner.interrupts[0].value)
        elif nodes and not (len(nodes) == 1 and nodes[0] in self._stops.nodes):
            stuck = halted(nodes)
        return Place(
            memory={"thread_id": thread_id, "checkpoint_id": max(filter(None, ids), default=None)},
            messages=list(messages.values()),
            stops_at=nodes[0] if nodes and stuck is None else None,
            config=inner.config,
            stuck=stuck,
        )

    def _messages(self, level: StateSnapshot, *, is_outermost: bool) -> list[AnyMessage]:
        values: Any = level.values
        found = values.get(self._options.input_key) if isinstance(values, dict) else None
        if found is None and (not values or not is_outermost):
            return []
        if not isinstance(found, list) or not all(isinstance(message, BaseMessage) for message in found):
            raise AgentGraphError(
                f"the graph's state holds no messages under {self._options.input_key!r}: got {_kind(found)}, "
                f"wanted a list of messages"
            )
        return found


def _levels(snapshot: StateSnapshot) -> Iterator[StateSnapshot]:
    """Yield the graph's state and that of the graph under way in it, and so on inwards."""
    yield snapshot
    inside = [task.state for task in snapshot.tasks if isinstance(task.state, StateSnapshot)]
    if len(inside) > 1:
        raise AgentGraphError(f"the graph has {len(inside)} graphs inside that stop at the same time, wanted one")
    for state in inside:
        yield from _levels(state)


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if value is not None else "nothing"
