"""What the harness asks of an agent under test: one turn after what has happened so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool
from pydantic import JsonValue

from taugraph.domains.trial import Usage


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
        memory: What the agent's last turn left; `None` in its first.
        seen: How many of the messages were there when that turn ended; 0 in its first.
    """

    messages: Sequence[AnyMessage]
    policy: str
    tools: Sequence[BaseTool]
    key: TrialKey
    memory: Mapping[str, JsonValue] | None = None
    seen: int = 0


@dataclass(frozen=True)
class AgentTurn:
    """A message with what else the agent did to come to it.

    Attributes:
        message: Text for the user, or calls of the domain's tools.
        before: The agent's calls of tools of its own and their answers, in order; every call is answered.
        memory: What the next turn of this trial is to be given; JSON values, kept in the trial's state.
        notes: What else happened, such as `dropped_parameters`; joined with the trial's notes.
        usage: Tokens of this turn beyond those that the messages report.
    """

    message: AIMessage
    before: Sequence[AnyMessage] = ()
    memory: Mapping[str, JsonValue] | None = None
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    usage: Usage = field(default_factory=lambda: Usage(calls=0))


class Agent(Protocol):
    """An agent under test.

    Attributes:
        reference: How it is named on the command line.
        is_privileged: Whether it was given the answers; said wherever its numbers appear.
    """

    reference: str
    is_privileged: bool

    async def reply(self, view: AgentView) -> AIMessage | AgentTurn:
        """Return the next message: text for the user, or tool calls; as a turn where there is more to tell.

        Raises:
            ModelCallError: If the provider could not be reached: the trial stays unscored.
            Exception: Anything else is the agent's own failure.
        """
        ...
