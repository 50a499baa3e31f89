"""Trials with scripted actors, and their CPU time by part of the harness.

Where the parts meet is known: an actor is asked, the executor is called, the virtual database lends a session, a trial
is scored, a record is stored. At these places the process's CPU clock is read; what is outside of them is the graph.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import AIRLINE, CpuShares, replaced

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import load_domain
from taugraph.domains.protocol import STRICT, TAU_BENCH
from taugraph.experiments.plan import identity_of
from taugraph.experiments.play import Player
from taugraph.experiments.recordings import load_recordings
from taugraph.experiments.run import new_experiment
from taugraph.experiments.schedule import Place, in_rounds
from taugraph.experiments.settings import RunSettings
from taugraph.experiments.store import open_store
from taugraph.graphs import nodes
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.agents.recorded import RecordedAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser
from taugraph.graphs.users.recorded import RecordedUser

NODES = {"speak": "user", "act": "agent", "run_tools": "tools", "score": "score"}
"""Function of `graphs/nodes.py` -> node of the graph."""


@dataclass
class Played:
    """What playing the trials showed.

    Attributes:
        trials: How many were played.
        shares: CPU seconds by part of the harness.
        walks: Names of the nodes each trial went through.
        ends: State of each trial as the `score` node got it.
    """

    trials: int
    shares: CpuShares = field(default_factory=lambda: CpuShares(rest="graph"))
    walks: list[list[str]] = field(default_factory=list)
    ends: list[Any] = field(default_factory=list)


def build_scene(data: Path | None, *, quick: bool) -> tuple[Stage, list[Place]]:
    """Return a stage with scripted actors and the trials to play on it.

    Args:
        data: Folder of tau-bench's airline, whose recorded conversations are replayed; `None` to demonstrate our tasks.
        quick: Whether fewer trials will do.
    """
    domain = load_domain(AIRLINE, data)
    if data is None:
        stage = Stage(domain=domain, agent=DemoAgent("demo:0", domain), user=DemoUser(), protocol=STRICT)
        return stage, in_rounds([task.id for task in domain.tasks], 1 if quick else 4)
    recordings = load_recordings(data.parent / "trajectories" / "gpt-4o-airline-trials-0-1.json")
    recordings = [entry for entry in recordings if entry.note is None][: 20 if quick else None]
    agent = RecordedAgent("recorded-agent", {entry.place: entry.agent for entry in recordings})
    user = RecordedUser("recorded-user", {entry.place: entry.user for entry in recordings})
    stage = Stage(domain=domain, agent=agent, user=user, protocol=TAU_BENCH)
    return stage, [entry.place for entry in recordings]


async def play_alone(stage: Stage, places: Sequence[Place], folder: Path) -> Played:
    """Play the trials one after the other and store each, as a run does, its CPU time booked by part."""
    tasks = [stage.domain.task(task_id) for task_id in dict.fromkeys(task_id for task_id, _ in places)]
    for task in tasks:
        stage.goal(task)  # a run works the goals out before its first trial
    trials = max(trial for _, trial in places) + 1
    plan = {"domain": stage.domain.name, "trials": trials, "task_ids": tuple(task.id for task in tasks)}
    identity = identity_of(stage, RunSettings(), tasks)
    player = Player(stage, experiment="cpu")
    await player.play(*places[0], 0)  # first use imports and compiles
    with open_store(folder / "results.db") as store:
        store.create_experiment(new_experiment("cpu", "run", plan, {}, identity, privileged=True))
        played = Played(len(places))
        with _booked(stage, played):
            for place in places:
                played.walks.append([])
                trial = await player.play(*place, 0)
                assert trial.failure is None, trial.failure
                with played.shares.section("store"):
                    await asyncio.to_thread(store.add_trial, "cpu", trial)
            played.shares.total()
    return played


@contextmanager
def _booked(stage: Stage, played: Played) -> Iterator[None]:
    """Read the CPU clock where the parts meet while this holds."""
    with ExitStack() as stack:
        for owner, name in ((stage.agent, "reply"), (stage.user, "speak")):
            stack.enter_context(replaced(owner, name, lambda inner: _actor(inner, played)))
        stack.enter_context(replaced(stage.executor, "execute", lambda inner: _tools(inner, played)))
        stack.enter_context(replaced(stage.executor.database, "run", lambda inner: _database(inner, played)))
        for name in NODES:
            stack.enter_context(replaced(nodes, name, lambda inner: _node(inner, played)))
        yield


def _actor(inner: Any, played: Played) -> Any:
    async def timed(view: Any) -> Any:
        with played.shares.section("actors (scripted, not the harness)"):
            return await inner(view)

    return timed


def _tools(inner: Any, played: Played) -> Any:
    def timed(*arguments: Any) -> Any:
        with played.shares.section("tools"):
            return inner(*arguments)

    return timed


def _database(inner: Any, played: Played) -> Any:
    """Book opening, reading back and rolling back; what the tool does in the session is the tool's."""

    def timed(changes: NetChanges, work: Any) -> Any:
        with played.shares.section("database"):
            return inner(changes, _tools(work, played))

    return timed


def _node(inner: Any, played: Played) -> Any:
    def counted(stage: Stage, state: Any) -> Any:
        played.walks[-1].append(NODES[inner.__name__])
        if inner.__name__ != "score":
            return inner(stage, state)
        played.ends.append(state)
        with played.shares.section("scoring"):
            return inner(stage, state)

    return counted
