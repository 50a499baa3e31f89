"""What the nodes have in common: reading the task off the state, and small updates of it."""

import time
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from taugraph.domains.changes import NetChanges
from taugraph.domains.task import Task
from taugraph.domains.trial import Failure, Termination, Usage
from taugraph.graphs.agent import TrialKey
from taugraph.graphs.boundary import termination_of
from taugraph.graphs.seeds import actor_seed
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationState
from taugraph.graphs.usage import add_usage

Update = dict[str, Any]
"""Channels of the state with their new values."""


def task_of(stage: Stage, state: SimulationState) -> Task:
    """Return the task being played."""
    return stage.domain.task(state.get("task_id", ""))


def changes_of(stage: Stage, state: SimulationState) -> NetChanges:
    """Return the net changes so far: those that the task begins with, if nothing has happened yet."""
    return state["changes"] if "changes" in state else stage.start(task_of(stage, state))


def key_of(state: SimulationState, actor: str) -> TrialKey:
    """Return which attempt this is, with the actor's own seed."""
    trial, seed = state.get("trial", 0), state.get("seed", 0)
    return TrialKey(state["task_id"], trial, actor_seed(seed, state["task_id"], trial, actor))


def spend(state: SimulationState, actor: str, spent: Usage) -> Update:
    """Add to what an actor has used."""
    before = Usage.model_validate(state.get("usage", {}).get(actor, {}))
    return {"usage": {**state.get("usage", {}), actor: add_usage(before, spent).model_dump()}}


def add_notes(state: SimulationState, new: Mapping[str, JsonValue]) -> Update:
    """Join notes with the trial's: numbers add up, lists grow by what is new, anything else is replaced."""
    notes: dict[str, Any] = dict(state.get("notes", {}))
    for name, value in new.items():
        before = notes.get(name)
        if isinstance(before, int | float) and isinstance(value, int | float):
            notes[name] = before + value
        elif isinstance(before, list) and isinstance(value, list):
            notes[name] = [*before, *(item for item in value if item not in before)]
        else:
            notes[name] = value
    return {"notes": notes}


def ended_by(failure: Failure) -> Update:
    """End the trial by a failure."""
    return {"termination": termination_of(failure).value, "failure": failure.model_dump(mode="json")}


def out_of_steps(stage: Stage, steps: int) -> Update:
    """End the trial if the agent has acted as often as it may."""
    limit = stage.protocol.max_steps
    return {"termination": Termination.MAX_STEPS.value} if limit is not None and steps >= limit else {}


def timed(node: str, started: float, state: SimulationState, update: Update) -> Update:
    """Add to an update when its node ran: seconds of the epoch, and the messages there were after it."""
    place = len(state.get("messages", [])) + len(update.get("messages", []))
    step = {"node": node, "started": started, "ended": time.time(), "messages": place}
    return {**update, "timeline": [*state.get("timeline", []), step]}
