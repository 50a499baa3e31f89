"""What the harness asks of a simulated user: its next turn, from its own view of the conversation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage

from taugraph.domains.task import Scenario
from taugraph.domains.trial import Usage
from taugraph.graphs.agent import TrialKey
from taugraph.graphs.delivery import delivered_text


@dataclass(frozen=True)
class UserTurn:
    """What a simulated user says.

    Attributes:
        text: Words for the agent; may be empty only with `stops`.
        stops: Whether the user ends the conversation.
        usage: Tokens that finding these words took.
    """

    text: str
    stops: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class UserView:
    """All that a simulated user is given. It holds no gold call and no claim.

    Attributes:
        messages: The conversation as the user sees it: its own words as AI messages, the agent's as human messages.
        scenario: What it is told about itself and its wishes.
        key: Which attempt this is.
    """

    messages: Sequence[BaseMessage]
    scenario: Scenario
    key: TrialKey


class SimulatedUser(Protocol):
    """A simulated user.

    Attributes:
        reference: How it is named on the command line.
    """

    reference: str

    async def speak(self, view: UserView) -> UserTurn:
        """Return the user's next turn; the first one opens the conversation.

        Raises:
            ModelCallError: If the provider could not be reached: the trial stays unscored.
            Exception: Anything else is the simulated user's own failure.
        """
        ...


def as_seen_by_user(messages: Sequence[AnyMessage]) -> list[BaseMessage]:
    """Project the transcript onto what the user saw, roles turned round."""
    seen: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            seen.append(AIMessage(message.text))
        elif isinstance(message, AIMessage) and (text := delivered_text(message)) is not None:
            seen.append(HumanMessage(text))
    return seen
