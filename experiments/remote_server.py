"""One LangGraph server that plays trials: every trial is a thread of its own with one run on the simulation graph.

What a request can come to is one of two exceptions: `Lost`, after which the trial may be tried again, here or
elsewhere, and `Broken`, after which it stays unscored for the reason that the server gave.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError

GRAPH = "simulation"
"""Name of the graph in the server's `langgraph.json`."""
RECURSION_LIMIT = 100_000
"""Never reached: the protocol's limits end a trial by an edge, not by an exception."""
SILENCE_S = 30.0
"""Seconds without a byte after which a connection counts as dead; a waiting server sends one every five."""

_UNFINISHED = ("pending", "running")
_KEY_VARIABLES = ("LANGGRAPH_API_KEY", "LANGSMITH_API_KEY")
_PAUSE_S = 0.5


class Lost(Exception):
    """The server, or what it knew of the trial, is gone.

    Attributes:
        is_down: Whether the server itself cannot be used for now.
    """

    def __init__(self, reason: str, *, is_down: bool) -> None:
        super().__init__(reason)
        self.is_down = is_down


class Broken(Exception):
    """The trial was tried and has no score.

    Attributes:
        kind: One word for the reason.
        values: The state as far as it came; empty if unknown.
    """

    def __init__(self, kind: str, reason: str, values: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.kind, self.values = kind, dict(values or {})


@dataclass(frozen=True)
class Order:
    """A trial as it is sent to a server.

    Attributes:
        thread_id: Its thread, a UUID.
        task_id: Task to play.
        trial: Index of the attempt.
        seed: Seed of the attempt.
        context: Settings of the run.
        metadata: What the thread is marked with; a thread with other marks is not this trial's.
    """

    thread_id: str
    task_id: str
    trial: int
    seed: int
    context: dict[str, Any] = field(repr=False)
    metadata: dict[str, Any] = field(repr=False)


def key_headers() -> dict[str, str]:
    """Return the headers that carry the key of a protected server, from LANGGRAPH_API_KEY or LANGSMITH_API_KEY."""
    key = next((os.environ[name] for name in _KEY_VARIABLES if os.environ.get(name)), None)
    return {"x-api-key": key} if key else {}


class Server:
    """A server, and what the fleet knows about it.

    Attributes:
        url: Its address.
        in_flight: Trials being played on it for us.
        is_out: Whether it gets no trials for now.
        failures: How often in a row it was lost.
        orphans: Threads still to be removed: their trials are stored, or were played elsewhere.
    """

    def __init__(self, url: str, *, silence_s: float = SILENCE_S) -> None:
        """Prepare to talk to it; nothing is sent yet.

        Args:
            url: Its address.
            silence_s: Seconds without a byte after which a connection counts as dead.
        """
        self.url = url
        self.in_flight = 0
        self.is_out = False
        self.failures = 0
        self.orphans: set[str] = set()
        timeout = httpx.Timeout(silence_s, connect=min(5.0, silence_s))
        # As many connections as trials in flight, which the scheduler bounds. An idle one is dropped before the server
        # drops it: uvicorn does after five seconds, and a request that meets that moment is lost.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=50, keepalive_expiry=2.0)
        self._http = httpx.AsyncClient(base_url=url, timeout=timeout, limits=limits, headers=key_headers())
        self._client = LangGraphClient(self._http)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def is_alive(self) -> bool:
        """Tell whether it says that it is well."""
        try:
            return (await self._http.get("/ok", timeout=5.0)).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    async def start(self, order: Order) -> str:
        """Start a trial, or find the run that an earlier attempt of ours started, and return the run's id.

        Raises:
            Lost: If the server cannot be used.
            Broken: If it refuses.
        """
        async with self._reached():
            try:
                await self._create_thread(order)
            except ConflictError:
                if run_id := await self._own_run(order):
                    return run_id
                await self._remove(order.thread_id)
                await self._create_thread(order)
            started = await self._client.runs.create(
                order.thread_id,
                GRAPH,
                input={"task_id": order.task_id, "trial": order.trial, "seed": order.seed},
                config={"recursion_limit": RECURSION_LIMIT},
                context=order.context,
                metadata=order.metadata,
                stream_mode="custom",  # nothing is streamed: the state is read when the run has ended
                durability="exit",
                multitask_strategy="reject",
            )
            return str(started["run_id"])

    async def finish(self, thread_id: str, run_id: str) -> dict[str, Any]:
        """Wait until a run has ended and return the trial's final state.

        Raises:
            Lost: If the server, the thread or the run is gone.
            Broken: If the run ended without a score.
        """
        while True:
            await self._wait(thread_id, run_id)
            async with self._reached():
                status = (await self._client.runs.get(thread_id, run_id))["status"]
                if status not in _UNFINISHED:
                    return await self._result(thread_id, status)
            await asyncio.sleep(_PAUSE_S)

    async def remove(self, thread_id: str, *, keep: bool = False) -> None:
        """Cancel what is running on a thread and delete it; a server that does not answer is left alone.

        Args:
            thread_id: The thread.
            keep: Whether to cancel only.
        """
        try:
            await self._remove(thread_id, keep=keep)
        except (httpx.HTTPError, ValueError):
            return

    async def delete(self, thread_id: str) -> None:
        """Delete the thread of a run that has ended; where the server does not answer, it becomes an orphan."""
        try:
            await self._client.threads.delete(thread_id)
        except NotFoundError:
            return
        except (httpx.HTTPError, ValueError):
            self.orphans.add(thread_id)

    async def _create_thread(self, order: Order) -> None:
        await self._client.threads.create(thread_id=order.thread_id, metadata=order.metadata, if_exists="raise")

    async def _own_run(self, order: Order) -> str | None:
        """Return the run of this very trial that is under way or has a score; `None` if there is none."""
        thread = await self._client.threads.get(order.thread_id)
        if any((thread["metadata"] or {}).get(name) != value for name, value in order.metadata.items()):
            return None
        for run in await self._client.runs.list(order.thread_id):
            if run["status"] in _UNFINISHED:
                return str(run["run_id"])
            if run["status"] == "success" and (await self._values(order.thread_id)).get("reward") is not None:
                return str(run["run_id"])
        return None

    async def _remove(self, thread_id: str, *, keep: bool = False) -> None:
        try:
            for run in await self._client.runs.list(thread_id):
                if run["status"] in _UNFINISHED:
                    await self._client.runs.cancel(thread_id, run["run_id"], wait=True)
            if not keep:
                await self._client.threads.delete(thread_id)
        except NotFoundError:
            return

    async def _wait(self, thread_id: str, run_id: str) -> None:
        """Hold a connection until the run ends, or the connection does: what is true then is asked afterwards."""
        path = f"/threads/{thread_id}/runs/{run_id}/join"
        try:
            async with self._http.stream("GET", path) as answer:
                async for _ in answer.aiter_bytes():
                    pass
        except httpx.TransportError:
            return

    async def _result(self, thread_id: str, status: str) -> dict[str, Any]:
        state: Mapping[str, Any] = await self._client.threads.get_state(thread_id)
        values = state["values"] if isinstance(state["values"], dict) else {}
        if status == "success":
            return values
        errors = [str(task["error"]) for task in state["tasks"] if task.get("error")]
        if status == "error" and errors:
            raise Broken("server_error", f"the run failed on {self.url}: {errors[0]}", values)
        if status == "timeout":
            raise Broken("server_timeout", f"{self.url} cut the run off at its own time limit", values)
        raise Lost(f"the run on {self.url} was ended from outside ({status})", is_down=False)

    async def _values(self, thread_id: str) -> dict[str, Any]:
        values = (await self._client.threads.get_state(thread_id))["values"]
        return values if isinstance(values, dict) else {}

    @asynccontextmanager
    async def _reached(self) -> AsyncIterator[None]:
        """Turn what a request can end with into the two exceptions."""
        try:
            yield
        except httpx.TransportError as error:
            reason = f"{self.url} cannot be reached: {type(error).__name__}: {error}"
            raise Lost(reason, is_down=not await self.is_alive()) from error
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            reason = f"{self.url} answered {status}: {str(error)[:300]}"
            if status >= httpx.codes.INTERNAL_SERVER_ERROR or status in (408, 429):
                raise Lost(reason, is_down=True) from error
            if status in (404, 409):
                raise Lost(reason, is_down=False) from error
            raise Broken("server_refused", reason) from error
        except (ValueError, KeyError, TypeError) as error:
            what = f"{type(error).__name__}: {error}"[:200]
            raise Broken("server_answer", f"{self.url} answered what no LangGraph server does: {what}") from error
