"""A chat model that reviews its own steps before they count.

A draft that would change the database or hand over is shown to the same model as a critic. What it rejects never enters
the transcript; the model is told why and drafts again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from taugraph.domains.trial import Usage
from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.agents.action import json_objects
from taugraph.graphs.agents.chat import CALLS_DROPPED, ChatAgent
from taugraph.graphs.agents.conversation import in_words
from taugraph.graphs.agents.prompts import load_prompt
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.transcript import plain_reply, with_ids
from taugraph.graphs.usage import add_usage, usage_of
from taugraph.tools.definition import ToolKind, kind_of

DRAFTS = 3
"""Drafts of one message at most; the last one counts whatever a critic would say of it."""

MOST_REFLECTIONS = 40
"""Reflections kept per trial; further ones are only counted."""

VERDICT_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "give_verdict",
        "description": "Say whether the step may be taken as it was drafted.",
        "parameters": {
            "type": "object",
            "properties": {
                "approve": {"type": "boolean", "description": "True to take the step as it is."},
                "reason": {
                    "type": "string",
                    "description": "What is wrong and what would be right; or why it is fine.",
                },
            },
            "required": ["approve", "reason"],
        },
    },
}
"""How the critic answers."""

_LONGEST_TEXT = 1_000
_REVIEWED = frozenset({ToolKind.WRITE, ToolKind.HANDOFF})
_CRITIC_SOURCE, _CRITIC = load_prompt("reflect.md")
_DRAFT_SOURCE, _DRAFT = load_prompt("draft.md")
_REJECTED_SOURCE, _REJECTED = load_prompt("rejected.md")


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore")

    approve: bool
    reason: str = ""


@dataclass
class _Work:
    """What came of the calls of one turn so far, beside the draft that will count."""

    usage: Usage = field(default_factory=lambda: Usage(calls=0))
    notes: dict[str, JsonValue] = field(default_factory=dict)
    reflections: list[JsonValue] = field(default_factory=list)

    def add(self, turn: AgentTurn) -> None:
        self.usage = add_usage(self.usage, add_usage(turn.usage, usage_of(turn.message)))
        # What was cut from a rejected draft is missing nowhere.
        self.notes |= {name: value for name, value in turn.notes.items() if name != CALLS_DROPPED}

    def reflect(self, draft: AIMessage, approved: bool | None, reason: str) -> None:
        self.reflections.append(
            {"draft": in_words([draft])[:_LONGEST_TEXT], "approved": approved, "reason": reason[:_LONGEST_TEXT]}
        )


class ReflectingAgent(ChatAgent):
    """A chat model that calls tools, and criticises every draft that would write or hand over."""

    instructions = _CRITIC_SOURCE + _DRAFT_SOURCE + _REJECTED_SOURCE + json.dumps(VERDICT_TOOL)

    def __init__(
        self,
        reference: str,
        model: BaseChatModel,
        settings: CallSettings,
        *,
        parallel_tool_calls: bool | None = None,
    ) -> None:
        super().__init__(reference, model, settings, parallel_tool_calls=parallel_tool_calls)
        self._critic = model.bind_tools([VERDICT_TOOL], tool_choice="give_verdict")

    async def reply(self, view: AgentView) -> AgentTurn:
        """Return the first draft that its critic lets pass, or the last.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        work = _Work()
        more: list[BaseMessage] = []
        for number in range(1, DRAFTS + 1):
            turn = await self.draft(view, more)
            called = _reviewed(turn.message, view.tools)
            if not called:
                break
            if number == DRAFTS:
                work.reflect(turn.message, None, "rejected as often as it may be: taken without a review")
                break
            verdict = await self._review(view, turn.message, called, work)
            if verdict.approve:
                break
            work.add(turn)
            more += _rejected(turn.message, number, verdict.reason)
        return _finished(turn, work, view.memory)

    async def _review(self, view: AgentView, draft: AIMessage, called: Sequence[BaseTool], work: _Work) -> _Verdict:
        tools = [json.dumps(convert_to_openai_function(tool), ensure_ascii=False) for tool in called]
        prompt = [
            SystemMessage(_CRITIC.render(policy=view.policy, tools=tools)),
            HumanMessage(_DRAFT.render(conversation=in_words(view.messages), draft=in_words([draft]))),
        ]
        answer = await self.ask(prompt, view, self._critic)
        work.add(answer)
        verdict = _read_verdict(answer.message)
        if verdict is None:
            verdict = _Verdict(approve=True, reason="the verdict could not be read: approved")
            work.notes["verdicts_unreadable"] = 1
        work.reflect(draft, verdict.approve, verdict.reason)
        return verdict


def _finished(turn: AgentTurn, work: _Work, memory: Mapping[str, JsonValue] | None) -> AgentTurn:
    """Return the draft that counts with everything that led to it; reflections are bounded over the whole trial."""
    before = (memory or {}).get("reflections", 0)
    kept = before if isinstance(before, int) else 0
    new = work.reflections[: max(MOST_REFLECTIONS - kept, 0)]
    notes: dict[str, JsonValue] = {**work.notes, **turn.notes}
    if new:
        notes["reflections"] = new
    if left_out := len(work.reflections) - len(new):
        notes["reflections_left_out"] = left_out
    return replace(turn, notes=notes, usage=add_usage(turn.usage, work.usage), memory={"reflections": kept + len(new)})


def _reviewed(message: AIMessage, tools: Sequence[BaseTool]) -> list[BaseTool]:
    """Return the tools that the message calls, if one of them writes or hands over; else none."""
    called = {call["name"] for call in message.tool_calls}
    used = [tool for tool in tools if tool.name in called]
    return used if any(kind_of(tool) in _REVIEWED for tool in used) else []


def _rejected(message: AIMessage, number: int, reason: str) -> list[BaseMessage]:
    """Return the draft with an answer to each of its calls: providers refuse calls without answers."""
    draft = with_ids(plain_reply(message), f"draft-{number}")
    text = _REJECTED.render(reason=reason)
    calls = [*draft.tool_calls, *draft.invalid_tool_calls]
    return [draft, *(ToolMessage(text, tool_call_id=call["id"] or "", status="error") for call in calls)]


def _read_verdict(message: AIMessage) -> _Verdict | None:
    found = [call["args"] for call in message.tool_calls]
    for candidate in [*found, *json_objects(message.text)]:
        try:
            return _Verdict.model_validate(candidate)
        except ValidationError:
            continue
    return None
