"""An agent that is a chat model: the policy as system message, the domain's tools bound."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable

from taugraph.graphs.agent import AgentView
from taugraph.graphs.calling import CallSettings, call_model


class ChatAgent:
    """A chat model with the tool-calling strategy."""

    is_privileged = False

    def __init__(self, reference: str, model: BaseChatModel, settings: CallSettings) -> None:
        self.reference = reference
        self._model = model
        self._settings = settings
        self._bound: dict[tuple[int, ...], Runnable[Any, BaseMessage]] = {}

    async def reply(self, view: AgentView) -> AIMessage:
        """Return the model's next message.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        messages = [SystemMessage(view.policy), *view.messages]
        parameters = seed_parameters(self._model, view.key.seed)
        return await call_model(self._with_tools(view), messages, actor="agent", settings=self._settings, **parameters)

    def _with_tools(self, view: AgentView) -> Runnable[Any, BaseMessage]:
        """Bind the tools once: their schemas are large and the same in every trial."""
        key = tuple(map(id, view.tools))
        if key not in self._bound:
            self._bound[key] = self._model.bind_tools(list(view.tools)) if view.tools else self._model
        return self._bound[key]


def seed_parameters(model: BaseChatModel, seed: int) -> dict[str, int]:
    """Return the seed as a call parameter, for models that take one."""
    if "seed" not in type(model).model_fields:
        return {}
    # OpenAI's newer models go to an API without seeds, and the model object alone knows which do.
    uses_responses_api = getattr(model, "_use_responses_api", None)
    if uses_responses_api is not None and uses_responses_api({"tools": [{"type": "function"}]}):
        return {}
    return {"seed": seed}
