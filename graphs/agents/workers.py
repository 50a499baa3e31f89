"""Worker threads that nobody waits for: code that hangs in one is left behind, and the process can still end.

asyncio's own wait for theirs, at the end of the loop and again at the end of the process, and there are only a few of
them: some hanging turns of an agent would stop every other trial.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any


class Workers(ThreadPoolExecutor):
    """A pool of daemon threads; a ThreadPoolExecutor only because asyncio insists on one."""

    def __init__(self) -> None:
        """Start with no thread; one is started whenever all others are busy, or hang."""
        super().__init__()
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._free = threading.Semaphore(0)
        self._count = 0
        self._starting = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a thread call the function."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits the future
                future.set_exception(error)
            else:
                future.set_result(result)

        self._waiting.put(work)
        if not self._free.acquire(blocking=False):
            self._start_another()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let every thread end when it is free; wait for none."""
        with self._starting:
            for _ in range(self._count):
                self._waiting.put(None)

    def _start_another(self) -> None:
        with self._starting:
            self._count += 1
            threading.Thread(target=self._run, name=f"taugraph-worker-{self._count}", daemon=True).start()

    def _run(self) -> None:
        while (work := self._waiting.get()) is not None:
            work()
            del work
            self._free.release()


def use_workers() -> None:
    """Make the running event loop use such workers from now on."""
    asyncio.get_running_loop().set_default_executor(Workers())
