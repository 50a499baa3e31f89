"""Servers of every kind: the Responses API, Azure, servers without a key, and those that only stream."""

import json
from pathlib import Path
from typing import Any

import pytest
from acting import HELLO, REFUND
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import AzureChatOpenAI
from support.openai_server import Fault, OpenAIServer, Reply, ToolCall
from test_provider_truth import CANCELS, GOOD, ONLY_STREAMS, answers, outcome, trial

from taugraph.domains.errors import ConfigurationError, ModelCallError
from taugraph.graphs.calling import CallSettings, ask_model
from taugraph.graphs.models import ChatModels

USAGE = {
    "input_tokens": 7,
    "output_tokens": 3,
    "total_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 2},
}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
RESPONSES = {"use_responses_api": True, "store": False, "include": ["reasoning.encrypted_content"]}


def only_streamed(request: dict[str, Any]) -> Fault | None:
    return None if request.get("stream") else ONLY_STREAMS


async def test_a_trial_over_the_responses_api_is_solved_and_counted() -> None:
    calling = Reply(tool_calls=CANCELS.tool_calls, extra={"reasoning": [THOUGHT]}, usage=USAGE)
    state, requests = await trial(answers(calling, Reply(REFUND, usage=USAGE)), RESPONSES)
    assert outcome(state) == GOOD
    assert {each.path for each in requests} == {"/v1/responses"}
    assert state["usage"]["agent"] == {"calls": 3, "input_tokens": 21, "output_tokens": 9, "uncounted_calls": 0}
    sent = [item for item in requests[1].body["input"] if item["type"] != "message"]
    assert [item["type"] for item in sent] == ["reasoning", "function_call", "function_call_output"]
    assert (sent[0]["id"], sent[0]["encrypted_content"]) == ("rs_1", "opaque")
    assert sent[1]["call_id"] == sent[2]["call_id"]
    assert "opaque" not in json.dumps([message.text for message in state["messages"]])


async def test_the_responses_api_is_sent_a_valid_conversation_whatever_the_model_wrote() -> None:
    twice = ToolCall("functions.calculate", "{", id="same")
    cut = Reply(tool_calls=(ToolCall("cancel_reservation", ""),), finish_reason="length", usage=USAGE)
    both = Reply(tool_calls=(twice, twice))
    state, requests = await trial(answers(both, both, cut, CANCELS, Reply(REFUND)), RESPONSES)
    assert (outcome(state), state["tool_errors"]) == (GOOD, 3)
    assert state["notes"]["truncated_replies"] == 1
    sent = requests[-1].body["input"]
    calls = [item for item in sent if item["type"] == "function_call"]
    assert [item["name"] for item in calls[:2]] == ["functions_calculate"] * 2
    assert all(isinstance(json.loads(item["arguments"]), dict) for item in calls)
    results = [item["call_id"] for item in sent if item["type"] == "function_call_output"]
    assert results == [item["call_id"] for item in calls]
    assert len(set(results)) == len(results)


async def test_a_temperature_that_langchain_would_leave_out_unseen_is_sent_and_its_refusal_told() -> None:
    fault = Fault(400, "Unsupported parameter: 'temperature' is not supported with this model.", param="temperature")
    script = answers(CANCELS, Reply(REFUND), refuses=lambda request: fault if "temperature" in request else None)
    state, requests = await trial(script, {**RESPONSES, "temperature": 0.2}, agent="openai:gpt-5")
    assert outcome(state) == GOOD
    assert ["temperature" in each.body for each in requests] == [True, False, False, False]
    assert state["notes"]["dropped_parameters"] == ["agent temperature"]


async def test_azure_is_reached_under_its_own_address_with_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    with OpenAIServer(answers(Reply("Hi", extra={"reasoning_content": "r"}))) as server:
        options = {"azure_endpoint": server.base_url.removesuffix("/v1"), "api_version": "2024-10-21", "api_key": "k"}
        models = ChatModels()
        model = models.build("azure_openai:my-deployment", options, actor="agent")
        settings = CallSettings(attempts=1)
        answer = await ask_model(model, [HumanMessage(HELLO)], actor="agent", settings=settings, seed=1)
        assert isinstance(model, AzureChatOpenAI)
        assert model.max_retries == 0
        await models.aclose()
    [request] = server.requests
    assert request.path == "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
    assert (request.api_key, answer.message.text) == ("k", "Hi")
    assert answer.message.additional_kwargs["reasoning_content"] == "r"


def test_azure_without_a_key_is_refused_by_the_name_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    options = {"azure_endpoint": "http://127.0.0.1:9", "api_version": "2024-10-21"}
    with pytest.raises(ConfigurationError, match="no key was found; set AZURE_OPENAI_API_KEY"):
        ChatModels().build("azure_openai:x", options, actor="agent")


async def test_a_server_of_ones_own_needs_no_key_for_agent_or_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    state, requests = await trial(answers(Reply("Hello?")), user="openai:customer", max_turns=2)
    assert state["termination"] == "max_turns"
    assert {each.body["model"] for each in requests} == {"scripted", "customer"}
    assert {each.authorization for each in requests} == {"Bearer none"}


async def test_what_the_users_model_met_is_told_under_its_own_name() -> None:
    def refuses(request: dict[str, Any]) -> Fault | None:
        return Fault(400, "Unknown parameter: 'seed'.") if "seed" in request else None

    script = answers(Reply("Well", finish_reason="length"), refuses=refuses)
    state, _ = await trial(script, user="openai:customer", max_turns=2)
    assert state["notes"]["dropped_parameters"] == ["user seed", "agent seed"]
    assert (state["notes"]["user_truncated_replies"], state["notes"]["truncated_replies"]) == (3, 2)


async def test_a_key_that_is_set_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    _, requests = await trial(answers(CANCELS, Reply(REFUND)))
    assert {each.authorization for each in requests} == {"Bearer from-environment"}


@pytest.mark.parametrize("options", [{}, RESPONSES])
@pytest.mark.parametrize("fault", [ONLY_STREAMS, Fault(400, "This model only support stream mode, please enable it")])
async def test_a_server_that_only_streams_is_streamed(fault: Fault, options: dict[str, Any]) -> None:
    calling = Reply(tool_calls=CANCELS.tool_calls, extra={} if options else {"reasoning_content": "so secret"})
    script = answers(calling, Reply(REFUND), refuses=lambda r: None if r.get("stream") else fault)
    state, requests = await trial(script, options)
    assert outcome(state) == GOOD
    assert [bool(each.body.get("stream")) for each in requests] == [False, True, True, True]
    assert state["notes"]["switched_to_streaming"] == ["agent"]
    if not options:
        [said] = [message for message in requests[2].body["messages"] if message["role"] == "assistant"]
        assert said["reasoning_content"] == "so secret"


@pytest.mark.parametrize("attempts", [1, 3])
async def test_a_server_that_streams_whatever_was_asked_for_is_understood(attempts: int) -> None:
    def as_events(reply: Reply) -> Reply:
        return Reply(reply.content, reply.tool_calls, as_events=True)

    state, requests = await trial(answers(as_events(CANCELS), as_events(Reply(REFUND))), attempts=attempts)
    assert outcome(state) == GOOD
    assert [bool(each.body.get("stream")) for each in requests] == [False, True, True, True]


async def test_streaming_that_was_asked_for_counts_tokens_and_is_no_note() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    script = answers(
        Reply(tool_calls=CANCELS.tool_calls, usage=usage), Reply(REFUND, usage=usage), refuses=only_streamed
    )
    state, requests = await trial(script, {"streaming": True, "stream_usage": True})
    assert (outcome(state), len(requests)) == (GOOD, 3)
    assert state["usage"]["agent"] == {"calls": 3, "input_tokens": 15, "output_tokens": 6, "uncounted_calls": 0}
    assert "switched_to_streaming" not in state["notes"]


async def test_a_stream_that_may_not_be_counted_is_streamed_uncounted() -> None:
    def refuses(request: dict[str, Any]) -> Fault | None:
        return Fault(400, "Unknown parameter: 'stream_options'.") if "stream_options" in request else None

    script = answers(CANCELS, Reply(REFUND), refuses=lambda request: only_streamed(request) or refuses(request))
    state, requests = await trial(script)
    assert (outcome(state), len(requests)) == (GOOD, 5)
    assert state["notes"]["dropped_parameters"] == ["agent stream_usage"]


BROKEN = ['{"reservation_id": "GV36FQ"', '{"reservation_id": "GV3', '["GV36FQ"]', "null"]


@pytest.mark.parametrize("arguments", BROKEN)
@pytest.mark.parametrize("options", [{}, RESPONSES])
async def test_arguments_cut_in_a_stream_never_become_a_call(arguments: str, options: dict[str, Any]) -> None:
    cut = Reply(tool_calls=(ToolCall("cancel_reservation", arguments),), finish_reason="length")
    state, _ = await trial(answers(cut, Reply(REFUND)), {"streaming": True, **options})
    assert (state["tool_errors"], state["changes"], state["reward"]) == (1, {}, 0.0)
    assert state["messages"][1].invalid_tool_calls[0]["args"] == arguments


@pytest.mark.parametrize(
    "line", [Reply(REFUND, ends_early=True), Reply(tool_calls=CANCELS.tool_calls, ends_early=True)]
)
async def test_a_stream_that_ends_before_its_end_is_a_lost_connection(line: Reply) -> None:
    state, requests = await trial(answers(line), {"streaming": True})
    assert (outcome(state), state["failure"]["kind"]) == (("infrastructure", None), "connection")
    assert len(requests) == 1


PROVIDER = """
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict, Field


class RateLimitError(Exception):
    status_code = 429


class ChatMistralAI(BaseChatModel):
    model_config = ConfigDict(populate_by_name=True)
    model: str
    max_retries: int = Field(default=6, alias="retries")
    temperature: float | None = 0.7

    @property
    def _llm_type(self):
        return "fake"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.temperature is not None:
            raise TypeError("chat() got an unexpected keyword argument 'temperature'")
        if "fail" in messages[0].text:
            raise RateLimitError("slow down")
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Hi"))])
"""


@pytest.fixture
def another_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the package of another provider where LangChain looks for it."""
    package = tmp_path / "langchain_mistralai"
    package.mkdir()
    (package / "__init__.py").write_text(PROVIDER)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("another_provider")
async def test_no_provider_retries_by_itself_unless_it_was_told_to() -> None:
    models = ChatModels()
    quiet: Any = models.build("mistralai:small", {}, actor="agent")
    told: Any = models.build("mistralai:small", {"max_retries": 2}, actor="agent")
    alias: Any = models.build("mistralai:small", {"retries": 4}, actor="agent")
    assert (quiet.max_retries, told.max_retries, alias.max_retries) == (0, 2, 4)
    assert (quiet.model, quiet.disable_streaming) == ("small", True)


@pytest.mark.usefixtures("another_provider")
async def test_a_default_that_another_provider_sends_unasked_can_be_dropped_too() -> None:
    model = ChatModels().build("mistralai:small", {}, actor="user")
    settings = CallSettings(attempts=1)
    answer = await ask_model(model, [HumanMessage("Hello")], actor="user", settings=settings)
    assert (answer.message.text, answer.notes) == ("Hi", {"dropped_parameters": ["user temperature"]})
    with pytest.raises(ModelCallError, match=r"\(rate_limit\)"):
        await ask_model(model, [HumanMessage("fail")], actor="user", settings=settings)


def refusing_all(sent: list[dict[str, Any]]) -> Any:
    """Make something that is no chat model and takes no parameter at all."""

    def answer(_: object, **given: Any) -> AIMessage:
        sent.append(given)
        if given:
            raise TypeError(f"complete() got an unexpected keyword argument '{min(given)}'")
        return AIMessage("Hi")

    return RunnableLambda(answer)


async def test_what_is_no_chat_model_is_spared_its_parameters_too() -> None:
    sent: list[dict[str, Any]] = []
    model, settings = refusing_all(sent), CallSettings(attempts=1)
    for _ in range(2):
        await ask_model(model, [HumanMessage("Hi")], actor="agent", settings=settings, seed=1, top_p=0.5)
    assert [sorted(given) for given in sent] == [["seed", "top_p"], ["top_p"], [], []]


async def test_a_provider_that_refuses_one_thing_after_the_other_is_given_up() -> None:
    many = {f"extra_{number}": number for number in range(10, 40)}
    with pytest.raises(ModelCallError, match="refused 12 parameters in turn"):
        await ask_model(
            refusing_all([]), [HumanMessage("Hi")], actor="agent", settings=CallSettings(attempts=1), **many
        )
