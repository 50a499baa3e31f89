"""Playing trials on LangGraph servers: the same graph, the same record, the work done elsewhere.

A trial's thread has the id that a local run would give it, and marks that no other experiment has. So an attempt that
comes again to the same server finds the run that is under way or has ended there, and no trial is paid for twice where
that can be helped. Counted it is once in any case: the store has one place for it.
"""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Self
from uuid import NAMESPACE_URL, uuid5

from langchain_core.messages import messages_from_dict

from taugraph.domains.trial import Failure, Termination, Trial
from taugraph.experiments.play import as_trial
from taugraph.experiments.remote_fleet import PATIENCE_S as FLEET_PATIENCE_S
from taugraph.experiments.remote_fleet import Fleet, NoServerLeft
from taugraph.experiments.remote_server import Broken, Lost, Order, Server
from taugraph.experiments.schedule import Place
from taugraph.experiments.settings import RunSettings
from taugraph.experiments.tables import Experiment
from taugraph.graphs.context import SimulationContext

ATTEMPTS = 5
"""How often a trial is tried when its server is lost."""
TRIAL_PATIENCE_S = 3600.0
"""Seconds after which a run that does not end is given up: the harness bounds every call, so its worker hangs."""


class RemotePlayer:
    """Plays trials on a fleet of servers, any number at a time."""

    def __init__(
        self,
        fleet: Fleet,
        context: SimulationContext,
        *,
        experiment: str = "",
        marks: Mapping[str, Any] | None = None,
        keep_threads: bool = False,
        patience_s: float = TRIAL_PATIENCE_S,
    ) -> None:
        """Prepare to play.

        Args:
            fleet: The servers; closed with the player.
            context: Settings of the run, sent with every trial.
            experiment: Name that the trials' thread ids derive from.
            marks: What tells this experiment from another of the same name.
            keep_threads: Whether the trials' threads stay on the servers.
            patience_s: Seconds after which a run that does not end is given up.
        """
        self._fleet = fleet
        self._context = context.model_dump(mode="json")
        self._experiment = experiment
        self._marks = dict(marks or {})
        self._keeps = keep_threads
        self._patience_s = patience_s
        self._played_on: dict[Place, Server] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._fleet.aclose()

    async def play(self, task_id: str, trial: int, seed: int) -> Trial:
        """Play one trial and return its record; where no server could play it, it is left unscored."""
        started, clock = datetime.now(UTC), time.perf_counter()
        order = self._order(task_id, trial, seed)
        values: dict[str, Any] = {}
        failure = None
        try:
            values = await self._play_somewhere(order)
        except Broken as error:
            failure, values = Failure(kind=error.kind, message=str(error)[:1_000]), error.values
        except NoServerLeft as error:
            failure = Failure(kind="no_server", message=str(error)[:1_000])
        except Exception as error:  # noqa: BLE001 - the trial boundary, as in a local run
            message = f"{type(error).__name__}: {error}"[:1_000]
            failure = Failure(kind="harness", message=message, traceback=traceback.format_exc())
        try:
            _check_place(order, values, failure)
            record = as_trial(_with_messages(values), failure, started_at=started, duration_s=0.0)
            record = self._placed(record)
        except Exception as error:  # noqa: BLE001 - whatever a server sent
            failure = failure or Failure(kind="server_answer", message=_unreadable(error))
            end = Termination.INFRASTRUCTURE
            record = Trial(task_id=task_id, trial=trial, seed=seed, termination=end, failure=failure)
        return _timed(record, started, time.perf_counter() - clock)

    def releasing(self, keep: Callable[[Trial], Awaitable[None]]) -> Callable[[Trial], Awaitable[None]]:
        """Return what stores a trial and then deletes its thread, unless threads are to stay."""

        async def keep_and_release(trial: Trial) -> None:
            await keep(trial)
            await self._release(trial)

        return keep_and_release

    async def _release(self, trial: Trial) -> None:
        server = self._played_on.pop((trial.task_id, trial.trial), None)
        if server is not None and not self._keeps:
            await server.delete(self.thread_id(trial.task_id, trial.trial))

    def thread_id(self, task_id: str, trial: int) -> str:
        """Return the id of a trial's thread, which is that of a local run."""
        return str(uuid5(NAMESPACE_URL, f"taugraph/{self._experiment}/{task_id}/{trial}"))

    def _placed(self, record: Trial) -> Trial:
        """Say on which server a provider failed: its environment has the key, the quota and the address."""
        server = self._played_on.get((record.task_id, record.trial))
        if server is None or record.failure is None or record.termination is not Termination.INFRASTRUCTURE:
            return record
        failure = record.failure.model_copy(update={"message": f"{record.failure.message} (on {server.url})"})
        return record.model_copy(update={"failure": failure})

    def _order(self, task_id: str, trial: int, seed: int) -> Order:
        marks = {"experiment": self._experiment, "task_id": task_id, "trial": trial, "seed": seed, **self._marks}
        return Order(self.thread_id(task_id, trial), task_id, trial, seed, self._context, marks)

    async def _play_somewhere(self, order: Order) -> dict[str, Any]:
        """Return the final state from the first server that gets to the end."""
        lost: list[Server] = []
        reason = ""
        for _ in range(ATTEMPTS):
            server = await self._fleet.pick(avoid=lost[-1] if lost else None)
            try:
                with _counted(server):
                    values = await self._play_on(server, order)
            except Lost as error:
                lost.append(server)
                reason = str(error)
                if error.is_down:
                    self._fleet.lose(server, reason)
                else:
                    await asyncio.sleep(self._fleet.pause_s * 2 ** (len(lost) - 1))
                continue
            server.failures = 0
            self._played_on[order.task_id, order.trial] = server
            for other in {one for one in lost if one is not server}:
                self._fleet.remove_later(other, order.thread_id)
            return values
        raise Broken("server_lost", f"given up after {ATTEMPTS} attempts; the last: {reason}")

    async def _play_on(self, server: Server, order: Order) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._patience_s):
                return await server.finish(order.thread_id, await server.start(order))
        except TimeoutError as error:
            self._fleet.remove_later(server, order.thread_id, keep=self._keeps)
            raise Broken("server_timeout", f"no end after {self._patience_s:g} s on {server.url}") from error
        except asyncio.CancelledError:
            self._fleet.remove_later(server, order.thread_id, keep=self._keeps)
            raise


def open_player(
    settings: RunSettings, context: SimulationContext, experiment: Experiment, places: list[Place]
) -> RemotePlayer:
    """Return the player of an experiment; call it inside the event loop in which the trials run.

    Args:
        settings: Name the servers, and whether threads stay there.
        context: What is sent with every trial.
        experiment: The stored experiment.
        places: What is still to be played; emptied when no server is left, which ends the schedule.
    """
    fleet = Fleet([Server(url) for url in settings.server], patience_s=FLEET_PATIENCE_S, on_gone=places.clear)
    marks = {"fingerprint": experiment.fingerprint, "created_at": experiment.created_at.isoformat()}
    return RemotePlayer(fleet, context, experiment=experiment.name, marks=marks, keep_threads=settings.keep_threads)


def _check_place(order: Order, values: Mapping[str, Any], failure: Failure | None) -> None:
    """Refuse the state of another trial."""
    asked = (order.task_id, order.trial, order.seed)
    came = tuple(values.get(name) for name in ("task_id", "trial", "seed"))
    if came != asked and failure is None:
        raise ValueError(f"asked for task, trial and seed {asked}, and got those of {came}")


def _with_messages(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state with its messages as LangChain's objects; a server sends them as flat dictionaries."""
    flat = values.get("messages", [])
    return {**values, "messages": messages_from_dict([{"type": message["type"], "data": message} for message in flat])}


def _timed(record: Trial, started: datetime, waited_s: float) -> Trial:
    """Take the time of a trial from its own timeline: ours has the server's queue in it."""
    if not record.timeline:
        return record.model_copy(update={"started_at": started, "duration_s": waited_s})
    begun, ended = record.timeline[0].started, record.timeline[-1].ended
    return record.model_copy(update={"started_at": datetime.fromtimestamp(begun, UTC), "duration_s": ended - begun})


def _unreadable(error: Exception) -> str:
    return f"the server's state of the trial cannot be read: {type(error).__name__}: {' '.join(str(error).split())}"[
        :1_000
    ]


@contextmanager
def _counted(server: Server) -> Iterator[None]:
    server.in_flight += 1
    try:
        yield
    finally:
        server.in_flight -= 1
