"""An agent that reviews its own steps: what is reviewed, what a rejection changes, and what is kept of it."""

from collections.abc import Sequence
from typing import Any

import pytest
from acting import CANCEL, HAND_OVER, REFUND, call, calls
from support.openai_server import Fault, Reply, Script, ToolCall
from wire import ScriptedModel, calling, in_order, lines, outcome, trial

from taugraph.domains.domain import load_domain
from taugraph.graphs.agent import AgentTurn, AgentView, TrialKey
from taugraph.graphs.agents.reflect import MOST_REFLECTIONS, ReflectingAgent
from taugraph.graphs.calling import CallSettings

GOOD = ("user_stop", 1.0)
WRONG, RIGHT = (calling("cancel_reservation", reservation_id=number) for number in ("GSGD89", "GV36FQ"))
NO = calling("give_verdict", approve=False, reason="The customer wants to keep GSGD89.")
YES = calling("give_verdict", approve=True, reason="fine")
TOOLS = load_domain("airline").agent_tools


def is_critic(request: dict[str, Any]) -> bool:
    return [tool["function"]["name"] for tool in request.get("tools", [])] == ["give_verdict"]


def split(drafts: Script, *verdicts: Reply) -> Script:
    """Answer the critic's requests in order, and all others with `drafts`."""
    left = list(verdicts)

    def script(request: dict[str, Any]) -> Reply | Fault:
        return left.pop(0) if is_critic(request) else drafts(request)

    return script


def called(state: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (each["name"], each["args"]) for message in state["messages"] for each in getattr(message, "tool_calls", ())
    ]


async def test_without_a_review_the_wrong_write_is_done() -> None:
    state, _ = await trial(lines(WRONG, REFUND), "tool-calling")
    assert "GSGD89" in str(state["changes"])
    assert state["reward"] == 0.0


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
async def test_a_rejected_write_never_happens(protocol: str) -> None:
    state, requests = await trial(split(in_order(WRONG, RIGHT, REFUND), NO, YES), "reflect", protocol=protocol)
    assert "GV36FQ" in str(state["changes"])
    assert "GSGD89" not in str(state["changes"])
    assert called(state)[:1] == [("cancel_reservation", {"reservation_id": "GV36FQ"})]
    assert "GSGD89" not in str(state["messages"])
    reflections = state["notes"]["reflections"]
    assert [(each["approved"], each["reason"]) for each in reflections] == [
        (False, "The customer wants to keep GSGD89."),
        (True, "fine"),
    ]
    assert "GSGD89" in reflections[0]["draft"]
    assert state["usage"]["agent"]["calls"] == len(requests)
    assert state["usage"]["agent"]["input_tokens"] == 10 * len(requests)


async def test_the_trial_is_rewarded_for_what_was_done_after_the_review() -> None:
    state, requests = await trial(split(in_order(WRONG, RIGHT, REFUND), NO, YES), "reflect")
    assert outcome(state) == GOOD
    redraft = requests[2]["messages"]
    assert redraft[-1]["tool_call_id"] == redraft[-2]["tool_calls"][0]["id"] != ""
    assert "The customer wants to keep GSGD89." in redraft[-1]["content"]
    assert not any("Not carried out" in str(request) for request in requests[4:])


async def test_the_critic_sees_policy_conversation_and_draft_and_has_to_answer_in_form() -> None:
    _, requests = await trial(split(in_order(RIGHT, REFUND), YES), "reflect")
    critic = next(request for request in requests if is_critic(request))
    assert critic["tool_choice"] == {"type": "function", "function": {"name": "give_verdict"}}
    system, asked = (message["content"] for message in critic["messages"])
    assert load_domain("airline").policy.strip()[:200] in system
    assert '"name": "cancel_reservation"' in system
    assert "Customer: " in asked
    assert 'Agent calls cancel_reservation with {"reservation_id": "GV36FQ"}' in asked
    assert isinstance(critic["seed"], int)


async def test_what_only_reads_or_speaks_is_not_reviewed() -> None:
    reads = calling("get_reservation_details", reservation_id="GV36FQ")
    state, requests = await trial(split(in_order(reads, "Anything else?")), "reflect", max_turns=2)
    assert not any(map(is_critic, requests))
    assert "reflections" not in state["notes"]


async def test_handing_over_is_reviewed() -> None:
    hand_over = calling("transfer_to_human_agents", summary="Half flown.")
    script = split(in_order(hand_over, "I am not allowed to."), NO)
    state, requests = await trial(script, "reflect", HAND_OVER, max_turns=2)
    assert sum(map(is_critic, requests)) == 1
    assert called(state) == []
    assert (state["reward"], state["notes"]["reflections"][0]["approved"]) == (0.0, False)


async def test_after_two_rejections_the_third_draft_counts() -> None:
    state, requests = await trial(split(in_order(WRONG, WRONG, RIGHT, REFUND), NO, NO), "reflect")
    assert [is_critic(request) for request in requests[:5]] == [False, True, False, True, False]
    assert called(state)[0][1] == {"reservation_id": "GV36FQ"}
    assert [each["approved"] for each in state["notes"]["reflections"]] == [False, False, None]


UNREADABLE = [
    Reply("Looks good to me."),
    Reply(tool_calls=(ToolCall("give_verdict", '{"reason": "no"}'),)),
    Reply(tool_calls=(ToolCall("give_verdict", "no"),)),
    Reply(tool_calls=(ToolCall("give_verdict", '{"approve": "perhaps"}'),)),
]


@pytest.mark.parametrize("verdict", UNREADABLE)
async def test_an_unreadable_verdict_approves_and_is_noted(verdict: Reply) -> None:
    state, _ = await trial(split(in_order(RIGHT, REFUND), verdict), "reflect")
    assert outcome(state) == GOOD
    assert state["notes"]["verdicts_unreadable"] == 1
    assert state["notes"]["reflections"][0]["reason"] == "the verdict could not be read: approved"


async def test_a_verdict_in_words_is_read_where_it_is_json() -> None:
    verdict = Reply('Here: ```json\n{"approve": false, "reason": "wrong trip"}\n```')
    state, _ = await trial(split(in_order(WRONG, RIGHT, REFUND), verdict, YES), "reflect")
    assert state["notes"]["reflections"][0]["reason"] == "wrong trip"
    assert called(state)[0][1] == {"reservation_id": "GV36FQ"}


async def test_a_provider_that_fails_in_a_review_leaves_the_trial_unscored() -> None:
    def script(request: dict[str, Any]) -> Reply | Fault:
        return Fault(503) if is_critic(request) else RIGHT

    state, _ = await trial(script, "reflect")
    assert outcome(state) == ("infrastructure", None)
    assert state["messages"][-1].type == "human"


async def test_calls_side_by_side_are_forbidden_to_a_reviewed_model_too() -> None:
    both = Reply(tool_calls=(ToolCall("calculate", '{"expression": "1"}'), *WRONG.tool_calls))
    script = split(in_order(both, RIGHT, REFUND), YES)
    state, _ = await trial(script, "reflect", CANCEL, options={"parallel_tool_calls": False})
    assert outcome(state) == GOOD
    assert state["notes"]["calls_dropped"] == 1
    assert len(state["notes"]["reflections"]) == 1


def draft(written: Sequence[Any]) -> ReflectingAgent:
    return ReflectingAgent("scripted", ScriptedModel(written=list(written)), CallSettings())


async def test_reflections_are_bounded_over_the_whole_trial() -> None:
    write = calls(call("send_certificate", user_id="u" * 5_000, amount=1))
    no = calls(call("give_verdict", approve=False, reason="r" * 5_000))
    agent = draft([write, no, write, no, write])
    view = AgentView([], "Be kind.", TOOLS, TrialKey("t", 0, 0), memory={"reflections": MOST_REFLECTIONS - 1})
    turn = await agent.reply(view)
    assert isinstance(turn, AgentTurn)
    assert len(turn.notes["reflections"]) == 1  # type: ignore[arg-type]
    assert len(str(turn.notes["reflections"])) < 2_500
    assert turn.notes["reflections_left_out"] == 2
    assert turn.memory == {"reflections": MOST_REFLECTIONS}
    assert (turn.usage.calls, turn.usage.uncounted_calls) == (4, 4)
