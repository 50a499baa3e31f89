"""What a run learns about a model from the refusals of its provider, and the model adjusted to it.

A parameter that was refused is not sent again, and a model that only streams is streamed: for as long as the model
object lives, which is a run. Safe to use from several threads.
"""

import logging
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase

from taugraph.graphs.parameters import layers, refused_parameter, sendable, without
from taugraph.graphs.refusals import describe, status_of, text_of

_LOG = logging.getLogger("taugraph")
_ONLY_STREAMS = re.compile(
    r"stream['\"`]? (?:must|should|has to|needs to) be (?:set to )?['\"`]?true|stream ?= ?true is required"
    r"|only supports? (?:the )?stream|non-?stream\w*(?: \w+){0,3} (?:is |are )?(?:not|un)[ -]?support"
    r"|n[o']t support (?:non-?stream|stream ?= ?false)|streaming is required|enable the stream parameter",
    re.IGNORECASE,
)
_EVENTS = re.compile(r"""got str: ['"](?:data|event|id|):""")


@dataclass(frozen=True)
class Known:
    """What was known about a model when a call was made.

    Attributes:
        dropped: Names of the parameters that are not sent, in the order they were refused.
        streams: Whether the model is streamed because its provider asked for it.
    """

    dropped: tuple[str, ...] = ()
    streams: bool = False

    def applied_to(self, model: Runnable[Any, BaseMessage]) -> Runnable[Any, BaseMessage]:
        """Return the model as it is to be called."""
        adjusted = without(model, self.dropped)
        return _streaming(adjusted, counts="stream_usage" not in self.dropped) if self.streams else adjusted

    def kept(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that are still sent."""
        return {name: value for name, value in parameters.items() if name not in self.dropped}

    def wants_stream(self, error: BaseException, model: Runnable[Any, Any]) -> bool:
        """Tell whether an error says that the model, which was not streamed, has to be."""
        if self.streams or streams(model) or not any(isinstance(layer, BaseChatModel) for layer in layers(model)):
            return False
        if status_of(error) is not None:
            return _ONLY_STREAMS.search(text_of(error)) is not None
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        is_events = str(headers.get("content-type", "")).startswith("text/event-stream")
        return is_events or _EVENTS.search(text_of(error)) is not None


class Adjustment:
    """What becomes known about one model; starts with nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = Known()

    @property
    def known(self) -> Known:
        """What is known by now."""
        return self._known

    def learn(
        self, error: Exception, model: Runnable[Any, Any], parameters: Mapping[str, Any], *, known: Known, actor: str
    ) -> bool:
        """Learn from a refusal; tell whether the call is worth making again.

        Calls that were under way at the same time are refused too, and have only to be made again.

        Args:
            error: What the call raised.
            model: What was called.
            parameters: What the call was given.
            known: What was known when it was made.
            actor: Whose model it is, for the log.
        """
        if known.wants_stream(error, model):
            self._add(
                lambda now: now.streams, lambda now: replace(now, streams=True), f"{actor}'s model is streamed", error
            )
            return True
        sent = known.applied_to(model)
        name = refused_parameter(error, sendable(sent, known.kept(parameters)))
        if name is None:
            return False
        self._add(
            lambda now: name in now.dropped,
            lambda now: replace(now, dropped=(*now.dropped, name)),
            f"{actor}'s model is not sent {name!r}",
            error,
        )
        return True

    def _add(
        self, has: Callable[[Known], bool], add: Callable[[Known], Known], what: str, error: BaseException
    ) -> None:
        with self._lock:
            if has(self._known):
                return
            self._known = add(self._known)
        _LOG.warning("%s from now on: %s", what, describe(error))


def adjustment_of(model: Runnable[Any, Any]) -> Adjustment:
    """Return what is known about the model that a runnable is bound to, the same for all that are bound to it."""
    *_, innermost = layers(model)
    with _LOCK:
        known = _KNOWN.get(id(innermost))
        if known is None:
            known = _KNOWN[id(innermost)] = Adjustment()
            weakref.finalize(innermost, _KNOWN.pop, id(innermost), None)
        return known


def streams(model: Runnable[Any, Any]) -> bool:
    """Tell whether the settings of a model make it stream."""
    *_, innermost = layers(model)
    return getattr(innermost, "streaming", False) is True and getattr(innermost, "disable_streaming", False) is False


_LOCK = threading.Lock()
_KNOWN: dict[int, Adjustment] = {}


def _streaming(model: Runnable[Any, BaseMessage], *, counts: bool) -> Runnable[Any, BaseMessage]:
    if isinstance(model, RunnableBindingBase):
        return model.model_copy(update={"bound": _streaming(model.bound, counts=counts)})
    assert isinstance(model, BaseChatModel), "only a chat model is told to stream"
    wanted = {"disable_streaming": False, "streaming": True, "stream_usage": counts}
    fields = type(model).model_fields
    return model.model_copy(update={name: value for name, value in wanted.items() if name in fields})
