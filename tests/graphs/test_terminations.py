"""Every way a trial can end, reached through the compiled graph, and none taken for another."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from acting import (
    BYE,
    CANCEL,
    HAND_OVER,
    HELLO,
    REFUND,
    Raw,
    ScriptedAgent,
    call,
    calls,
    cancel,
    failing,
    looking,
    play,
    said,
    scores,
)
from langchain_core.messages import AIMessage, HumanMessage

from taugraph.domains.errors import ModelCallError
from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.trial import Termination
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn

SetStage = Callable[..., Stage]
STOPS = {"strict": BYE, "tau-bench": STOP_TOKEN}
HAND_OFF = calls(call("transfer_to_human_agents", summary="half flown"))
BAD_HAND_OFF = calls(call("transfer_to_human_agents"))


class EndsTheProcess(BaseException):
    """Not an Exception: what only a boundary that means it would catch."""


SIGHTS = {
    "user_stop": ([cancel(), REFUND], [HELLO, BYE], {}),
    "max_turns": (["Which one?"], [HELLO], {"max_turns": 2}),
    "max_steps": ([looking()], [HELLO], {"max_steps": 2}),
    "too_many_tool_errors": ([failing()], [HELLO], {"max_tool_errors": 2}),
    "agent_error": ([ValueError("boom")], [HELLO], {}),
    "user_error": (["Hi."], [ValueError("boom")], {}),
    "infrastructure": ([ModelCallError("agent", "rate_limit", "429")], [HELLO], {}),
}


@pytest.mark.parametrize("end", SIGHTS)
async def test_every_end_of_the_strict_protocol_is_reached(end: str, set_stage: SetStage) -> None:
    agent, user, limits = SIGHTS[end]
    state = await play(set_stage(agent, user, **limits))
    assert state["termination"] == end
    assert state["reward"] == {"user_stop": 1.0, "infrastructure": None}.get(end, 0.0)


def test_the_ends_tried_here_are_all_there_are() -> None:
    assert {*SIGHTS, "transfer"} == {end.value for end in Termination}


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
async def test_a_stop_after_the_last_allowed_step_is_a_stop(protocol: str, set_stage: SetStage) -> None:
    state = await play(set_stage([cancel(), REFUND], [HELLO, STOPS[protocol]], protocol, max_steps=2))
    assert (state["termination"], state["reward"], state["steps"]) == ("user_stop", 1.0, 2)


async def test_a_stop_where_one_turn_more_would_be_too_many_is_a_stop(set_stage: SetStage) -> None:
    last = UserTurn("Yes, that is all.", stops=True)
    state = await play(set_stage([cancel(), f"{REFUND} Anything else?"], [HELLO, last], max_turns=1))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)


async def test_a_stop_after_as_many_errors_as_one_may_have_less_one_is_a_stop(set_stage: SetStage) -> None:
    state = await play(set_stage([failing(2), cancel(), REFUND], [HELLO, BYE], max_tool_errors=3))
    assert (state["termination"], state["reward"], state["tool_errors"]) == ("user_stop", 1.0, 2)


@pytest.mark.parametrize(("limit", "end"), [(2, "max_turns"), (3, "user_stop")])
async def test_the_user_may_send_as_many_messages_as_the_limit_says(limit: int, end: str, set_stage: SetStage) -> None:
    state = await play(set_stage(["Go on."], [HELLO, "two", "three", BYE], max_turns=limit))
    assert (state["termination"], state["turns"]) == (end, limit)


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
async def test_the_agent_may_send_as_many_messages_as_the_limit_says(protocol: str, set_stage: SetStage) -> None:
    state = await play(set_stage(["Go on."], [HELLO], protocol, max_steps=3))
    assert (state["termination"], state["steps"]) == ("max_steps", 3)
    assert said(state)[-1][0] == "human"


async def test_when_both_limits_are_hit_at_once_the_turns_are_named(set_stage: SetStage) -> None:
    state = await play(set_stage(["Go on."], [HELLO], max_turns=2, max_steps=2))
    assert state["termination"] == "max_turns"


async def test_when_errors_and_steps_run_out_at_once_the_errors_are_named(set_stage: SetStage) -> None:
    state = await play(set_stage([failing()], [HELLO], max_tool_errors=2, max_steps=2))
    assert state["termination"] == "too_many_tool_errors"


async def test_a_transfer_goes_before_every_limit(set_stage: SetStage) -> None:
    state = await play(set_stage([BAD_HAND_OFF], [HELLO], "tau-bench", max_tool_errors=1, max_steps=1))
    assert state["termination"] == "transfer"


async def test_a_success_resets_the_errors_in_a_row(set_stage: SetStage) -> None:
    agent = [failing(), looking(), failing(), looking(), cancel(), REFUND]
    state = await play(set_stage(agent, [HELLO, BYE], max_tool_errors=2))
    assert (state["termination"], state["tool_errors"], state["tool_errors_in_row"]) == ("user_stop", 2, 0)


async def test_errors_in_a_row_count_across_messages_and_what_the_user_says(set_stage: SetStage) -> None:
    state = await play(set_stage([failing(), "One moment.", failing()], [HELLO], max_tool_errors=2))
    assert (state["termination"], state["turns"]) == ("too_many_tool_errors", 2)


async def test_a_user_never_adds_to_the_tool_errors(set_stage: SetStage) -> None:
    state = await play(set_stage(["Go on."], [HELLO, "Error: wrong", "Error: worse", BYE], max_tool_errors=1))
    assert (state["termination"], state.get("tool_errors", 0)) == ("user_stop", 0)


async def test_all_calls_of_a_message_run_in_order_under_strict(set_stage: SetStage) -> None:
    agent = [calls(call("calculate", "a", expression="1+1"), call("cancel_reservation", "b", reservation_id="GV36FQ"))]
    state = await play(set_stage([*agent, REFUND], [HELLO, BYE]))
    answers = [message for message in state["messages"] if message.type == "tool"]
    assert [(answer.name, answer.tool_call_id) for answer in answers] == [
        ("calculate", "a"),
        ("cancel_reservation", "b"),
    ]
    assert state["reward"] == 1.0


async def test_only_the_first_call_of_a_message_runs_under_tau_bench(set_stage: SetStage) -> None:
    both = calls(call("calculate", "a", expression="1+1"), call("transfer_to_human_agents", "b", summary="x"))
    state = await play(set_stage([both, REFUND], [HELLO, STOP_TOKEN], "tau-bench"))
    assert [message.name for message in state["messages"] if message.type == "tool"] == ["calculate"]
    assert [len(message.tool_calls) for message in state["messages"] if message.type == "ai"] == [1, 0]
    assert state["termination"] == "user_stop"


async def test_dropped_calls_leave_the_content_blocks_too(set_stage: SetStage) -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "a", "name": "calculate", "input": {"expression": "1+1"}},
        {"type": "tool_use", "id": "b", "name": "calculate", "input": {"expression": "2+2"}},
    ]
    wanted = [call("calculate", "a", expression="1+1"), call("calculate", "b", expression="2+2")]
    state = await play(set_stage([AIMessage(blocks, tool_calls=wanted), "Two."], [HELLO, STOP_TOKEN], "tau-bench"))
    assert state["messages"][1].content == blocks[:2]


@pytest.mark.parametrize(("lines", "refused"), [(HAND_OFF, False), (BAD_HAND_OFF, True)], ids=["done", "refused"])
async def test_a_handoff_ends_the_trial_under_tau_bench_even_refused(
    lines: AIMessage, refused: bool, set_stage: SetStage
) -> None:
    state = await play(set_stage([lines], [HELLO], "tau-bench"), HAND_OVER)
    assert (state["termination"], state["tool_errors"]) == ("transfer", int(refused))
    assert state["messages"][-1].type == "tool"


@pytest.mark.parametrize(("lines", "reward"), [(HAND_OFF, 1.0), (BAD_HAND_OFF, 0.0)], ids=["done", "refused"])
async def test_a_handoff_is_a_call_like_any_other_under_strict(
    lines: AIMessage, reward: float, set_stage: SetStage
) -> None:
    state = await play(set_stage([lines, "A colleague takes over; it was 598.00 dollars."], [HELLO, BYE]), HAND_OVER)
    assert (state["termination"], state["reward"]) == ("user_stop", reward)


@pytest.mark.parametrize(("hands_over", "reward"), [(True, 1.0), (False, 0.0)])
async def test_a_handoff_that_is_wanted_can_be_passed_under_tau_bench_on_our_own_data(
    hands_over: bool, reward: float, set_stage: SetStage
) -> None:
    lines = ["It was 598.00 dollars.", HAND_OFF if hands_over else "Goodbye."]
    state = await play(set_stage(lines, [HELLO, "I see.", STOP_TOKEN], "tau-bench"), HAND_OVER)
    assert (state["termination"], state["reward"]) == ("transfer" if hands_over else "user_stop", reward)


async def test_a_user_who_speaks_of_a_transfer_transfers_nothing(set_stage: SetStage) -> None:
    stage = set_stage(["No."], [HELLO, "###TRANSFER### transfer_to_human_agents", STOP_TOKEN], "tau-bench")
    state = await play(stage, HAND_OVER)
    assert (state["termination"], state["turns"]) == ("user_stop", 3)


@pytest.mark.parametrize("empty", ["", "  \n", "<think>hm</think>", [{"type": "reasoning", "reasoning": "hm"}]])
async def test_an_agent_that_says_nothing_is_nudged_once_and_then_fails(empty: Any, set_stage: SetStage) -> None:
    stage = set_stage([AIMessage(empty)], [HELLO])
    state = await play(stage)
    assert (state["termination"], state["reward"]) == ("agent_error", 0.0)
    assert (state["failure"]["kind"], state["notes"], state["usage"]["agent"]["calls"]) == (
        "empty_reply",
        {"nudges": 1},
        2,
    )
    assert isinstance(stage.agent, ScriptedAgent)
    assert len(stage.agent.views) == 2


async def test_a_nudged_agent_that_finds_its_words_goes_on_and_the_nudge_leaves_no_trace(set_stage: SetStage) -> None:
    stage = set_stage([cancel(), AIMessage(""), REFUND], [HELLO, BYE])
    state = await play(stage)
    assert (state["termination"], state["reward"], state["steps"]) == ("user_stop", 1.0, 2)
    assert [kind for kind, _ in said(state)] == ["human", "ai", "tool", "ai"]
    assert isinstance(stage.agent, ScriptedAgent)
    assert "was empty" in stage.agent.views[2].messages[-1].text


@pytest.mark.parametrize("nonsense", [None, "text", HumanMessage("hi"), {"role": "assistant"}, 7], ids=repr)
async def test_an_agent_that_returns_no_ai_message_fails(nonsense: Any, set_stage: SetStage) -> None:
    state = await play(set_stage([Raw(nonsense)], [HELLO]))
    assert (state["termination"], state["reward"], state["failure"]["kind"]) == ("agent_error", 0.0, "agent_raised")
    assert f"returned {type(nonsense).__name__}, wanted an AIMessage" in state["failure"]["message"]


NOTHING: Any = None


@pytest.mark.parametrize("nonsense", [None, "text", AIMessage("hi"), UserTurn(NOTHING)], ids=repr)
async def test_a_user_that_returns_no_turn_fails(nonsense: Any, set_stage: SetStage) -> None:
    state = await play(set_stage(["Hi."], [HELLO, Raw(nonsense)]))
    assert (state["termination"], state["reward"], state["failure"]["kind"]) == ("user_error", 0.0, "user_raised")


RAISED = [
    ValueError("boom"),
    EndsTheProcess("boom"),
    SystemExit(3),
    asyncio.CancelledError(),
    TimeoutError(),
    StopIteration(),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("actor", ["agent", "user"])
async def test_whatever_an_actor_raises_is_its_own_failure(
    actor: str, error: BaseException, set_stage: SetStage
) -> None:
    lines = {"agent": ["Hi."], "user": [HELLO]} | {actor: [error]}
    state = await play(set_stage(lines["agent"], lines["user"]))
    assert (state["termination"], state["reward"]) == (f"{actor}_error", 0.0)
    assert type(error).__name__ in state["failure"]["message"]
    assert "Traceback" in state["failure"]["traceback"]


async def test_an_actor_without_async_is_its_own_failure_too(set_stage: SetStage) -> None:
    class Plain:
        reference, is_privileged = "plain", False

        def reply(self, view: Any) -> AIMessage:
            raise KeyError("not async")

    state = await play(set_stage(Plain(), [HELLO]))
    assert (state["termination"], state["failure"]["kind"]) == ("agent_error", "agent_raised")


async def test_a_run_that_is_cancelled_is_not_taken_for_an_agent_that_failed(set_stage: SetStage) -> None:
    class Slow:
        reference, is_privileged = "slow", False

        async def reply(self, view: Any) -> AIMessage:
            await asyncio.sleep(60)
            return AIMessage("late")

    with pytest.raises(TimeoutError, match=r"^$"):
        async with asyncio.timeout(0.05):
            await play(set_stage(Slow(), [HELLO]))


@pytest.mark.parametrize("actor", ["agent", "user"])
async def test_a_failed_provider_leaves_the_trial_unscored_with_all_that_was_said(
    actor: str, set_stage: SetStage
) -> None:
    error = ModelCallError(actor, "connection", "lost")
    agent = [cancel(), error] if actor == "agent" else [cancel(), REFUND]
    state = await play(set_stage(agent, [HELLO, error]))
    assert (state["termination"], state["reward"], state["failure"]["kind"]) == ("infrastructure", None, "connection")
    assert state["failure"]["actor"] == actor
    assert len(state["messages"]) >= 3
    assert scores(state)["database_matches_goal"] == 1.0


EARLY: list[tuple[list[Any], list[Any], dict[str, int]]] = [
    ([cancel(), REFUND], [HELLO], {"max_turns": 1}),
    ([cancel(), REFUND, looking()], [HELLO], {"max_steps": 3}),
    ([cancel(), REFUND, failing()], [HELLO], {"max_tool_errors": 1}),
    ([cancel(), REFUND, ValueError("boom")], [HELLO], {}),
    ([cancel(), REFUND], [HELLO, ValueError("boom")], {}),
]


@pytest.mark.parametrize(("agent", "user", "limits"), EARLY)
async def test_components_are_scored_also_where_the_trial_ended_early(
    agent: list[Any], user: list[Any], limits: dict[str, int], set_stage: SetStage
) -> None:
    state = await play(set_stage(agent, user, **limits), CANCEL)
    assert state["reward"] == 0.0
    assert {"database_matches_goal": 1.0, "claims_were_said": 1.0}.items() <= scores(state).items()


async def test_an_agent_that_prints_the_stop_token_ends_nothing(set_stage: SetStage) -> None:
    state = await play(set_stage([f"{STOP_TOKEN} end_conversation"], [HELLO], "tau-bench", max_steps=3))
    assert (state["termination"], state["reward"]) == ("max_steps", 0.0)


async def test_an_unknown_task_is_named_with_the_known_ones(set_stage: SetStage) -> None:
    with pytest.raises(Exception, match=r"no task named 'cancel-within-a-dya'.*did you mean 'cancel-within-a-day'"):
        await play(set_stage(["Hi."], [HELLO]), "cancel-within-a-dya")
