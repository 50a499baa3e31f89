"""The four nodes of the simulation: `user`, `agent`, `tools`, `score`.

Each returns a state update and never raises for what an actor did.
"""

import re
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from taugraph.domains.changes import NetChanges
from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.task import Task
from taugraph.domains.trial import Failure, Termination, Usage
from taugraph.evaluators.policy import policy_scores
from taugraph.evaluators.reward import Played, reward_of, score_trial
from taugraph.graphs.agent import AgentView, TrialKey
from taugraph.graphs.beginning import messages_before
from taugraph.graphs.boundary import cross, termination_of
from taugraph.graphs.delivery import delivered_text, has_calls, without_thoughts
from taugraph.graphs.seeds import actor_seed
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState, count_steps, count_turns, delivered_texts, successful_calls
from taugraph.graphs.transcript import first_call_only, next_id, plain_reply, plain_text, with_ids
from taugraph.graphs.usage import add_usage, usage_of
from taugraph.graphs.user import UserTurn, UserView, as_seen_by_user
from taugraph.graphs.watch import PolicyWatch
from taugraph.tools.definition import ToolKind

Update = dict[str, Any]
"""Channels of the state with their new values."""

_NUDGE = "(Your last message was empty. Reply to the customer, or call a tool.)"
_MOST_DEFERRED_STOPS = 2
_ASKS = re.compile(
    r"\?|\b(?:please (?:confirm|reply|respond|answer|tell|provide|choose|say)|let me know|yes ?(?:/|or) ?no|confirm)\b",
    re.IGNORECASE,
)


async def speak(stage: Stage, state: SimulationState) -> Update:
    """Let the user speak: the next message, or the end of the conversation."""
    before = [] if state.get("messages") else messages_before(_task(stage, state))
    if not before:
        return await _speak(stage, state)
    if isinstance(before[-1], HumanMessage):
        return {"messages": before}
    update = await _speak(stage, {**state, "messages": before})
    return update | {"messages": [*before, *update.get("messages", [])]}


async def _speak(stage: Stage, state: SimulationState) -> Update:
    messages, turns = state.get("messages", []), count_turns(state)
    view = UserView(messages=as_seen_by_user(messages), scenario=_task(stage, state).scenario, key=_key(state, "user"))
    turn = await cross("user", _next_turn(stage, view))
    if isinstance(turn, Failure):
        return _failed(turn)
    usage = _usage(state, "user", turn.usage)
    speaks, stops = bool(turn.text.strip()), turn.stops or _writes_stop(stage, turn, turns)
    if not speaks and not (stops and turns):
        return usage | _failed(Failure(kind="empty_reply", message="the simulated user said nothing", actor="user"))
    spoken: Update = {}
    if speaks:
        said = HumanMessage(turn.text, id=next_id(messages, "user"))
        spoken = {"messages": [said], "turns": turns + 1, "stops_deferred_in_row": 0}
    if stops and speaks and _must_defer(stage, state, turns):
        return usage | spoken | _deferred(state)
    if stops:
        return usage | spoken | {"termination": Termination.USER_STOP.value}
    if stage.protocol.max_turns is not None and turns >= stage.protocol.max_turns:
        return usage | {"termination": Termination.MAX_TURNS.value}
    return usage | spoken | _out_of_steps(stage, count_steps(state))


async def _next_turn(stage: Stage, view: UserView) -> UserTurn:
    turn = await stage.user.speak(view)
    if not isinstance(turn, UserTurn) or not isinstance(turn.text, str):
        raise TypeError(f"the simulated user returned {type(turn).__name__}, wanted a UserTurn with text")
    return replace(turn, text=plain_text(without_thoughts(turn.text)))


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
    if _out_of_steps(stage, count_steps(state)) or (limit is not None and turns >= limit):
        return False
    last = state["messages"][-1] if turns else None
    return not turns or (isinstance(last, AIMessage) and _ASKS.search(delivered_text(last) or "") is not None)


def _deferred(state: SimulationState) -> Update:
    notes = state.get("notes", {})
    return {
        "notes": notes | {"stops_deferred": notes.get("stops_deferred", 0) + 1},
        "stops_deferred_in_row": state.get("stops_deferred_in_row", 0) + 1,
    }


async def act(stage: Stage, state: SimulationState) -> Update:
    """Let the agent act once: speak, or call tools."""
    # An agent may do what it likes with its view: the transcript and the tools are not its own.
    view = AgentView(
        messages=_own_copies(state),
        policy=stage.domain.policy,
        tools=list(stage.executor.tools),
        key=_key(state, "agent"),
    )
    notes, spent = state.get("notes", {}), Usage()
    reply = await cross("agent", _next_reply(stage, view))
    if isinstance(reply, AIMessage) and _is_empty(reply):
        notes, spent = notes | {"nudges": notes.get("nudges", 0) + 1}, usage_of(reply)
        again = [*_own_copies(state), HumanMessage(_NUDGE)]
        reply = await cross("agent", _next_reply(stage, replace(view, messages=again)))
    if isinstance(reply, AIMessage):
        spent = add_usage(spent, usage_of(reply))
        if _is_empty(reply):
            reply = Failure(kind="empty_reply", message="the agent twice answered with nothing", actor="agent")
    update = _usage(state, "agent", spent) | {"notes": notes}
    if isinstance(reply, Failure):
        return update | _failed(reply)
    said = with_ids(reply, next_id(state["messages"], "agent"))
    return update | {"messages": [said], "steps": count_steps(state) + 1}


def _own_copies(state: SimulationState) -> list[AnyMessage]:
    return [message.model_copy(deep=True) for message in state["messages"]]


async def _next_reply(stage: Stage, view: AgentView) -> AIMessage:
    reply = plain_reply(await stage.agent.reply(view))
    return first_call_only(reply) if stage.protocol.first_tool_call_only else reply


def run_tools(stage: Stage, state: SimulationState) -> Update:
    """Run the calls of the agent's last message in order, each in a transaction of its own."""
    message = state["messages"][-1]
    assert isinstance(message, AIMessage), "the router sends only agent messages here"
    changes = _changes(stage, state)
    errors, in_row = state.get("tool_errors", 0), state.get("tool_errors_in_row", 0)
    answers: list[ToolMessage] = []
    handed_off = False
    watch = _policy_watch(stage, state)
    for call in [*message.tool_calls, *message.invalid_tool_calls]:
        name = str(call["name"] or "")
        arguments = call["args"] if call["args"] is not None else ""
        eye = watch.of_call(name, stage.executor.kind(name), answers) if watch else None
        answer = stage.executor.execute(name, arguments, changes, eye)
        changes = answer.changes
        errors, in_row = (errors + 1, in_row + 1) if answer.is_error else (errors, 0)
        handed_off = handed_off or stage.executor.kind(name) is ToolKind.HANDOFF
        answers.append(
            ToolMessage(
                answer.text,
                name=name,
                tool_call_id=call["id"] or "",
                status="error" if answer.is_error else "success",
                id=next_id([*state["messages"], *answers], "tool"),
            )
        )
    update: Update = {"messages": answers, "changes": changes, "tool_errors": errors, "tool_errors_in_row": in_row}
    return update | _policy_so_far(state, watch) | _end_after_tools(stage, state, in_row, handed_off)


def _policy_watch(stage: Stage, state: SimulationState) -> PolicyWatch | None:
    if not stage.protocol.checks_policy or not stage.domain.rules:
        return None
    return PolicyWatch(stage.domain.rules, _task(stage, state), state["messages"])


def _policy_so_far(state: SimulationState, watch: PolicyWatch | None) -> Update:
    if watch is None:
        return {}
    update: Update = {"violations": [*state.get("violations", []), *watch.violations]}
    if watch.errors:
        notes = state.get("notes", {})
        update["notes"] = {**notes, "rule_errors": [*notes.get("rule_errors", []), *watch.errors]}
    return update


def _end_after_tools(stage: Stage, state: SimulationState, in_row: int, handed_off: bool) -> Update:
    limit = stage.protocol.max_tool_errors
    if handed_off and stage.protocol.handoff_ends_trial:
        return {"termination": Termination.TRANSFER.value}
    if limit is not None and in_row >= limit:
        return {"termination": Termination.TOO_MANY_TOOL_ERRORS.value}
    return _out_of_steps(stage, count_steps(state))


def score(stage: Stage, state: SimulationState) -> Update:
    """Compute every deterministic score and the reward, however the trial ended."""
    termination = Termination(state["termination"])
    task = _task(stage, state)
    scores = score_trial(
        task,
        stage.goals(task),
        Played(_changes(stage, state), delivered_texts(state), successful_calls(state)),
        stage.protocol,
        stage.domain.comparison,
    )
    if stage.protocol.checks_policy:
        errors = state.get("notes", {}).get("rule_errors", [])
        scores += policy_scores(task, state.get("violations", []), stage.domain.rules, errors)
    return {
        "scores": [entry.model_dump(mode="json") for entry in scores],
        "reward": reward_of(scores, termination),
    }


def _out_of_steps(stage: Stage, steps: int) -> Update:
    limit = stage.protocol.max_steps
    return {"termination": Termination.MAX_STEPS.value} if limit is not None and steps >= limit else {}


def _failed(failure: Failure) -> Update:
    return {"termination": termination_of(failure).value, "failure": failure.model_dump(mode="json")}


def _changes(stage: Stage, state: SimulationState) -> NetChanges:
    return state["changes"] if "changes" in state else stage.start(_task(stage, state))


def _task(stage: Stage, state: SimulationState) -> Task:
    return stage.domain.task(state.get("task_id", ""))


def _key(state: SimulationState, actor: str) -> TrialKey:
    trial, seed = state.get("trial", 0), state.get("seed", 0)
    return TrialKey(state["task_id"], trial, actor_seed(seed, state["task_id"], trial, actor))


def _is_empty(message: AIMessage) -> bool:
    return not has_calls(message) and not delivered_text(message)


def _usage(state: SimulationState, actor: str, spent: Usage) -> Update:
    before = Usage.model_validate(state.get("usage", {}).get(actor, {}))
    return {"usage": {**state.get("usage", {}), actor: add_usage(before, spent).model_dump()}}
