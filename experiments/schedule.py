"""The schedule: trials side by side, each handed over the moment it ends.

Places are played trial by trial across all tasks, so that a run that is cut short has about as many trials
of each task.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from taugraph.domains.trial import Trial

Place = tuple[str, int]
"""(task id, index of the trial)."""

_HOPELESS = frozenset({"authentication", "unknown_model"})
"""Failures that every further trial would meet as well."""


class Interrupt:
    """Whether the run was asked to end: the first request lets running trials finish, the second cuts them off."""

    def __init__(self) -> None:
        self.requests = 0
        self._tasks: list[asyncio.Task[None]] = []

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as requests while this holds."""
        loop = asyncio.get_running_loop()
        kinds = (signal.SIGINT, signal.SIGTERM)
        for kind in kinds:
            loop.add_signal_handler(kind, self.request)
        try:
            yield
        finally:
            for kind in kinds:
                loop.remove_signal_handler(kind)

    def request(self) -> None:
        """Ask the run to end."""
        self.requests += 1
        if self.requests > 1:
            for task in self._tasks:
                task.cancel()

    def watch(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Name the workers that a second request cuts off."""
        self._tasks = list(tasks)


async def run_schedule(
    places: Sequence[Place],
    play: Callable[[str, int], Awaitable[Trial]],
    keep: Callable[[Trial], Awaitable[None]],
    *,
    concurrency: int,
    interrupt: Interrupt | None = None,
) -> str | None:
    """Play every place and keep every trial.

    Args:
        places: What to play.
        play: Plays one trial; does not raise for what happens in it.
        keep: Stores a finished trial; an exception ends the run.
        concurrency: Trials at a time, at least 1.
        interrupt: May ask the run to end early.

    Returns:
        Why it ended early; `None` if everything was played.
    """
    interrupt = interrupt or Interrupt()
    waiting = iter(places)
    hopeless: list[str] = []

    async def work() -> None:
        for task_id, trial in waiting:
            record = await play(task_id, trial)
            await keep(record)
            if record.failure is not None and record.failure.kind in _HOPELESS:
                hopeless.append(record.failure.message)
            if hopeless or interrupt.requests:
                return

    workers = [asyncio.create_task(work()) for _ in range(min(concurrency, len(places)))]
    interrupt.watch(workers)
    try:
        await asyncio.gather(*workers)
    except asyncio.CancelledError:
        if not interrupt.requests:
            raise
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if hopeless:
        return hopeless[0]
    return "interrupted" if interrupt.requests else None


def in_rounds(task_ids: Sequence[str], trials: int) -> list[Place]:
    """Return every place, one round of all tasks after the other."""
    return [(task_id, trial) for trial in range(trials) for task_id in task_ids]
