"""A conversation as it is sent to a provider: the transcript, in a form that no API refuses to have in its history.

What a model wrote stays in the transcript as it was. Only what goes over the wire is made valid, always in the same
way: odd tool names are spelled with plain characters, unreadable arguments become an object that quotes them, and
blocks of calls that are no longer there are left out.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, ToolMessage

from taugraph.graphs.transcript import CALL_BLOCKS, CALL_EXTRAS, call_id_of

UNREADABLE = "unreadable_arguments"
"""Under this name a call's arguments quote the text that is no JSON object."""

_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_LONGEST_QUOTE = 2_000


def as_sent(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages as a provider is sent them; what is valid already is passed on as it is."""
    return [_as_sent(message) for message in messages]


def plain_name(name: str | None) -> str:
    """Return a tool's name in at most 64 characters that every provider takes."""
    return _ODD.sub("_", name or "")[:_LONGEST_NAME] or "unnamed"


def _as_sent(message: BaseMessage) -> BaseMessage:
    if isinstance(message, ToolMessage):
        if message.name is None or message.name == plain_name(message.name):
            return message
        return message.model_copy(update={"name": plain_name(message.name)})
    if not isinstance(message, AIMessage):
        return message
    extras = message.additional_kwargs.get(CALL_EXTRAS)
    calls = _with_extras(message.tool_calls, extras if isinstance(extras, list) else [])
    calls = [_named(call) for call in [*calls, *map(_quoted, message.invalid_tool_calls)]]
    content = message.content
    if isinstance(content, list):
        content = _blocks(content, {call["id"]: call for call in calls}, unreadable=_ids(message.invalid_tool_calls))
    if calls == message.tool_calls and content == message.content:
        return message
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": [], "content": content})


def _with_extras(calls: Sequence[ToolCall], extras: Sequence[Any]) -> list[ToolCall]:
    """Put back beside each call what its provider wants back with it."""
    given = [*extras, *[None] * len(calls)]
    return [{**call, "extras": extra} if extra else call for call, extra in zip(calls, given, strict=False)]  # type: ignore[typeddict-unknown-key]


def _named(call: ToolCall) -> ToolCall:
    return call if call["name"] == plain_name(call["name"]) else {**call, "name": plain_name(call["name"])}


def _quoted(call: InvalidToolCall) -> ToolCall:
    text = str(call["args"] or "")
    return {
        "name": call["name"] or "",
        "args": {UNREADABLE: text[:_LONGEST_QUOTE]},
        "id": call["id"],
        "type": "tool_call",
    }


def _blocks(content: Sequence[Any], calls: dict[str | None, ToolCall], *, unreadable: set[str | None]) -> list[Any]:
    kept: list[Any] = []
    for block in content:
        if not isinstance(block, dict) or block.get("type") not in CALL_BLOCKS:
            kept.append(block)
        elif (call := calls.get(call_id_of(block))) is not None:
            kept.append(_block(block, call, is_unreadable=call["id"] in unreadable))
    return kept


def _block(block: dict[str, Any], call: ToolCall, *, is_unreadable: bool) -> dict[str, Any]:
    """Return the block of a call with its name as sent, and with what quotes unreadable arguments."""
    changed = dict(block)
    if "name" in block:
        changed["name"] = call["name"]
    if is_unreadable:
        for field, value in (("arguments", json.dumps(call["args"])), ("args", call["args"]), ("input", call["args"])):
            if field in block:
                changed[field] = value
        if block["type"] == "invalid_tool_call":
            changed["type"] = "tool_call"
    return changed


def _ids(calls: Sequence[InvalidToolCall]) -> set[str | None]:
    return {call["id"] for call in calls}
