"""A stand-in for LangGraph's server on a real socket, with faults on demand: the routes that a remote run uses."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import uuid4

import uvicorn
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from taugraph.graphs.context import SimulationContext
from taugraph.graphs.state import SimulationState

_PATIENCE_S = 10.0
Fault = Callable[[str, str], Response | None]
"""Answers a request in the server's place, from its method and path; `None` to let it through."""


@dataclass
class Ending:
    """How a run ends.

    Attributes:
        values: The state then.
        status: Of the run.
        error: What the graph raised; `None` for nothing.
        after_s: Seconds until then.
        until: What has to be true as well.
    """

    values: Any
    status: str = "success"
    error: str | None = None
    after_s: float = 0.02
    until: Callable[[], bool] = lambda: True


Script = Callable[[dict[str, Any]], Ending]
"""Says how a run ends, from its input."""


@dataclass
class _Thread:
    metadata: dict[str, Any]
    values: Any = field(default_factory=dict)
    error: str | None = None
    runs: dict[str, str] = field(default_factory=dict)
    playing: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)


def played(asked: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the state of a trial that passed."""
    said = {"type": "human", "content": "Thank you.", "id": "user-1", "additional_kwargs": {}, "response_metadata": {}}
    return asked | {"termination": "user_stop", "reward": 1.0, "scores": [], "messages": [said]} | changes


def no_task(asked: dict[str, Any], *known: str) -> Ending:
    """Return how a run ends whose task is not known."""
    error = f"UnknownNameError(\"no task named '{asked['task_id']}': known are {', '.join(known)}\")"
    return Ending(asked | {"messages": []}, "error", error)


class LangGraphFake:
    """A server on 127.0.0.1 that serves within its `with` block; all its faults can be changed while it runs.

    Attributes:
        url: Its address; set on entry.
        started: Inputs of the runs, as (task, trial), counted.
        peak: The most runs that were under way at once.
        contexts: Contexts of the runs.
        cancelled: Threads on which a run was cancelled.
        deleted: Threads that were deleted.
        fault: Answers in its place.
        health: What `/taugraph/health` tells; `None` if it is not served.
        identity: What `/taugraph/identity` tells, after its status.
        graphs: Names of the graphs.
        lacks: Settings that its graph's context does not know.
    """

    url: str

    def __init__(self, script: Script) -> None:
        self.started: Counter[tuple[str, int]] = Counter()
        self.peak = 0
        self.contexts: list[dict[str, Any]] = []
        self.cancelled: list[str] = []
        self.deleted: list[str] = []
        self.fault: Fault = lambda method, path: None
        self.health: dict[str, Any] | None = None
        self.identity: tuple[int, dict[str, Any]] = (404, {})
        self.graphs = ["simulation"]
        self.lacks: set[str] = set()
        self.threads: dict[str, _Thread] = {}
        self.script = script

    def __enter__(self) -> Self:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            self._app(),
            log_config=None,
            access_log=False,
            loop="asyncio",
            lifespan="off",
            ws="none",
            log_level="critical",
        )
        config.timeout_graceful_shutdown = 1
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(_PATIENCE_S)

    def _app(self) -> Starlette:
        thread, run = "/threads/{thread}", "/threads/{thread}/runs/{run}"
        routes = [
            Route("/ok", self._ok),
            Route("/taugraph/health", self._health),
            Route("/taugraph/identity", self._identity, methods=["POST"]),
            Route("/assistants/search", self._assistants, methods=["POST"]),
            Route("/assistants/{assistant}/schemas", self._schemas),
            Route("/threads", self._create_thread, methods=["POST"]),
            Route(thread, self._get_thread),
            Route(thread, self._delete_thread, methods=["DELETE"]),
            Route(f"{thread}/state", self._state),
            Route(f"{thread}/runs", self._create_run, methods=["POST"]),
            Route(f"{thread}/runs", self._list_runs),
            Route(run, self._get_run),
            Route(f"{run}/join", self._join),
            Route(f"{run}/cancel", self._cancel, methods=["POST"]),
        ]
        app = Starlette(routes=routes, exception_handlers={KeyError: _not_found})
        app.add_middleware(BaseHTTPMiddleware, dispatch=self._intercept)
        return app

    async def _intercept(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        answer = self.fault(request.method, request.url.path)
        return answer if answer is not None else await call_next(request)

    async def _ok(self, request: Request) -> Response:
        return JSONResponse({"ok": True})

    async def _health(self, request: Request) -> Response:
        return JSONResponse(self.health, 200 if self.health else 404)

    async def _identity(self, request: Request) -> Response:
        status, body = self.identity
        return JSONResponse(body, status)

    async def _assistants(self, request: Request) -> Response:
        return JSONResponse([{"assistant_id": str(uuid4()), "graph_id": name} for name in self.graphs])

    async def _schemas(self, request: Request) -> Response:
        context = {name: {} for name in SimulationContext.model_fields if name not in self.lacks}
        state = {name: {} for name in SimulationState.__annotations__}
        return JSONResponse({"context_schema": {"properties": context}, "state_schema": {"properties": state}})

    async def _create_thread(self, request: Request) -> Response:
        body = await request.json()
        if body["thread_id"] in self.threads:
            return JSONResponse({"detail": "exists"}, 409)
        self.threads[body["thread_id"]] = _Thread(body.get("metadata") or {})
        return JSONResponse({"thread_id": body["thread_id"]})

    def _named(self, request: Request) -> _Thread:
        return self.threads[request.path_params["thread"]]

    async def _get_thread(self, request: Request) -> Response:
        return JSONResponse({"metadata": self._named(request).metadata})

    async def _delete_thread(self, request: Request) -> Response:
        self._named(request)
        del self.threads[request.path_params["thread"]]
        self.deleted.append(request.path_params["thread"])
        return Response(status_code=204)

    async def _state(self, request: Request) -> Response:
        thread = self._named(request)
        tasks = [{"name": "user", "error": thread.error}] if thread.error else []
        return JSONResponse({"values": thread.values, "tasks": tasks, "next": []})

    async def _create_run(self, request: Request) -> Response:
        thread, body, run_id = self._named(request), await request.json(), str(uuid4())
        asked = body["input"]
        self.started[asked["task_id"], asked["trial"]] += 1
        self.contexts.append(body["context"])
        thread.runs[run_id] = "running"
        running = sum(status == "running" for one in self.threads.values() for status in one.runs.values())
        self.peak = max(self.peak, running)
        thread.playing[run_id] = asyncio.create_task(self._play(thread, run_id, self.script(asked)))
        return JSONResponse({"run_id": run_id, "status": "running"})

    async def _play(self, thread: _Thread, run_id: str, ending: Ending) -> None:
        try:
            await asyncio.sleep(ending.after_s)
            while not ending.until():
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            thread.runs[run_id] = "interrupted"
            return
        thread.values, thread.error, thread.runs[run_id] = ending.values, ending.error, ending.status

    async def _list_runs(self, request: Request) -> Response:
        runs = self._named(request).runs.items()
        return JSONResponse([{"run_id": run_id, "status": status} for run_id, status in runs])

    async def _get_run(self, request: Request) -> Response:
        run_id = request.path_params["run"]
        return JSONResponse({"run_id": run_id, "status": self._named(request).runs[run_id]})

    async def _join(self, request: Request) -> Response:
        task = self._named(request).playing[request.path_params["run"]]

        async def body() -> AsyncIterator[bytes]:
            yield b"\n"
            await asyncio.wait([task])
            yield b"{}"

        return StreamingResponse(body(), media_type="application/json")

    async def _cancel(self, request: Request) -> Response:
        self.cancelled.append(request.path_params["thread"])
        task = self._named(request).playing[request.path_params["run"]]
        task.cancel()
        await asyncio.wait([task])
        return JSONResponse({})


async def _not_found(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": f"not found: {error}"}, 404)
