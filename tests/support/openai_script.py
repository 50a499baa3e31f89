"""What a scripted OpenAI-compatible server is told to answer, and what it received."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCall:
    """One function call the scripted model asks for."""

    name: str
    """The function's name; may be empty, as weak models send it."""
    arguments: str | None
    """Raw text sent as is, malformed or not; None sends a JSON null in place of the text."""
    id: str | None = None
    """Call id; None gives one unique within the conversation."""
    send_id: bool = True
    """False leaves the id out of the answer."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields beside `function`, as servers of their own mind send them."""


@dataclass(frozen=True)
class Reply:
    """A successful completion; None content without tool calls is an empty reply."""

    content: str | None = None
    """The text; None sends null."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls in the order asked for; several are parallel calls."""
    finish_reason: str | None = None
    """None means `tool_calls` if there are any, else `stop`."""
    usage: Mapping[str, Any] | None = None
    """The wire's usage object, sent as is; None leaves it out."""
    delay_s: float = 0.0
    """Seconds before the first byte; other requests go on meanwhile."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the message, such as `reasoning_content`; of the Responses API only `reasoning` is read."""
    as_events: bool = False
    """True sends server-sent events whatever was asked for."""
    ends_early: bool = False
    """True ends a stream properly, but before the finish reason."""


@dataclass(frozen=True)
class Fault:
    """An answer that is not a completion."""

    status: int = 500
    """HTTP status; 200 with a `body` is a success the client cannot read."""
    message: str = "scripted fault"
    """The error's text, when `body` is None."""
    code: str | None = None
    """The error's code, such as `context_length_exceeded`; None sends null."""
    param: str | None = None
    """The parameter the error is about; None sends null."""
    retry_after_s: float | None = None
    """Retry-After header in seconds; None leaves it out."""
    delay_s: float = 0.0
    """Seconds before the first byte; other requests go on meanwhile."""
    body: str | None = None
    """Text sent instead of the error object; need not be JSON."""
    content_type: str = "application/json"
    """Media type claimed for the body."""
    drop: bool = False
    """True starts a 200 answer and closes the connection in the middle of it."""


@dataclass(frozen=True)
class ReceivedRequest:
    """One request for a completion as it arrived."""

    body: dict[str, Any]
    """The parsed JSON."""
    arrived_s: float
    """`time.monotonic()` seconds at arrival."""
    authorization: str | None
    """The Authorization header; None if absent."""
    path: str = ""
    """Path and query of the URL."""
    api_key: str | None = None
    """Azure's key header; None if absent."""


Script = Callable[[dict[str, Any]], Reply | Fault]
"""Decides the answer from the request body; runs on the server's loop, so it must not block."""


def faults_first(faults: Sequence[Fault], then: Script) -> Script:
    """Build a script that spends each fault once, in order, then answers with `then`.

    Counts requests across all callers, from any thread.
    """
    remaining = iter(faults)
    lock = threading.Lock()

    def script(request: dict[str, Any]) -> Reply | Fault:
        with lock:
            fault = next(remaining, None)
        return fault if fault is not None else then(request)

    return script
