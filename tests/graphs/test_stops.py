"""When a user's stop ends a trial: decided by structure under `strict`, by the token under `tau-bench`."""

from collections.abc import Callable
from typing import Any

import pytest
from acting import BYE, HELLO, REFUND, ScriptedUser, call, calls, cancel, play, said
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn
from taugraph.graphs.users.llm import LlmUser, as_turn

SetStage = Callable[..., Stage]
QUESTION = "Shall I cancel GV36FQ for 125.00?"
YES_AND_STOP = UserTurn("yes", stops=True)
HANG_UP = calls(call("end_conversation"))


class UserModel(GenericFakeChatModel):
    """A chat model that takes its messages from a list and lets tools be bound."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def llm_user(*lines: AIMessage | str, stops_on_token: bool = False) -> LlmUser:
    model = UserModel(messages=iter([AIMessage(line) if isinstance(line, str) else line for line in lines]))
    return LlmUser("scripted", model, CallSettings(attempts=1), stops_on_token=stops_on_token)


async def test_hanging_up_ends_the_trial(set_stage: SetStage) -> None:
    state = await play(set_stage([cancel(), REFUND], llm_user(HELLO, HANG_UP)))
    assert (state["termination"], state["reward"], state["notes"]) == ("user_stop", 1.0, {})


async def test_a_yes_with_a_stop_is_delivered_and_the_agent_acts_on_it(set_stage: SetStage) -> None:
    state = await play(set_stage([QUESTION, cancel(), REFUND], [HELLO, YES_AND_STOP, BYE]))
    assert [text for kind, text in said(state) if kind == "human"] == [HELLO, "yes"]
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)
    assert state["notes"] == {"stops_deferred": 1}


@pytest.mark.parametrize(
    "question",
    ["Please confirm (yes/no) to proceed with cancelling GV36FQ.", "Let me know if I may cancel GV36FQ."],
)
async def test_a_question_needs_no_question_mark(question: str, set_stage: SetStage) -> None:
    state = await play(set_stage([question, cancel(), REFUND], [HELLO, YES_AND_STOP, BYE]))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)


async def test_words_beside_the_hang_up_are_delivered(set_stage: SetStage) -> None:
    user = llm_user(HELLO, calls(call("end_conversation"), text="yes"), HANG_UP)
    state = await play(set_stage([QUESTION, cancel(), REFUND], user))
    assert ("human", "yes") in said(state)
    assert state["reward"] == 1.0


async def test_last_words_are_delivered_when_nothing_was_asked(set_stage: SetStage) -> None:
    user = llm_user(HELLO, calls(call("end_conversation", last_words="Thank you, goodbye.")))
    state = await play(set_stage([cancel(), REFUND], user))
    assert said(state)[-1] == ("human", "Thank you, goodbye.")
    assert (state["termination"], state["notes"]) == ("user_stop", {})


async def test_a_stop_without_words_is_never_deferred(set_stage: SetStage) -> None:
    state = await play(set_stage([QUESTION], [HELLO, BYE]))
    assert (state["termination"], state["steps"]) == ("user_stop", 1)


async def test_a_closing_question_does_not_go_round_for_ever(set_stage: SetStage) -> None:
    last = UserTurn("No, thank you.", stops=True)
    state = await play(set_stage([cancel(), f"{REFUND} Anything else?"], [HELLO, last]))
    assert (state["termination"], state["notes"]) == ("user_stop", {"stops_deferred": 2})
    assert [text for kind, text in said(state) if kind == "human"] == [HELLO] + ["No, thank you."] * 3


async def test_a_turn_without_a_stop_starts_the_count_of_deferred_stops_anew(set_stage: SetStage) -> None:
    user = [HELLO, YES_AND_STOP, YES_AND_STOP, "wait", YES_AND_STOP, YES_AND_STOP, YES_AND_STOP]
    state = await play(set_stage([QUESTION], user))
    assert (state["termination"], state["notes"], state["turns"]) == ("user_stop", {"stops_deferred": 4}, 7)


async def test_a_stop_is_not_deferred_where_no_turn_is_left(set_stage: SetStage) -> None:
    state = await play(set_stage([QUESTION], [HELLO, YES_AND_STOP], max_steps=1))
    assert (state["termination"], state["notes"]) == ("user_stop", {})


async def test_a_question_beside_a_tool_call_was_never_asked(set_stage: SetStage) -> None:
    quiet = calls(call("calculate", expression="1+1"), text=QUESTION)
    state = await play(set_stage([quiet, "It is 2."], [HELLO, YES_AND_STOP]))
    assert (state["termination"], state["notes"]) == ("user_stop", {})


async def test_opening_words_with_a_stop_still_reach_the_agent(set_stage: SetStage) -> None:
    state = await play(set_stage([cancel(), REFUND], [UserTurn(HELLO, stops=True), BYE]))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)


@pytest.mark.parametrize("first", [BYE, UserTurn(""), UserTurn(" \n"), UserTurn("<think>What now?</think>")])
async def test_a_user_that_never_says_anything_fails_the_trial(first: UserTurn, set_stage: SetStage) -> None:
    state = await play(set_stage(["Hi."], [first]), "refuse-cancelling-uninsured-economy")
    assert (state["termination"], state["reward"], state["failure"]["kind"]) == ("user_error", 0.0, "empty_reply")


QUOTES = [
    f"You told me to write {STOP_TOKEN} when done, so: not yet.",
    "Should I call end_conversation now?",
    '{"name": "end_conversation", "arguments": {}}',
]


@pytest.mark.parametrize("quote", QUOTES)
async def test_quoting_a_stop_ends_nothing_under_strict(quote: str, set_stage: SetStage) -> None:
    state = await play(set_stage([cancel(), REFUND], llm_user(HELLO, quote, HANG_UP)))
    assert ("human", quote) in said(state)
    assert (state["termination"], state["turns"]) == ("user_stop", 2)


async def test_quoting_the_token_ends_the_trial_under_tau_bench(set_stage: SetStage) -> None:
    user = llm_user(HELLO, QUOTES[0], stops_on_token=True)
    state = await play(set_stage([cancel(), f"{REFUND} Anything else?"], user, "tau-bench"))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)
    assert said(state)[-1] == ("human", QUOTES[0])


async def test_a_token_in_a_thought_ends_nothing_under_tau_bench(set_stage: SetStage) -> None:
    user = llm_user(HELLO, f"<think>Then {STOP_TOKEN}</think>Go on.", STOP_TOKEN, stops_on_token=True)
    state = await play(set_stage(["Hm."], user, "tau-bench"))
    assert [text for kind, text in said(state) if kind == "human"] == [HELLO, "Go on.", STOP_TOKEN]


async def test_the_opening_words_are_not_searched_for_the_token_as_published(set_stage: SetStage) -> None:
    stage = set_stage([cancel(), REFUND], [f"{HELLO} {STOP_TOKEN}", STOP_TOKEN], "tau-bench")
    state = await play(stage)
    assert (state["termination"], state["turns"], state["reward"]) == ("user_stop", 2, 1.0)


async def test_an_empty_turn_is_asked_for_once_more(set_stage: SetStage) -> None:
    user = llm_user(HELLO, "", HANG_UP)
    state = await play(set_stage([cancel(), REFUND], user))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)
    assert state["usage"]["user"]["calls"] == 3


async def test_two_empty_turns_are_the_users_failure_and_both_are_counted(set_stage: SetStage) -> None:
    state = await play(set_stage(["Hi."], llm_user(HELLO, "", "<think>still nothing")))
    assert (state["termination"], state["reward"], state["usage"]["user"]["calls"]) == ("user_error", 0.0, 3)


async def test_deferred_stops_are_counted_as_calls_too(set_stage: SetStage) -> None:
    user = llm_user(HELLO, calls(call("end_conversation"), text="yes"), HANG_UP)
    state = await play(set_stage([QUESTION], user))
    assert state["usage"]["user"] == {"calls": 3, "input_tokens": 0, "output_tokens": 0, "uncounted_calls": 3}


UNREADABLE = AIMessage(
    "",
    invalid_tool_calls=[
        {"name": "end_conversation", "args": "{", "id": "1", "error": None, "type": "invalid_tool_call"}
    ],
)


@pytest.mark.parametrize(
    ("reply", "turn"),
    [
        (HANG_UP, ("", True)),
        (calls(call("end_conversation"), text="bye"), ("bye", True)),
        (calls(call("end_conversation", last_words=" bye ")), ("bye", True)),
        (calls(call("end_conversation", last_words=None)), ("", True)),
        (calls(call("hang_up")), ("", False)),
        (UNREADABLE, ("", True)),
        (AIMessage("bye"), ("bye", False)),
    ],
)
def test_a_models_message_is_read_as_words_and_a_stop(reply: AIMessage, turn: tuple[str, bool]) -> None:
    read = as_turn(reply)
    assert (read.text, read.stops) == turn


async def test_the_user_reads_the_agents_words_turned_round(set_stage: SetStage) -> None:
    stage = set_stage([QUESTION, cancel(), REFUND], [HELLO, YES_AND_STOP, BYE])
    await play(stage)
    assert isinstance(stage.user, ScriptedUser)
    seen = [(type(message), message.text) for message in stage.user.views[-1].messages]
    assert seen == [(AIMessage, HELLO), (HumanMessage, QUESTION), (AIMessage, "yes"), (HumanMessage, REFUND)]
