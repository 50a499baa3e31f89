"""What an agent may offer beside its turns: to be opened and closed, to keep its memory somewhere, and to drop it.

Every one of these is optional; whoever runs trials asks here and need not know which agent has which.
"""

import logging
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import JsonValue

from taugraph.graphs.agent import Agent

_LOG = logging.getLogger("taugraph")


@runtime_checkable
class Openable(Protocol):
    """An agent that is made ready in the event loop in which the trials run, and released there."""

    async def open(self) -> None:
        """Make ready; once is enough.

        Raises:
            TaugraphError: If the agent cannot be had; no trial is worth starting then.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds; it may be opened again."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """An agent with a memory of its own beside the trial's state."""

    def keep_in(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Keep the memory in that saver from now on, and never drop it."""
        ...

    async def forget(self, memory: Mapping[str, JsonValue]) -> None:
        """Drop the memory that a finished trial's last turn left."""
        ...


async def open_agent(agent: Agent) -> None:
    """Make an agent ready, if it asks for it.

    Raises:
        TaugraphError: If it cannot be had.
    """
    if isinstance(agent, Openable):
        await agent.open()


async def close_agent(agent: Agent) -> None:
    """Release what an agent holds; the trials have ended, and none is lost to an agent that cannot let go."""
    if not isinstance(agent, Openable):
        return
    try:
        await agent.aclose()
    except Exception as error:  # noqa: BLE001 - code of someone else's, after the last trial
        _LOG.warning("the agent could not be closed: %s: %s", type(error).__name__, error)


def keep_memory(agent: Agent, saver: BaseCheckpointSaver[Any]) -> None:
    """Have an agent keep its memory in the saver that keeps the trials."""
    if isinstance(agent, Remembering):
        agent.keep_in(saver)


async def forget_memory(agent: Agent, memory: object) -> None:
    """Have an agent drop what it remembers of a trial that has ended."""
    if isinstance(agent, Remembering) and isinstance(memory, Mapping):
        await agent.forget(memory)
