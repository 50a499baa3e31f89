"""A simulated user that is a chat model.

It stops by calling `end_conversation`, a tool only it has, so that nothing it says or quotes can end a trial by
accident. Where the protocol stops on a token, it is told the token instead.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.task import Scenario
from taugraph.graphs.agents.chat import seed_parameters
from taugraph.graphs.calling import Answer, CallSettings, ask_model
from taugraph.graphs.delivery import has_calls, spoken_text
from taugraph.graphs.persona import Persona
from taugraph.graphs.usage import add_usage, usage_of
from taugraph.graphs.user import UserTurn, UserView

END_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "end_conversation",
        "description": "Hang up. Call it when you have nothing more to say, and not while an answer is still due.",
        "parameters": {
            "type": "object",
            "properties": {"last_words": {"type": "string", "description": "What you say last; may be empty."}},
            "required": [],
        },
    },
}
"""How the user ends the conversation."""

GREETING = "Hello, how can I help you today?"
"""What the user reads before its first words; it is no part of the transcript."""

_SPEAKING = ("end_conversation", "say")
_NUDGE = "(You said nothing. Say your next words to the agent, or end the conversation.)"


# Read once, here: a turn is taken on the event loop, which must not wait for a file.
_TEXT = Path(__file__).with_name("llm.md").read_text(encoding="utf-8")
_TEMPLATE = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False).from_string(
    _TEXT
)


class LlmUser:
    """A chat model that plays the customer: the strategy `llm`, and what the others share."""

    strategy = "llm"
    thinks = False
    """Whether it answers by the tool `say`, thought first."""
    speaking_tools: Sequence[dict[str, Any]] = (END_TOOL,)
    """Tools by which it speaks or hangs up."""
    instructions = "\n".join([_TEXT, GREETING, _NUDGE, json.dumps(END_TOOL)])
    """Everything that this strategy tells a model, before the scenario is put in."""

    def __init__(
        self, reference: str, model: BaseChatModel, settings: CallSettings, *, stops_on_token: bool = False
    ) -> None:
        self.reference = reference
        self._model = model
        self._settings = settings
        self._stops_on_token = stops_on_token
        self._bound: dict[tuple[int, ...], Runnable[Any, BaseMessage]] = {}

    async def speak(self, view: UserView) -> UserTurn:
        """Return the model's next words.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        return await self.draft(view)

    async def draft(self, view: UserView, more: Sequence[BaseMessage] = (), *, attempt: int = 0) -> UserTurn:
        """Return a turn that may still be rejected; an empty answer is asked for once more.

        Args:
            view: What the user sees.
            more: Stands behind the conversation, for this turn only.
            attempt: Number of the draft, from 0; another one may come out otherwise.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        prompt = [*self.prompt(view), *more]
        turn = self.read(await self.ask(prompt, view, attempt=attempt), view)
        if turn.text or turn.stops or _uses_tools(turn):
            return turn
        again = self.read(await self.ask([*prompt, HumanMessage(_NUDGE)], view, attempt=attempt + 1), view)
        return replace(again, usage=add_usage(turn.usage, again.usage), notes={**turn.notes, **again.notes})

    def prompt(self, view: UserView) -> list[BaseMessage]:
        """Return what the model is told, and the conversation."""
        told = system_prompt(
            view.scenario,
            stops_on_token=self._stops_on_token and not self.thinks,
            persona=view.persona,
            device=bool(view.tools),
            thinks=self.thinks,
        )
        return [SystemMessage(told), HumanMessage(GREETING), *view.messages]

    def read(self, answer: Answer, view: UserView) -> UserTurn:
        """Return the turn that an answer of the model is; calls of tools are dropped where it has none."""
        turn = as_turn(answer.message)
        if turn.message is not None and not view.tools:
            spoken = turn.message.model_copy(update={"tool_calls": [], "invalid_tool_calls": []})
            turn = replace(turn, message=spoken if turn.text else None)
        return replace(turn, notes=answer.notes)

    async def ask(
        self,
        prompt: Sequence[BaseMessage],
        view: UserView,
        *,
        attempt: int = 0,
        tools: Sequence[BaseTool | dict[str, Any]] | None = None,
    ) -> Answer:
        """Call the model.

        Args:
            prompt: The whole prompt.
            view: Names the trial.
            attempt: Added to the seed.
            tools: Tools it may call; `None` for those by which it speaks and those of its device.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        speaking = () if self._stops_on_token and not self.thinks else self.speaking_tools
        bound = self._with_tools([*speaking, *view.tools] if tools is None else tools)
        parameters = seed_parameters(self._model, view.key.seed + attempt)
        label = f"task {view.key.task_id}, trial {view.key.trial}"
        return await ask_model(bound, list(prompt), actor="user", settings=self._settings, label=label, **parameters)

    def _with_tools(self, tools: Sequence[BaseTool | dict[str, Any]]) -> Runnable[Any, BaseMessage]:
        key = tuple(map(id, tools))
        if key not in self._bound:
            self._bound[key] = self._model.bind_tools(list(tools)) if tools else self._model
        return self._bound[key]


def _uses_tools(turn: UserTurn) -> bool:
    return turn.message is not None and has_calls(turn.message)


def as_turn(reply: AIMessage) -> UserTurn:
    """Read a model's message as a turn: its words, whether it hung up, and what goes back to the model."""
    text = spoken_text(reply)
    ends = [call for call in reply.tool_calls if call["name"] == "end_conversation"]
    if ends and not text:
        text = str(ends[0]["args"].get("last_words") or "").strip()
    message = without_speaking(reply)
    # A thought that led to nothing but hanging up does not go back: providers refuse one that nothing follows.
    is_more = bool(spoken_text(reply)) or has_calls(message)
    return UserTurn(text, hangs_up(reply), usage_of(reply), message if is_more else None)


def hangs_up(reply: AIMessage) -> bool:
    """Tell whether a message calls `end_conversation`, readable or not."""
    return any(call["name"] == "end_conversation" for call in [*reply.tool_calls, *reply.invalid_tool_calls])


def without_speaking(reply: AIMessage) -> AIMessage:
    """Return a message without the calls by which a user speaks or hangs up."""
    calls = [call for call in reply.tool_calls if call["name"] not in _SPEAKING]
    unreadable = [call for call in reply.invalid_tool_calls if call["name"] not in _SPEAKING]
    return reply.model_copy(update={"tool_calls": calls, "invalid_tool_calls": unreadable})


def system_prompt(
    scenario: Scenario,
    *,
    stops_on_token: bool,
    persona: Persona | None = None,
    device: bool = False,
    thinks: bool = False,
) -> str:
    """Return what the model is told about its role.

    Args:
        scenario: Who it is and what it wants.
        stops_on_token: Whether it hangs up by writing the token.
        persona: How it talks; `None` for no particular way.
        device: Whether it has tools of its own.
        thinks: Whether it answers by the tool `say`.
    """
    return _TEMPLATE.render(
        scenario=scenario,
        stop_token=STOP_TOKEN if stops_on_token else None,
        persona=persona.text if persona else None,
        device=device,
        thinks=thinks,
    )
