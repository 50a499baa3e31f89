"""What crosses from one side to the other: words, never thoughts, and never what travelled beside a tool call."""

from collections.abc import Callable
from typing import Any

import pytest
from acting import BYE, HELLO, ScriptedAgent, ScriptedUser, call, calls, cancel, play, scores
from langchain_core.messages import AIMessage

from taugraph.graphs.delivery import spoken_text, without_thoughts
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn

SetStage = Callable[..., Stage]

THOUGHTS: list[tuple[Any, str]] = [
    ("<think>secret</think>Hi", "Hi"),
    ("<thinking>secret\nsecret</thinking>\nHi", "Hi"),
    ("<THINK>secret</THINK>Hi", "Hi"),
    ("<think>secret</think>Hi<think>secret</think> there", "Hi there"),
    ("<think>secret<think>secret</think>secret</think>Hi", "Hi"),
    ("secret, as the template opened the tag</think>\n\nHi", "Hi"),
    ("Hi<think>secret, cut off", "Hi"),
    ([{"type": "reasoning", "reasoning": "secret"}, {"type": "text", "text": "Hi"}], "Hi"),
    ([{"type": "thinking", "thinking": "secret", "signature": "s"}, {"type": "text", "text": "Hi"}], "Hi"),
    (["Hi", {"type": "image_url", "image_url": "secret"}], "Hi"),
    ("5 < 6 and 7 > 6", "5 < 6 and 7 > 6"),
]


@pytest.mark.parametrize(("content", "spoken"), THOUGHTS)
def test_only_words_are_spoken(content: Any, spoken: str) -> None:
    assert spoken_text(AIMessage(content)) == spoken


def test_words_without_thoughts_stay_as_they_are() -> None:
    assert without_thoughts("  two\n words ") == "  two\n words "


@pytest.mark.parametrize(("content", "spoken"), THOUGHTS)
async def test_what_an_agent_thinks_stays_with_the_agent(content: Any, spoken: str, set_stage: SetStage) -> None:
    stage = set_stage([AIMessage(content)], [HELLO, "Go on.", BYE])
    await play(stage)
    assert isinstance(stage.user, ScriptedUser)
    assert isinstance(stage.agent, ScriptedAgent)
    assert [message.text for message in stage.user.views[1].messages] == [HELLO, spoken]
    assert "secret" not in repr(stage.user.views)
    assert stage.agent.views[1].messages[1].content == content


@pytest.mark.parametrize(("content", "spoken"), [pair for pair in THOUGHTS if isinstance(pair[0], str)])
async def test_what_a_user_thinks_stays_with_the_user(content: str, spoken: str, set_stage: SetStage) -> None:
    stage = set_stage(["Hi."], [HELLO, UserTurn(content), BYE])
    await play(stage)
    assert isinstance(stage.agent, ScriptedAgent)
    assert stage.agent.views[1].messages[-1].text.strip() == spoken
    assert "secret" not in repr(stage.agent.views)


async def test_words_beside_a_tool_call_are_neither_heard_nor_scored(set_stage: SetStage) -> None:
    beside = calls(call("cancel_reservation", reservation_id="GV36FQ"), text="125.00 comes back.")
    stage = set_stage([beside, "All done."], [HELLO, BYE])
    state = await play(stage)
    assert isinstance(stage.user, ScriptedUser)
    assert [message.text for message in stage.user.views[-1].messages] == [HELLO, "All done."]
    assert {"database_matches_goal": 1.0, "claims_were_said": 0.0}.items() <= scores(state).items()
    assert state["reward"] == 0.0


async def test_a_claim_that_was_only_thought_was_not_said(set_stage: SetStage) -> None:
    state = await play(set_stage([cancel(), "<think>125.00</think>Done."], [HELLO, BYE]))
    assert scores(state)["claims_were_said"] == 0.0


async def test_neither_tool_answers_nor_tool_calls_reach_the_user(set_stage: SetStage) -> None:
    stage = set_stage([cancel(), "All done."], [HELLO, BYE])
    await play(stage)
    assert isinstance(stage.user, ScriptedUser)
    assert "GV36FQ" not in repr(stage.user.views[-1].messages)
