"""The chat models of a run: one object per reference, one HTTP client for all of one provider.

A model is built when the run is set up, so that a missing key or package is told before the first trial. Nothing is set
on it but what settings say, except that it never retries by itself: how often a call is tried is the harness's affair.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from taugraph.domains.errors import ConfigurationError
from taugraph.graphs.calling import CallSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_SHARED_CLIENT_PROVIDERS = ("openai", "azure_openai")
_NO_KEY = "none"
"""Sent where a server of one's own is named and no key: the client insists on one."""
_KEY_OPTIONS = frozenset({"api_key", "openai_api_key"})
_URL_OPTIONS = ("base_url", "openai_api_base")
_URL_VARIABLES = ("OPENAI_API_BASE", "OPENAI_BASE_URL")


class ChatModels:
    """Builds the chat models of one run and closes what they share."""

    def __init__(self, calls: CallSettings | None = None) -> None:
        """Prepare for calls of that length."""
        self.calls = calls or CallSettings()
        self._models: dict[str, BaseChatModel] = {}
        self._client: Any = None

    def build(self, reference: str, options: Mapping[str, Any], *, actor: str) -> "BaseChatModel":
        """Return the model of that reference.

        Args:
            reference: What `init_chat_model` takes, such as `openai:gpt-4.1`.
            options: Further arguments of the model, such as `base_url`, `api_key` or `temperature`.
            actor: `agent` or `user`, for the error.

        Raises:
            ConfigurationError: If there is no such provider, its package is missing, or it has no key.
        """
        name = f"{reference} {json.dumps(dict(options), sort_keys=True, default=str)}"
        if name not in self._models:
            self._models[name] = self._init(reference, dict(options), actor)
        return self._models[name]

    async def aclose(self) -> None:
        """Close the shared HTTP client."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
            self._models.clear()

    def _init(self, reference: str, options: dict[str, Any], actor: str) -> "BaseChatModel":
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - a second of imports, only for real models

        if options.get("streaming") is not True:
            # Studio listens to tokens, which makes LangChain stream, and a streamed answer reads differently.
            options = {"disable_streaming": True} | options
        provider = reference.partition(":")[0]
        if provider in _SHARED_CLIENT_PROVIDERS:
            options = {"http_async_client": self._shared_client()} | options
        if provider == "openai" and _needs_no_key(options):
            options["api_key"] = _NO_KEY
        try:
            model: BaseChatModel = init_chat_model(reference, **options)
            return _as_wanted(model, reference, options)
        except ImportError as error:
            raise ConfigurationError(f"--{actor} {reference!r} needs a package that is missing: {error}") from error
        except Exception as error:
            raise ConfigurationError(f"cannot use --{actor} {reference!r}: {_advice(reference, error)}") from error

    def _shared_client(self) -> Any:
        from openai import DefaultAsyncHttpxClient  # noqa: PLC0415 - heavy, only for this provider

        if self._client is None:
            self._client = DefaultAsyncHttpxClient(timeout=self.calls.timeout_s)
        return self._client


def _as_wanted(model: "BaseChatModel", reference: str, options: dict[str, Any]) -> "BaseChatModel":
    """Build the model again if its class has a better version here, or would retry by itself."""
    kind, own = type(model), dict(options)
    if "langchain_openai" in sys.modules:
        from taugraph.graphs.openai_models import FAITHFUL  # noqa: PLC0415 - heavy, only for this provider

        kind = FAITHFUL.get(kind, kind)
    retries = kind.model_fields.get("max_retries")
    if retries is not None and not {"max_retries", retries.alias} & own.keys():
        own["max_retries"] = 0
    if kind is type(model) and own == options:
        return model
    provider, colon, name = reference.partition(":")
    return kind(model=name if colon else provider, **own)


def _needs_no_key(options: Mapping[str, Any]) -> bool:
    """Tell whether a server of one's own is named for OpenAI's client, and no key anywhere."""
    has_url = any(options.get(name) for name in _URL_OPTIONS) or any(os.environ.get(name) for name in _URL_VARIABLES)
    return has_url and not _KEY_OPTIONS & options.keys() and not os.environ.get("OPENAI_API_KEY")


def _advice(reference: str, error: Exception) -> str:
    text = " ".join(str(error).split())
    if "api_key" in text or "API_KEY" in text or "credentials" in text:
        provider = reference.partition(":")[0].upper()
        return f"no key was found; set {provider}_API_KEY in the environment, or use the built-in `demo`"
    return f"{text[:300]}; write PROVIDER:MODEL such as openai:gpt-4.1, or demo"
