"""A demonstration user: a scripted chat model.

It tells all that it knows and wants when asked, agrees, and hangs up when all is done. It speaks through the same
adapter as a real model. With tools of its own it makes the calls that the agent's words hold and reports the answers:
it is given no part of the solution, so that only an agent which knows the solution gets it to act.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.task import Scenario
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.guidance import guided_call
from taugraph.graphs.user import UserTurn, UserView
from taugraph.graphs.users.llm import LlmUser


class DemoUser:
    """Plays a scenario without a model."""

    reference = "demo"

    def __init__(self, *, stops_on_token: bool = False) -> None:
        self._stops_on_token = stops_on_token

    async def speak(self, view: UserView) -> UserTurn:
        """Return the next turn of the script, or the call that the agent's last words hold."""
        last = view.messages[-1] if view.messages else None
        step = guided_call(last.text, len(view.messages)) if isinstance(last, HumanMessage) and view.tools else None
        if step is not None:
            return UserTurn("", message=AIMessage("", tool_calls=[step]))
        model = DemoUserModel(scenario=view.scenario, stops_on_token=self._stops_on_token)
        user = LlmUser(self.reference, model, CallSettings(), stops_on_token=self._stops_on_token)
        return await user.speak(view)


class DemoUserModel(BaseChatModel):
    """The script as a LangChain chat model: the next turn follows from the agent's last words."""

    scenario: Scenario = Field(repr=False)
    """What the user is told."""
    stops_on_token: bool = False
    """Whether it stops by the token instead of by hanging up."""

    @property
    def _llm_type(self) -> str:
        return "taugraph-demo-user"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Accept the tool for hanging up; the script already knows it."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        turns = sum(isinstance(message, AIMessage) and not message.tool_calls for message in messages)
        if isinstance(messages[-1], ToolMessage):
            reply = AIMessage(f"I did that. This is what I see: {messages[-1].text}")
        else:
            reply = self._opening() if turns == 0 else self._answer(messages[-1].text, is_first=turns == 1)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _opening(self) -> AIMessage:
        return AIMessage(self.scenario.opening or "Hello, I need some help, please.")

    def _answer(self, heard: str, *, is_first: bool) -> AIMessage:
        if is_first:
            return AIMessage(". ".join([*self.scenario.known, self.scenario.instructions]))
        if "anything else" not in heard and "?" in heard:
            return AIMessage("Yes, please go ahead.")
        return self._farewell()

    def _farewell(self) -> AIMessage:
        if self.stops_on_token:
            return AIMessage(STOP_TOKEN)
        return AIMessage("", tool_calls=[{"name": "end_conversation", "args": {}, "id": "hang-up"}])
