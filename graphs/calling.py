"""One call of a chat model: timed, retried where waiting may help, and told apart where it fails.

Provider failures become `ModelCallError` and leave the trial unscored. What the model itself wrote never does:
arguments that are no JSON object come back as an unreadable call, which the tool executor answers with an error.
"""

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.exceptions import ContextOverflowError, ModelError
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from taugraph.domains.errors import ModelCallError

_LOG = logging.getLogger("taugraph")
_BACKOFF = wait_exponential(multiplier=0.5, max=30) + wait_random(0, 0.5)
_LONGEST_RETRY_AFTER_S = 120.0
_EMPTY_ACCOUNT = re.compile(
    r"insufficient[_ ](?:quota|credits?|funds|balance)|credit balance|out of credits?|billing|(?:usage|spend\w*) limit",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"(?:invalid|incorrect|expired|missing|no)[_ ]api[_ ]?key|api[_ ]?key (?:is )?(?:not valid|invalid|expired)",
    re.IGNORECASE,
)
_UNREADABLE_CALL = "unreadable_call"


class CallSettings(BaseModel):
    """How long and how often a model is tried."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds one attempt may take."""
    attempts: int = Field(default=4, ge=1)
    """Attempts at one call when the provider fails, the first included."""


class RejectedError(Exception):
    """The provider rejects the conversation that this actor produced: the actor's own failure."""


async def call_model(
    model: Runnable[Any, BaseMessage],
    messages: Sequence[BaseMessage],
    *,
    actor: str,
    settings: CallSettings,
    **parameters: Any,
) -> AIMessage:
    """Call a chat model and return its message.

    Args:
        model: A chat model, tools bound.
        messages: The whole prompt.
        actor: `agent` or `user`, for the error.
        settings: Time and attempts.
        parameters: Passed to the model.

    Raises:
        ModelCallError: If the provider failed, refused the credentials or timed out, also after the last attempt.
        RejectedError: If it refuses a conversation to which this actor has already contributed, or one too long for it.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(is_transient),
        stop=stop_after_attempt(settings.attempts),
        wait=_wait,
        before_sleep=lambda state: _LOG.warning("%s's model call is retried: %s", actor, _reason(state)),
        reraise=True,
    )
    try:
        async for attempt in retrying:
            with attempt:
                async with asyncio.timeout(settings.timeout_s):
                    return _as_ai_message(await model.ainvoke(list(messages), **parameters))
    except Exception as error:
        if arguments := _lost_arguments(error):
            return _unreadable(arguments)
        if _rejects_conversation(error, messages):
            raise RejectedError(_describe(error)) from error
        raise ModelCallError(actor, cause_of(error), _describe(error)) from error
    raise AssertionError("tenacity ends by returning or raising")


def is_transient(error: BaseException) -> bool:
    """Tell whether the same call may succeed later."""
    if not isinstance(error, Exception) or _lost_arguments(error):
        return False
    if isinstance(error, ModelError):
        return error.is_retryable and _account_trouble(error) is None
    status = _status(error)
    if status is not None:
        return status in (408, 409, 425, 429) or status >= 500
    return True  # no status: connection lost, timed out, or an answer nobody can read


def cause_of(error: BaseException) -> str:
    """Return one word for a provider failure."""
    by_status = {401: "authentication", 403: "authentication", 404: "unknown_model", 429: "rate_limit"}
    status = _status(error)
    if account := _account_trouble(error):
        return account
    if status is not None:
        return by_status.get(status, "provider_error" if status >= 500 else "rejected_request")
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "timeout"
    if isinstance(error, OSError) or "Connect" in type(error).__name__:
        return "connection"
    return "unreadable_answer"


def _rejects_conversation(error: Exception, messages: Sequence[BaseMessage]) -> bool:
    """Tell a refused conversation from refused settings: only the former has something of the actor's own in it.

    A conversation too long for the model is the actor's own affair from the first call on.
    """
    if isinstance(error, ContextOverflowError) or _code(error) == "context_length_exceeded":
        return True
    if _status(error) == 400 and "maximum context length" in str(error):
        return True
    if _account_trouble(error):
        return False
    spoke = any(isinstance(message, AIMessage) for message in messages)
    return spoke and _status(error) in (400, 413, 422)


def _account_trouble(error: BaseException) -> str | None:
    """Name a refusal that is about the account, whatever status it came with: providers send some as a bad request."""
    text = f"{_code(error) or ''} {error}" if _status(error) is not None else ""
    if _EMPTY_ACCOUNT.search(text):
        return "quota"
    return "authentication" if _BAD_KEY.search(text) else None


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _code(error: BaseException) -> object:
    return getattr(error, "code", None)


def _describe(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= 500 else f"{text[:500]}... (cut)"


def _reason(state: RetryCallState) -> str:
    error = state.outcome.exception() if state.outcome else None
    return _describe(error) if error else "unknown"


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
    if isinstance(message, AIMessage):
        return message
    raise TypeError(f"the model returned {type(message).__name__}, wanted an AIMessage")


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
