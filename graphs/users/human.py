"""A person as the user: at the terminal, or through an interrupt where the graph is served."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import interrupt

from taugraph.domains.errors import ConfigurationError
from taugraph.domains.task import Scenario
from taugraph.graphs.user import UserTurn, UserView

STOP_WORD = "/stop"
"""What a person types to hang up."""

Reader = Callable[[], str | None]
"""Returns the next line that was typed; `None` at the end of the input."""


class HumanUser:
    """A person who plays the customer at the terminal; one conversation at a time."""

    reference = "human"
    is_interactive = True

    def __init__(self, read: Reader | None = None, show: Callable[[str], None] | None = None) -> None:
        """Take where to read from and how to show; `None` for the terminal.

        Raises:
            ConfigurationError: If nobody sits at the terminal.
        """
        if read is None and not sys.stdin.isatty():
            raise ConfigurationError(
                "--user human needs a terminal to type at; run it there, or open the task in Studio"
            )
        self._read = read or _read_line
        self._show = show or _show_line

    async def speak(self, view: UserView) -> UserTurn:
        """Show what the agent said, and return what the person types."""
        if not view.messages:
            self._show(f"\n{_introduction(view.scenario)}")
        elif isinstance(view.messages[-1], HumanMessage):
            self._show(f"\nagent: {view.messages[-1].text}")
        while True:
            line = await asyncio.to_thread(self._read)
            if line is None or line.strip() == STOP_WORD:
                return UserTurn("", stops=True)
            if line.strip():
                return UserTurn(line.strip())
            self._show(f"(write something, or {STOP_WORD} to hang up)")


class InterruptingUser:
    """A person who plays the customer through LangGraph's interrupts, in Studio for instance."""

    reference = "human"
    is_interactive = True

    async def speak(self, view: UserView) -> UserTurn:
        """Wait for a person; resume with a text, or with `text` and `stop`."""
        last = view.messages[-1].text if view.messages else None
        answer = interrupt(
            {
                "you_play": _introduction(view.scenario),
                "agent_said": last,
                "answer_with": 'your words, or {"text": "...", "stop": true} to hang up',
            }
        )
        return as_typed(answer)


def as_typed(answer: Any) -> UserTurn:
    """Read what a run was resumed with.

    Raises:
        TypeError: If it is neither words nor an object with `text`.
    """
    if isinstance(answer, str):
        return UserTurn("", stops=True) if answer.strip() == STOP_WORD else UserTurn(answer)
    if isinstance(answer, dict) and isinstance(answer.get("text", ""), str) and ("text" in answer or "stop" in answer):
        return UserTurn(answer.get("text", ""), stops=answer.get("stop") is True)
    raise TypeError(f"the run was resumed with {type(answer).__name__}, wanted words, or an object with text and stop")


def _introduction(scenario: Scenario) -> str:
    parts = ["You play a customer.", scenario.instructions]
    parts += [f"- you know: {fact}" for fact in scenario.known]
    parts += [f"- you do not know: {fact}" for fact in scenario.unknown]
    if scenario.exit_when:
        parts.append(f"You are done when this holds: {scenario.exit_when}")
    return "\n".join([*parts, f"Write your first words; {STOP_WORD} hangs up."])


def _read_line() -> str | None:
    try:
        return input("you: ")
    except EOFError:
        return None


def _show_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a person sits there
