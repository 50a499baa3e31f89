"""A chat model that is shown conversations that went well.

Examples are text inside the system prompt: their tool calls never go to a provider, which would look for the answers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import BaseModel, Field, JsonValue, ValidationError, field_validator

from taugraph.domains.errors import ConfigurationError, DataError
from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.agents.chat import ChatAgent
from taugraph.graphs.agents.conversation import in_words
from taugraph.graphs.agents.prompts import load_prompt
from taugraph.graphs.calling import CallSettings

_SOURCE, _TEMPLATE = load_prompt("few_shot.md")


@dataclass(frozen=True)
class Examples:
    """Conversations that a model is shown.

    Attributes:
        shown: The conversations as text, in the order of the file.
        left_out: How many of the file are not shown, for want of room.
        digest: Digest of the file.
    """

    shown: tuple[str, ...]
    left_out: int
    digest: str


class FewShotAgent(ChatAgent):
    """A chat model that calls tools, with examples after its policy."""

    def __init__(
        self,
        reference: str,
        model: BaseChatModel,
        settings: CallSettings,
        examples: Examples,
        *,
        parallel_tool_calls: bool | None = None,
    ) -> None:
        super().__init__(reference, model, settings, parallel_tool_calls=parallel_tool_calls)
        self._examples = examples
        self.instructions = _SOURCE
        self.examples_digest = examples.digest

    async def reply(self, view: AgentView) -> AgentTurn:
        """Return the model's next message; the first turn notes how many examples there are.

        Raises:
            ModelCallError: If the provider failed.
            RejectedError: If it refuses the conversation.
        """
        turn = await self.draft(view)
        if view.seen:
            return turn
        counts: dict[str, JsonValue] = {"shown": len(self._examples.shown), "left_out": self._examples.left_out}
        return AgentTurn(turn.message, turn.before, turn.memory, {**turn.notes, "examples": counts}, turn.usage)

    def system_prompt(self, view: AgentView) -> str:
        """Return the policy with the examples after it."""
        return _TEMPLATE.render(policy=view.policy, examples=self._examples.shown)


class _Function(BaseModel):
    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("arguments", mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value or "{}")
        except (ValueError, RecursionError) as error:
            raise ValueError("a JSON object as text") from error


class _Call(BaseModel):
    function: _Function


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[str | dict[str, JsonValue]] | None = None
    tool_calls: list[_Call] | None = None

    def as_langchain(self) -> BaseMessage | None:
        content: Any = self.content or ""
        if self.role == "user":
            return HumanMessage(content)
        if self.role == "tool":
            return ToolMessage(content, tool_call_id="")
        if self.role == "assistant":
            functions = [call.function for call in self.tool_calls or ()]
            return AIMessage(content, tool_calls=[{"name": f.name, "args": f.arguments, "id": None} for f in functions])
        return None


class _Example(BaseModel):
    messages: list[_Message] = Field(min_length=1)

    @field_validator("messages")
    @classmethod
    def _has_an_agent(cls, messages: list[_Message]) -> list[_Message]:
        if not any(message.role == "assistant" for message in messages):
            raise ValueError("a conversation in which an assistant speaks")
        return messages


def load_examples(path: Path, *, characters: int, limit: int | None = None) -> Examples:
    """Read examples from a JSONL file, each line `{"messages": [...]}` with messages as OpenAI's API has them.

    Args:
        path: The file.
        characters: Room for all of them together; an example that no longer fits is left out as a whole.
        limit: Examples at most; `None` for as many as there is room for.

    Raises:
        ConfigurationError: If the file cannot be opened, or not a single example fits.
        DataError: If a line breaks the schema.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"cannot open --examples {str(path)!r}: {error.strerror}; name a JSONL file of conversations"
        ) from error
    conversations = list(_conversations(path, content))
    if not conversations:
        raise ConfigurationError(f"--examples {str(path)!r} holds no conversation; give each a line of its own")
    shown: list[str] = []
    room = characters
    for text in conversations:
        if len(text) <= room and (limit is None or len(shown) < limit):
            shown.append(text)
            room -= len(text)
    if not shown:
        shortest = min(map(len, conversations))
        raise ConfigurationError(
            f"no example of --examples {str(path)!r} fits: got {characters} characters of room, wanted {shortest} for "
            f"the shortest; raise examples_characters in --agent-options"
        )
    return Examples(tuple(shown), len(conversations) - len(shown), sha256(content).hexdigest()[:16])


def _conversations(path: Path, content: bytes) -> Iterator[str]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            example = _Example.model_validate(json.loads(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or None
            raise DataError(path, f"line {number}", field, first["input"], _wanted(first["msg"])) from error
        except (ValueError, RecursionError) as error:
            got = line.decode(errors="replace")
            raise DataError(path, f"line {number}", None, got, 'one JSON object {"messages": [...]}') from error
        yield in_words(filter(None, (message.as_langchain() for message in example.messages)))


def _wanted(text: str) -> str:
    return text.removeprefix("Value error, ").removeprefix("Input should be ")
