"""Agents that write their actions down: `react` with a thought before each, `act` without.

No tool is bound. The model reads its own earlier messages as it wrote them; the transcript holds words for the user and
ordinary tool calls, never a thought.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import JsonValue

from taugraph.domains.trial import Usage
from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.agents.action import RESPOND, Action, UnreadableActionError, read_action
from taugraph.graphs.agents.chat import ChatAgent
from taugraph.graphs.agents.prompts import load_prompt
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.usage import add_usage, usage_of

ATTEMPTS = 3
"""How often one action is asked for: once, and twice more where it cannot be read."""

WRITTEN = "written"
"""Under this key an agent message keeps what the model wrote."""

_GAVE_UP = "unreadable_action"
_ACT_SOURCE, _ACT = load_prompt("act.md")
_REACT_SOURCE, _REACT = load_prompt("react.md")
_COMPLAINT_SOURCE, _COMPLAINT = load_prompt("complaint.md")


class WritingAgent(ChatAgent):
    """A chat model without tools of its own, told to write down what it wants done."""

    def __init__(self, reference: str, model: BaseChatModel, settings: CallSettings, *, thinks: bool) -> None:
        """Take the model.

        Args:
            reference: How it is named on the command line.
            model: The model, to which nothing is bound.
            settings: Time and attempts of a call.
            thinks: Whether a thought goes before every action: `react` rather than `act`.
        """
        super().__init__(reference, model, settings)
        self._thinks = thinks
        self._prompts: dict[tuple[object, ...], str] = {}
        self.instructions = (_REACT_SOURCE if thinks else _ACT_SOURCE) + _COMPLAINT_SOURCE

    async def reply(self, view: AgentView) -> AgentTurn:
        """Return the model's next action as a message; one that cannot be read is asked for again.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
            UnreadableActionError: If none of the attempts can be read.
        """
        if view.memory and _GAVE_UP in view.memory:
            raise UnreadableActionError(f"the agent wrote no action in {ATTEMPTS} attempts: {view.memory[_GAVE_UP]}")
        prompt = [SystemMessage(self.system_prompt(view)), *_as_written(view.messages)]
        asked: list[AgentTurn] = []
        for _ in range(ATTEMPTS):
            asked.append(await self.ask(prompt, view))
            written = asked[-1].message.text
            try:
                message, others = _as_message(written)
            except UnreadableActionError as error:
                reason = str(error)
                prompt += [AIMessage(written or "(nothing)"), HumanMessage(self._complaint(reason))]
            else:
                notes = {"actions_ignored": others} if others else {}
                return _joined(asked, message, notes)
        # Ended by an empty turn, and raised when it is asked about: so what the attempts used is counted.
        return replace(_joined(asked, AIMessage(""), {}), memory={_GAVE_UP: reason})

    def system_prompt(self, view: AgentView) -> str:
        """Return policy, tools, and how to write an action; spelled out once, for schemas take their time."""
        key = (view.policy, *map(id, view.tools))
        if key not in self._prompts:
            template = _REACT if self._thinks else _ACT
            self._prompts[key] = template.render(policy=view.policy.strip(), tools=_in_json(view.tools))
        return self._prompts[key]

    def _complaint(self, reason: str) -> str:
        return _COMPLAINT.render(reason=reason, thinks=self._thinks)


def _joined(asked: Sequence[AgentTurn], message: AIMessage, notes: Mapping[str, JsonValue]) -> AgentTurn:
    """Return the last attempt's turn with that message; the others count in usage and notes."""
    usage = Usage(calls=0)
    for turn in asked[:-1]:
        usage = add_usage(usage, add_usage(turn.usage, usage_of(turn.message)))
    last = asked[-1]
    kept = {
        "usage_metadata": last.message.usage_metadata,
        "response_metadata": last.message.response_metadata,
        "additional_kwargs": {WRITTEN: last.message.text},
    }
    again = {"unreadable_actions": len(asked) - 1} if len(asked) > 1 else {}
    known = {name: value for turn in asked for name, value in turn.notes.items()}
    return replace(
        last,
        message=message.model_copy(update=kept),
        usage=add_usage(last.usage, usage),
        notes={**known, **again, **notes},
    )


def _as_message(written: str) -> tuple[AIMessage, int]:
    """Return what the model wrote as a message, and how many further actions it holds."""
    action = read_action(written)
    if action.name == RESPOND:
        return AIMessage(action.arguments["content"]), action.others
    return AIMessage("", tool_calls=[{"name": action.name, "args": action.arguments, "id": None}]), action.others


def _as_written(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    """Render the transcript as the model knows it: its own words as it wrote them, tool answers as observations."""
    for is_answer, group in groupby(messages, lambda message: isinstance(message, ToolMessage)):
        if is_answer:
            yield HumanMessage("\n".join(f"Observation: {message.text}" for message in group))
        else:
            yield from (_own(each) if isinstance(each, AIMessage) else HumanMessage(each.text) for each in group)


def _own(message: AIMessage) -> AIMessage:
    written = message.additional_kwargs.get(WRITTEN)
    # A transcript may be edited and forked: then what it says counts, not what was once written.
    return AIMessage(written if isinstance(written, str) and _still_says(written, message) else _spelled_out(message))


def _still_says(written: str, message: AIMessage) -> bool:
    try:
        meant, _ = _as_message(written)
    except UnreadableActionError:
        return False
    return meant.content == message.content and _called(meant) == _called(message)


def _called(message: AIMessage) -> list[tuple[str, object]]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def _spelled_out(message: AIMessage) -> str:
    actions = [Action(call["name"], call["args"]) for call in message.tool_calls]
    if not message.tool_calls:
        actions = [Action(RESPOND, {"content": message.text})]
    spelled = ({"name": action.name, "arguments": action.arguments} for action in actions)
    return "\n".join(f"Action: {json.dumps(action, ensure_ascii=False)}" for action in spelled)


def _in_json(tools: Sequence[BaseTool]) -> list[str]:
    return [json.dumps(convert_to_openai_function(tool), ensure_ascii=False) for tool in tools]
