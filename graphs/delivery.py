"""What crosses from one side of the conversation to the other: text, and only text.

Reasoning stays with whoever reasoned. A message that calls tools is not speech.
"""

import re

from langchain_core.messages import AIMessage, BaseMessage

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_HEADLESS_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


def without_thoughts(text: str) -> str:
    """Return the text without thought tags and what they hold.

    A closing tag without its opening one ends a thought too: many chat templates put the opening tag in the prompt.
    """
    return _HEADLESS_THOUGHT.sub("", _THOUGHT.sub("", text))


def spoken_text(message: BaseMessage) -> str:
    """Return a message's text without reasoning blocks and thought tags."""
    return without_thoughts(message.text).strip()


def has_calls(message: AIMessage) -> bool:
    """Tell whether a message calls tools, readable or not."""
    return bool(message.tool_calls or message.invalid_tool_calls)


def delivered_text(message: AIMessage) -> str | None:
    """Return what the other side reads; `None` for a message that calls tools."""
    return None if has_calls(message) else spoken_text(message)
