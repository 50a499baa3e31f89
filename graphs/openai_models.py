"""LangChain's OpenAI models, keeping what they lose: reasoning, signatures, and what a call's arguments really were.

Servers that speak OpenAI's API send fields of their own, and some refuse a conversation in which they are missing. They
are kept on the message and sent back as they came. No temperature is set or left out behind the settings' back.
"""

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import model_validator

from taugraph.graphs.streaming import read_calls
from taugraph.graphs.transcript import CALL_EXTRAS

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields of a message in which servers of this API put reasoning."""

_BESIDE_CALL = ("extra_content", "thought_signature", "provider_specific_fields")
"""Fields of a call in which servers put signatures; any other that is not standard is not sent back."""


class _Faithful(BaseChatOpenAI):
    """What the models of this API have in common here."""

    returns_reasoning: bool = True
    """Whether reasoning is sent back to the server it came from."""

    @model_validator(mode="before")
    @classmethod
    def validate_temperature(cls, values: dict[str, Any]) -> Any:
        """Leave the temperature alone: LangChain's own version sets or removes it by the model's name."""
        return values

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        if "messages" not in payload:
            if self.temperature is not None:  # left out by LangChain for some names of models
                payload.setdefault("temperature", self.temperature)
            return payload
        said = self._convert_input(input_).to_messages()
        for message, sent in zip(said, payload["messages"], strict=True):
            if isinstance(message, AIMessage):
                self._put_back(message, sent)
        return payload

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        if hasattr(response, "model_dump"):
            response = response.model_dump(warnings=False)
        choices = response.get("choices") if isinstance(response, dict) else None
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            return super()._create_chat_result(response, generation_info)
        raw = [choice.get("message") or {} for choice in choices]
        bare = [{**choice, "message": _without_calls(said)} for choice, said in zip(choices, raw, strict=True)]
        result = super()._create_chat_result({**response, "choices": bare}, generation_info)
        for choice, generation, said in zip(choices, result.generations, raw, strict=True):
            if isinstance(generation.message, AIMessage):
                _keep(generation.message, said, is_cut=choice.get("finish_reason") == "length")
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        generation = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        choices = chunk.get("choices") or [{}]
        if generation is not None and (delta := choices[0].get("delta")):
            generation.message.additional_kwargs.update(_reasoning_of(delta))
        return generation

    def _put_back(self, message: BaseMessage, sent: dict[str, Any]) -> None:
        """Add to a message as it is sent what its server sent with it."""
        if self.returns_reasoning:
            sent.update(_reasoning_of(message.additional_kwargs))
        extras = message.additional_kwargs.get(CALL_EXTRAS) or []
        for call, extra in zip(sent.get("tool_calls", []), extras, strict=False):
            call.update(extra or {})


class FaithfulChatOpenAI(_Faithful, ChatOpenAI):
    """OpenAI, and every server that speaks its API."""


class FaithfulAzureChatOpenAI(_Faithful, AzureChatOpenAI):
    """OpenAI's models on Azure."""


FAITHFUL: dict[type, type[BaseChatOpenAI]] = {
    ChatOpenAI: FaithfulChatOpenAI,
    AzureChatOpenAI: FaithfulAzureChatOpenAI,
}
"""What is used here in place of LangChain's classes."""


def _without_calls(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name not in ("tool_calls", "function_call")}


def _keep(message: AIMessage, said: Mapping[str, Any], *, is_cut: bool) -> None:
    """Put on a message what LangChain does not read off an answer."""
    message.additional_kwargs.update(_reasoning_of(said))
    wanted = [call for call in said.get("tool_calls") or [] if isinstance(call, dict)]
    functions = [call.get("function") or {} for call in wanted]
    pieces = [
        (function.get("name"), _text_of(function.get("arguments")), call.get("id"))
        for call, function in zip(wanted, functions, strict=True)
    ]
    message.tool_calls, message.invalid_tool_calls = read_calls(pieces, is_cut=is_cut)
    if len(message.tool_calls) == len(wanted):
        extras = [{name: call[name] for name in _BESIDE_CALL if call.get(name)} for call in wanted]
        if any(extras):
            message.additional_kwargs[CALL_EXTRAS] = extras


def _text_of(arguments: Any) -> str | None:
    """Return arguments as text: some servers send the object itself."""
    return arguments if arguments is None or isinstance(arguments, str) else json.dumps(arguments)


def _reasoning_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in _REASONING if fields.get(name)}
