"""A conversation as text: what was said, called and answered, for a model that is not part of it."""

import json
from collections.abc import Iterable, Iterator

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from taugraph.graphs.delivery import spoken_text


def in_words(messages: Iterable[BaseMessage]) -> str:
    """Return the conversation as text; thoughts and system messages are left out."""
    return "\n".join(line for message in messages for line in _lines(message))


def _lines(message: BaseMessage) -> Iterator[str]:
    text = spoken_text(message)
    if isinstance(message, ToolMessage):
        yield f"Tool: {text}"
    elif isinstance(message, HumanMessage):
        yield f"Customer: {text}"
    elif isinstance(message, AIMessage):
        if text:
            yield f"Agent: {text}"
        for call in message.tool_calls:
            yield f"Agent calls {call['name']} with {json.dumps(call['args'], ensure_ascii=False)}"
        for broken in message.invalid_tool_calls:
            yield f"Agent calls {broken['name']} with what is no JSON object: {broken['args']}"
