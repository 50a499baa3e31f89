"""Parameters that a provider refuses: which one its refusal is about, and the model without it.

Only what settings or the harness added to a call can be dropped: never the model, its messages or its tools.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase

from taugraph.graphs.refusals import code_of, status_of, text_of

_NEVER = frozenset(
    {
        "messages",
        "input",
        "tools",
        "functions",
        "model",
        "model_name",
        "model_id",
        "system",
        "metadata",
        "tags",
        "cache",
    }
    | {"api_key", "base_url", "api_version", "azure_endpoint", "timeout", "request_timeout", "max_retries", "name"}
    | {"streaming", "disable_streaming", "openai_api_base", "default_headers", "default_query", "verbose"}
)
_SAMPLING = ("temperature", "top_p", "top_k", "n", "seed", "presence_penalty", "frequency_penalty", "stream_usage")
"""Fields that are sent by some classes although nobody set them."""
_OPEN = ("model_kwargs", "extra_body", "additional_model_request_fields")
"""Fields whose entries are parameters themselves."""
_ALSO_CALLED = {
    "max_tokens": ("max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxTokens"),
    "stop": ("stop_sequences",),
    "reasoning": ("reasoning.effort", "reasoning.summary"),
    "reasoning_effort": ("reasoning.effort",),
    "verbosity": ("text.verbosity",),
    "stream_usage": ("stream_options", "include_usage"),
    "returns_reasoning": ("reasoning_content", "reasoning_details"),
}
_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "UnsupportedParamsError"})
_PHRASES = re.compile(
    r"unsupported|(?:not|n't) support(?:ed)?|unknown|unrecogni[sz]ed|unexpected|extraneous|deprecated|incompatible"
    r"|extra[_ ](?:inputs?|forbidden|fields?|keys?)|not (?:permitted|allowed|available)|only (?:\S+ is )?allowed"
    r"|only the default|cannot both be|may (?:only be set|not be)|cannot find field",
    re.IGNORECASE,
)
_NEAR = 120
"""Characters between a complaint and the name it is about."""


def sendable(model: Runnable[Any, Any], parameters: Mapping[str, Any]) -> set[str]:
    """Return the names of what may be dropped from a call.

    Args:
        model: A chat model, or what it is bound to.
        parameters: Passed to the model with the call.
    """
    names = set(parameters)
    for layer in layers(model):
        if isinstance(layer, RunnableBindingBase):
            names |= set(layer.kwargs)
        elif isinstance(layer, BaseChatModel):
            names |= set(_set_on(layer))
    return names - _NEVER


def refused_parameter(error: BaseException, names: Collection[str]) -> str | None:
    """Return which of the names a provider refuses; `None` if the error is about something else."""
    is_refusal = status_of(error) in (400, 422) or isinstance(error, TypeError)
    if not is_refusal:
        return None
    spellings = {spelling: name for name in sorted(names) for spelling in _spellings(name)}
    named = getattr(error, "param", None)
    if code_of(error) in _CODES and isinstance(named, str) and named in spellings:
        return spellings[named]
    text = text_of(error)
    complaints = [match.span() for match in _PHRASES.finditer(text)]
    near = [
        (distance, start, name)
        for spelling, name in spellings.items()
        for start, end in _places(spelling, text)
        for distance in (_gap(complaint, start, end) for complaint in complaints)
        if distance <= _NEAR
    ]
    return min(near)[2] if near else None


def without(model: Runnable[Any, Any], names: Collection[str]) -> Runnable[Any, Any]:
    """Return the model, or what it is bound to, as a copy that sends none of the names."""
    if not names:
        return model
    if isinstance(model, RunnableBindingBase):
        kept = {name: value for name, value in model.kwargs.items() if name not in names}
        return model.model_copy(update={"bound": without(model.bound, names), "kwargs": kept})
    if not isinstance(model, BaseChatModel):
        return model
    update: dict[str, Any] = {name: _unset(name) for name in _set_on(model) if name in names}
    for field in _OPEN:
        entries = getattr(model, field, None)
        if isinstance(entries, dict) and entries.keys() & set(names):
            update[field] = {name: value for name, value in entries.items() if name not in names}
    fields = type(model).model_fields
    return model.model_copy(update={name: value for name, value in update.items() if name in fields})


def layers(model: Runnable[Any, Any]) -> Iterator[Runnable[Any, Any]]:
    """Walk from a runnable to the model it is bound to."""
    yield model
    while isinstance(model, RunnableBindingBase):
        model = model.bound
        yield model


def _set_on(model: BaseChatModel) -> Iterator[str]:
    """Return what the model object sends by itself."""
    fields = type(model).model_fields
    for name in fields:
        if (name in model.model_fields_set or name in _SAMPLING) and getattr(model, name, None) not in (
            None,
            {},
            False,
        ):
            yield name
    if getattr(model, "returns_reasoning", False):
        yield "returns_reasoning"
    for field in _OPEN:
        entries = getattr(model, field, None)
        if isinstance(entries, dict):
            yield from entries


def _unset(name: str) -> Any:
    return False if name in ("stream_usage", "returns_reasoning") else None


def _spellings(name: str) -> Iterator[str]:
    yield name
    first, *rest = name.split("_")
    if rest:
        yield first + "".join(word.capitalize() for word in rest)
    yield from _ALSO_CALLED.get(name, ())


def _places(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Return where the name stands as a word of its own; a path such as `body.seed` ends in it."""
    for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
        yield match.span()


def _gap(complaint: tuple[int, int], start: int, end: int) -> int:
    return max(complaint[0] - end, start - complaint[1], 0)
