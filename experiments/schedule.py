"""The schedule: trials side by side, each handed over the moment it ends.

Places are played trial by trial across all tasks, so that a run that is cut short has about as many trials
of each task.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from taugraph.domains.trial import Failure, Trial

_LOG = logging.getLogger("taugraph")

Place = tuple[str, int]
"""(task id, index of the trial)."""

_HOPELESS = {
    "authentication": "give a valid key in the environment or in --{actor}-options, then resume",
    "quota": "top up the provider's account, then resume",
    "unknown_model": "start a new run with the right --{actor} and base_url",
}
"""What to do about failures that every further trial would meet as well."""


class Interrupt:
    """Whether the run was asked to end: the first request lets running trials finish, the second cuts them off."""

    def __init__(self) -> None:
        self.requests = 0
        self._tasks: list[asyncio.Task[None]] = []

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as requests while this holds, where the platform and the thread allow it."""
        loop, before = asyncio.get_running_loop(), {}
        kinds = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
        try:
            for kind in kinds:
                handler = signal.getsignal(kind)
                try:
                    loop.add_signal_handler(kind, self.request)
                except NotImplementedError:  # Windows: there Ctrl-C ends the run at once, as any program
                    break
                before[kind] = handler
            yield
        finally:
            for kind, handler in before.items():
                loop.remove_signal_handler(kind)
                signal.signal(kind, handler or signal.SIG_DFL)

    def request(self) -> None:
        """Ask the run to end."""
        self.requests += 1
        if self.requests == 1:
            _LOG.warning("finishing the trials that are running; interrupt again to cut them off")
            return
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
        while not (hopeless or interrupt.requests) and (place := next(waiting, None)) is not None:
            record = await play(*place)
            await keep(record)
            if record.failure is not None and record.failure.kind in _HOPELESS:
                hopeless.append(_advise(record.failure))

    workers = [asyncio.create_task(work()) for _ in range(min(concurrency, len(places)))]
    interrupt.watch(workers)
    try:
        await asyncio.gather(*workers)
    except asyncio.CancelledError:
        if _is_cancelled_from_outside():
            raise
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if hopeless:
        return hopeless[0]
    return "interrupted" if interrupt.requests else None


def _is_cancelled_from_outside() -> bool:
    """Tell whether the task we run in was cancelled, rather than a worker it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _advise(failure: Failure) -> str:
    advice = _HOPELESS[failure.kind].format(actor=failure.actor)
    return f"stopped, because every trial would meet this: {failure.message}; {advice}"


def in_rounds(task_ids: Sequence[str], trials: int) -> list[Place]:
    """Return every place, one round of all tasks after the other."""
    return [(task_id, trial) for trial in range(trials) for task_id in task_ids]
