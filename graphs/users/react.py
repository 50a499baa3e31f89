"""The strategy `react`: the user thinks before it speaks, and only its reply leaves it.

It answers by calling `say`. A model that writes its thought and reply as text instead is understood too; one that only
thinks is asked again.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from taugraph.graphs.calling import Answer
from taugraph.graphs.delivery import has_calls, spoken_text
from taugraph.graphs.usage import add_usage, usage_of
from taugraph.graphs.user import UserTurn, UserView
from taugraph.graphs.users.llm import LlmUser, hangs_up, without_speaking

SAY_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "say",
        "description": "Say something to the agent, or hang up.",
        "parameters": {
            "type": "object",
            "properties": {
                "thought": {"type": "string", "description": "What you think; nobody else sees it."},
                "reply": {"type": "string", "description": "Your words for the agent; empty only when you hang up."},
                "stop": {"type": "boolean", "description": "Whether you hang up after these words."},
            },
            "required": ["thought", "reply"],
        },
    },
}
"""How a user that thinks speaks."""

_MOST_ASKED = 3
_REPLY = re.compile(r"^[ \t>*#]*(?:user[ \t]+)?(?:response|reply)[ \t*]*:[ \t*]*", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(r"^[ \t>*#]*thoughts?[ \t*]*:[ \t*]*", re.IGNORECASE | re.MULTILINE)
_MARKED_REPLY = re.compile(r"\buser[ \t]+response[ \t*]*:[ \t*]*", re.IGNORECASE)
"""A marker so plain that it counts within a line too, where no line begins with one."""
_AGAIN = "(Your reply to the agent is missing. Call `say` with your words in `reply`, or with `stop` true to hang up.)"


class ReactUser(LlmUser):
    """A chat model that thinks before it speaks."""

    strategy = "react"
    thinks = True
    speaking_tools = (SAY_TOOL,)
    instructions = "\n".join([LlmUser.instructions, _AGAIN, json.dumps(SAY_TOOL)])

    async def speak(self, view: UserView) -> UserTurn:
        """Return the model's next words; asked at most three times, then it has said nothing.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        more: list[HumanMessage] = []
        earlier = UserTurn("", usage=usage_of(AIMessage("")).model_copy(update={"calls": 0, "uncounted_calls": 0}))
        for attempt in range(_MOST_ASKED):
            turn = self.read(await self.ask([*self.prompt(view), *more], view, attempt=attempt), view)
            earlier = replace(
                turn,
                usage=add_usage(earlier.usage, turn.usage),
                aside=[*earlier.aside, *turn.aside],
                notes={**earlier.notes, **turn.notes},
            )
            if turn.text or turn.stops or turn.message is not None:
                return earlier
            more = [HumanMessage(_AGAIN)]
        return earlier

    def read(self, answer: Answer, view: UserView) -> UserTurn:
        """Return the turn: what `say` says, or what the text says where the model did not call it."""
        return replace(said_turn(answer.message, device=bool(view.tools)), notes=answer.notes)


def said_turn(message: AIMessage, *, device: bool) -> UserTurn:
    """Read a message as a turn of a user that thinks.

    Several calls of `say` are one turn, in order. Text beside a call is thought, unless it has both markers: what a
    model writes before it acts is not meant for the agent.

    Args:
        message: What the model answered.
        device: Whether the user has tools of its own; their calls go on as they are, and without any they are dropped.
    """
    said = [call["args"] for call in message.tool_calls if call["name"] == "say"]
    own = without_speaking(message) if device else None
    calls = has_calls(message)
    parts = [(_words(each.get("thought")), *split_thought(_words(each.get("reply")))) for each in said]
    if text := spoken_text(message):
        thought, reply = split_thought(text)
        is_thought = bool(said) or (calls and not thought)
        parts.insert(0, (text, "", "") if is_thought else (thought, "", reply))
    thoughts = [thought for first, second, _ in parts for thought in (first, second) if thought]
    return UserTurn(
        text="\n".join(reply for _, _, reply in parts if reply),
        stops=hangs_up(message) or any(_words(each.get("stop")).lower() == "true" for each in said),
        usage=usage_of(message),
        message=own if own is not None and has_calls(own) else None,
        aside=[{"kind": "thought", "text": thought} for thought in thoughts],
    )


def _words(value: object) -> str:
    """Return what a model wrote as an argument; a list or an object is no words."""
    return "" if value is None or isinstance(value, list | dict) else str(value).strip()


def split_thought(text: str) -> tuple[str, str]:
    """Part a text into thought and reply by its markers; without any, all of it is the reply.

    With several, the last reply counts, and a thought behind it is no part of it.
    """
    replies = list(_REPLY.finditer(text))
    if not replies and _THOUGHT.search(text):
        replies = list(_MARKED_REPLY.finditer(text))
    if not replies and not _THOUGHT.search(text):
        return "", text.strip()
    if not replies:
        return _THOUGHT.sub("", text).strip(), ""
    reply = _THOUGHT.split(text[replies[-1].end() :], maxsplit=1)[0].strip()
    return "\n".join(_thoughts(text, replies[-1].start())), reply


def _thoughts(text: str, end: int) -> Iterator[str]:
    for part in _THOUGHT.split(text[:end])[1:]:
        if thought := _REPLY.split(part, maxsplit=1)[0].strip():
            yield thought
