"""What ChatOpenAI makes of each thing a provider can send, over a real socket.

The server is the tests' own stand-in; these cases pin both it and the client behaviour the harness
builds on, so that an upgrade of langchain-openai that moves a boundary fails here first.
"""

import asyncio
import itertools
import json
import threading
import time
from typing import Any

import httpx
import openai
import pytest
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelInvalidRequestError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_openai import ChatOpenAI
from pydantic import ValidationError
from support.openai_server import Fault, OpenAIServer, Reply, ToolCall, faults_first

USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def build_model(server: OpenAIServer, **settings: Any) -> ChatOpenAI:
    return ChatOpenAI(
        **{"base_url": server.base_url, "api_key": "local", "model": "scripted", "max_retries": 0} | settings
    )


def invoke_once(answer: Reply | Fault, **settings: Any) -> AIMessage:
    with OpenAIServer(lambda request: answer) as server:
        return build_model(server, **settings).invoke("hi")


def stream_once(answer: Reply | Fault, **settings: Any) -> list[AIMessageChunk]:
    with OpenAIServer(lambda request: answer) as server:
        return list(build_model(server, **settings).stream("hi"))


def merge(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    return sum(chunks[1:], start=chunks[0])


def reply_ok(request: dict[str, Any]) -> Reply:
    return Reply("ok")


def test_text_and_usage_arrive_as_sent() -> None:
    message = invoke_once(Reply("Hello there.", usage=USAGE))
    assert message.content == "Hello there."
    assert message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] == 7


def test_usage_left_out_is_unknown_not_zero() -> None:
    assert invoke_once(Reply("ok")).usage_metadata is None


def test_the_script_and_the_record_see_the_whole_request() -> None:
    with OpenAIServer(lambda request: Reply(f"seed {request['seed']}")) as server:
        before_s = time.monotonic()
        message = build_model(server, seed=11).invoke("hi")
    (received,) = server.requests
    assert message.content == "seed 11"
    assert received.body["messages"] == [{"role": "user", "content": "hi"}]
    assert received.authorization == "Bearer local"
    assert before_s <= received.arrived_s <= time.monotonic()


def test_every_completion_has_its_own_id() -> None:
    with OpenAIServer(reply_ok) as server:
        ids = {build_model(server).invoke("hi").response_metadata["id"] for _ in range(3)}
    assert len(ids) == 3


def test_parallel_tool_calls_keep_their_order() -> None:
    calls = tuple(ToolCall(name, json.dumps({"n": n})) for n, name in enumerate(("b", "a", "c")))
    message = invoke_once(Reply(None, calls))
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [
        ("b", {"n": 0}),
        ("a", {"n": 1}),
        ("c", {"n": 2}),
    ]
    assert len({call["id"] for call in message.tool_calls}) == 3
    assert message.response_metadata["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("arguments", ['{"a": ', '{"a": 1} and more', "{'a': 1}"])
def test_malformed_arguments_end_in_invalid_tool_calls(arguments: str) -> None:
    message = invoke_once(Reply(None, (ToolCall("f", arguments, id="call-1"),)))
    (invalid,) = message.invalid_tool_calls
    assert message.tool_calls == []
    assert (invalid["name"], invalid["args"], invalid["id"]) == ("f", arguments, "call-1")
    assert "are not valid JSON" in str(invalid["error"])


@pytest.mark.parametrize("arguments", ["", None, "null", "[]", "0", "false", '""', "{}"])
def test_arguments_that_are_falsy_become_an_empty_object(arguments: str | None) -> None:
    message = invoke_once(Reply(None, (ToolCall("f", arguments),)))
    assert [call["args"] for call in message.tool_calls] == [{}]


@pytest.mark.parametrize("arguments", ["[1]", '"text"', "1", "true"])
def test_arguments_that_are_not_an_object_raise_a_validation_error(arguments: str) -> None:
    with pytest.raises(ValidationError, match=r"tool_calls\.0\.args\s+Input should be a valid dictionary"):
        invoke_once(Reply(None, (ToolCall("f", arguments),)))


def test_an_empty_tool_name_is_kept() -> None:
    assert [call["name"] for call in invoke_once(Reply(None, (ToolCall("", "{}"),))).tool_calls] == [""]


def test_a_missing_call_id_is_none() -> None:
    message = invoke_once(Reply(None, (ToolCall("f", "{}", send_id=False),)))
    assert [call["id"] for call in message.tool_calls] == [None]


def test_an_empty_reply_is_an_empty_message_that_stopped() -> None:
    message = invoke_once(Reply(None))
    assert (message.content, message.tool_calls, message.invalid_tool_calls) == ("", [], [])
    assert message.response_metadata["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("status", "ours", "theirs", "retryable"),
    [
        (400, ModelInvalidRequestError, openai.BadRequestError, False),
        (401, ModelAuthenticationError, openai.AuthenticationError, False),
        (429, ModelRateLimitError, openai.RateLimitError, True),
        (500, ModelAPIError, openai.InternalServerError, True),
        (503, ModelAPIError, openai.InternalServerError, True),
    ],
)
def test_a_status_is_both_langchains_error_and_openais(
    status: int, ours: type[ModelError], theirs: type[openai.APIStatusError], retryable: bool
) -> None:
    with pytest.raises(ours, match=f"Error code: {status} - no luck") as caught:
        invoke_once(Fault(status, "no luck"))
    assert isinstance(caught.value, theirs)
    assert caught.value.status_code == status
    assert caught.value.is_retryable is retryable


@pytest.mark.parametrize("status", [408, 409, 413, 422])
def test_a_status_langchain_does_not_know_is_no_model_error(status: int) -> None:
    with pytest.raises(openai.APIStatusError, match=f"Error code: {status}") as caught:
        invoke_once(Fault(status))
    assert not isinstance(caught.value, ModelError)


def test_a_context_overflow_is_told_by_its_code_not_its_class() -> None:
    fault = Fault(400, "maximum context length is 8 tokens", code="context_length_exceeded")
    with pytest.raises(openai.BadRequestError, match="maximum context length") as caught:
        invoke_once(fault)
    assert caught.value.code == "context_length_exceeded"
    assert not isinstance(caught.value, ContextOverflowError)


def test_a_429_is_retried_after_the_time_the_server_asks() -> None:
    with OpenAIServer(faults_first([Fault(429, retry_after_s=0.2)] * 2, reply_ok)) as server:
        message = build_model(server, max_retries=2).invoke("hi")
    arrivals = [received.arrived_s for received in server.requests]
    assert message.content == "ok"
    assert len(arrivals) == 3
    assert all(later - earlier >= 0.2 for earlier, later in itertools.pairwise(arrivals))


def test_a_body_that_is_not_json_is_a_plain_value_error() -> None:
    with pytest.raises(json.JSONDecodeError, match="Expecting value") as caught:
        invoke_once(Fault(200, body="<html>"))
    assert not isinstance(caught.value, openai.OpenAIError)


def test_a_body_of_another_media_type_is_a_plain_value_error() -> None:
    with pytest.raises(ValueError, match=r"Unexpected response type from OpenAI-compatible endpoint\..*'<html>'"):
        invoke_once(Fault(200, body="<html>", content_type="text/html"))


def test_a_dropped_connection_is_a_connection_error() -> None:
    with pytest.raises(ModelConnectionError, match="Connection error") as caught:
        invoke_once(Fault(drop=True))
    assert isinstance(caught.value, openai.APIConnectionError)


def test_a_slow_reply_is_a_timeout_error() -> None:
    with pytest.raises(ModelTimeoutError, match="Request timed out") as caught:
        invoke_once(Reply("late", delay_s=5), timeout=0.2)
    assert isinstance(caught.value, openai.APITimeoutError)


def test_streamed_text_arrives_in_pieces_that_add_up() -> None:
    chunks = stream_once(Reply("one two  three\n", usage=USAGE), stream_usage=True)
    assert len([chunk for chunk in chunks if chunk.content]) > 1
    assert merge(chunks).content == "one two  three\n"
    assert merge(chunks).usage_metadata == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7} | {
        "input_token_details": {},
        "output_token_details": {},
    }


def test_a_stream_leaves_out_usage_nobody_asked_for() -> None:
    assert merge(stream_once(Reply("ok", usage=USAGE), stream_usage=False)).usage_metadata is None


def test_streamed_tool_calls_are_put_together_in_order() -> None:
    message = merge(stream_once(Reply(None, (ToolCall("f", '{"a": 1}'), ToolCall("g", '{"b": [2]}')))))
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [("f", {"a": 1}), ("g", {"b": [2]})]


def test_streaming_repairs_cut_off_arguments_that_invoke_calls_invalid() -> None:
    message = merge(stream_once(Reply(None, (ToolCall("f", '{"a": 1, "b": "cut'),))))
    assert [call["args"] for call in message.tool_calls] == [{"a": 1, "b": "cut"}]
    assert message.invalid_tool_calls == []


def test_a_stream_dropped_midway_yields_then_raises() -> None:
    seen = []
    with OpenAIServer(lambda request: Fault(drop=True)) as server:
        stream = build_model(server).stream("hi")
        seen.append(next(stream).text)
        with pytest.raises(ModelConnectionError, match="Connection error"):
            seen.extend(chunk.text for chunk in stream)
    assert "".join(seen) == "Dro"


async def test_requests_overlap_while_replies_are_slow() -> None:
    with OpenAIServer(lambda request: Reply(request["messages"][0]["content"], delay_s=0.5)) as server:
        model = build_model(server)
        messages = await asyncio.gather(*(model.ainvoke(f"n{n}") for n in range(32)))
    assert [message.content for message in messages] == [f"n{n}" for n in range(32)]
    assert server.peak_in_flight == 32


def test_each_fault_is_spent_once_under_concurrency() -> None:
    with OpenAIServer(faults_first([Fault(500)] * 5, reply_ok)) as server:
        answers = build_model(server).batch(["hi"] * 20, {"max_concurrency": 20}, return_exceptions=True)
    assert sum(isinstance(answer, openai.InternalServerError) for answer in answers) == 5
    assert sum(isinstance(answer, AIMessage) for answer in answers) == 15


def test_no_connection_outlives_its_answer() -> None:
    with OpenAIServer(reply_ok) as server, httpx.Client() as client:
        response = client.get(f"{server.base_url}/models")
    assert response.headers["connection"] == "close"


def test_models_are_listed() -> None:
    with OpenAIServer(reply_ok, models=["a", "b"]) as server:
        listing = httpx.get(f"{server.base_url}/models").json()
    assert [entry["id"] for entry in listing["data"]] == ["a", "b"]


def test_an_unknown_path_is_a_json_404() -> None:
    with OpenAIServer(reply_ok) as server:
        response = httpx.post(f"{server.base_url}/embeddings", json={})
    assert response.status_code == 404
    assert response.json()["error"]["message"].startswith("no route POST /v1/embeddings: known are")


def test_a_request_that_is_not_json_is_a_400() -> None:
    with OpenAIServer(reply_ok) as server:
        response = httpx.post(f"{server.base_url}/chat/completions", content=b"{")
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("request body is not JSON")


def test_a_script_that_raises_is_reported_on_exit() -> None:
    def broken(request: dict[str, Any]) -> Reply:
        raise LookupError("no such task")

    with (
        pytest.raises(RuntimeError, match=r"the reply script raised LookupError\('no such task'\)"),
        OpenAIServer(broken) as server,
    ):
        httpx.post(f"{server.base_url}/chat/completions", json={})


def test_closing_is_prompt_and_leaves_no_thread_though_a_reply_is_pending() -> None:
    before = set(threading.enumerate())
    with OpenAIServer(lambda request: Reply("late", delay_s=60)) as server:
        with pytest.raises(ModelTimeoutError, match="timed out"):
            build_model(server, timeout=0.1).invoke("hi")
        closing_s = time.monotonic()
    assert time.monotonic() - closing_s < 0.5
    assert set(threading.enumerate()) <= before
