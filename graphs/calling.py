"""One call of a chat model: timed, retried where waiting may help, adjusted to its provider, told apart where it fails.

Provider failures become `ModelCallError` and leave the trial unscored. What the model itself wrote never does:
arguments that are no JSON object come back as an unreadable call, which the tool executor answers with an error.
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from taugraph.domains.errors import ModelCallError
from taugraph.graphs.adjusting import Known, adjustment_of, streams
from taugraph.graphs.refusals import cause_of, describe, is_about_conversation, is_transient
from taugraph.graphs.streaming import is_truncated, read_calls, stream_reply
from taugraph.graphs.wire import as_sent

DROPPED_PARAMETERS = "dropped_parameters"
"""Note: actor and name of every parameter that a provider refused and that was left out."""
TRUNCATED_REPLIES = "truncated_replies"
"""Note: replies of the agent's model that its provider cut off at a limit of tokens."""
USER_TRUNCATED_REPLIES = "user_truncated_replies"
"""Note: the same of the user's model."""
SWITCHED_TO_STREAMING = "switched_to_streaming"
"""Note: actors whose model is streamed because its provider refuses anything else."""

_LOG = logging.getLogger("taugraph")
_BACKOFF = wait_exponential(multiplier=0.5, max=30) + wait_random(0, 0.5)
_LONGEST_RETRY_AFTER_S = 120.0
_UNREADABLE_CALL = "unreadable_call"
_MOST_ADJUSTMENTS = 12


class CallSettings(BaseModel):
    """How long and how often a model is tried."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds one attempt may take."""
    attempts: int = Field(default=4, ge=1)
    """Attempts at one call when the provider fails, the first included."""


class RejectedError(Exception):
    """The provider rejects the conversation that this actor produced: the actor's own failure."""


@dataclass(frozen=True)
class Answer:
    """What a model answered.

    Attributes:
        message: Its message.
        notes: What a trial should tell of the call, such as `dropped_parameters`.
    """

    message: AIMessage
    notes: Mapping[str, JsonValue] = field(default_factory=dict)


async def call_model(
    model: Runnable[Any, BaseMessage],
    messages: Sequence[BaseMessage],
    *,
    actor: str,
    settings: CallSettings,
    **parameters: Any,
) -> AIMessage:
    """Call a chat model and return its message; see `ask_model`, which also tells what else there is to know.

    Raises:
        ModelCallError: If the provider failed, refused the credentials or timed out, also after the last attempt.
        RejectedError: If it refuses a conversation to which this actor has already contributed, or one too long for it.
    """
    return (await ask_model(model, messages, actor=actor, settings=settings, **parameters)).message


async def ask_model(
    model: Runnable[Any, BaseMessage],
    messages: Sequence[BaseMessage],
    *,
    actor: str,
    settings: CallSettings,
    label: str = "",
    **parameters: Any,
) -> Answer:
    """Call a chat model; where its provider refuses a parameter or wants to stream, call again as it wants.

    Args:
        model: A chat model, tools bound.
        messages: The whole prompt.
        actor: `agent` or `user`, for errors and notes.
        settings: Time and attempts.
        label: What the call is for, such as task and trial, for the log.
        parameters: Passed to the model.

    Raises:
        ModelCallError: If the provider failed, refused the credentials or timed out, also after the last attempt.
        RejectedError: If it refuses a conversation to which this actor has already contributed, or one too long for it.
    """
    adjustment, prompt = adjustment_of(model), as_sent(messages)
    of_whom = f"{actor}'s model call" + (f" ({label})" if label else "")
    for _ in range(_MOST_ADJUSTMENTS):
        known = adjustment.known
        try:
            message = await _attempt(model, prompt, known, parameters, settings, of_whom)
        except Exception as error:
            if arguments := _lost_arguments(error):
                return Answer(_unreadable(arguments), _notes(actor, known, None))
            if adjustment.learn(error, model, parameters, known=known, actor=actor):
                continue
            if is_about_conversation(error, spoke=any(isinstance(each, AIMessage) for each in messages)):
                raise RejectedError(describe(error)) from error
            raise ModelCallError(actor, cause_of(error), describe(error)) from error
        return Answer(message, _notes(actor, known, message))
    raise ModelCallError(actor, "rejected_request", f"its provider refused {_MOST_ADJUSTMENTS} parameters in turn")


async def _attempt(
    model: Runnable[Any, BaseMessage],
    prompt: Sequence[BaseMessage],
    known: Known,
    parameters: Mapping[str, Any],
    settings: CallSettings,
    of_whom: str,
) -> AIMessage:
    """Call the model as it is now known to want it, as often as waiting may help."""
    adjusted, sent = known.applied_to(model), known.kept(parameters)

    def may_help(error: BaseException) -> bool:
        return is_transient(error) and not _is_lost(error) and not known.wants_stream(error, model)

    def log(state: RetryCallState) -> None:
        made = f"attempt {state.attempt_number} of {settings.attempts}"
        _LOG.warning("%s is retried: %s failed with %s", of_whom, made, _reason(state))

    retrying = AsyncRetrying(
        retry=retry_if_exception(may_help),
        stop=stop_after_attempt(settings.attempts),
        wait=_wait,
        before_sleep=log,
        reraise=True,
    )
    async for attempt in retrying:
        with attempt:
            async with asyncio.timeout(settings.timeout_s):
                if streams(adjusted):
                    return _as_ai_message(await stream_reply(adjusted, prompt, sent))
                return _as_ai_message(await adjusted.ainvoke(list(prompt), **sent))
    raise AssertionError("tenacity ends by returning or raising")


def _notes(actor: str, known: Known, message: AIMessage | None) -> dict[str, JsonValue]:
    notes: dict[str, JsonValue] = {}
    if known.dropped:
        notes[DROPPED_PARAMETERS] = [f"{actor} {name}" for name in known.dropped]
    if known.streams:
        notes[SWITCHED_TO_STREAMING] = [actor]
    if message is not None and is_truncated(message):
        notes[USER_TRUNCATED_REPLIES if actor == "user" else TRUNCATED_REPLIES] = 1
    return notes


def _reason(state: RetryCallState) -> str:
    error = state.outcome.exception() if state.outcome else None
    return describe(error) if error else "unknown"


def _wait(state: RetryCallState) -> float:
    """Wait as long as the provider asks, or back off with jitter."""
    error = state.outcome.exception() if state.outcome else None
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        asked = float(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return float(_BACKOFF(state))
    return min(max(asked, 0.0), _LONGEST_RETRY_AFTER_S)


def _as_ai_message(message: object) -> AIMessage:
    """Return the model's message, calls that say nothing of arguments made calls without any."""
    if not isinstance(message, AIMessage):
        raise TypeError(f"the model returned {type(message).__name__}, wanted an AIMessage")
    if any((call["args"] or "").strip() for call in message.invalid_tool_calls) or not message.invalid_tool_calls:
        return message
    empty = [(call["name"], call["args"], call["id"]) for call in message.invalid_tool_calls]
    calls, unreadable = read_calls(empty, is_cut=is_truncated(message))
    return message.model_copy(update={"tool_calls": [*message.tool_calls, *calls], "invalid_tool_calls": unreadable})


def _is_lost(error: BaseException) -> bool:
    return isinstance(error, Exception) and bool(_lost_arguments(error))


def _lost_arguments(error: Exception) -> list[Any]:
    """Return the arguments that are no JSON object, where they are what the error is about."""
    if not isinstance(error, ValidationError):
        return []
    return [item["input"] for item in error.errors(include_url=False) if item["loc"][:1] == ("tool_calls",)]


def _unreadable(arguments: Sequence[Any]) -> AIMessage:
    """Turn arguments that are no JSON object into calls that the executor can answer.

    LangChain refuses such a message as a whole, so the tool's name is lost; what was sent as arguments is not.
    """
    return AIMessage(
        "",
        invalid_tool_calls=[
            invalid_tool_call(name=_UNREADABLE_CALL, args=json.dumps(value, default=str), id=None, error=None)
            for value in arguments
        ],
    )
