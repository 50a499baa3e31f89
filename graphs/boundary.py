"""The trial boundary: what an agent or a simulated user does comes out as a value or as a failure.

It never comes out as an exception, not even one that would end the process: only whoever runs the trial may stop it,
and only a human who plays the user may interrupt it.
"""

import asyncio
import traceback
from collections.abc import Awaitable
from typing import Literal, TypeVar

from langgraph.errors import GraphBubbleUp

from taugraph.domains.errors import ModelCallError
from taugraph.domains.trial import Failure, Termination
from taugraph.graphs.calling import RejectedError
from taugraph.graphs.refusals import provider_cause

_T = TypeVar("_T")
_LONGEST_TRACEBACK = 8_000
_OWN_KINDS = frozenset(
    {"rejected_by_provider", "empty_reply", "deadline", "user_tool_errors", "user_calls_without_end"}
)
"""Kinds of failures that are the actor's own, beside what it raises."""


class DeadlineError(Exception):
    """Code of someone's own took more time for a turn than it may."""


async def cross(actor: Literal["agent", "user"], asked: Awaitable[_T]) -> _T | Failure:
    """Await what an actor was asked for; return it, or what went wrong."""
    try:
        return await asked
    except ModelCallError as error:
        return Failure(kind=error.cause, message=_clip(str(error)), actor=actor)
    except RejectedError as error:
        return Failure(kind="rejected_by_provider", message=_clip(str(error)), actor=actor)
    except DeadlineError as error:
        return Failure(kind="deadline", message=_clip(str(error)), actor=actor)
    except BaseException as error:  # this is the boundary
        if _stops_the_run(error) or (actor == "user" and isinstance(error, GraphBubbleUp)):
            raise
        cause = provider_cause(error)
        text = "".join(traceback.format_exception(error))[-_LONGEST_TRACEBACK:]
        message = _in_words(error)
        return Failure(kind=cause or f"{actor}_raised", message=_clip(message), actor=actor, traceback=text)


def _in_words(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an error whose own text is broken is still only an error
        return name
    return f"{name}: {text}" if text else name


def termination_of(failure: Failure) -> Termination:
    """Return the end that a failure leads to: the provider's are infrastructure, the actor's are its own."""
    if not (failure.kind.endswith("_raised") or failure.kind in _OWN_KINDS):
        return Termination.INFRASTRUCTURE
    return Termination.AGENT_ERROR if failure.actor == "agent" else Termination.USER_ERROR


def _stops_the_run(error: BaseException) -> bool:
    """Tell a run that is being stopped from an actor that raises what only looks like it."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


def _clip(text: str, limit: int = 1_000) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... (cut)"
