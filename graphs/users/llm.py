"""A simulated user that is a chat model.

It stops by calling `end_conversation`, a tool only it has, so that nothing it says or quotes can end a trial by
accident. Where the protocol stops on a token, it is told the token instead.
"""

from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.task import Scenario
from taugraph.graphs.agents.chat import seed_parameters
from taugraph.graphs.calling import CallSettings, call_model
from taugraph.graphs.delivery import spoken_text
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

_NUDGE = "(You said nothing. Say your next words to the agent, or end the conversation.)"


# Read once, here: a turn is taken on the event loop, which must not wait for a file.
_TEMPLATE = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False).from_string(
    Path(__file__).with_name("llm.md").read_text(encoding="utf-8")
)


class LlmUser:
    """A chat model that plays the customer."""

    def __init__(
        self, reference: str, model: BaseChatModel, settings: CallSettings, *, stops_on_token: bool = False
    ) -> None:
        self.reference = reference
        self._model = model
        self._settings = settings
        self._stops_on_token = stops_on_token
        self._bound: Runnable[Any, BaseMessage] = model if stops_on_token else model.bind_tools([END_TOOL])

    async def speak(self, view: UserView) -> UserTurn:
        """Return the model's next words; an empty answer is asked for once more.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        prompt: list[BaseMessage] = [
            SystemMessage(system_prompt(view.scenario, stops_on_token=self._stops_on_token)),
            HumanMessage(GREETING),
            *view.messages,
        ]
        turn = await self._ask(prompt, view)
        if turn.text or turn.stops:
            return turn
        again = await self._ask([*prompt, HumanMessage(_NUDGE)], view)
        return UserTurn(again.text, again.stops, add_usage(turn.usage, again.usage))

    async def _ask(self, prompt: list[BaseMessage], view: UserView) -> UserTurn:
        parameters = seed_parameters(self._model, view.key.seed)
        reply = await call_model(self._bound, prompt, actor="user", settings=self._settings, **parameters)
        return as_turn(reply)


def as_turn(reply: AIMessage) -> UserTurn:
    """Read a model's message as a turn: its words, and whether it hung up."""
    text = spoken_text(reply)
    ends = [call for call in reply.tool_calls if call["name"] == "end_conversation"]
    if ends and not text:
        text = str(ends[0]["args"].get("last_words") or "").strip()
    stops = bool(ends) or any(call["name"] == "end_conversation" for call in reply.invalid_tool_calls)
    return UserTurn(text, stops, usage_of(reply))


def system_prompt(scenario: Scenario, *, stops_on_token: bool) -> str:
    """Return what the model is told about its role."""
    return _TEMPLATE.render(scenario=scenario, stop_token=STOP_TOKEN if stops_on_token else None)
