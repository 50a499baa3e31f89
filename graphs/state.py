"""The state of a trial: JSON values and messages, nothing else.

So a checkpoint holds the whole trial, the database included: `changes` are its net row changes against the seed. What
can be counted in the transcript is counted there, so that an edited and forked state cannot contradict it.
"""

from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.graph.message import add_messages
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from taugraph.domains.changes import NetChanges
from taugraph.graphs.delivery import delivered_text

_DESCRIBED = ConfigDict(use_attribute_docstrings=True)


@with_config(_DESCRIBED)
class SimulationInput(TypedDict, total=False):
    """What starts a trial."""

    task_id: str
    """Task to play, such as `cancel-within-a-day`."""
    trial: Annotated[int, Field(default=0)]
    """Index of the attempt, from 0; the actors' seeds depend on it."""
    seed: Annotated[int, Field(default=0)]
    """Seed of the attempt; equal seeds give equal trials of scripted actors."""


@with_config(_DESCRIBED)
class SimulationOutput(TypedDict, total=False):
    """What a finished trial shows at a glance; the whole of it is in the state."""

    reward: float | None
    """Product of the gating scores in [0, 1]; `None` where infrastructure failed."""
    termination: str
    """Why the trial ended, such as `user_stop`."""
    scores: list[dict[str, Any]]
    """One object per evaluator, with its evidence."""
    messages: Annotated[list[AnyMessage], add_messages]
    """The transcript."""


@with_config(_DESCRIBED)
class SimulationState(SimulationInput, SimulationOutput, total=False):
    """Everything a trial is."""

    changes: NetChanges
    """Net row changes of the database against the seed."""
    turns: int
    """User messages so far."""
    steps: int
    """Agent messages so far."""
    tool_errors: int
    """Tool calls that were errors, in all."""
    tool_errors_in_row: int
    """Tool calls that were errors since the last that was none."""
    stops_deferred_in_row: int
    """Stops deferred since the user last spoke without one."""
    notes: dict[str, Any]
    """What else happened: deferred stops, nudges."""
    usage: dict[str, dict[str, int]]
    """Tokens by actor."""
    agent_memory: dict[str, Any] | None
    """What the agent's last turn left for its next one; `None` if nothing."""
    agent_seen: int
    """Messages of the transcript when the agent's last turn ended."""
    user_log: list[dict[str, Any]]
    """What the user did that the agent never sees: `at` counts the messages before it, `kind` says what it is."""
    held: dict[str, Any] | None
    """Words and stop of a user's turn whose calls are being run; `None` otherwise."""
    user_errors_in_row: int
    """Calls of the user's own tools that were errors since the last that was none."""
    violations: list[dict[str, Any]]
    """Breaches of the policy so far, one object each; absent where the protocol does not check it."""
    timeline: list[dict[str, Any]]
    """Which node ran when: `node`, `started` and `ended` in seconds of the epoch, `messages` after it."""
    failure: dict[str, Any] | None
    """What went wrong at a boundary; `None` if nothing did."""


def count_turns(state: SimulationState) -> int:
    """Return how many messages the user has sent."""
    return sum(isinstance(message, HumanMessage) for message in state.get("messages", []))


def count_steps(state: SimulationState) -> int:
    """Return how many messages the agent has sent, tool calls included."""
    return sum(isinstance(message, AIMessage) for message in state.get("messages", []))


def delivered_texts(state: SimulationState) -> list[str]:
    """Return what the agent said to the user, in order; words beside a tool call were never delivered."""
    return [
        text
        for message in state.get("messages", [])
        if isinstance(message, AIMessage) and (text := delivered_text(message)) is not None
    ]


def successful_calls(state: SimulationState) -> list[tuple[str, dict[str, Any]]]:
    """Return name and arguments of the agent's calls that were not refused, in order.

    Answers follow the message that called, in the order of its calls: ids may come again later in a conversation.
    """
    waiting: list[ToolCall] = []
    made: list[tuple[str, dict[str, Any]]] = []
    for message in state.get("messages", []):
        if isinstance(message, AIMessage):
            waiting = list(message.tool_calls)
        elif isinstance(message, ToolMessage) and waiting:
            call = waiting.pop(0)
            if message.status != "error":
                made.append((call["name"], call["args"]))
    return made
