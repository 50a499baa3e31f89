"""An agent that is code of someone's own, whatever it turns out to be: built late, given a deadline, closed at the end.

Asynchronous code is bound to the event loop it runs in, so it is built in the loop of the trials and not before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import JsonValue

from taugraph.graphs.agent import Agent, AgentTurn, AgentView
from taugraph.graphs.agents.hooks import close_agent, forget_memory, keep_memory
from taugraph.graphs.agents.tool_match import ToolMatch
from taugraph.graphs.agents.workers import use_workers
from taugraph.graphs.boundary import DeadlineError


@dataclass(frozen=True)
class Later:
    """An agent that can only be built in the event loop of the trials.

    Attributes:
        build: Builds it; what has to be released at the end is entered on the stack.
    """

    build: Callable[[AsyncExitStack], Awaitable[Agent]]


_GRACE_S = 1.0
"""Seconds that code has to end after it was told to."""


class ExitedError(Exception):
    """The agent's code tried to end the process."""


class OwnAgent:
    """Code or a graph of someone's own.

    Attributes:
        code_digest: Digest of its source files; empty where they cannot be seen.
    """

    is_privileged = False

    def __init__(self, reference: str, agent: Agent | Later, *, timeout_s: float, code_digest: str = "") -> None:
        """Take what builds it.

        Args:
            reference: How it is named on the command line.
            agent: What was found, or what builds it.
            timeout_s: Seconds one turn may take.
            code_digest: Digest of its source files.
        """
        self.reference = reference
        self.code_digest = code_digest
        self._agent = agent
        self._timeout_s = timeout_s
        self._inner: Agent | None = None if isinstance(agent, Later) else agent
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._saver: BaseCheckpointSaver[Any] | None = None

    @property
    def instructions(self) -> str:
        """What a chat model found in the code is told beside the policy."""
        return str(getattr(self._inner, "instructions", ""))

    @property
    def examples_digest(self) -> str:
        """Digest of the examples that a chat model found in the code is shown."""
        return str(getattr(self._inner, "examples_digest", ""))

    async def open(self) -> None:
        """Build the agent, once.

        Raises:
            TaugraphError: If it cannot be built.
        """
        use_workers()
        await self._opened()

    async def reply(self, view: AgentView) -> AIMessage | AgentTurn:
        """Return its next message.

        Raises:
            DeadlineError: If the turn takes too long.
            Exception: Whatever the code raises.
        """
        agent = await self._opened()
        asked = asyncio.create_task(_apart(agent, view))
        try:
            done, _ = await asyncio.wait({asked}, timeout=self._timeout_s)
        except asyncio.CancelledError:
            asked.cancel()
            raise
        if done:
            return await asked
        asked.cancel()
        asked.add_done_callback(_ended)
        # Code that does not listen is left behind: a trial must not wait for it.
        await asyncio.wait({asked}, timeout=_GRACE_S)
        raise DeadlineError(f"the agent took more than {self._timeout_s:g} seconds for one turn (--agent-timeout-s)")

    def match(self, tools: Mapping[str, Mapping[str, Any]]) -> ToolMatch | None:
        """Compare its tools with the domain's; `None` where they cannot be seen.

        Args:
            tools: JSON schema of the arguments by name of tool.
        """
        match = getattr(self._inner, "match", None)
        found = match(tools) if callable(match) else None
        return found if isinstance(found, ToolMatch) else None

    def keep_in(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Keep the agent's memory in that saver."""
        self._saver = saver
        if self._inner is not None:
            keep_memory(self._inner, saver)

    async def forget(self, memory: Mapping[str, JsonValue]) -> None:
        """Drop what the agent remembers of a trial."""
        if self._inner is not None:
            await forget_memory(self._inner, memory)

    async def aclose(self) -> None:
        """Release what the agent holds."""
        if self._inner is not None:
            await close_agent(self._inner)
        if isinstance(self._agent, Later):
            self._inner = None
        await self._stack.aclose()

    async def _opened(self) -> Agent:
        async with self._opening:
            if self._inner is None:
                assert isinstance(self._agent, Later), "what was found is there from the beginning"
                self._inner = await self._agent.build(self._stack)
                if self._saver is not None:
                    keep_memory(self._inner, self._saver)
            return self._inner


async def _apart(agent: Agent, view: AgentView) -> AIMessage | AgentTurn:
    """Ask the agent outside of our graph: a graph of its own would take itself for a part of it, checkpoints and all.

    Callbacks are kept, so that what it does is traced below our node.
    """
    around = var_child_runnable_config.get() or {}
    var_child_runnable_config.set({"callbacks": around.get("callbacks")})
    try:
        return await agent.reply(view)
    except SystemExit as error:  # in a task of its own it would end the process
        raise ExitedError(f"the agent tried to end the process (exit code {error.code})") from error


def _ended(asked: "asyncio.Future[Any]") -> None:
    """Look at how it ended, or asyncio complains that nobody did."""
    if not asked.cancelled():
        asked.exception()
