"""Whatever an agent sends is its own doing: it never breaks a checkpoint, the rules, or another's transcript."""

from collections.abc import Callable
from typing import Any

import pytest
from acting import BYE, HELLO, REFUND, call, calls, cancel, play
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from taugraph.experiments.play import Player
from taugraph.graphs.agent import AgentView
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import successful_calls

SetStage = Callable[..., Stage]


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**70), 10**400, nested(60), nested(300), {"a": nested(250)}])
@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
async def test_values_no_checkpoint_holds_end_as_a_tool_error_and_the_trial_is_scored(
    value: Any, protocol: str, set_stage: SetStage
) -> None:
    bags = call("update_reservation_baggages", reservation_id="GV36FQ", total_baggages=value)
    bags["args"] |= {"nonfree_baggages": 0, "payment_id": "none"}
    odd = AIMessage("", tool_calls=[bags], response_metadata={"x": value})
    stop = "###STOP###" if protocol == "tau-bench" else BYE
    stage = set_stage([odd, cancel(), REFUND], [HELLO, stop], protocol)
    trial = await Player(stage, checkpointer=InMemorySaver(), durability="sync").play("cancel-within-a-day", 0, 0)
    assert (trial.termination.value, trial.outcome, trial.tool_errors) == ("user_stop", "passed", 1)


async def test_arguments_that_a_rule_cannot_read_break_it_and_leave_no_trial_unscored(set_stage: SetStage) -> None:
    odd = call("update_reservation_baggages", reservation_id="GV36FQ", total_baggages=2**62)
    odd["args"] |= {"nonfree_baggages": [], "payment_id": {"a": 1}}
    state = await play(set_stage([calls(odd), cancel(), REFUND], [HELLO, BYE]))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)


async def test_an_agent_cannot_change_what_it_said_before(set_stage: SetStage) -> None:
    class Meddler:
        reference, is_privileged = "meddler", False

        async def reply(self, view: AgentView) -> AIMessage:
            spoken = [message for message in view.messages if isinstance(message, AIMessage)]
            for message in spoken:
                for made in message.tool_calls:
                    made["args"]["hacked"] = 1
            return AIMessage(REFUND) if spoken else cancel()

    stage = set_stage([REFUND], [HELLO, BYE])
    stage.agent = Meddler()
    state = await play(stage)
    assert state["messages"][1].tool_calls[0]["args"] == {"reservation_id": "GV36FQ"}


async def test_a_refused_call_does_not_spoil_later_calls_of_the_same_id(set_stage: SetStage) -> None:
    again = [cancel("NOSUCH"), cancel(), REFUND]
    state = await play(set_stage(again, [HELLO, BYE]))
    ids = {made["id"] for message in state["messages"] if isinstance(message, AIMessage) for made in message.tool_calls}
    assert len(ids) == 1
    assert successful_calls(state) == [("cancel_reservation", {"reservation_id": "GV36FQ"})]  # type: ignore[arg-type]
