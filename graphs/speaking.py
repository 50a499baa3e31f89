"""The user's two nodes: `user` finds the next words, `user_tools` runs the calls of the user's own tools.

Each returns a state update and never raises for what the user did.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, message_to_dict, messages_from_dict

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.trial import Failure, Termination
from taugraph.graphs.beginning import messages_before
from taugraph.graphs.boundary import cross
from taugraph.graphs.delivery import delivered_text, has_calls, without_thoughts
from taugraph.graphs.persona import find_persona
from taugraph.graphs.running import run_calls
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState, count_steps, count_turns
from taugraph.graphs.transcript import next_id, with_ids
from taugraph.graphs.updates import Update, add_notes, changes_of, ended_by, key_of, out_of_steps, spend, task_of
from taugraph.graphs.user import UserTurn, UserView, as_plain_turn, as_seen_by_user

MOST_CALLS_IN_ROW = 10
"""Messages with calls of its own tools that a user may send before it must speak."""

_MOST_DEFERRED_STOPS = 2
_ASKS = re.compile(
    r"\?|\b(?:please (?:confirm|reply|respond|answer|tell|provide|choose|say)|let me know|yes ?(?:/|or) ?no|confirm)\b",
    re.IGNORECASE,
)


async def speak(stage: Stage, state: SimulationState) -> Update:
    """Let the user speak: the next message, calls of its own tools, or the end of the conversation."""
    before = [] if state.get("messages") else messages_before(task_of(stage, state))
    if not before:
        return await _speak(stage, state)
    if isinstance(before[-1], HumanMessage):
        return {"messages": before}
    update = await _speak(stage, {**state, "messages": before})
    return update | {"messages": [*before, *update.get("messages", [])]}


def run_user_tools(stage: Stage, state: SimulationState) -> Update:
    """Run the calls of the user's last message, then deliver the words that came with them."""
    log, held = list(state["user_log"]), state["held"]
    assert held is not None, "the router sends only held turns here"
    called = _message_of(log[-1])
    ran = run_calls(
        stage.user_executor, called, changes_of(stage, state), errors_in_row=state.get("user_errors_in_row", 0)
    )
    log += [_entry(state, "answered", answer) for answer in ran.answers]
    update: Update = {"user_log": log, "held": None, "changes": ran.changes, "user_errors_in_row": ran.errors_in_row}
    limit = stage.protocol.max_tool_errors
    if limit is not None and ran.errors_in_row >= limit:
        message = f"the simulated user made {ran.errors_in_row} calls in a row that were errors"
        return update | ended_by(Failure(kind="user_tool_errors", message=message, actor="user"))
    turn = UserTurn(held["text"], held["stops"])
    return update | (_said(stage, state, turn) if turn.text.strip() or turn.stops else {})


async def _speak(stage: Stage, state: SimulationState) -> Update:
    task = task_of(stage, state)
    view = UserView(
        messages=as_seen_by_user(state.get("messages", []), state.get("user_log", [])),
        scenario=task.scenario,
        key=key_of(state, "user"),
        persona=find_persona(task.persona) if task.persona else None,
        tools=list(stage.user_executor.tools),
    )
    turn = await cross("user", _next_turn(stage, view))
    if isinstance(turn, Failure):
        return ended_by(turn)
    update = spend(state, "user", turn.usage) | add_notes(state, turn.notes)
    state = cast(SimulationState, {**state, **update})
    if turn.message is not None and has_calls(turn.message):
        return update | _called(state, turn)
    if log := _logged(state, turn):
        update["user_log"] = log
    return update | _said(stage, state, turn)


async def _next_turn(stage: Stage, view: UserView) -> UserTurn:
    turn = as_plain_turn(await stage.user.speak(view))
    message = turn.message
    if message is not None and not view.tools:
        message = message.model_copy(update={"tool_calls": [], "invalid_tool_calls": []})
    text = without_thoughts(turn.text)
    if text.strip() == STOP_TOKEN and not stage.protocol.stops_on_token:
        return replace(turn, text="", stops=True, message=message)  # a habit of models that know tau-bench
    return replace(turn, text=text, message=message)


def _called(state: SimulationState, turn: UserTurn) -> Update:
    """Keep a message with calls, and hold its words until they are answered."""
    assert turn.message is not None
    log = _logged(state, replace(turn, message=None)) or list(state.get("user_log", []))
    place = len(state.get("messages", []))
    in_row = sum(entry["kind"] == "called" and entry["at"] == place for entry in log)
    if in_row >= MOST_CALLS_IN_ROW:
        reason = f"the simulated user used its tools {in_row} times without a word"
        return ended_by(Failure(kind="user_calls_without_end", message=reason, actor="user"))
    message = with_ids(turn.message, f"user-call-{place}-{in_row + 1}")
    log.append(_entry(state, "called", message))
    return {"user_log": log, "held": {"text": turn.text, "stops": turn.stops}}


def _logged(state: SimulationState, turn: UserTurn) -> list[dict[str, Any]]:
    """Return the side log with what is new of this turn; empty if nothing is."""
    place = len(state.get("messages", []))
    new = [{**entry, "at": place} for entry in turn.aside]
    message = turn.message
    if message is not None and turn.text.strip() and (isinstance(message.content, list) or message.additional_kwargs):
        new.append(_entry(state, "spoken", message))
    return [*state.get("user_log", []), *new] if new else []


def _entry(state: SimulationState, kind: str, message: AIMessage | ToolMessage) -> dict[str, Any]:
    document = message_to_dict(message)
    document["data"] = {name: value for name, value in document["data"].items() if value not in (None, [], {})}
    return {"at": len(state.get("messages", [])), "kind": kind, "message": document}


def _said(stage: Stage, state: SimulationState, turn: UserTurn) -> Update:
    """Deliver the words of a turn, or end the conversation."""
    messages, turns = state.get("messages", []), count_turns(state)
    speaks, stops = bool(turn.text.strip()), turn.stops or _writes_stop(stage, turn, turns)
    if not speaks and not (stops and turns):
        return ended_by(Failure(kind="empty_reply", message="the simulated user said nothing", actor="user"))
    spoken: Update = {}
    if speaks:
        said = HumanMessage(turn.text, id=next_id(messages, "user"))
        spoken = {"messages": [said], "turns": turns + 1, "stops_deferred_in_row": 0}
    if stops and speaks and _must_defer(stage, state, turns):
        return spoken | _deferred(state)
    if stops:
        return spoken | {"termination": Termination.USER_STOP.value}
    if stage.protocol.max_turns is not None and turns >= stage.protocol.max_turns:
        return {"termination": Termination.MAX_TURNS.value}
    return spoken | out_of_steps(stage, count_steps(state))


def _writes_stop(stage: Stage, turn: UserTurn, turns: int) -> bool:
    """Tell whether the words end the conversation; as published, the opening words never do."""
    return stage.protocol.stops_on_token and turns > 0 and STOP_TOKEN in turn.text


def _must_defer(stage: Stage, state: SimulationState, turns: int) -> bool:
    """Tell whether a stop also answers a question of the agent's, who must then get to act on the answer.

    The opening words always do. A closing "anything else?" is a question too, so stops are deferred at most twice in a
    row.
    """
    limit = stage.protocol.max_turns
    if not stage.protocol.defers_stop or state.get("stops_deferred_in_row", 0) >= _MOST_DEFERRED_STOPS:
        return False
    if out_of_steps(stage, count_steps(state)) or (limit is not None and turns >= limit):
        return False
    last = state["messages"][-1] if turns else None
    return not turns or (isinstance(last, AIMessage) and _ASKS.search(delivered_text(last) or "") is not None)


def _deferred(state: SimulationState) -> Update:
    return {
        **add_notes(state, {"stops_deferred": 1}),
        "stops_deferred_in_row": state.get("stops_deferred_in_row", 0) + 1,
    }


def _message_of(entry: Mapping[str, Any]) -> AIMessage:
    [message] = messages_from_dict([entry["message"]])
    assert isinstance(message, AIMessage), "only messages of the user's model are kept as calls"
    return message
