"""Models for tests of strategies: one behind a real socket, one scripted in the process."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

from acting import CANCEL, play
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr
from support.openai_server import Fault, OpenAIServer, Reply, Script, ToolCall

from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels

TOKENS = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
"""What every line of `lines` reports."""


def lines(*written: str | Reply) -> Script:
    """Answer by how often the model has spoken in the conversation; the last line is repeated."""

    def script(request: dict[str, Any]) -> Reply | Fault:
        spoken = sum(message["role"] == "assistant" for message in request["messages"])
        line = written[min(spoken, len(written) - 1)]
        return line if isinstance(line, Reply) else Reply(line, usage=TOKENS)

    return script


def in_order(*written: str | Reply) -> Script:
    """Answer request by request; the last line is repeated."""
    numbers = itertools.count()

    def script(request: dict[str, Any]) -> Reply | Fault:
        line = written[min(next(numbers), len(written) - 1)]
        return line if isinstance(line, Reply) else Reply(line, usage=TOKENS)

    return script


def calling(name: str, **arguments: Any) -> Reply:
    return Reply(tool_calls=(ToolCall(name, json.dumps(arguments)),), usage=TOKENS)


async def trial(
    script: Script, strategy: str, task_id: str = CANCEL, options: dict[str, Any] | None = None, **settings: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Play the demo user against a model behind that script; return the final state and the requests."""
    with OpenAIServer(script) as server:
        given = json.dumps({"base_url": server.base_url, "api_key": "local", **(options or {})})
        chosen: dict[str, Any] = {"attempts": 1, "timeout_s": 5.0, "strategy": strategy} | settings
        context = SimulationContext(agent="openai:scripted", agent_options=given, **chosen)
        models = ChatModels(context.calls)
        stage = build_stage(context, models)
        try:
            return await play(stage, task_id), [request.body for request in server.requests]
        finally:
            await models.aclose()
            stage.close()


def outcome(state: dict[str, Any]) -> tuple[str, float | None]:
    return state["termination"], state["reward"]


class ScriptedModel(BaseChatModel):
    """Says its lines in order and repeats the last; remembers its prompts and what was bound to it."""

    written: list[Any]
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _bound: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        return self._prompts

    @property
    def bound(self) -> list[dict[str, Any]]:
        return self._bound

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._prompts.append(messages)
        line = self.written[min(len(self._prompts), len(self.written)) - 1]
        message = line.model_copy(deep=True) if isinstance(line, AIMessage) else AIMessage(line)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any], **kwargs: Any) -> Any:
        self._bound.append({"tools": list(tools), **kwargs})
        return self
