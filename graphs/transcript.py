"""How a message enters the transcript: as plain JSON values, under an id of its own.

Whatever an actor handed over, what is kept is an ordinary message that any checkpoint, store or provider can take. Ids
follow from the place in the transcript: an id that comes twice would replace an earlier message.
"""

import json
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

_DEEPEST = 50
"""Levels of nesting that are kept; no tool and no provider needs so many."""

CALL_BLOCKS = ("tool_use", "tool_call", "function_call", "invalid_tool_call")
"""Types of the content blocks that stand for a call."""

CALL_EXTRAS = "tool_call_extras"
"""Under this key a message keeps what a provider wants back beside each call, such as a signature of its thoughts.

A list in the order of the calls: a call itself holds nothing but its standard fields, wherever it is stored.
"""

_SAID_TWICE = ("tool_calls", "function_call")
"""What some classes keep of the calls beside the calls."""


def plain_reply(reply: object) -> AIMessage:
    """Return an agent's reply as an ordinary message of JSON values, whatever class it came in.

    Raises:
        TypeError: If it is no AI message, or holds what JSON cannot.
        ValueError: If its parts are not what an AI message holds.
    """
    if not isinstance(reply, AIMessage):
        raise TypeError(f"the agent returned {type(reply).__name__}, wanted an AIMessage")
    extra = {key: value for key, value in reply.additional_kwargs.items() if key not in _SAID_TWICE}
    beside = [call.get("extras") for call in reply.tool_calls]
    if any(beside):
        extra[CALL_EXTRAS] = beside
    return AIMessage(
        content=_plain(reply.content),
        additional_kwargs=_plain(extra),
        response_metadata=_plain(reply.response_metadata),
        tool_calls=_plain(reply.tool_calls),
        invalid_tool_calls=_plain(reply.invalid_tool_calls),
        usage_metadata=_plain(reply.usage_metadata),
    )


def plain_value(value: Any) -> Any:
    """Return a value as JSON that every checkpoint holds; what JSON or 64 bits cannot spell becomes text."""
    return _plain(value)


def plain_text(text: str) -> str:
    """Return the text as it can be stored: halves of surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode()


def next_id(messages: Sequence[AnyMessage], author: str) -> str:
    """Return an id for the next message that no message has yet."""
    taken = {message.id for message in messages}
    number = len(messages) + 1
    while f"{author}-{number}" in taken:
        number += 1
    return f"{author}-{number}"


def with_ids(message: AIMessage, identity: str) -> AIMessage:
    """Give the message that id, and an id to every call that has none or shares one, also in content blocks."""
    calls = [dict(call) for call in message.tool_calls]
    unreadable = [dict(call) for call in message.invalid_tool_calls]
    taken: set[object] = set()
    given: defaultdict[object, deque[str]] = defaultdict(deque)
    for number, call in enumerate([*calls, *unreadable], 1):
        before = call["id"]
        if not before or before in taken:
            call["id"] = f"{identity}-call-{number}"
        taken.add(call["id"])
        given[before].append(str(call["id"]))
    content = message.content
    if isinstance(content, list):
        content = [_with_call_id(block, given) for block in content]
    update = {"id": identity, "content": content, "tool_calls": calls, "invalid_tool_calls": unreadable}
    return message.model_copy(update=update)


def first_call_only(message: AIMessage) -> AIMessage:
    """Drop all calls but the first, also from content blocks, where a provider would miss their answers."""
    calls = message.tool_calls[:1]
    unreadable = message.invalid_tool_calls[: 1 - len(calls)]
    if len(message.tool_calls) + len(message.invalid_tool_calls) <= 1:
        return message
    kept = {call["id"] for call in [*calls, *unreadable]}
    content = message.content
    if isinstance(content, list):
        content = [block for block in content if not _is_dropped(block, kept)]
    return message.model_copy(update={"content": content, "tool_calls": calls, "invalid_tool_calls": unreadable})


def _is_dropped(block: str | dict[Any, Any], kept: set[str | None]) -> bool:
    if isinstance(block, str) or block.get("type") not in CALL_BLOCKS:
        return False
    return call_id_of(block) not in kept


def call_id_of(block: dict[Any, Any]) -> str | None:
    """Return the id of the call that a content block stands for."""
    identity = block.get("call_id") or block.get("id")
    return identity if isinstance(identity, str) else None


def _with_call_id(block: Any, given: dict[object, deque[str]]) -> Any:
    if not isinstance(block, dict) or block.get("type") not in CALL_BLOCKS:
        return block
    before = call_id_of(block)
    waiting = given.get(before)
    if not waiting or (after := waiting.popleft()) == before:
        return block
    return {**block, "call_id" if "call_id" in block else "id": after}


def _plain(value: Any) -> Any:
    """Return the value as every checkpoint holds it; what JSON or 64 bits cannot spell becomes text."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return _bounded(json.loads(plain_text(text), parse_constant=str), _DEEPEST)


def _bounded(value: Any, levels: int) -> Any:
    """Turn into text what a checkpoint refuses: wider integers, and whatever is nested deeper than so many levels."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return {key: _bounded(item, levels - 1) for key, item in value.items()}
    return [_bounded(item, levels - 1) for item in value]
