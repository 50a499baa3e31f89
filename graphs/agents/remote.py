"""A deployed graph: the same as a compiled one, stopped before its tools, on a LangGraph server.

The server's own failures leave a trial unscored. What the graph itself does wrong is the agent's.
"""

import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import httpx
from langchain_core.messages import AnyMessage, message_to_dict, messages_from_dict
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import LangGraphError
from pydantic import JsonValue

from taugraph.domains.errors import ModelCallError, UnknownNameError
from taugraph.graphs.agents.answers import AgentGraphError, keyed, pending_message
from taugraph.graphs.agents.graph_options import GraphOptions
from taugraph.graphs.agents.pausing import Place, halted, interrupted
from taugraph.graphs.agents.tool_match import Schema, ToolMatch

_LOG = logging.getLogger("taugraph")
_T = TypeVar("_T")
_INFRASTRUCTURE = (401, 403, 404, 408, 409, 425, 429)
"""Statuses, beside those from 500 on, for which the agent can do nothing."""

_PROVIDER_ERRORS = {
    "RateLimitError": "rate_limit",
    "ModelRateLimitError": "rate_limit",
    "ResourceExhausted": "rate_limit",
    "AuthenticationError": "authentication",
    "ModelAuthenticationError": "authentication",
    "PermissionDeniedError": "authentication",
    "ModelPermissionDeniedError": "authentication",
    "APIConnectionError": "connection",
    "ModelConnectionError": "connection",
    "APITimeoutError": "timeout",
    "ModelTimeoutError": "timeout",
    "InternalServerError": "provider_error",
    "OverloadedError": "provider_error",
    "ModelAPIError": "provider_error",
}
"""What providers call their failures: of an error inside the graph, the server tells no more than the name."""


class RemoteThreads:
    """Threads on a LangGraph server."""

    needs_all = False

    def __init__(self, client: LangGraphClient, assistant: str, options: GraphOptions) -> None:
        """Take a client of the server, and the assistant's id or graph's name."""
        self._client = client
        self._assistant = assistant
        self._options = options
        self._nodes = options.tools_nodes or ("tools",)
        self._open: set[str] = set()

    async def check(self, reference: str) -> None:
        """Look the assistant up, before the first trial.

        Raises:
            ModelCallError: If the server cannot be reached or fails.
            UnknownNameError: If it has no such assistant, or the assistant no such node.
        """
        try:
            graph: Any = await self._asked(self._client.assistants.get_graph(self._assistant))
        except (ModelCallError, AgentGraphError) as error:
            status = getattr(getattr(error.__cause__, "response", None), "status_code", None)
            if status not in (404, 422):
                raise
            known: Any = await self._asked(self._client.assistants.search(limit=100))
            raise UnknownNameError(
                f"assistant for --agent {reference!r}", self._assistant, {each["graph_id"] for each in known}
            ) from error
        nodes = [str(node["id"]) for node in graph["nodes"]]
        for name in self._options.tools_nodes:
            if name not in nodes:
                raise UnknownNameError(f"node in agent {reference!r}", name, nodes)

    def keep_in(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Do nothing: the server keeps its own threads."""

    def owns(self, name: str, domain: frozenset[str]) -> bool:
        """Tell whether a tool is the graph's own to run: the server does not say which tools it has."""
        return name not in domain

    def match(self, domain: Mapping[str, Schema]) -> ToolMatch | None:
        """Return `None`: the server does not say which tools its graphs have."""
        return None

    async def begin(self) -> Place:
        """Open a thread."""
        thread = await self._asked(self._client.threads.create())
        self._open.add(thread["thread_id"])
        return Place({"thread_id": thread["thread_id"], "checkpoint_id": None})

    async def find(self, memory: Mapping[str, JsonValue]) -> Place | None:
        """Return where a turn ended; `None` if the server does not know it."""
        thread_id, checkpoint_id = memory.get("thread_id"), memory.get("checkpoint_id")
        if not isinstance(thread_id, str) or not isinstance(checkpoint_id, str):
            return None
        try:
            return await self._place(thread_id, checkpoint_id)
        except ModelCallError as error:
            if isinstance(error.__cause__, httpx.HTTPStatusError) and error.__cause__.response.status_code == 404:
                return None
            raise

    async def run(
        self, place: Place, messages: Sequence[AnyMessage] | None, *, own_calls: Collection[str] = ()
    ) -> Place:
        """Run to the next stop.

        Raises:
            ModelCallError: If the server cannot be reached or fails.
            AgentGraphError: If the graph fails, or stops where nobody can go on.
        """
        start = await self._narrowed(place, own_calls) if own_calls else place
        given = {self._options.input_key: _on_the_wire(messages)} if messages is not None else None
        call: dict[str, Any] = {
            "interrupt_after" if own_calls else "interrupt_before": list(self._nodes),
            "input": given,
            "checkpoint_id": start.memory["checkpoint_id"],
            "config": {"configurable": dict(self._options.config)},
            "context": self._options.context,
            "raise_error": False,
        }
        outcome: Any = await self._asked(
            self._client.runs.wait(str(place.memory["thread_id"]), self._assistant, **call)
        )
        if isinstance(outcome, dict) and isinstance(error := outcome.get("__error__"), dict):
            name, text = str(error.get("error")), f"{error.get('error')}: {error.get('message')}"
            if name in _PROVIDER_ERRORS:
                raise ModelCallError("agent", _PROVIDER_ERRORS[name], text)
            raise AgentGraphError(f"the graph failed on the server: {text}")
        reached = await self._place(str(place.memory["thread_id"]), None)
        if own_calls:
            return await self._restored(place, reached)
        if reached.stuck:
            raise AgentGraphError(reached.stuck)
        return reached

    async def answer(self, place: Place, node: str, messages: Sequence[AnyMessage]) -> Place | None:
        """Put in what a tools node would have put in."""
        return await self._updated(place, messages, as_node=node)

    async def forget(self, memory: Mapping[str, JsonValue]) -> None:
        """Delete a thread."""
        thread_id = memory.get("thread_id")
        if isinstance(thread_id, str) and thread_id in self._open:
            self._open.discard(thread_id)
            try:
                await self._asked(self._client.threads.delete(thread_id))
            except (ModelCallError, AgentGraphError) as error:
                _LOG.warning("thread %s of the deployed agent could not be deleted: %s", thread_id, error)

    async def aclose(self) -> None:
        """Delete all threads that this process has opened, as far as the server can be reached."""
        while self._open:
            await self.forget({"thread_id": next(iter(self._open))})
        await self._client.aclose()

    async def _narrowed(self, place: Place, own: Collection[str]) -> Place:
        """Leave only the graph's own calls in the message that waits, and let the graph choose its way again."""
        message = pending_message(place.messages)
        assert message is not None, "a graph that waits before its tools has a message that calls some"
        calls = [call for call in message.tool_calls if call["name"] in own]
        narrowed = message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})
        return await self._updated(place, [narrowed], as_node=None)

    async def _restored(self, before: Place, after: Place) -> Place:
        message = pending_message(before.messages)
        return await self._updated(after, [message], as_node=None) if message is not None else after

    async def _updated(self, place: Place, messages: Sequence[AnyMessage], *, as_node: str | None) -> Place:
        thread_id, checkpoint_id = str(place.memory["thread_id"]), place.memory["checkpoint_id"]
        values = {self._options.input_key: _on_the_wire(messages)}
        at: dict[str, Any] = {"as_node": as_node, "checkpoint_id": checkpoint_id}
        await self._asked(self._client.threads.update_state(thread_id, values, **at))
        return await self._place(thread_id, None)

    async def _place(self, thread_id: str, checkpoint_id: str | None) -> Place:
        state: Any = await self._asked(self._client.threads.get_state(thread_id, checkpoint_id=checkpoint_id))
        found = (state["values"] or {}).get(self._options.input_key) if isinstance(state["values"], dict) else None
        if state["values"] and not isinstance(found, list):
            raise AgentGraphError(f"the graph's state holds no list of messages under {self._options.input_key!r}")
        nodes = tuple(dict.fromkeys(state["next"]))
        stuck = None
        if interrupts := [each for task in state["tasks"] for each in task.get("interrupts") or ()]:
            stuck = interrupted(nodes, interrupts[0].get("value"))
        elif nodes and not (len(nodes) == 1 and nodes[0] in self._nodes):
            stuck = halted(nodes)
        return Place(
            memory={"thread_id": thread_id, "checkpoint_id": state["checkpoint"]["checkpoint_id"]},
            messages=list(keyed(_off_the_wire(found or [])).values()),
            stops_at=nodes[0] if nodes and stuck is None else None,
            stuck=stuck,
        )

    async def _asked(self, request: Awaitable[_T]) -> _T:
        """Await the server, and tell its own failures from what is wrong with the request."""
        try:
            return await request
        except (httpx.HTTPStatusError, httpx.TransportError, LangGraphError) as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            if isinstance(status, int) and status < 500 and status not in _INFRASTRUCTURE:
                raise AgentGraphError(f"the server refuses what the graph is to be given: {error}") from error
            raise ModelCallError("agent", server_cause(error, status), f"{type(error).__name__}: {error}") from error


def server_cause(error: Exception, status: int | None) -> str:
    """Return one word for what is wrong with a server."""
    if isinstance(error, httpx.TimeoutException) or "Timeout" in type(error).__name__:
        return "timeout"
    if status is None:
        return "connection"
    by_status = {401: "authentication", 403: "authentication", 404: "unknown_assistant", 429: "rate_limit"}
    return by_status.get(status, "provider_error")


def _on_the_wire(messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    documents = [message_to_dict(message)["data"] for message in messages]
    return [{key: value for key, value in each.items() if value not in (None, [], {})} for each in documents]


def _off_the_wire(documents: Sequence[Any]) -> list[Any]:
    """Return the messages of a state as objects; what is no message is left out."""
    found: list[Any] = []
    for each in documents:
        if isinstance(each, dict) and isinstance(each.get("type"), str):
            found += messages_from_dict([{"type": each["type"], "data": each}])
    return found
