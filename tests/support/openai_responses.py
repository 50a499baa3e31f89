"""The same scripted answers in the shape of OpenAI's Responses API, whole or as events."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from support.openai_script import Reply


def response_object(reply: Reply, request: Mapping[str, Any], serial: int) -> dict[str, Any]:
    """Return a finished response: reasoning items first, then the text, then the calls."""
    number = len(request.get("input", ()))
    items: list[dict[str, Any]] = [dict(item) for item in reply.extra.get("reasoning", ())]
    if reply.content is not None:
        text = {"type": "output_text", "text": reply.content, "annotations": []}
        items.append(
            {"type": "message", "id": f"msg_{serial}", "role": "assistant", "status": "completed", "content": [text]}
        )
    for index, call in enumerate(reply.tool_calls):
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{serial}_{index}",
                "call_id": call.id or f"call_{number}_{index}",
                "name": call.name,
                "arguments": call.arguments,
                "status": "completed",
            }
        )
    is_cut = reply.finish_reason == "length"
    return {
        "id": f"resp_{serial}",
        "object": "response",
        "created_at": int(time.time()),
        "model": request.get("model"),
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "error": None,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if reply.usage is None else dict(reply.usage),
    }


def response_events(response: Mapping[str, Any]) -> Iterator[str]:
    """Return the events of a response: every item as it is added and done, then the whole."""
    empty = {**response, "output": [], "status": "in_progress", "usage": None, "incomplete_details": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": empty}]
    for place, item in enumerate(response["output"]):
        begun = {**item, "arguments": "", "status": "in_progress"} if item["type"] == "function_call" else item
        if item["type"] == "message":
            begun = {**item, "content": []}
        events.append({"type": "response.output_item.added", "output_index": place, "item": begun})
        at = {"output_index": place, "item_id": item.get("id")}
        if item["type"] == "function_call":
            text = item["arguments"]
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                events.append({"type": "response.function_call_arguments.delta", **at, "delta": half})
        if item["type"] == "message":
            said = item["content"][0]["text"]
            events.append(
                {"type": "response.output_text.delta", **at, "content_index": 0, "delta": said, "logprobs": []}
            )
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    ended = "response.completed" if response["status"] == "completed" else "response.incomplete"
    events.append({"type": ended, "response": dict(response)})
    for number, event in enumerate(events):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
