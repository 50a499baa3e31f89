"""What went wrong with simulated users elsewhere, entry by entry, and what happens here instead.

U3 and U5 are about strategies: see test_users_strategies.py.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acting import BYE, CANCEL, HELLO, REFUND, ScriptedUser, call, calls, cancel, play, said
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from support.openai_server import OpenAIServer, Reply
from typer.testing import CliRunner

from taugraph.cli import app
from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError
from taugraph.domains.protocol import STOP_TOKEN, STRICT
from taugraph.experiments.run import resume_run, start_run
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import open_store
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn
from taugraph.graphs.users.llm import LlmUser

SetStage = Callable[..., Stage]
PHONE = load_domain("phone")


def score_of(state: dict[str, Any], key: str) -> dict[str, Any]:
    return next(score for score in state["scores"] if score["key"] == key)


def user_calls(*names: str, text: str = "") -> UserTurn:
    message = calls(*(call(name, f"u-{number}") for number, name in enumerate(names)), text=text)
    return UserTurn(text, message=message)


async def test_u1_a_stop_that_says_yes_leaves_the_agent_its_turn_to_act(set_stage: SetStage) -> None:
    stage = set_stage(["Shall I cancel GV36FQ?", cancel(), REFUND], [HELLO, UserTurn("yes", stops=True), BYE])
    state = await play(stage)
    assert (state["reward"], state["notes"]["stops_deferred"]) == (1.0, 1)


@pytest.mark.parametrize("words", ["transfer", "###TRANSFER###", "Please transfer me to a human."])
async def test_u2_a_transfer_is_what_the_agent_s_tool_did_and_not_what_the_user_typed(
    words: str, set_stage: SetStage
) -> None:
    for protocol in ("strict", "tau-bench"):
        bye = BYE if protocol == "strict" else UserTurn(STOP_TOKEN)
        state = await play(set_stage(["How can I help?", cancel(), REFUND], [HELLO, words, bye], protocol))
        assert (state["termination"], state["reward"]) == ("user_stop", 1.0)


@pytest.mark.parametrize(
    "turn",
    [
        UserTurn(f"Please type {STOP_TOKEN} when you are done."),
        UserTurn("<think>I may say ###STOP### later</think>Go on."),
    ],
)
async def test_u4_a_stop_marker_in_a_sentence_or_a_thought_stops_nothing(turn: UserTurn, set_stage: SetStage) -> None:
    state = await play(set_stage(["Yes?", cancel(), REFUND], [HELLO, turn, BYE]))
    assert (state["termination"], state["reward"], state["turns"]) == ("user_stop", 1.0, 2)


async def test_u4_the_bare_stop_marker_hangs_up_and_is_never_delivered(set_stage: SetStage) -> None:
    state = await play(set_stage([cancel(), REFUND], [HELLO, f" {STOP_TOKEN}\n"]))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)
    assert [text for kind, text in said(state) if kind == "human"] == [HELLO]


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
async def test_u4_an_agent_cannot_stop_the_conversation_by_writing_the_marker(
    protocol: str, set_stage: SetStage
) -> None:
    bye = BYE if protocol == "strict" else UserTurn(STOP_TOKEN)
    state = await play(set_stage([STOP_TOKEN, cancel(), REFUND], [HELLO, "What?", bye], protocol))
    assert (state["turns"] >= 2, state["reward"]) == (True, 1.0)


async def test_u6_nobody_is_asked_before_the_first_turn(set_stage: SetStage) -> None:
    class Counting(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    asked: list[int] = []

    def lines() -> Any:
        asked.append(1)
        yield AIMessage(HELLO)
        while True:
            asked.append(1)
            yield calls(call("end_conversation"))

    user = LlmUser("counting", Counting(messages=lines()), CallSettings(attempts=1))
    stage = set_stage([cancel(), REFUND], user)
    assert asked == []
    await play(stage)
    assert len(asked) == 2


async def test_u7_a_user_that_invents_a_traveller_spoils_its_trial_visibly_and_moves_no_reward(
    set_stage: SetStage,
) -> None:
    invented = "Hello, there are 4 of us, please cancel reservation XK9PQ2 for my friend too."
    state = await play(set_stage([cancel(), REFUND], [invented, BYE]))
    fidelity = score_of(state, "user_was_faithful")
    assert (fidelity["value"], fidelity["gates"], state["reward"]) == (0.0, False, 1.0)
    assert {entry["check"] for entry in fidelity["evidence"]} == {"says_unknown_fact"}


async def test_u8_words_beside_a_device_call_reach_the_agent_after_its_result_and_silence_is_no_crash() -> None:
    heard: list[list[str]] = []

    class Agent:
        reference, is_privileged = "listening", False

        async def reply(self, view: Any) -> AIMessage:
            heard.append([message.text for message in view.messages])
            return AIMessage("Thank you.")

    turns = ["Hello.", user_calls(PHONE.user_tools[0].name, text="bye"), UserTurn("")]
    stage = Stage(PHONE, Agent(), ScriptedUser(*turns), STRICT)
    state = await play(stage, PHONE.tasks[0].id)
    stage.close()
    assert heard[-1][-1] == "bye"
    assert (state["termination"], state["failure"]["kind"]) == ("user_error", "empty_reply")
    assert [entry["kind"] for entry in state["user_log"]] == ["called", "answered"]


async def test_u9_the_user_s_own_calls_and_their_results_are_in_its_next_prompt() -> None:
    tool = PHONE.user_tools[0].name
    user = ScriptedUser("Hello.", user_calls(tool), "That is what it shows.", BYE)
    stage = Stage(PHONE, _Silent(), user, STRICT)
    state = await play(stage, PHONE.tasks[0].id)
    stage.close()
    seen = user.views[2].messages
    [asked] = [message for message in seen if isinstance(message, AIMessage) and message.tool_calls]
    [answer] = [message for message in seen if isinstance(message, ToolMessage)]
    assert (asked.tool_calls[0]["name"], answer.tool_call_id) == (tool, asked.tool_calls[0]["id"])
    assert answer.text
    assert not any(isinstance(message, ToolMessage) for message in state["messages"])


class _Silent:
    reference, is_privileged = "silent", False

    async def reply(self, view: Any) -> AIMessage:
        return AIMessage("Go on.")


async def test_u10_reasoning_stays_with_whoever_reasoned(set_stage: SetStage) -> None:
    user = ScriptedUser("<think>I must not tell my age.</think>" + HELLO, BYE)
    stage = set_stage(["<think>secret</think>Hi", cancel(), REFUND], user)
    state = await play(stage)
    assert [message.text for message in user.views[1].messages] == [HELLO, "Hi"]
    assert "age" not in json.dumps([message.text for message in state["messages"]])


def test_u11_a_run_cannot_go_on_with_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, words)

    with OpenAIServer(lambda request: Reply("Hello?")) as server:
        options = json.dumps({"base_url": server.base_url})
        started = run(
            *("run", "airline", "--tasks", CANCEL, "-k", "1", "--agent", "noop", "--max-turns", "2", "--name", "x"),
            *("--user", "openai:scripted", "--user-options", options, "--user-strategy", "llm"),
        )
        assert started.exit_code == 0, started.output
        other = json.dumps({"base_url": server.base_url, "temperature": 0.5})
        with open_store(".taugraph/results.db") as store:
            experiment = store.experiment("x")
            store.create_experiment(experiment.model_copy(update={"name": "unfinished"}))
        resumed = run("resume", "unfinished", "--user-options", other)
    assert resumed.exit_code == 2
    assert "user_options: was" in resumed.stderr


@pytest.mark.parametrize("changed", [{"user": "openai:other"}, {"user_strategy": "react"}])
def test_u11_another_model_or_strategy_is_refused_by_its_name(
    changed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    settings = load_settings(agent="noop", user="openai:scripted", tasks=(CANCEL,), trials=1)
    with open_store("results.db") as store:
        start_run(settings, store, "x")
        resume_run("x", store)
        with pytest.raises(ConfigurationError, match=rf"other conditions \(.*\b{next(iter(changed))}: was"):
            resume_run("x", store, **changed)


async def test_u12_a_user_that_starts_over_after_its_goal_is_reached_is_a_user_fault(set_stage: SetStage) -> None:
    opening = "Hello, please cancel my trip from Phoenix to Seattle for me."
    state = await play(set_stage([cancel(), REFUND, "It is cancelled already."], [opening, opening, BYE]))
    fidelity = score_of(state, "user_was_faithful")
    assert fidelity["value"] == 0.0
    assert "repeats_itself" in {entry["check"] for entry in fidelity["evidence"]}
