"""The agent's node: `agent` asks for one turn, and keeps the trial whole whatever comes back.

It returns a state update and never raises for what the agent did.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from taugraph.domains.trial import Failure, Usage
from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.boundary import cross
from taugraph.graphs.delivery import delivered_text, has_calls
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState, count_steps
from taugraph.graphs.transcript import first_call_only, next_id, plain_reply, plain_text, plain_value, with_ids
from taugraph.graphs.updates import Update, add_notes, ended_by, key_of, spend
from taugraph.graphs.usage import add_usage, usage_of

_NUDGE = "(Your last message was empty. Reply to the customer, or call a tool.)"


async def act(stage: Stage, state: SimulationState) -> Update:
    """Let the agent act once: speak, or call tools."""
    # An agent may do what it likes with its view: the transcript and the tools are not its own.
    view = AgentView(
        messages=_own_copies(state),
        policy=stage.domain.policy,
        tools=list(stage.executor.tools),
        key=key_of(state, "agent"),
        memory=state.get("agent_memory"),
        seen=state.get("agent_seen", 0),
    )
    turns = [await cross("agent", _next_turn(stage, view))]
    if isinstance(turns[0], AgentTurn) and _is_empty(turns[0].message):
        again = [*_own_copies(state), HumanMessage(_NUDGE)]
        nudged = replace(view, messages=again, memory=turns[0].memory, seen=len(again) - 1)
        turns.append(await cross("agent", _next_turn(stage, nudged)))
    return _update(state, turns)


def _update(state: SimulationState, turns: Sequence[AgentTurn | Failure]) -> Update:
    """Return what the turns, of which a second one follows an empty first, change in the state."""
    usage, said = Usage(calls=0), list(state["messages"])
    notes = add_notes(state, {"nudges": 1} if len(turns) > 1 else {})
    update: Update = {}
    for turn in turns:
        if isinstance(turn, Failure):
            return update | ended_by(turn)
        usage = add_usage(usage, _usage_of(turn))
        notes = add_notes(cast(SimulationState, {**state, **notes}), turn.notes)
        update = spend(state, "agent", usage) | notes
        update["agent_memory"] = plain_value(dict(turn.memory)) if turn.memory is not None else None
        for message in turn.before:
            said.append(_with_id(message, said))
    last = turns[-1]
    assert isinstance(last, AgentTurn)
    if _is_empty(last.message):
        update |= ended_by(Failure(kind="empty_reply", message="the agent twice answered with nothing", actor="agent"))
    else:
        said.append(with_ids(last.message, next_id(said, "agent")))
    new = said[len(state["messages"]) :]
    steps = count_steps(state) + sum(isinstance(message, AIMessage) for message in new)
    return update | {"messages": new, "steps": steps, "agent_seen": len(said)}


async def _next_turn(stage: Stage, view: AgentView) -> AgentTurn:
    reply = await stage.agent.reply(view)
    turn = reply if isinstance(reply, AgentTurn) else AgentTurn(reply)
    message = plain_reply(turn.message)
    if stage.protocol.first_tool_call_only:
        message = first_call_only(message)
    return replace(turn, message=message, before=[_plain_before(each) for each in turn.before])


def _plain_before(message: object) -> AnyMessage:
    if isinstance(message, ToolMessage):
        status = "error" if message.status == "error" else "success"
        text, name = plain_text(message.text), message.name
        return ToolMessage(text, name=name, tool_call_id=message.tool_call_id or "", status=status)
    return plain_reply(message)


def _with_id(message: AnyMessage, said: Sequence[AnyMessage]) -> AnyMessage:
    if isinstance(message, AIMessage):
        return with_ids(message, next_id(said, "agent"))
    return message.model_copy(update={"id": next_id(said, "tool")})


def _usage_of(turn: AgentTurn) -> Usage:
    spoken = [message for message in (*turn.before, turn.message) if isinstance(message, AIMessage)]
    total = turn.usage
    for message in spoken:
        total = add_usage(total, usage_of(message))
    return total


def _own_copies(state: SimulationState) -> list[AnyMessage]:
    return [message.model_copy(deep=True) for message in state["messages"]]


def _is_empty(message: AIMessage) -> bool:
    return not has_calls(message) and not delivered_text(message)
