"""The state of a trial: JSON values and messages, nothing else.

So a checkpoint holds the whole trial, the database included: `changes` are its net row changes against the seed.
"""

from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from taugraph.domains.changes import NetChanges
from taugraph.graphs.delivery import delivered_text


class SimulationInput(TypedDict, total=False):
    """What starts a trial."""

    task_id: str
    trial: int
    seed: int


class SimulationOutput(TypedDict, total=False):
    """What a finished trial shows at a glance; the whole of it is in the state."""

    reward: float | None
    termination: str
    scores: list[dict[str, Any]]
    messages: Annotated[list[AnyMessage], add_messages]


class SimulationState(SimulationInput, SimulationOutput, total=False):
    """Everything a trial is."""

    changes: NetChanges
    turns: int
    steps: int
    tool_errors: int
    tool_errors_in_row: int
    notes: dict[str, Any]
    usage: dict[str, dict[str, int]]
    failure: dict[str, Any] | None


def delivered_texts(state: SimulationState) -> list[str]:
    """Return what the agent said to the user, in order; words beside a tool call were never delivered."""
    return [
        text
        for message in state.get("messages", [])
        if isinstance(message, AIMessage) and (text := delivered_text(message)) is not None
    ]
