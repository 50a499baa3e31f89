"""Several servers: who gets the next trial, who is left out for a while, and when there is nobody left."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from taugraph.experiments.remote_server import Server

PATIENCE_S = 60.0
"""Seconds without any server after which the run ends."""
PAUSE_S = 1.0
"""Seconds until a lost server is asked again."""

_LOG = logging.getLogger("taugraph")
_LONGEST_PAUSE_S = 30.0
_LAST_WORDS_S = 10.0


class NoServerLeft(Exception):
    """No server has answered for as long as we are ready to wait."""


class Fleet:
    """The servers of a run.

    Attributes:
        servers: All of them.
        pause_s: Seconds until a lost server is asked again the first time.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        *,
        patience_s: float = PATIENCE_S,
        pause_s: float = PAUSE_S,
        on_gone: Callable[[], None] = lambda: None,
    ) -> None:
        """Take all of them as well until one is lost.

        Args:
            servers: At least one.
            patience_s: Seconds without any server after which the run ends.
            pause_s: Seconds until a lost server is asked again the first time; doubled from then on.
            on_gone: Told once when that has happened.
        """
        self.servers = list(servers)
        self._patience_s = patience_s
        self.pause_s = pause_s
        self._on_gone = on_gone
        self._is_gone = False
        self._back = asyncio.Event()
        self._returning: set[asyncio.Task[None]] = set()
        self._tidying: set[asyncio.Task[None]] = set()

    async def pick(self, avoid: Server | None = None) -> Server:
        """Return the server with the least in flight, and wait for one if all are out.

        Args:
            avoid: Taken only if there is no other.

        Raises:
            NoServerLeft: If none came back in time.
        """
        while not (up := [server for server in self.servers if not server.is_out]):
            try:
                async with asyncio.timeout(0 if self._is_gone else self._patience_s):
                    await self._back.wait()
            except TimeoutError:
                self._give_up()
                raise NoServerLeft(f"none of {', '.join(server.url for server in self.servers)} answers") from None
        return min(up, key=lambda server: (server is avoid, server.in_flight))

    def lose(self, server: Server, reason: str) -> None:
        """Give a server no trials until it says that it is well; the pause grows with its failures in a row."""
        if server.is_out:
            return
        server.is_out = True
        server.failures += 1
        _LOG.warning("a server is left out until it answers again: %s", reason)
        if all(other.is_out for other in self.servers):
            self._back.clear()
        _keep(self._returning, self._return(server))

    def remove_later(self, server: Server, thread_id: str, *, keep: bool = False) -> None:
        """Cancel and delete a thread beside the run, once the server is back if it is out."""
        if server.is_out:
            server.orphans.add(thread_id)
        else:
            _keep(self._tidying, server.remove(thread_id, keep=keep))

    async def aclose(self) -> None:
        """Let what is to be removed be removed, within limits, and close the connections."""
        for task in self._returning:
            task.cancel()
        for server in self.servers:
            if not server.is_out:
                _keep(self._tidying, self._tidy(server))
        if self._tidying:
            await asyncio.wait(self._tidying, timeout=_LAST_WORDS_S)
        for task in [*self._returning, *self._tidying]:
            task.cancel()
        await asyncio.gather(*self._returning, *self._tidying, return_exceptions=True)
        await asyncio.gather(*(server.aclose() for server in self.servers))

    async def _return(self, server: Server) -> None:
        pause = min(_LONGEST_PAUSE_S, self.pause_s * 2 ** (server.failures - 1))
        while True:
            await asyncio.sleep(pause)
            if await server.is_alive():
                break
            pause = min(_LONGEST_PAUSE_S, pause * 2)
        server.is_out = False
        self._back.set()
        _LOG.warning("%s answers again", server.url)
        await self._tidy(server)

    async def _tidy(self, server: Server) -> None:
        while server.orphans:
            await server.remove(server.orphans.pop())

    def _give_up(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            advice = "what was not played stays missing; resume it with the --server that is back, or another"
            _LOG.warning("no server has answered for %g s: %s", self._patience_s, advice)
            self._on_gone()


def _keep(tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
