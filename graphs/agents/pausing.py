"""An agent that is a graph, stopped before its tools: the harness answers calls of the domain, the graph runs its own.

The graph keeps its own messages under a thread of its own; a turn's memory says which thread, and where in it. What the
graph is given are the messages it has not seen.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import JsonValue

from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.agents.answers import AgentGraphError, as_turn, corrected, keyed, pending_message, split_calls
from taugraph.graphs.agents.graph_options import GraphOptions
from taugraph.graphs.agents.tool_match import Schema, ToolMatch

_TOOLS_NODE = "tools_node"
"""Under this key the memory says which node the harness's answers stand for."""


@dataclass(frozen=True)
class Place:
    """Where a graph stands.

    Attributes:
        memory: Thread and checkpoint.
        messages: Messages of the graph and of the graphs inside that are under way, outermost first, each once.
        stops_at: The tools node that comes next; `None` if there is none.
        config: Config of the innermost graph under way.
        held: Messages that the next run begins by adding.
        stuck: Why nobody can go on from here; `None` if someone can.
    """

    memory: dict[str, JsonValue]
    messages: Sequence[AnyMessage] = ()
    stops_at: str | None = None
    config: RunnableConfig = field(default_factory=lambda: RunnableConfig())
    held: Sequence[AnyMessage] = ()
    stuck: str | None = None


class Threads(Protocol):
    """A graph and the threads it is run on.

    Attributes:
        needs_all: Whether the graph keeps no messages and is given the whole conversation at every turn.
    """

    needs_all: bool

    async def begin(self) -> Place:
        """Open a thread."""
        ...

    async def find(self, memory: Mapping[str, JsonValue]) -> Place | None:
        """Return where a turn ended, on a thread that can be gone on with; `None` if nobody knows."""
        ...

    async def run(
        self, place: Place, messages: Sequence[AnyMessage] | None, *, own_calls: Collection[str] = ()
    ) -> Place:
        """Run to the next stop.

        Args:
            place: Where the graph stands.
            messages: Its input; `None` to go on.
            own_calls: Names of the graph's own tools that the last message calls, to run only these and stop after
                them; empty to run on.

        Raises:
            AgentGraphError: If it stops where nobody can go on.
        """
        ...

    async def answer(self, place: Place, node: str, messages: Sequence[AnyMessage]) -> Place | None:
        """Put in what a tools node would have put in; `None` if that node is not under way any more."""
        ...

    async def forget(self, memory: Mapping[str, JsonValue]) -> None:
        """Drop a thread, unless threads are kept."""
        ...

    def keep_in(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Keep threads in that saver from now on."""
        ...

    def owns(self, name: str, domain: frozenset[str]) -> bool:
        """Tell whether a tool is the graph's own to run, given the names of the domain's."""
        ...

    def match(self, domain: Mapping[str, Schema]) -> ToolMatch | None:
        """Compare the graph's tools with the domain's; `None` if they cannot be seen."""
        ...

    async def aclose(self) -> None:
        """Drop all threads that are not kept."""
        ...


MOST_OWN_ROUNDS = 50
"""Messages with calls of its own tools that a graph may send in one turn; each makes its state longer."""


class PausingAgent:
    """A graph, evaluated as it is."""

    is_privileged = False

    def __init__(self, reference: str, threads: Threads, options: GraphOptions) -> None:
        """Take the graph's threads."""
        self.reference = reference
        self._threads = threads
        self._options = options

    async def open(self) -> None:
        """Do nothing: threads are opened trial by trial."""

    async def reply(self, view: AgentView) -> AgentTurn:
        """Run the graph to its next words for the user or calls of the domain.

        Raises:
            ModelCallError: If a deployed graph cannot be reached.
            AgentGraphError: If the graph leaves nothing sensible.
        """
        found = await self._threads.find(view.memory) if view.memory is not None else None
        place = found or await self._threads.begin()
        try:
            place, known = await self._informed(view, place, is_new=found is None)
            turn = await self._turn(view, place, known)
        except BaseException:
            if found is None:
                await self._threads.forget(place.memory)  # nothing will ever tell of this thread
            raise
        if view.memory is not None and found is None:
            return replace(turn, notes={**turn.notes, "agent_memory_rebuilt": 1})
        return turn

    def match(self, tools: Mapping[str, Schema]) -> ToolMatch | None:
        """Compare the graph's tools with the domain's; `None` if they cannot be seen."""
        return self._threads.match(tools)

    def keep_in(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Keep the graph's checkpoints in that saver."""
        self._threads.keep_in(saver)

    async def forget(self, memory: Mapping[str, JsonValue]) -> None:
        """Drop the graph's checkpoints of a finished trial."""
        await self._threads.forget(memory)

    async def aclose(self) -> None:
        """Drop all threads that are not kept."""
        await self._threads.aclose()

    async def _informed(self, view: AgentView, place: Place, *, is_new: bool) -> tuple[Place, set[str]]:
        """Give the graph what it has not seen, and run it; also return the keys of all messages before its own."""
        if is_new:
            return await self._begun(view, place)
        new = list(view.messages[view.seen :])
        answers = [message for message in new if isinstance(message, ToolMessage)]
        if answers:
            domain = frozenset(tool.name for tool in view.tools)
            mended = corrected(place.messages, answers, lambda name: self._threads.owns(name, domain))
            new = [*mended, *new]
        node = (view.memory or {}).get(_TOOLS_NODE)
        if answers and isinstance(node, str):
            informed = await self._threads.answer(place, node, new)
            if informed is not None:
                known = keyed(informed.messages).keys() | keyed(informed.held).keys()
                return await self._threads.run(informed, None), known
        given = list(view.messages) if self._threads.needs_all else new
        return await self._threads.run(place, given), keyed(place.messages).keys() | keyed(given).keys()

    async def _begun(self, view: AgentView, place: Place) -> tuple[Place, set[str]]:
        opening: list[BaseMessage] = list(view.messages)
        if self._options.policy == "system":
            opening.insert(0, SystemMessage(view.policy))
        given: Any = opening
        return await self._threads.run(place, given), set(keyed(given))

    async def _turn(self, view: AgentView, place: Place, known: set[str]) -> AgentTurn:
        domain = frozenset(tool.name for tool in view.tools)

        def owns(name: str) -> bool:
            return self._threads.owns(name, domain)

        node, rounds = None, 0
        while place.stops_at is not None:
            own, others = split_calls(_calling(place), owns)
            if own and not others:
                rounds += 1
                if rounds > MOST_OWN_ROUNDS:
                    raise AgentGraphError(f"the graph called tools of its own {MOST_OWN_ROUNDS} times and said nothing")
                place = await self._threads.run(place, None)
                continue
            node = place.stops_at
            if own:
                ran = await self._threads.run(place, None, own_calls={call["name"] for call in own})
                # A handover may leave the message that called behind, in the graph inside that it leaves.
                place = replace(ran, messages=list({**keyed(place.messages), **keyed(ran.messages)}.values()))
            break
        fresh = [message for key, message in keyed(place.messages).items() if key not in known]
        turn = as_turn(fresh, domain, owns)
        return AgentTurn(turn.message, turn.before, {**place.memory, _TOOLS_NODE: node}, {}, turn.usage)


def interrupted(nodes: Sequence[str], value: object) -> str:
    """Say that a graph waits for a human."""
    return (
        f"the graph interrupts itself before {', '.join(nodes)} and waits for an answer that no one gives: "
        f"{str(value)[:200]}"
    )


def halted(nodes: Sequence[str]) -> str:
    """Say that a graph stops where it was not told to."""
    return f"the graph stops before {', '.join(nodes)}, wanted one tools node at a time"


def _calling(place: Place) -> AIMessage:
    message = pending_message(place.messages)
    if message is None:
        raise AgentGraphError(f"the graph stops before {place.stops_at!r}, and no message of it calls a tool")
    return message
