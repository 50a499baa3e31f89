"""Strategies by name: what goes together, what is refused, and how many calls one message may hold."""

import json
from typing import Any

import pytest
from acting import REFUND, calls, play
from acting import call as one_call
from langchain_core.language_models import GenericFakeChatModel
from support.openai_server import Reply, ToolCall
from wire import ScriptedModel, calling, lines, outcome, trial

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, TaugraphError, UnknownNameError
from taugraph.graphs.agents.building import build_agent
from taugraph.graphs.agents.chat import ChatAgent
from taugraph.graphs.agents.strategies import STRATEGIES, build_chat_agent, model_options, refuse_strategy
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels

GOOD = ("user_stop", 1.0)
BOTH = Reply(
    tool_calls=(
        ToolCall("calculate", '{"expression": "1 + 1"}'),
        ToolCall("cancel_reservation", '{"reservation_id": "GV36FQ"}'),
    )
)
CANCELS = calling("cancel_reservation", reservation_id="GV36FQ")


def context(options: dict[str, Any] | None = None, **given: Any) -> SimulationContext:
    return SimulationContext(**{"agent": "openai:scripted", "agent_options": json.dumps(options or {})} | given)


async def test_calls_of_one_message_all_run_where_nothing_is_said_about_them() -> None:
    state, requests = await trial(lines(BOTH, REFUND), "tool-calling")
    assert outcome(state) == GOOD
    assert [message.name for message in state["messages"] if message.type == "tool"] == [
        "calculate",
        "cancel_reservation",
    ]
    assert "parallel_tool_calls" not in requests[0]


async def test_calls_side_by_side_are_allowed_to_the_provider() -> None:
    state, requests = await trial(lines(BOTH, REFUND), "tool-calling", options={"parallel_tool_calls": True})
    assert outcome(state) == GOOD
    assert requests[0]["parallel_tool_calls"] is True
    assert "calls_dropped" not in state["notes"]


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
async def test_calls_side_by_side_are_forbidden_to_the_provider_and_cut_to_the_first(protocol: str) -> None:
    state, requests = await trial(
        lines(BOTH, CANCELS, REFUND), "tool-calling", options={"parallel_tool_calls": False}, protocol=protocol
    )
    assert outcome(state) == GOOD
    assert {request["parallel_tool_calls"] for request in requests} == {False}
    answers = [message.name for message in state["messages"] if message.type == "tool"]
    assert answers == ["calculate", "cancel_reservation"]
    assert [len(message.tool_calls) for message in state["messages"] if message.type == "ai"][:3] == [1, 1, 0]
    assert state["notes"]["calls_dropped"] == 1


async def test_a_model_that_knows_no_such_option_is_cut_to_the_first_call(set_stage: Any) -> None:
    both = calls(one_call("calculate", "a", expression="1"), one_call("calculate", "b", expression="2"))
    model = ScriptedModel(written=[both, REFUND])
    agent = ChatAgent("scripted", model, CallSettings(), parallel_tool_calls=False)
    state = await play(set_stage(agent, ["Hello"], max_turns=1))
    assert state["notes"]["calls_dropped"] == 1
    assert "parallel_tool_calls" not in model.bound[0]
    assert sum(message.type == "tool" for message in state["messages"]) == 1


def test_options_of_a_strategy_never_reach_the_model() -> None:
    given = {"temperature": 0, "parallel_tool_calls": False, "examples_limit": 2, "examples_characters": 9}
    assert model_options(given) == {"temperature": 0}


REFUSED = [
    (context(strategy="reakt"), "no strategy named 'reakt'.*did you mean 'react'"),
    (context(strategy="few-shot"), "--strategy few-shot needs examples: got none"),
    (context(examples="good.jsonl"), "--examples 'good.jsonl' is for a chat model with --strategy few-shot"),
    (context(strategy="react", examples="good.jsonl"), "--examples 'good.jsonl' is for"),
    (context({"examples_limit": 2}), "examples_limit in --agent-options is for --strategy few-shot"),
    (context({"parallel_tool_calls": False}, strategy="act"), "--strategy act acts once per message"),
    (context({"parallel_tool_calls": "no"}), "cannot use parallel_tool_calls .* got 'no', wanted a valid boolean"),
    (context({"examples_limit": 0}, strategy="few-shot", examples="x"), "cannot use examples_limit .* greater than"),
    (context(strategy="few-shot", examples="none.jsonl"), "cannot open --examples 'none.jsonl': No such file"),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED)
def test_what_does_not_go_together_is_refused(given: SimulationContext, reason: str) -> None:
    with pytest.raises(TaugraphError, match=reason):
        build_chat_agent("openai:scripted", ScriptedModel(written=["Hi"]), given, ChatModels())


@pytest.mark.parametrize("reference", ["demo", "demo:0.1", "noop", "oracle"])
def test_an_agent_that_is_no_model_has_no_strategy(reference: str) -> None:
    domain = load_domain("airline")
    with pytest.raises(ConfigurationError, match=f"--strategy react is for chat models, and --agent is '{reference}'"):
        build_agent(SimulationContext(agent=reference, strategy="react"), domain, ChatModels())
    with pytest.raises(ConfigurationError, match="--examples 'x' is for a chat model"):
        build_agent(SimulationContext(agent=reference, examples="x"), domain, ChatModels())
    with pytest.raises(UnknownNameError, match="did you mean 'reflect'"):
        refuse_strategy(reference, SimulationContext(agent=reference, strategy="reflct"))
    refuse_strategy(reference, SimulationContext(agent=reference))


def test_a_model_that_takes_no_tools_may_still_write_its_actions_down() -> None:
    model = GenericFakeChatModel(messages=iter(()))
    for name in ("tool-calling", "reflect"):
        with pytest.raises(
            ConfigurationError, match=r"'m' takes no tools: got GenericFakeChatModel .* use --strategy react"
        ):
            build_chat_agent("m", model, context(strategy=name), ChatModels())
    assert build_chat_agent("m", model, context(strategy="act"), ChatModels()).reference == "m"


def test_every_strategy_but_plain_tool_calling_tells_the_model_something_of_its_own(tmp_path: Any) -> None:
    file = tmp_path / "good.jsonl"
    file.write_text('{"messages": [{"role": "assistant", "content": "Hello"}]}\n')
    told = {}
    for name in STRATEGIES:
        given = context(strategy=name, examples=str(file) if name == "few-shot" else None)
        agent = build_chat_agent("scripted", ScriptedModel(written=["Hi"]), given, ChatModels())
        told[name] = getattr(agent, "instructions", None)
    assert told.pop("tool-calling") == ""
    assert all(told.values())
    assert len(set(told.values())) == len(told)
