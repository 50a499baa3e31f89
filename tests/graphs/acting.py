"""Actors that say what a test wrote for them, and one way to play a trial with them."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from taugraph.domains.domain import load_domain
from taugraph.domains.protocol import Protocol, find_protocol
from taugraph.graphs.agent import AgentView
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn, UserView

AIRLINE = load_domain("airline")
CANCEL = "cancel-within-a-day"
"""A task whose gold cancels GV36FQ and whose claim is 125.00."""
HAND_OVER = "hand-over-half-flown-trip"
"""A task whose gold hands over to a human; nothing has to be said."""
BYE = UserTurn("", stops=True)
HELLO = "Hello, please cancel my trip from Phoenix."
REFUND = "Done, 125.00 comes back to you."


def call(name: str, _id: str | None = "c1", **arguments: Any) -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": _id}


def calls(*wanted: dict[str, Any], text: str = "") -> AIMessage:
    return AIMessage(text, tool_calls=list(wanted))


def cancel(reservation: str = "GV36FQ") -> AIMessage:
    return calls(call("cancel_reservation", reservation_id=reservation))


def failing(count: int = 1) -> AIMessage:
    return calls(*(call("no_such_tool", f"bad-{number}") for number in range(count)))


def looking() -> AIMessage:
    return calls(call("calculate", "ok", expression="1 + 1"))


def rules(protocol: str, **limits: int) -> Protocol:
    return find_protocol(protocol).model_copy(update=limits)


class ScriptedAgent:
    """Takes its lines in order and repeats the last; an exception is raised, a function is given the view."""

    reference = "scripted"
    is_privileged = False

    def __init__(self, *lines: Any) -> None:
        self._lines = lines
        self.views: list[AgentView] = []

    async def reply(self, view: AgentView) -> Any:
        self.views.append(view)
        return _line(self._lines, len(self.views), view, AIMessage)


class ScriptedUser:
    """Takes its lines in order and repeats the last; text is a turn without a stop."""

    reference = "scripted"

    def __init__(self, *lines: Any) -> None:
        self._lines = lines
        self.views: list[UserView] = []

    async def speak(self, view: UserView) -> Any:
        self.views.append(view)
        return _line(self._lines, len(self.views), view, UserTurn)


class Raw:
    """A line that is handed over as it is, text included."""

    def __init__(self, value: Any) -> None:
        self.value = value


class FollowingAgent:
    """Says the line that belongs to its place in the transcript, so that a fork finds its way."""

    reference = "following"
    is_privileged = False

    def __init__(self, *lines: AIMessage | str) -> None:
        self._lines = lines

    async def reply(self, view: AgentView) -> AIMessage:
        spoken = sum(isinstance(message, AIMessage) for message in view.messages)
        line = self._lines[min(spoken, len(self._lines) - 1)]
        return AIMessage(line) if isinstance(line, str) else line.model_copy(deep=True)


class FollowingUser:
    """Says the line that belongs to its place in the transcript."""

    reference = "following"

    def __init__(self, *lines: UserTurn | str) -> None:
        self._lines = lines

    async def speak(self, view: UserView) -> UserTurn:
        spoken = sum(isinstance(message, AIMessage) for message in view.messages)
        line = self._lines[min(spoken, len(self._lines) - 1)]
        return UserTurn(line) if isinstance(line, str) else line


async def play(stage: Stage, task_id: str = CANCEL, *, trial: int = 0, seed: int = 0) -> dict[str, Any]:
    """Play one trial on the compiled graph and return its final state."""
    graph = build_simulation(stage).copy(update={"checkpointer": InMemorySaver()})
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": task_id, "trial": trial, "seed": seed}
    await graph.ainvoke(start, config, durability="exit")
    values: dict[str, Any] = (await graph.aget_state(config)).values
    return values


def said(state: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (type, text) of every message."""
    return [(message.type, message.text) for message in state["messages"]]


def scores(state: dict[str, Any]) -> dict[str, float | None]:
    return {score["key"]: score["value"] for score in state["scores"]}


def _line(lines: tuple[Any, ...], number: int, view: Any, wrap: Callable[[str], Any]) -> Any:
    line = lines[min(number, len(lines)) - 1]
    if isinstance(line, Raw):
        return line.value
    if isinstance(line, BaseException):
        raise line
    if isinstance(line, str):
        return wrap(line)
    return line(view) if callable(line) else line
