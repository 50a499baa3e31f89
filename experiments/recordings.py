"""Recorded conversations in tau-bench's results format: a list of {task_id, trial, reward, info, traj}."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from taugraph.domains.errors import DataError


class _Function(BaseModel):
    name: str | None = None
    arguments: str | dict[str, JsonValue] | None = ""


class _Call(BaseModel):
    id: str | None = None
    function: _Function


class _Message(BaseModel):
    role: str
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Result(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)

    task_id: int | str
    trial: int = Field(default=0, ge=0, le=9_999)
    reward: float | None = None
    info: dict[str, JsonValue] | None = None
    traj: list[_Message] | None = None


@dataclass(frozen=True)
class Recording:
    """One recorded conversation.

    Attributes:
        task_id: Task, as our reader of the same data names it.
        trial: Index of the trial, from 0.
        reward: The recorded reward; `None` where the file has none.
        agent: The agent's messages in order.
        user: The user's texts in order.
        note: What the recording says about a crash; `None` where it holds a conversation.
    """

    task_id: str
    trial: int
    reward: float | None
    agent: Sequence[AIMessage]
    user: Sequence[str]
    note: str | None = None

    @property
    def place(self) -> tuple[str, int]:
        """Task and trial."""
        return self.task_id, self.trial


def load_recordings(path: Path) -> list[Recording]:
    """Read a results file.

    Raises:
        DataError: If it is no such file, or holds one trial of a task twice.
    """
    recordings: dict[tuple[str, int], Recording] = {}
    for index, document in enumerate(_read_list(path)):
        recording = _as_recording(path, index, document)
        if recording.place in recordings:
            raise DataError(
                path,
                f"number {index}",
                "trial",
                f"task {recording.task_id} trial {recording.trial} once more",
                "every trial of a task once",
            )
        recordings[recording.place] = recording
    if not recordings:
        raise DataError(path, None, None, "an empty list", "at least one recorded conversation")
    return list(recordings.values())


def _read_list(path: Path) -> list[Any]:
    try:
        documents = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, None, None, error.strerror or str(error), "a results file") from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, None, None, f"no JSON ({error})", "a JSON list of recorded conversations") from error
    if not isinstance(documents, list):
        raise DataError(path, None, None, type(documents).__name__, "a JSON list of recorded conversations")
    return documents


def _as_recording(path: Path, index: int, document: Any) -> Recording:
    try:
        result = _Result.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or None
        raise DataError(path, f"number {index}", field, first["input"], first["msg"]) from error
    words, note = result.traj or [], None
    if not any(message.role == "user" for message in words):
        reason = (result.info or {}).get("error") or "no reason given"
        note = f"the recording holds no conversation ({str(reason)[:120]})"
    return Recording(
        task_id=str(result.task_id),
        trial=result.trial,
        reward=result.reward,
        agent=[_as_agent_message(message) for message in words if message.role == "assistant"],
        user=[message.content or "" for message in words if message.role == "user"],
        note=note,
    )


def _as_agent_message(message: _Message) -> AIMessage:
    calls, unreadable = [], []
    for call in message.tool_calls or []:
        name, raw = call.function.name or "", call.function.arguments
        arguments = _read_arguments(raw)
        if arguments is None:
            unreadable.append(invalid_tool_call(name=name, args=str(raw), id=call.id, error=None))
        else:
            calls.append(tool_call(name=name, args=arguments, id=call.id))
    return AIMessage(message.content or "", tool_calls=calls, invalid_tool_calls=unreadable)


def _read_arguments(raw: str | dict[str, JsonValue] | None) -> dict[str, Any] | None:
    if isinstance(raw, dict):
        return dict(raw)
    try:
        arguments = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None
