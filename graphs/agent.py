"""What the harness asks of an agent under test: one reply to what has happened so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool


@dataclass(frozen=True)
class TrialKey:
    """Which attempt this is.

    Attributes:
        task_id: Task being played.
        trial: Index of the attempt, from 0.
        seed: The asking actor's own seed; equal whatever runs beside it.
    """

    task_id: str
    trial: int
    seed: int


@dataclass(frozen=True)
class AgentView:
    """All that an agent is given. It holds no part of the task.

    Attributes:
        messages: User messages, the agent's own messages and tool answers, in order.
        policy: The document it must follow.
        tools: Tools it may call; the harness runs the calls.
        key: Which attempt this is.
    """

    messages: Sequence[AnyMessage]
    policy: str
    tools: Sequence[BaseTool]
    key: TrialKey


class Agent(Protocol):
    """An agent under test.

    Attributes:
        reference: How it is named on the command line.
        is_privileged: Whether it was given the answers; said wherever its numbers appear.
    """

    reference: str
    is_privileged: bool

    async def reply(self, view: AgentView) -> AIMessage:
        """Return the next message: text for the user, or tool calls.

        Raises:
            ModelCallError: If the provider could not be reached: the trial stays unscored.
            Exception: Anything else is the agent's own failure.
        """
        ...
