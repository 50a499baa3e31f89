"""What goes over the wire and comes back: nothing forced, nothing lost, nothing that a provider refuses."""

import asyncio
import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from acting import BYE, HELLO, REFUND, play
from langchain_core.messages import AIMessage, HumanMessage
from support.openai_server import Fault, OpenAIServer, ReceivedRequest, Reply, Script, ToolCall
from wire import ScriptedModel

from taugraph.graphs.agents.chat import ChatAgent
from taugraph.graphs.calling import CallSettings, ask_model
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.llm import LlmUser
from taugraph.graphs.wire import UNREADABLE

SetStage = Callable[..., Stage]
CANCELS = Reply(tool_calls=(ToolCall("cancel_reservation", '{"reservation_id": "GV36FQ"}'),))
GOOD = ("user_stop", 1.0)
VALID_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
ONLY_STREAMS = Fault(400, body='{"detail": "Stream must be set to true"}')


def answers(*lines: Reply | Fault, refuses: Callable[[dict[str, Any]], Fault | None] = lambda _: None) -> Script:
    """Answer by how often the model has spoken in the conversation, unless the request is refused."""

    def script(request: dict[str, Any]) -> Reply | Fault:
        said = request.get("messages") or request["input"]
        spoken = sum(item.get("role") == "assistant" or item.get("type") == "function_call" for item in said)
        return refuses(request) or lines[min(spoken, len(lines) - 1)]

    return script


async def trial(
    script: Script, options: dict[str, Any] | None = None, **settings: Any
) -> tuple[dict[str, Any], list[ReceivedRequest]]:
    """Play a user against a model behind that script; return the final state and the requests."""
    with OpenAIServer(script) as server:
        given = json.dumps({"base_url": server.base_url, **(options or {})})
        chosen = {"agent": "openai:scripted", "agent_options": given, "attempts": 1, "timeout_s": 5.0} | settings
        if settings.get("user", "").startswith("openai"):
            chosen["user_options"] = json.dumps({"base_url": server.base_url})
        context = SimulationContext.model_validate(chosen)
        models = ChatModels(context.calls)
        stage = build_stage(context, models)
        try:
            return await play(stage), server.requests
        finally:
            await models.aclose()
            stage.close()


def outcome(state: dict[str, Any]) -> tuple[str, float | None]:
    return state["termination"], state["reward"]


def refusing(name: str, fault: Fault) -> Script:
    """Solve the task, refusing every request that holds the parameter."""
    return answers(CANCELS, Reply(REFUND), refuses=lambda request: fault if name in request else None)


def own_messages(request: ReceivedRequest) -> list[dict[str, Any]]:
    return [message for message in request.body["messages"] if message["role"] == "assistant"]


@pytest.mark.parametrize("model", ["scripted", "o1-mini", "gpt-5"])
async def test_nothing_is_sent_that_was_not_configured(model: str) -> None:
    state, requests = await trial(answers(CANCELS, Reply(REFUND)), agent=f"openai:{model}")
    assert outcome(state) == GOOD
    assert all(set(each.body) == {"messages", "model", "seed", "stream", "tools"} for each in requests)
    assert state["notes"].keys().isdisjoint({"dropped_parameters", "truncated_replies"})


WORDINGS = [
    Fault(400, "Unsupported parameter: 'temperature' is not supported with this model.", "unsupported_parameter"),
    Fault(400, "Unsupported value: 'temperature' does not support 0.3 with this model.", "unsupported_value"),
    Fault(422, body='{"detail": [{"type": "extra_forbidden", "loc": ["body", "temperature"], "input": 0.3}]}'),
    Fault(400, "temperature: Extra inputs are not permitted"),
    Fault(400, "`temperature` is deprecated for this model."),
    Fault(400, "`temperature` may only be set to 1 when thinking is enabled."),
    Fault(
        400, "Invalid JSON payload received. Unknown name \"temperature\" at 'generation_config': Cannot find field."
    ),
    Fault(400, "invalid temperature: only 1 is allowed for this model"),
]


@pytest.mark.parametrize("fault", WORDINGS)
async def test_a_refused_temperature_is_left_out_once_and_told(fault: Fault) -> None:
    state, requests = await trial(refusing("temperature", fault), {"temperature": 0.3})
    assert outcome(state) == GOOD
    assert ["temperature" in each.body for each in requests] == [True, False, False, False]
    assert state["notes"]["dropped_parameters"] == ["agent temperature"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("seed", {}, "Unrecognized request argument supplied: seed"),
        ("seed", {}, "property 'seed' is unsupported"),
        (
            "parallel_tool_calls",
            {"parallel_tool_calls": True},
            "'parallel_tool_calls' is not supported with this model",
        ),
        ("top_p", {"top_p": 0.5}, "The model doesn't support the topP field. Remove topP and try again."),
        ("top_k", {"extra_body": {"top_k": 3}}, "Malformed input request: extraneous key [top_k] is not permitted"),
        ("reasoning_effort", {"reasoning_effort": "low"}, "Unrecognized request argument: reasoning_effort"),
        ("max_completion_tokens", {"max_tokens": 9}, "Unsupported parameter: 'max_completion_tokens'"),
    ],
)
async def test_any_refused_parameter_is_left_out(name: str, options: dict[str, Any], message: str) -> None:
    with OpenAIServer(refusing(name, Fault(400, message))) as server:
        models = ChatModels()
        parallel = options.pop("parallel_tool_calls", None)
        model = models.build("openai:scripted", {"base_url": server.base_url, **options}, actor="agent")
        bound = model if parallel is None else model.bind(parallel_tool_calls=parallel)
        answer = await ask_model(bound, [HumanMessage("Hi")], actor="user", settings=CallSettings(attempts=1), seed=3)
        await models.aclose()
    assert [name in each.body for each in server.requests] == [True, False]
    [dropped] = list(answer.notes["dropped_parameters"])  # type: ignore[arg-type]
    assert str(dropped).removeprefix("user ") in {name, "max_tokens"}


async def test_of_two_that_exclude_each_other_one_is_kept() -> None:
    fault = Fault(400, "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")

    def refuses(request: dict[str, Any]) -> Fault | None:
        return fault if {"temperature", "top_p"} <= request.keys() else None

    script = answers(CANCELS, Reply(REFUND), refuses=refuses)
    state, requests = await trial(script, {"temperature": 0.3, "top_p": 0.5})
    assert outcome(state) == GOOD
    assert len({"temperature", "top_p"} & requests[-1].body.keys()) == 1


FAR = "this role is not supported" + " in a request of this kind" * 8 + "; see the page on temperature"


@pytest.mark.parametrize(
    "message", ["temperature must be at most 2", "tools are not supported", "messages[1]: unknown role", FAR]
)
async def test_a_refusal_of_something_else_drops_nothing(message: str) -> None:
    state, requests = await trial(answers(Fault(400, message)), {"temperature": 3.0})
    assert (outcome(state), len(requests)) == (("infrastructure", None), 1)
    assert state["failure"]["kind"] == "rejected_request"


async def test_calls_at_the_same_time_learn_once_and_all_succeed(caplog: pytest.LogCaptureFixture) -> None:
    with OpenAIServer(refusing("seed", Fault(400, "Unknown parameter: 'seed'.", param="seed"))) as server:
        models = ChatModels()
        model = models.build("openai:scripted", {"base_url": server.base_url}, actor="agent")
        settings = CallSettings(attempts=1)
        with caplog.at_level(logging.WARNING, "taugraph"):
            for _ in range(2):
                hello = [HumanMessage("Hi")]
                await asyncio.gather(
                    *(ask_model(model, hello, actor="agent", settings=settings, seed=n) for n in range(5))
                )
        await models.aclose()
    assert sum("seed" in each.body for each in server.requests) == 5
    assert len(server.requests) == 15
    assert len(caplog.records) == 1


BLOCKS: list[str | dict[Any, Any]] = [
    {"type": "thinking", "thinking": "secret plan", "signature": "sig-1"},
    {"type": "redacted_thinking", "data": "opaque"},
    {"type": "text", "text": "Which trip?"},
]


async def test_reasoning_of_agent_and_user_goes_back_to_each_and_to_nobody_else(set_stage: SetStage) -> None:
    extra = {"reasoning_content": "secret thought", "signatures": {"c": "sig-2"}}
    agent = ScriptedModel(written=[AIMessage(BLOCKS, additional_kwargs=extra), REFUND])
    own: list[str | dict[Any, Any]] = [{"type": "thinking", "thinking": "hidden wish", "signature": "u"}]
    customer = ScriptedModel(written=[AIMessage([*own, {"type": "text", "text": HELLO}]), "Phoenix", "Bye"])
    settings = CallSettings()
    user = LlmUser("user", customer, settings)
    await play(set_stage(ChatAgent("agent", agent, settings), user, max_turns=3))
    said = next(message for message in agent.prompts[1] if isinstance(message, AIMessage))
    assert said.content == BLOCKS
    assert said.additional_kwargs == extra
    wished = [message.content for message in customer.prompts[1] if isinstance(message, AIMessage)]
    assert wished == [[*own, {"type": "text", "text": HELLO}]]
    assert not re.search("secret|sig-|opaque", str(customer.prompts))
    assert "hidden wish" not in str(agent.prompts)


async def test_signatures_beside_calls_come_back_in_their_place(set_stage: SetStage) -> None:
    calling = AIMessage("", tool_calls=[{"name": "calculate", "args": {"expression": "1+1"}, "id": "a"}])
    calling.tool_calls[0]["extras"] = {"signature": "sig-3"}  # type: ignore[typeddict-unknown-key]
    model = ScriptedModel(written=[calling, REFUND])
    await play(set_stage(ChatAgent("agent", model, CallSettings()), [HELLO, BYE]))
    [said] = [message for message in model.prompts[1] if isinstance(message, AIMessage)]
    assert said.tool_calls[0]["extras"] == {"signature": "sig-3"}  # type: ignore[typeddict-item]


async def test_what_a_server_sends_beside_the_standard_comes_back_to_it() -> None:
    signed = {"google": {"thought_signature": "sig-4"}}
    call = ToolCall("cancel_reservation", '{"reservation_id": "GV36FQ"}', extra={"extra_content": signed})
    thought = {"reasoning_content": "secret", "reasoning_details": [{"type": "reasoning.text", "text": "s"}]}
    state, requests = await trial(answers(Reply(tool_calls=(call,), extra=thought), Reply(REFUND, extra=thought)))
    assert outcome(state) == GOOD
    [said] = own_messages(requests[1])
    assert (said["reasoning_content"], said["reasoning_details"]) == ("secret", thought["reasoning_details"])
    assert said["tool_calls"][0]["extra_content"] == signed
    assert "secret" not in json.dumps([message.text for message in state["messages"]])


async def test_a_server_that_wants_no_reasoning_back_is_not_sent_any_again() -> None:
    def refuses(request: dict[str, Any]) -> Fault | None:
        has = any("reasoning_content" in message for message in request["messages"])
        return Fault(400, "The reasoning_content field is not supported in messages") if has else None

    thinking = Reply(tool_calls=CANCELS.tool_calls, extra={"reasoning_content": "secret"})
    state, _ = await trial(answers(thinking, Reply(REFUND), refuses=refuses))
    assert outcome(state) == GOOD
    assert state["notes"]["dropped_parameters"] == ["agent returns_reasoning"]


async def test_calls_hold_only_standard_fields_on_the_wire() -> None:
    odd = ToolCall("cancel_reservation", '{"reservation_id": "GV36FQ"}', extra={"name": "cancel_reservation", "x": 1})
    state, requests = await trial(answers(Reply(tool_calls=(odd,)), Reply(REFUND)))
    assert outcome(state) == GOOD
    [said] = own_messages(requests[1])
    assert set(said) == {"role", "content", "tool_calls"}
    assert [set(call) for call in said["tool_calls"]] == [{"type", "id", "function"}]
    assert [set(call["function"]) for call in said["tool_calls"]] == [{"name", "arguments"}]


@pytest.mark.parametrize(
    ("empty", "cut"),
    [(Reply(None), 0), (Reply("", extra={"reasoning_content": "hm"}), 0), (Reply(None, finish_reason="length"), 2)],
)
async def test_a_reply_without_a_word_is_nudged_once_and_then_counts_as_a_failure(empty: Reply, cut: int) -> None:
    state, requests = await trial(answers(empty))
    assert (outcome(state), state["failure"]["kind"]) == (("agent_error", 0.0), "empty_reply")
    assert len(requests) == 2
    assert "empty" in requests[1].body["messages"][-1]["content"]
    assert state["notes"].get("truncated_replies", 0) == cut
    assert state["notes"]["nudges"] == 1


async def test_every_call_has_one_answer_in_order_also_where_ids_repeat() -> None:
    wanted = [ToolCall("calculate", json.dumps({"expression": f"{n}+0"}), id="same") for n in (1, 2, 3)]
    state, requests = await trial(answers(Reply(tool_calls=(*wanted, *CANCELS.tool_calls)), Reply(REFUND)))
    assert outcome(state) == GOOD
    [said] = own_messages(requests[1])
    results = [message for message in requests[1].body["messages"] if message["role"] == "tool"]
    ids = [call["id"] for call in said["tool_calls"]]
    assert [result["tool_call_id"] for result in results] == ids
    assert len(set(ids)) == 4
    assert [float(result["content"]) for result in results[:3]] == [1, 2, 3]


async def test_unreadable_arguments_are_quoted_in_an_object_and_bounded() -> None:
    broken = '{"reservation_id": "' + "x" * 200_000
    state, requests = await trial(
        answers(Reply(tool_calls=(ToolCall("cancel_reservation", broken),)), CANCELS, Reply(REFUND))
    )
    assert (outcome(state), state["tool_errors"]) == (GOOD, 1)
    [said] = own_messages(requests[1])
    [call] = said["tool_calls"]
    assert call["function"]["name"] == "cancel_reservation"
    assert json.loads(call["function"]["arguments"]) == {UNREADABLE: broken[:2_000]}
    assert state["messages"][1].invalid_tool_calls[0]["args"] == broken


async def test_a_reply_cut_off_is_counted_and_its_arguments_are_an_error() -> None:
    cut = Reply(tool_calls=(ToolCall("cancel_reservation", '{"reservation_id": "GV3'),), finish_reason="length")
    nothing = Reply(tool_calls=(ToolCall("list_all_airports", ""),), finish_reason="length")
    state, requests = await trial(answers(cut, nothing, CANCELS, Reply(REFUND)), {"max_tokens": 16})
    assert (outcome(state), state["tool_errors"]) == (GOOD, 2)
    assert state["notes"]["truncated_replies"] == 2
    assert {each.body["max_completion_tokens"] for each in requests} == {16}


@pytest.mark.parametrize("name", ["functions.cancel_reservation", "get_order<|x|>", "", "x" * 70, "öffnen", "a b"])
async def test_odd_tool_names_are_answered_as_written_and_sent_back_plainly(name: str) -> None:
    odd = Reply(tool_calls=(ToolCall(name, '{"reservation_id": "GV36FQ"}'),))
    state, requests = await trial(answers(odd, CANCELS, Reply(REFUND)))
    assert (outcome(state), state["tool_errors"]) == (GOOD, 1)
    assert state["messages"][1].tool_calls[0]["name"] == name
    assert repr(name)[:60] in state["messages"][2].text
    [said] = own_messages(requests[1])
    sent = said["tool_calls"][0]["function"]["name"]
    assert VALID_NAME.match(sent)
    assert own_messages(requests[2])[0]["tool_calls"][0]["function"]["name"] == sent
