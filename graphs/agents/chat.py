"""An agent that is a chat model: the policy as system message, the domain's tools bound."""

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.calling import CallSettings, ask_model
from taugraph.graphs.transcript import first_call_only

CALLS_DROPPED = "calls_dropped"
"""Note: calls that were left out because a message may hold only one."""


class ChatAgent:
    """A chat model with the tool-calling strategy; the other strategies build on it.

    Attributes:
        instructions: What the model is told beside the policy, such as examples; part of a run's identity.
    """

    is_privileged = False
    instructions = ""

    def __init__(
        self,
        reference: str,
        model: BaseChatModel,
        settings: CallSettings,
        *,
        parallel_tool_calls: bool | None = None,
    ) -> None:
        self.reference = reference
        self._model = model
        self._settings = settings
        self._parallel = parallel_tool_calls
        self._bound: dict[tuple[object, ...], Runnable[Any, BaseMessage]] = {}

    async def reply(self, view: AgentView) -> AIMessage | AgentTurn:
        """Return the model's next message.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        return await self.draft(view)

    async def draft(self, view: AgentView, more: Sequence[BaseMessage] = ()) -> AgentTurn:
        """Return the message that the model answers the conversation, and what follows it, with."""
        messages = [SystemMessage(self.system_prompt(view)), *view.messages, *more]
        turn = await self.ask(messages, view, self._with_tools(view))
        called = len(turn.message.tool_calls) + len(turn.message.invalid_tool_calls)
        if self._parallel is not False or called < 2:
            return turn
        notes = {**turn.notes, CALLS_DROPPED: called - 1}
        return replace(turn, message=first_call_only(turn.message), notes=notes)

    def system_prompt(self, view: AgentView) -> str:
        """Return what the model is told before the conversation."""
        return view.policy

    async def ask(
        self, messages: Sequence[BaseMessage], view: AgentView, model: Runnable[Any, BaseMessage] | None = None
    ) -> AgentTurn:
        """Call the model, or what it is bound to, with the agent's seed."""
        parameters = seed_parameters(self._model, view.key.seed)
        asked, label = model or self._model, f"task {view.key.task_id}, trial {view.key.trial}"
        answer = await ask_model(asked, messages, actor="agent", settings=self._settings, label=label, **parameters)
        return AgentTurn(answer.message, notes=answer.notes)

    def _with_tools(self, view: AgentView) -> Runnable[Any, BaseMessage]:
        """Bind the tools once: their schemas are large and the same in every trial."""
        key = tuple(map(id, view.tools))
        if key not in self._bound:
            self._bound[key] = self._bind(view.tools) if view.tools else self._model
        return self._bound[key]

    def _bind(self, tools: Sequence[BaseTool]) -> Runnable[Any, BaseMessage]:
        knows = "parallel_tool_calls" in signature(self._model.bind_tools).parameters
        if self._parallel is None or not knows:
            return self._model.bind_tools(list(tools))
        return self._model.bind_tools(list(tools), parallel_tool_calls=self._parallel)


def seed_parameters(model: BaseChatModel, seed: int) -> dict[str, int]:
    """Return the seed as a call parameter, for models that take one."""
    if "seed" not in type(model).model_fields:
        return {}
    # OpenAI's newer models go to an API without seeds, and the model object alone knows which do.
    uses_responses_api = getattr(model, "_use_responses_api", None)
    if uses_responses_api is not None and uses_responses_api({"tools": [{"type": "function"}]}):
        return {}
    return {"seed": seed}
