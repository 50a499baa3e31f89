"""What a reference of `--agent` means, read off its shape alone: nothing is imported and nothing is looked up.

A known provider wins over a module of the same name.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from taugraph.domains.errors import ConfigurationError

SHAPES = (
    "PROVIDER:MODEL such as openai:gpt-4.1, package.module:attr, ./file.py:attr, path/to/langgraph.json#name, "
    "http://host:port#assistant, or demo"
)
"""Every shape that a reference may have, for an error."""

_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class ModelReference:
    """A chat model by provider and name, as `init_chat_model` takes it."""

    text: str


@dataclass(frozen=True)
class ModuleReference:
    """Something in a module that Python can import, the working directory included."""

    module: str
    attribute: str


@dataclass(frozen=True)
class FileReference:
    """Something in a Python file."""

    path: Path
    attribute: str


@dataclass(frozen=True)
class ConfigReference:
    """A graph of a `langgraph.json`; `None` for the only one."""

    path: Path
    name: str | None


@dataclass(frozen=True)
class RemoteReference:
    """An assistant of a LangGraph server."""

    url: str
    assistant: str


Reference = ModelReference | ModuleReference | FileReference | ConfigReference | RemoteReference
"""Where an agent is found."""


def parse_reference(text: str) -> Reference:
    """Tell what a reference leads to.

    Raises:
        ConfigurationError: If it has none of the accepted shapes.
    """
    if re.match(r"https?://", text):
        return _remote(text)
    path, _, name = text.partition("#")
    if path.endswith(".json"):
        return ConfigReference(Path(path).expanduser(), name or None)
    before, _, attribute = text.rpartition(":")
    if before.endswith(".py") and attribute:
        return FileReference(Path(before).expanduser(), attribute)
    if text.endswith((".py", ".py:")):
        raise _unusable(text, "got a file without a name in it; write FILE.py:attr, such as ./agent.py:graph")
    if is_model(text):
        return ModelReference(text)
    module, _, attribute = text.partition(":")
    if _MODULE.fullmatch(module) and _MODULE.fullmatch(attribute):
        return ModuleReference(module, attribute)
    raise _unusable(text, f"it is no chat model that LangChain knows, and names no code; write {SHAPES}")


def is_model(text: str) -> bool:
    """Tell whether LangChain would take a reference for a chat model."""
    provider, colon, _ = text.partition(":")
    if colon and not re.fullmatch(r"[a-z][a-z0-9_-]*", provider):
        return False
    from langchain.chat_models import base  # noqa: PLC0415 - a second of imports, only for what may be a model

    # Not public, but the only place that knows; without it a provider is told from a module by not being importable.
    known = getattr(base, "_BUILTIN_PROVIDERS", {})
    if colon:
        return provider in known or provider.replace("-", "_") in known
    infer = getattr(base, "_attempt_infer_model_provider", lambda name: None)
    return infer(text) is not None


def _remote(text: str) -> RemoteReference:
    url, _, assistant = text.partition("#")
    if not assistant:
        raise _unusable(text, "got an address without an assistant; write http://host:port#assistant")
    return RemoteReference(url.rstrip("/"), assistant)


def _unusable(text: str, reason: str) -> ConfigurationError:
    return ConfigurationError(f"cannot use --agent {text!r}: {reason}")
