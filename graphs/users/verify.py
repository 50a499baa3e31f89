"""The strategies `verify` and `reflection`: a draft is judged before it is sent.

The judge is the same model with a prompt of its own, and its verdict a truth value. What is rejected never enters the
conversation: history holds what was sent, drafts and verdicts go to the side log, and all of them are paid for. Hanging
up is judged too: nothing that a user says can spoil a trial as much.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.trial import Usage
from taugraph.graphs.calling import Answer
from taugraph.graphs.delivery import has_calls, spoken_text
from taugraph.graphs.usage import add_usage, usage_of
from taugraph.graphs.user import UserTurn, UserView
from taugraph.graphs.users.llm import LlmUser
from taugraph.graphs.users.react import SAY_TOOL, said_turn

JUDGE_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "judge",
        "description": "Say whether the draft may be sent.",
        "parameters": {
            "type": "object",
            "properties": {
                "satisfactory": {"type": "boolean", "description": "Whether the draft may be sent as it is."},
                "reason": {"type": "string", "description": "Why not, in one sentence; empty if it may."},
            },
            "required": ["satisfactory"],
        },
    },
}
"""How a verdict is given."""

MOST_DRAFTS = 3
"""Drafts of one turn, after which the last is sent as it is."""

_WORDS = {"true": True, "yes": True, "satisfactory": True, "false": False, "no": False, "unsatisfactory": False}
_TEMPLATES = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
_JUDGE_TEXT = Path(__file__).with_name("judge.md").read_text(encoding="utf-8")
_REWRITE_TEXT = Path(__file__).with_name("rewrite.md").read_text(encoding="utf-8")
_JUDGE = _TEMPLATES.from_string(_JUDGE_TEXT)
_REWRITE = _TEMPLATES.from_string(_REWRITE_TEXT)


class VerifyUser(LlmUser):
    """A chat model whose drafts are judged, and written anew where they are rejected."""

    strategy = "verify"
    instructions = "\n".join([LlmUser.instructions, _JUDGE_TEXT, json.dumps(JUDGE_TOOL)])

    async def speak(self, view: UserView) -> UserTurn:
        """Return the first draft that is found satisfactory, or the last of them, unverified.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        aside: list[dict[str, Any]] = []
        usage, notes = Usage(calls=0), dict[str, Any]()
        turn, reason, unreadable = UserTurn(""), "", 0
        for attempt in range(MOST_DRAFTS):
            turn = await self.another(view, turn, reason, attempt)
            usage = add_usage(usage, turn.usage)
            notes |= turn.notes
            if not turn.text and not turn.stops:  # nothing is said, so there is nothing to judge
                return replace(turn, usage=usage, notes=notes, aside=[*aside, *turn.aside])
            satisfactory, reason, answer = await self.judge(view, turn, attempt)
            usage = add_usage(usage, usage_of(answer.message))
            notes |= answer.notes
            aside += [dict(entry) for entry in turn.aside]
            aside.append({"kind": "draft", "text": turn.text, "stops": turn.stops})
            aside.append({"kind": "verdict", "satisfactory": satisfactory, "reason": reason})
            unreadable += satisfactory is None
            if satisfactory or unreadable > 1:
                break
        if not satisfactory:
            notes["unverified"] = 1
        return replace(turn, usage=usage, notes=notes, aside=aside)

    async def another(self, view: UserView, rejected: UserTurn, reason: str, attempt: int) -> UserTurn:
        """Return the next draft: here one that knows nothing of those before."""
        return _unless_silent(await self.draft(view, attempt=attempt), rejected)

    async def judge(self, view: UserView, draft: UserTurn, attempt: int) -> tuple[bool | None, str, Answer]:
        """Return whether the draft may be sent, why not, and the judge's answer; `None` for an unreadable verdict.

        A verdict that cannot be read counts as a no, once: a model that cannot judge is not asked all the time.
        """
        told = _JUDGE.render(
            scenario=view.scenario,
            persona=view.persona.text if view.persona else None,
            conversation=as_lines(view.messages),
            draft=as_line(draft),
        )
        answer = await self.ask(
            [SystemMessage(told), HumanMessage("Judge the draft.")], view, attempt=attempt, tools=[JUDGE_TOOL]
        )
        satisfactory, reason = read_verdict(answer.message)
        return satisfactory, reason, answer


class ReflectionUser(VerifyUser):
    """A chat model whose rejected drafts are thought over and rewritten."""

    strategy = "reflection"
    instructions = "\n".join([VerifyUser.instructions, _REWRITE_TEXT, json.dumps(SAY_TOOL)])

    async def another(self, view: UserView, rejected: UserTurn, reason: str, attempt: int) -> UserTurn:
        """Return the next draft: the first as it comes, then the rejected one rewritten."""
        if attempt == 0:
            return await self.draft(view)
        told = _REWRITE.render(draft=as_line(rejected), reason=reason)
        tools: list[BaseTool | dict[str, Any]] = [SAY_TOOL, *view.tools]
        answer = await self.ask([*self.prompt(view), HumanMessage(told)], view, attempt=attempt, tools=tools)
        turn = replace(said_turn(answer.message, device=bool(view.tools)), notes=answer.notes)
        return _unless_silent(turn, rejected)


def _unless_silent(turn: UserTurn, rejected: UserTurn) -> UserTurn:
    """Return the turn, or where it says and does nothing the rejected one: it is better than ending the trial."""
    if turn.text or turn.stops or (turn.message is not None and has_calls(turn.message)):
        return turn
    return replace(rejected, usage=turn.usage, aside=turn.aside, notes=turn.notes)


def read_verdict(message: AIMessage) -> tuple[bool | None, str]:
    """Return whether a draft is satisfactory, and why not: from the call, or from a text that is one plain word.

    What is neither is no verdict, and `None`: "untrue" holds "true", and means something else.
    """
    for call in message.tool_calls:
        if call["name"] == "judge":
            said = call["args"].get("satisfactory")
            return said if isinstance(said, bool) else _word(str(said)), str(call["args"].get("reason") or "")
    text = spoken_text(message)
    return _word(text), text[:500]


def _word(text: str) -> bool | None:
    return _WORDS.get(text.strip(" .!*\n").lower())


def as_line(turn: UserTurn) -> str:
    """Return a draft as the judge reads it."""
    words = turn.text.replace(STOP_TOKEN, "").strip()
    return f"{words} (hangs up)".strip() if turn.stops or not words else turn.text


def as_lines(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the conversation as the judge reads it, roles as people see them."""
    names = {AIMessage: "customer", HumanMessage: "agent", ToolMessage: "the customer's device"}
    return [
        f"{names.get(type(message), 'note')}: {spoken_text(message)}" for message in messages if spoken_text(message)
    ]
