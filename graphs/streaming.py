"""Replies that come in pieces, read as strictly as those that come whole.

LangChain mends arguments that were cut off into shorter ones that parse. Here the text of the pieces is joined and
parsed as it is: what is no JSON object comes back as an unreadable call.
"""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.runnables import Runnable

CUT_OFF = "(cut off)"
"""Stands for arguments of which nothing arrived before the provider's limit."""

_LIMITS = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})


async def stream_reply(
    model: Runnable[Any, BaseMessage], messages: Sequence[BaseMessage], parameters: dict[str, Any]
) -> BaseMessage:
    """Collect a streamed reply.

    Raises:
        ConnectionError: If the stream ended before the reply did.
    """
    whole: BaseMessage | None = None
    async for piece in model.astream(list(messages), **parameters):
        whole = piece if whole is None else whole + piece  # type: ignore[assignment]
    if whole is None:
        raise ConnectionError("the stream ended before anything came")
    if not isinstance(whole, AIMessageChunk):
        return whole
    if _needs_reason(whole) and not whole.response_metadata.get("finish_reason"):
        raise ConnectionError("the stream ended before the reply was finished")
    pieces = [(piece["name"], piece["args"], piece["id"]) for piece in whole.tool_call_chunks]
    calls, unreadable = read_calls(pieces, is_cut=is_truncated(whole))
    message = message_chunk_to_message(whole)
    extra = {name: value for name, value in whole.additional_kwargs.items() if name != "tool_calls"}
    return message.model_copy(
        update={"tool_calls": calls, "invalid_tool_calls": unreadable, "additional_kwargs": extra}
    )


def read_calls(
    pieces: Sequence[tuple[str | None, str | None, str | None]], *, is_cut: bool = False
) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Read calls from name, text of the arguments and id; no text at all means no arguments.

    Args:
        pieces: One triple per call, in order.
        is_cut: Whether the reply was cut off, so that a last call without text is not known to have no arguments.
    """
    calls: list[ToolCall] = []
    unreadable: list[InvalidToolCall] = []
    for number, (name, text, identity) in enumerate(pieces, 1):
        is_lost = is_cut and number == len(pieces) and not (text or "").strip()
        arguments = CUT_OFF if is_lost else parse_arguments(text)
        if isinstance(arguments, dict):
            calls.append(tool_call(name=name or "", args=arguments, id=identity))
        else:
            unreadable.append(invalid_tool_call(name=name or "", args=arguments, id=identity, error=None))
    return calls, unreadable


def parse_arguments(text: str | None) -> dict[str, Any] | str:
    """Return the object that the text spells, or the text itself where it spells something else."""
    if text is None or not text.strip():
        return {}
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def is_truncated(message: BaseMessage) -> bool:
    """Tell whether the provider cut the message off at its limit of tokens."""
    told = message.response_metadata
    incomplete = told.get("incomplete_details")
    reasons = [told.get(name) for name in ("finish_reason", "stop_reason", "stopReason", "done_reason")]
    reasons.append(incomplete.get("reason") if isinstance(incomplete, dict) else None)
    return isinstance(message, AIMessage) and any(str(reason).lower() in _LIMITS for reason in reasons if reason)


def _needs_reason(message: AIMessageChunk) -> bool:
    """Tell whether the API always says why it stopped: the pieces of a chat completion that ends well do."""
    told = message.response_metadata
    return told.get("model_provider") == "openai" and isinstance(message.content, str) and "status" not in told
