"""A scripted OpenAI-compatible server on a real local socket.

The script is a function of the request alone, so the answers are the same at any concurrency and in
any order. A script that raises is reported when the server closes, whatever the client made of the
500 it saw. Every answer closes its connection.
"""

import asyncio
import itertools
import json
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from support.openai_responses import response_events, response_object
from support.openai_script import Fault as Fault
from support.openai_script import ReceivedRequest as ReceivedRequest
from support.openai_script import Reply as Reply
from support.openai_script import Script as Script
from support.openai_script import ToolCall as ToolCall
from support.openai_script import faults_first as faults_first

_PATIENCE_S = 5.0
_SSE = "text/event-stream"


class OpenAIServer:
    """A server on 127.0.0.1 that accepts from entry of its `with` block to exit.

    Raises:
        RuntimeError: On entry if it does not start; on exit if the script raised, with that error as cause.
    """

    base_url: str
    """Root for clients, ending in `/v1`; set on entry."""

    def __init__(self, reply: Script, *, models: Sequence[str] = ("scripted",)) -> None:
        self.requests: list[ReceivedRequest] = []
        """Requests for completions, in order of arrival."""
        self.peak_in_flight = 0
        """The most requests that were between arrival and first byte at once; only a delay makes them overlap."""
        self._reply = reply
        self._models = tuple(models)
        self._in_flight = 0
        self._serials = itertools.count(1)
        self._script_errors: list[Exception] = []

    def __enter__(self) -> Self:
        # asyncio turns Nagle's delay (40 ms a request) off only where the protocol is named.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        self._uvicorn = _ThreadedUvicorn(self._build_app())
        self._thread = threading.Thread(
            target=self._uvicorn.run, args=([listener],), name=f"openai-server {self.base_url}", daemon=True
        )
        self._thread.start()
        if not self._uvicorn.accepting.wait(_PATIENCE_S):
            raise RuntimeError(f"local server at {self.base_url} did not start within {_PATIENCE_S} s")
        return self

    def __exit__(self, *outcome: object) -> None:
        self._uvicorn.stop()
        self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():
            raise RuntimeError(f"local server at {self.base_url} did not stop within {_PATIENCE_S} s")
        for error in self._script_errors:
            raise RuntimeError(f"the reply script raised {error!r}: fix the script") from error

    def _build_app(self) -> Starlette:
        routes = [
            Route("/v1/chat/completions", self._answer_chat, methods=["POST"]),
            Route("/v1/responses", self._answer_chat, methods=["POST"]),
            Route("/openai/deployments/{deployment}/chat/completions", self._answer_chat, methods=["POST"]),
            Route("/v1/models", self._list_models, methods=["GET"]),
        ]
        return Starlette(routes=routes, exception_handlers={404: _answer_not_found})

    async def _list_models(self, request: Request) -> Response:
        entries = [{"id": name, "object": "model", "created": 0, "owned_by": "local"} for name in self._models]
        return JSONResponse({"object": "list", "data": entries})

    async def _answer_chat(self, request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except ValueError as error:
            return _build_fault_response(Fault(400, f"request body is not JSON: {error}"), streaming=False)
        path = str(request.url).removeprefix(str(request.base_url).rstrip("/"))
        keys = request.headers.get("authorization"), path, request.headers.get("api-key")
        self.requests.append(ReceivedRequest(body, time.monotonic(), *keys))
        self._in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self._in_flight)
        try:
            answer = self._reply(body)
            if answer.delay_s:
                await asyncio.sleep(answer.delay_s)
        except Exception as error:
            self._script_errors.append(error)
            raise
        finally:
            self._in_flight -= 1
        streaming = bool(body.get("stream"))
        if isinstance(answer, Fault):
            return _build_fault_response(answer, streaming=streaming)
        if request.url.path == "/v1/responses":
            made = response_object(answer, body, next(self._serials))
            if streaming:
                return StreamingResponse(response_events(made), media_type=_SSE)
            return JSONResponse(made)
        # LangGraph replaces a message by a later one of the same id, should a client take it from here.
        head = {"id": f"chatcmpl-{next(self._serials)}", "created": int(time.time()), "model": body.get("model")}
        if streaming or answer.as_events:
            return StreamingResponse(_stream_events(head, answer, body), media_type=_SSE)
        return JSONResponse(_build_completion(head, answer, body))


class _ThreadedUvicorn(uvicorn.Server):
    """Uvicorn that says when it accepts and, told to stop, cuts pending replies off at once."""

    def __init__(self, app: Starlette) -> None:
        # A scripted fault is no news: without "critical" each drop would log a traceback.
        quiet: dict[str, Any] = {"log_config": None, "log_level": "critical", "access_log": False}
        plain: dict[str, Any] = {"loop": "asyncio", "http": "h11", "ws": "none", "lifespan": "off"}
        # langchain_openai never closes the clients it caches: an idle connection would be a ResourceWarning.
        super().__init__(uvicorn.Config(app, headers=[("Connection", "close")], **plain, **quiet))
        self.accepting = threading.Event()

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self.server_state.default_headers = self.config.encoded_headers
        self.accepting.set()
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        pending = list(self.server_state.tasks)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)


class _DroppedResponse(Response):
    """A 200 answer that ends before it is complete, which makes uvicorn close the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", str(self.media_type).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": bytes(self.body), "more_body": True})


async def _answer_not_found(request: Request, error: Exception) -> Response:
    known = "POST /v1/chat/completions, POST /v1/responses, Azure's form of the former, GET /v1/models"
    message = f"no route {request.method} {request.url.path}: known are {known}"
    return _build_fault_response(Fault(404, message, code="unknown_url"), streaming=False)


def _build_fault_response(fault: Fault, *, streaming: bool) -> Response:
    if fault.drop and streaming:
        return _DroppedResponse(_event({"id": "chatcmpl-dropped"}, {"content": "Dro"}), media_type=_SSE)
    if fault.drop:
        return _DroppedResponse('{"id": "chatcmpl-dropped", "choi', media_type="application/json")
    headers = {} if fault.retry_after_s is None else {"Retry-After": f"{fault.retry_after_s:g}"}
    kind = "invalid_request_error" if fault.status < 500 else "server_error"
    error = {"message": fault.message, "type": kind, "param": fault.param, "code": fault.code}
    text = json.dumps({"error": error}) if fault.body is None else fault.body
    return Response(text, fault.status, headers, fault.content_type)


def _build_completion(head: dict[str, Any], reply: Reply, request: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content, **reply.extra}
    if reply.tool_calls:
        message["tool_calls"] = _wire_tool_calls(reply, request)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(reply)}
    usage = {} if reply.usage is None else {"usage": dict(reply.usage)}
    return {**head, "object": "chat.completion", "choices": [choice], **usage}


def _wire_tool_calls(reply: Reply, request: dict[str, Any]) -> list[dict[str, Any]]:
    calls = []
    for index, call in enumerate(reply.tool_calls):
        function = {"name": call.name, "arguments": call.arguments}
        wire: dict[str, Any] = {"type": "function", "function": function, **call.extra}
        if call.send_id:
            wire["id"] = f"call_{len(request.get('messages', ()))}_{index}" if call.id is None else call.id
        calls.append(wire)
    return calls


def _finish_reason(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


async def _stream_events(head: dict[str, Any], reply: Reply, request: dict[str, Any]) -> AsyncIterator[str]:
    yield _event(head, {"role": "assistant", "content": None})
    for delta in _deltas(reply, request):
        yield _event(head, delta)
    if not reply.ends_early:
        yield _event(head, {}, _finish_reason(reply))
    if reply.usage is not None and (request.get("stream_options") or {}).get("include_usage"):
        yield _event(head, None, usage=dict(reply.usage))
    yield "data: [DONE]\n\n"


def _deltas(reply: Reply, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in reply.extra.items():
        yield {name: value}
    for word in re.findall(r"\s*\S+|\s+", reply.content or ""):
        yield {"content": word}
    for index, call in enumerate(_wire_tool_calls(reply, request)):
        text = call["function"]["arguments"] or ""
        call["function"]["arguments"] = text[: len(text) // 2]
        yield {"tool_calls": [{"index": index, **call}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": text[len(text) // 2 :]}}]}


def _event(head: dict[str, Any], delta: dict[str, Any] | None, finish_reason: str | None = None, **more: Any) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    chunk = {**head, "object": "chat.completion.chunk", "choices": choices, **more}
    return f"data: {json.dumps(chunk)}\n\n"
