"""A model behind a real socket that fails in every way: what is retried, and what the trial comes to."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from acting import CANCEL, HELLO, REFUND, play
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from support.openai_server import Fault, OpenAIServer, Reply, Script, ToolCall, faults_first

from taugraph.domains.errors import ConfigurationError, ModelCallError
from taugraph.graphs.calling import CallSettings, RejectedError, call_model
from taugraph.graphs.casting import build_stage, stage_for
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.refusals import cause_of, is_transient
from taugraph.graphs.simulation import build_simulation

CANCELS = Reply(tool_calls=(ToolCall("cancel_reservation", '{"reservation_id": "GV36FQ"}'),))
TOO_LONG = Fault(400, "too long", code="context_length_exceeded")
NOW = 0.0
"""Seconds of Retry-After that make a retry come at once."""


def answers(*lines: Reply | Fault) -> Script:
    """Answer by how often the model has spoken in the conversation, so that a retry gets the same line again."""

    def script(request: dict[str, Any]) -> Reply | Fault:
        spoken: int = sum(message["role"] == "assistant" for message in request["messages"])
        last = len(lines) - 1
        return lines[spoken if spoken < last else last]

    return script


async def trial(script: Script, **settings: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Play the demo user against a model behind that script; return the final state and the requests."""
    with OpenAIServer(script) as server:
        options = json.dumps({"base_url": server.base_url, "api_key": "local"})
        chosen = {"attempts": 2, "timeout_s": 5.0} | settings
        context = SimulationContext(agent="openai:scripted", agent_options=options, **chosen)
        models = ChatModels(context.calls)
        stage = build_stage(context, models)
        try:
            return await play(stage), [request.body for request in server.requests]
        finally:
            await models.aclose()
            stage.close()


def outcome(state: dict[str, Any]) -> tuple[str, float | None, str | None]:
    return state["termination"], state["reward"], (state.get("failure") or {}).get("kind")


GOOD = ("user_stop", 1.0, None)


async def test_a_model_over_the_wire_solves_a_task() -> None:
    state, requests = await trial(answers(CANCELS, Reply(REFUND)))
    assert outcome(state) == GOOD
    assert [message["role"] for message in requests[0]["messages"]] == ["system", "user"]
    assert "temperature" not in requests[0]
    assert not any(request.get("stream") for request in requests)
    assert isinstance(requests[0]["seed"], int)
    assert CANCEL not in json.dumps(requests)


async def test_a_rate_limit_is_waited_out_within_the_conversation(caplog: pytest.LogCaptureFixture) -> None:
    limited = Fault(429, "slow down", retry_after_s=NOW)
    with caplog.at_level(logging.WARNING, "taugraph"):
        state, requests = await trial(faults_first([limited, limited], answers(CANCELS, Reply(REFUND))), attempts=3)
    assert (outcome(state), len(requests)) == (GOOD, 5)
    [first, second] = [record.message for record in caplog.records]
    assert first.startswith(f"agent's model call (task {CANCEL}, trial 0) is retried: attempt 1 of 3 failed with Open")
    assert "attempt 2 of 3 failed" in second


EXHAUSTED = [
    (Fault(500, retry_after_s=NOW), "provider_error", 2),
    (Fault(503, retry_after_s=NOW), "provider_error", 2),
    (Fault(429, retry_after_s=NOW), "rate_limit", 2),
    (Fault(429, code="insufficient_quota", retry_after_s=NOW), "quota", 1),
    (Fault(401), "authentication", 1),
    (Fault(403), "authentication", 1),
    (Fault(404), "unknown_model", 1),
    (Fault(400, "no such parameter"), "rejected_request", 1),
]


@pytest.mark.parametrize(("fault", "cause", "requests"), EXHAUSTED)
async def test_a_provider_that_fails_on_the_first_call_leaves_the_trial_unscored(
    fault: Fault, cause: str, requests: int
) -> None:
    state, sent = await trial(answers(fault))
    assert (outcome(state), len(sent)) == (("infrastructure", None, cause), requests)
    assert len(state["messages"]) == 1


BROKEN = [
    (Fault(drop=True), "connection"),
    (Fault(200, body="<html>busy</html>", content_type="text/html"), "unreadable_answer"),
    (Fault(200, body="{"), "unreadable_answer"),
    (Fault(200, body="{}"), "unreadable_answer"),
    (Fault(200, body='{"choices": []}'), "unreadable_answer"),
    (Reply("late", delay_s=5.0), "timeout"),
]


@pytest.mark.parametrize(("fault", "cause"), BROKEN)
async def test_a_broken_answer_later_on_leaves_the_trial_unscored_with_what_was_done(
    fault: Fault | Reply, cause: str
) -> None:
    state, _ = await trial(answers(CANCELS, fault), attempts=1, timeout_s=0.4 if cause == "timeout" else 5.0)
    assert outcome(state) == ("infrastructure", None, cause)
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool"]
    assert state["scores"][0]["value"] == 1.0


async def test_a_lost_connection_is_tried_again() -> None:
    state, requests = await trial(faults_first([Fault(drop=True)], answers(CANCELS, Reply(REFUND))))
    assert (outcome(state), len(requests)) == (GOOD, 4)


async def test_a_refused_conversation_is_the_agents_own_failure_once_it_has_spoken() -> None:
    state, requests = await trial(answers(CANCELS, Fault(400, "bad message")))
    assert (outcome(state), len(requests)) == (("agent_error", 0.0, "rejected_by_provider"), 2)


ACCOUNT = [
    (Fault(400, "Your credit balance is too low to access the API"), "quota"),
    (Fault(400, "limit reached", code="billing_hard_limit_reached"), "quota"),
    (Fault(400, "API key not valid. Please pass a valid API key."), "authentication"),
]


@pytest.mark.parametrize(("fault", "cause"), ACCOUNT)
async def test_a_refusal_about_the_account_is_infrastructure_whenever_it_comes(fault: Fault, cause: str) -> None:
    state, requests = await trial(answers(CANCELS, fault))
    assert (outcome(state), len(requests)) == (("infrastructure", None, cause), 2)


@pytest.mark.parametrize("spoken", [0, 1])
@pytest.mark.parametrize(
    "fault",
    [TOO_LONG, Fault(400, "This model's maximum context length is 4096 tokens."), Fault(400, "prompt is too long")],
)
async def test_a_conversation_too_long_for_the_model_is_its_own_failure_whenever(spoken: int, fault: Fault) -> None:
    state, requests = await trial(answers(*[CANCELS][:spoken], fault))
    assert (outcome(state), len(requests)) == (("agent_error", 0.0, "rejected_by_provider"), spoken + 1)


ODD_ARGUMENTS = [
    "[1]",
    '"text"',
    "1",
    "true",
    '{"reservation_id": ',
    "{'reservation_id': 'GV36FQ'}",
    "NaN",
    "[]",
    "null",
    "0",
]
ODD_ARGUMENTS.append('{"reservation_id": "' + "x" * 200_000)


@pytest.mark.parametrize("arguments", ODD_ARGUMENTS)
async def test_arguments_that_are_no_object_are_a_tool_error_the_agent_recovers_from(arguments: str) -> None:
    odd = Reply(tool_calls=(ToolCall("cancel_reservation", arguments),))
    state, requests = await trial(answers(odd, CANCELS, Reply(REFUND)))
    assert (outcome(state), state["tool_errors"], len(requests)) == (GOOD, 1, 4)
    answer = state["messages"][2]
    assert (answer.type, answer.status) == ("tool", "error")
    assert len(answer.text) < 600
    wire = requests[1]["messages"]
    assert wire[-1]["tool_call_id"] == wire[-2]["tool_calls"][0]["id"] != ""


@pytest.mark.parametrize("arguments", ["", None, " ", "{}"])
async def test_arguments_left_out_are_none_given(arguments: str | None) -> None:
    state, _ = await trial(
        answers(Reply(tool_calls=(ToolCall("cancel_reservation", arguments),)), CANCELS, Reply(REFUND))
    )
    assert (outcome(state), state["tool_errors"]) == (GOOD, 1)
    assert "reservation_id" in state["messages"][2].text


@pytest.mark.parametrize("name", ["", "functions.cancel_reservation", "cancel_reservation<|x|>", "x" * 300])
async def test_a_name_that_no_tool_has_is_a_tool_error(name: str) -> None:
    odd = Reply(tool_calls=(ToolCall(name, "{}", send_id=False),))
    state, _ = await trial(answers(odd, CANCELS, Reply(REFUND)))
    assert (outcome(state), state["tool_errors"], state["changes"] != {}) == (GOOD, 1, True)


async def test_parallel_calls_run_in_order_and_each_is_answered() -> None:
    both = Reply(tool_calls=(ToolCall("calculate", '{"expression": "1+1"}'), *CANCELS.tool_calls))
    state, requests = await trial(answers(both, Reply(REFUND)))
    assert outcome(state) == GOOD
    assert [message.name for message in state["messages"] if message.type == "tool"] == [
        "calculate",
        "cancel_reservation",
    ]
    asked = [item["id"] for item in requests[1]["messages"][-3]["tool_calls"]]
    assert [message["tool_call_id"] for message in requests[1]["messages"][-2:]] == asked


async def test_an_empty_answer_is_nudged_and_then_the_agents_failure() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    state, requests = await trial(answers(Reply(None, usage=usage)))
    assert (outcome(state), len(requests)) == (("agent_error", 0.0, "empty_reply"), 2)
    assert state["usage"]["agent"] == {"calls": 2, "input_tokens": 6, "output_tokens": 8, "uncounted_calls": 0}


async def test_provider_ids_that_repeat_lose_no_message() -> None:
    same = ToolCall("calculate", '{"expression": "1+1"}', id="call_0")
    state, _ = await trial(answers(Reply(tool_calls=(same, same)), Reply(tool_calls=(same,)), CANCELS, Reply(REFUND)))
    assert [message.type for message in state["messages"]][:7] == ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert state["reward"] == 1.0


async def test_tokens_that_studio_listens_to_do_not_make_the_model_stream() -> None:
    with OpenAIServer(answers(CANCELS, Reply(REFUND))) as server:
        options = json.dumps({"base_url": server.base_url, "api_key": "local"})
        models = ChatModels()
        stage = build_stage(SimulationContext(agent="openai:scripted", agent_options=options), models)
        start: Any = {"task_id": CANCEL}
        modes: Any = ["messages", "values"]
        parts: list[Any] = [part async for part in build_simulation(stage).astream(start, stream_mode=modes)]
        await models.aclose()
        stage.close()
    assert parts[-1][1]["reward"] == 1.0
    assert [request.body["stream"] for request in server.requests] == [False] * 3


@asynccontextmanager
async def scripted_model(script: Script) -> AsyncIterator[tuple[ChatOpenAI, OpenAIServer]]:
    with OpenAIServer(script) as server:
        models = ChatModels()
        model = models.build("openai:scripted", {"base_url": server.base_url, "api_key": "local"}, actor="agent")
        assert isinstance(model, ChatOpenAI)
        yield model, server
        await models.aclose()


async def ask(model: Any, messages: Sequence[BaseMessage] = (HumanMessage(HELLO),), **settings: Any) -> AIMessage:
    return await call_model(model, messages, actor="user", settings=CallSettings(**settings))


async def test_retry_after_is_waited_for() -> None:
    async with scripted_model(faults_first([Fault(429, retry_after_s=0.3)], answers(Reply("ok")))) as (model, server):
        assert (await ask(model, attempts=2)).text == "ok"
    first, second = server.requests
    assert 0.3 <= second.arrived_s - first.arrived_s < 2.0


async def test_a_failure_names_actor_and_cause_and_keeps_what_caused_it() -> None:
    async with scripted_model(answers(Fault(500, retry_after_s=NOW))) as (model, server):
        with pytest.raises(ModelCallError, match=r"the user's model could not be called \(provider_error\)") as caught:
            await ask(model, attempts=3)
    assert (caught.value.actor, caught.value.cause, len(server.requests)) == ("user", "provider_error", 3)
    assert type(caught.value.__cause__).__name__.startswith("OpenAI")


async def test_a_slow_attempt_is_cancelled_in_time() -> None:
    async with scripted_model(answers(Reply("late", delay_s=5.0))) as (model, _):
        started = time.monotonic()
        with pytest.raises(ModelCallError, match="timeout"):
            await ask(model, attempts=1, timeout_s=0.2)
        assert time.monotonic() - started < 2.0


async def test_cancelling_a_run_is_not_taken_for_a_failed_provider() -> None:
    async with scripted_model(answers(Reply("late", delay_s=5.0))) as (model, _):
        task = asyncio.create_task(ask(model, attempts=3))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit(), asyncio.CancelledError()])
def test_what_stops_a_process_is_never_retried(error: BaseException) -> None:
    assert not is_transient(error)


async def test_a_validation_error_about_something_else_is_no_unreadable_call() -> None:
    model: Any = RunnableLambda(lambda _: CallSettings(attempts=0))
    with pytest.raises(ModelCallError, match="unreadable_answer"):
        await call_model(model, [HumanMessage("hi")], actor="agent", settings=CallSettings(attempts=1))


async def test_a_model_that_returns_no_ai_message_could_not_be_read() -> None:
    model: Any = RunnableLambda(lambda _: HumanMessage("hi"))
    with pytest.raises(ModelCallError, match="returned HumanMessage, wanted an AIMessage"):
        await call_model(model, [HumanMessage("hi")], actor="agent", settings=CallSettings(attempts=1))


@pytest.mark.parametrize(
    ("error", "cause"),
    [(TimeoutError(), "timeout"), (ConnectionResetError(), "connection"), (ValueError(), "unreadable_answer")],
)
def test_a_failure_without_a_status_is_named_by_its_kind(error: Exception, cause: str) -> None:
    assert (cause_of(error), is_transient(error)) == (cause, True)


async def test_a_conversation_the_provider_refuses_keeps_what_it_said() -> None:
    async with scripted_model(answers(Fault(400, "bad"), Fault(400, "bad message"))) as (model, _):
        with pytest.raises(RejectedError, match="bad message"):
            await ask(model, [HumanMessage(HELLO), AIMessage("Hi."), HumanMessage("So?")])


async def test_agent_and_user_share_one_model_and_one_client_which_is_closed_at_the_end() -> None:
    models = ChatModels()
    options = {"base_url": "http://127.0.0.1:9/v1", "api_key": "local"}
    agent = models.build("openai:scripted", options, actor="agent")
    user = models.build("openai:scripted", options, actor="user")
    other = models.build("openai:another", options, actor="user")
    assert agent is user
    assert isinstance(agent, ChatOpenAI)
    assert isinstance(other, ChatOpenAI)
    assert agent.http_async_client is other.http_async_client
    assert agent.max_retries == 0
    await models.aclose()
    assert agent.http_async_client is not None
    assert agent.http_async_client.is_closed
    await models.aclose()


async def test_own_options_go_before_the_harness_settings() -> None:
    models = ChatModels()
    options = {"api_key": "local", "max_retries": 3, "temperature": 0.5}
    model = models.build("openai:scripted", options, actor="agent")
    assert isinstance(model, ChatOpenAI)
    assert (model.max_retries, model.temperature) == (3, 0.5)
    await models.aclose()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": "openai:gpt-4.1"}, "no key was found; set OPENAI_API_KEY"),
        ({"user": "nosuchprovider:model"}, "cannot use --user 'nosuchprovider:model'"),
        ({"agent_options": '{"a": 1}'}, "--agent-options are for chat models and graphs"),
        ({"user_options": "[1]"}, "cannot read --user-options: got a list, wanted a JSON object"),
        ({"user_options": "{"}, "cannot read --user-options: got 1 characters"),
    ],
)
def test_a_wrong_reference_is_refused_before_the_first_trial(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_stage(SimulationContext.model_validate(settings))


async def test_a_stage_is_built_once_even_when_many_trials_ask_at_once() -> None:
    context = SimulationContext(max_steps=41)
    stages = await asyncio.gather(*(asyncio.to_thread(stage_for, context) for _ in range(8)))
    assert len({id(stage) for stage in stages}) == 1
