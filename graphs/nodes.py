"""The four nodes of the simulation: `user`, `agent`, `tools`, `score`.

Each returns a state update and never raises for what an actor did.
"""

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.trial import Failure, Termination, Usage
from taugraph.evaluators.reward import reward_of, score_trial
from taugraph.graphs.agent import AgentView, TrialKey
from taugraph.graphs.boundary import cross, termination_of
from taugraph.graphs.delivery import delivered_text, has_calls
from taugraph.graphs.seeds import actor_seed
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState, delivered_texts
from taugraph.graphs.user import UserTurn, UserView, as_seen_by_user
from taugraph.tools.definition import ToolKind

Update = dict[str, Any]
"""Channels of the state with their new values."""

_NUDGE = "(Your last message was empty. Reply to the customer, or call a tool.)"
_MOST_DEFERRED_STOPS = 2


async def speak(stage: Stage, state: SimulationState) -> Update:
    """Let the user speak: the next message, or the end of the conversation."""
    view = UserView(
        messages=as_seen_by_user(state.get("messages", [])),
        scenario=stage.domain.task(state["task_id"]).scenario,
        key=_key(state, "user"),
    )
    turn = await cross("user", stage.user.speak(view))
    if isinstance(turn, Failure):
        return _failed(turn)
    usage = _usage(state, "user", turn.usage)
    stops = turn.stops or (stage.protocol.stops_on_token and STOP_TOKEN in turn.text)
    if not turn.text.strip() and not stops:
        return usage | _failed(Failure(kind="empty_reply", message="the simulated user said nothing", actor="user"))
    turns = state.get("turns", 0)
    spoken = {"messages": [HumanMessage(turn.text, id=f"user-{turns + 1}")], "turns": turns + 1}
    if stops and _must_defer(stage, state, turn):
        notes = {**state.get("notes", {})}
        notes["stops_deferred"] = notes.get("stops_deferred", 0) + 1
        notes["stops_deferred_in_row"] = notes.get("stops_deferred_in_row", 0) + 1
        return usage | spoken | {"notes": notes}
    if stops:
        return usage | (spoken if turn.text.strip() else {}) | {"termination": Termination.USER_STOP.value}
    if stage.protocol.max_turns is not None and turns >= stage.protocol.max_turns:
        return usage | {"termination": Termination.MAX_TURNS.value}
    ended = _out_of_steps(stage, state.get("steps", 0))
    return usage | spoken | ended | {"notes": {**state.get("notes", {}), "stops_deferred_in_row": 0}}


def _must_defer(stage: Stage, state: SimulationState, turn: UserTurn) -> bool:
    """Tell whether a stop also answers a question of the agent's, who must then get to act on the answer.

    A closing "anything else?" is a question too, so stops are deferred at most twice in a row.
    """
    if not stage.protocol.defers_stop or not turn.text.strip():
        return False
    if state.get("notes", {}).get("stops_deferred_in_row", 0) >= _MOST_DEFERRED_STOPS:
        return False
    if _out_of_steps(stage, state.get("steps", 0)):
        return False
    if stage.protocol.max_turns is not None and state.get("turns", 0) >= stage.protocol.max_turns:
        return False
    last = state["messages"][-1] if state.get("messages") else None
    return isinstance(last, AIMessage) and "?" in (delivered_text(last) or "")


async def act(stage: Stage, state: SimulationState) -> Update:
    """Let the agent act once: speak, or call tools."""
    view = AgentView(
        messages=state["messages"],
        policy=stage.domain.policy,
        tools=stage.executor.tools,
        key=_key(state, "agent"),
    )
    reply = await cross("agent", stage.agent.reply(view))
    notes = dict(state.get("notes", {}))
    usage = Usage()
    if isinstance(reply, AIMessage) and _is_empty(reply):
        usage = _add(usage, _usage_of(reply))
        notes["nudges"] = notes.get("nudges", 0) + 1
        nudged = AgentView([*view.messages, HumanMessage(_NUDGE)], view.policy, view.tools, view.key)
        reply = await cross("agent", stage.agent.reply(nudged))
    if isinstance(reply, Failure):
        return _usage(state, "agent", usage) | {"notes": notes} | _failed(reply)
    spent = _usage(state, "agent", _add(usage, _usage_of(reply)))
    if not isinstance(reply, AIMessage):
        message = f"the agent returned {type(reply).__name__}, wanted an AIMessage"
        return spent | {"notes": notes} | _failed(Failure(kind="agent_raised", message=message, actor="agent"))
    if _is_empty(reply):
        failure = Failure(kind="empty_reply", message="the agent twice answered with nothing", actor="agent")
        return spent | {"notes": notes} | _failed(failure)
    steps = state.get("steps", 0) + 1
    tidy = _tidied(reply, steps, first_call_only=stage.protocol.first_tool_call_only)
    return spent | {"notes": notes, "messages": [tidy], "steps": steps}


def run_tools(stage: Stage, state: SimulationState) -> Update:
    """Run the calls of the agent's last message in order, each in a transaction of its own."""
    message = state["messages"][-1]
    assert isinstance(message, AIMessage), "the router sends only agent messages here"
    changes = state.get("changes", {})
    errors, in_row = state.get("tool_errors", 0), state.get("tool_errors_in_row", 0)
    answers: list[ToolMessage] = []
    handed_off = False
    for call in [*message.tool_calls, *message.invalid_tool_calls]:
        name = str(call["name"] or "")
        answer = stage.executor.execute(name, call["args"] if call["args"] is not None else "", changes)
        changes = answer.changes
        errors, in_row = (errors + 1, in_row + 1) if answer.is_error else (errors, 0)
        handed_off = handed_off or stage.executor.kind(name) is ToolKind.HANDOFF
        answers.append(
            ToolMessage(
                answer.text,
                name=name,
                tool_call_id=call["id"],
                status="error" if answer.is_error else "success",
                id=f"tool-{state['steps']}-{len(answers) + 1}",
            )
        )
    update: Update = {"messages": answers, "changes": changes, "tool_errors": errors, "tool_errors_in_row": in_row}
    return update | _end_after_tools(stage, state, in_row, handed_off)


def _end_after_tools(stage: Stage, state: SimulationState, in_row: int, handed_off: bool) -> Update:
    limit = stage.protocol.max_tool_errors
    if handed_off and stage.protocol.handoff_ends_trial:
        return {"termination": Termination.TRANSFER.value}
    if limit is not None and in_row >= limit:
        return {"termination": Termination.TOO_MANY_TOOL_ERRORS.value}
    return _out_of_steps(stage, state["steps"])


def score(stage: Stage, state: SimulationState) -> Update:
    """Compute every deterministic score and the reward, however the trial ended."""
    termination = Termination(state["termination"])
    task = stage.domain.task(state["task_id"])
    scores = score_trial(
        task,
        stage.goal(task).changes,
        state.get("changes", {}),
        delivered_texts(state),
        stage.protocol,
        stage.domain.comparison,
    )
    return {
        "scores": [entry.model_dump(mode="json") for entry in scores],
        "reward": reward_of(scores, termination),
    }


def _out_of_steps(stage: Stage, steps: int) -> Update:
    limit = stage.protocol.max_steps
    return {"termination": Termination.MAX_STEPS.value} if limit is not None and steps >= limit else {}


def _failed(failure: Failure) -> Update:
    return {"termination": termination_of(failure).value, "failure": failure.model_dump(mode="json")}


def _key(state: SimulationState, actor: str) -> TrialKey:
    trial, seed = state.get("trial", 0), state.get("seed", 0)
    return TrialKey(state["task_id"], trial, actor_seed(seed, state["task_id"], trial, actor))


def _is_empty(message: AIMessage) -> bool:
    return not has_calls(message) and not delivered_text(message)


def _tidied(message: AIMessage, step: int, *, first_call_only: bool) -> AIMessage:
    """Give the message an id of its own and every call an id, and drop further calls where the protocol does."""
    calls, unreadable = list(message.tool_calls), list(message.invalid_tool_calls)
    if first_call_only:
        calls, unreadable = calls[:1], unreadable[: 1 - len(calls[:1])]
    for number, call in enumerate([*calls, *unreadable], 1):
        if not call["id"]:
            call["id"] = f"call-{step}-{number}"
    extra = {key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"}
    return message.model_copy(
        update={
            "id": f"agent-{step}",
            "tool_calls": calls,
            "invalid_tool_calls": unreadable,
            "additional_kwargs": extra,
        }
    )


def _usage_of(message: object) -> Usage:
    metadata = message.usage_metadata if isinstance(message, AIMessage) else None
    if metadata is None:
        return Usage(calls=1, uncounted_calls=1)
    return Usage(calls=1, input_tokens=metadata["input_tokens"], output_tokens=metadata["output_tokens"])


def _add(first: Usage, second: Usage) -> Usage:
    return Usage(**{name: getattr(first, name) + getattr(second, name) for name in Usage.model_fields})


def _usage(state: SimulationState, actor: str, spent: Usage) -> Update:
    before = Usage.model_validate(state.get("usage", {}).get(actor, {}))
    return {"usage": {**state.get("usage", {}), actor: _add(before, spent).model_dump()}}
