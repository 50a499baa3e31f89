"""A chat model that says what was written for it, by its place in the conversation. It imports nothing of ours."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class ScriptedModel(BaseChatModel):
    """Says the line after as many AI messages as it sees; the last one again and again. Exceptions are raised."""

    lines: Any
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.prompts.append(list(messages))
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        line: Any = self.lines[min(spoken, len(self.lines) - 1)]
        if isinstance(line, BaseException):
            raise line
        if isinstance(line, Callable):  # type: ignore[arg-type]
            line = line(messages)
        message = AIMessage(line) if isinstance(line, str) else line.model_copy(deep=True)
        tokens = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        message = message.model_copy(update={"usage_metadata": tokens})
        return ChatResult(generations=[ChatGeneration(message=message)])
