"""What the harness asks of a simulated user: its next turn, from its own view of the conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, messages_from_dict
from langchain_core.tools import BaseTool
from pydantic import JsonValue

from taugraph.domains.task import Scenario
from taugraph.domains.trial import Usage
from taugraph.graphs.agent import TrialKey
from taugraph.graphs.delivery import delivered_text, spoken_text
from taugraph.graphs.persona import Persona
from taugraph.graphs.transcript import plain_reply, plain_text, plain_value


@dataclass(frozen=True)
class UserTurn:
    """What a simulated user says.

    Attributes:
        text: Words for the agent; may be empty only with `stops`, or with calls.
        stops: Whether the user ends the conversation.
        usage: Tokens that finding these words took, drafts and verdicts included.
        message: The message of the user's model as it came, reasoning and calls of the user's own tools included. It
            goes back to that model and to nobody else; `None` where the words are all there is.
        aside: What led to these words and was never sent: one object each, its `kind` being `thought`, `draft` or
            `verdict`.
        notes: What else happened, such as `unverified`; joined with the trial's notes.
    """

    text: str
    stops: bool = False
    usage: Usage = field(default_factory=Usage)
    message: AIMessage | None = None
    aside: Sequence[Mapping[str, JsonValue]] = ()
    notes: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class UserView:
    """All that a simulated user is given. It holds no gold call and no claim.

    Attributes:
        messages: The conversation as the user sees it: its own words as AI messages, the agent's as human messages, and
            the calls of its own tools with their answers.
        scenario: What it is told about itself and its wishes.
        key: Which attempt this is.
        persona: How it is to talk; `None` for no particular way.
        tools: Tools of its own, such as its phone; the harness runs the calls.
    """

    messages: Sequence[BaseMessage]
    scenario: Scenario
    key: TrialKey
    persona: Persona | None = None
    tools: Sequence[BaseTool] = ()


def as_plain_turn(turn: object) -> UserTurn:
    """Return a turn as it can be kept, whatever code of somebody's own handed over.

    Raises:
        TypeError: If a part of it is not what it should be, or no JSON.
        ValueError: If its message is none that can be kept.
    """
    if not isinstance(turn, UserTurn):
        raise TypeError(f"the simulated user returned {type(turn).__name__}, wanted a UserTurn")
    for name, wanted in (("text", str), ("stops", bool), ("usage", Usage), ("notes", Mapping), ("aside", Sequence)):
        if not isinstance(value := getattr(turn, name), wanted):
            found = type(value).__name__
            raise TypeError(f"the simulated user returned {found} as {name!r} of its turn, wanted {wanted.__name__}")
    for entry in turn.aside:
        if not isinstance(entry, Mapping) or entry.get("kind") not in _ASIDES:
            raise TypeError(f"the simulated user returned {entry!r:.100} aside, wanted a kind: {', '.join(_ASIDES)}")
    if turn.message is not None and not isinstance(turn.message, AIMessage):
        raise TypeError(f"the simulated user returned a {type(turn.message).__name__}, wanted an AIMessage")
    return replace(
        turn,
        text=plain_text(turn.text),
        message=plain_reply(turn.message) if turn.message is not None else None,
        notes=plain_value(dict(turn.notes)),
        aside=[plain_value({name: item for name, item in entry.items() if name != "message"}) for entry in turn.aside],
    )


_ASIDES = ("thought", "draft", "verdict")


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


def as_seen_by_user(messages: Sequence[AnyMessage], log: Sequence[Mapping[str, Any]] = ()) -> list[BaseMessage]:
    """Project the transcript onto what the user saw, roles turned round.

    Args:
        messages: The transcript.
        log: The user's side log: its messages as its model wrote them, and the answers of its own tools.
    """
    seen: list[BaseMessage] = []
    for place, message in enumerate([*messages, None]):
        kept = [entry for entry in log if entry["at"] == place and "message" in entry]
        own = messages_from_dict([entry["message"] for entry in kept])
        seen += own
        if isinstance(message, HumanMessage):
            said = {spoken_text(each) for each in own if isinstance(each, AIMessage)}
            # Words beside a call may be a thought, and then the words that were sent are others.
            if message.text.strip() not in said and all(entry["kind"] != "spoken" for entry in kept):
                seen.append(AIMessage(message.text))
        elif isinstance(message, AIMessage) and (text := delivered_text(message)) is not None:
            seen.append(HumanMessage(text))
    return seen
