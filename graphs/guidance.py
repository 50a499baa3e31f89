"""How the demonstration agent has its customer do something on the customer's own device: words that hold a call.

The demonstration user knows no answers. It does what the words ask for, as a real customer does, and reads the call out
of them. Only these two actors speak that way.
"""

import json
import re

from langchain_core.messages import ToolCall

from taugraph.domains.task import GoldCall

_STEP = re.compile(r"\[step: (\w+) (\{.*\})\]\Z", re.DOTALL)


def guide(call: GoldCall) -> str:
    """Return what the agent says to have the customer make a call."""
    details = ", ".join(f"{name}: {value}" for name, value in call.arguments.items())
    words = f"{call.name} ({details})" if details else call.name
    step = f"[step: {call.name} {json.dumps(call.arguments)}]"
    return f"Please do this on your side: {words.replace('_', ' ')}. Tell me what you see. {step}"


def guided_call(text: str, number: int) -> ToolCall | None:
    """Return the call that an agent's words ask for; `None` if they ask for none.

    Args:
        text: The words.
        number: Place of the words in the conversation, for the id of the call.
    """
    if (match := _STEP.search(text)) is None:
        return None
    try:
        arguments = json.loads(match[2])
    except ValueError:
        return None
    return ToolCall(name=match[1], args=arguments, id=f"step-{number}")
