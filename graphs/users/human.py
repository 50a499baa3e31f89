"""A person as the user: at the terminal, or through an interrupt where the graph is served."""

import asyncio
import json
import select
import sys
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import interrupt

from taugraph.domains.errors import ConfigurationError
from taugraph.graphs.user import UserTurn, UserView

STOP_WORD = "/stop"
"""What a person types to hang up."""

USE_WORD = "/use"
"""What a person types before the name of a tool of the customer's device, and its arguments as JSON."""

Reader = Callable[[], str | None]
"""Returns the next line that was typed; `None` at the end of the input."""

_LOOK_S = 0.2
_TYPE_SOMETHING = f"(write something, or {STOP_WORD} to hang up)"
_ANSWER_WITH = 'your words, or {"text": "...", "stop": true} to hang up'


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
        self._read = read
        self._show = show or _show_line

    async def speak(self, view: UserView) -> UserTurn:
        """Show what the agent said, or the device, and return what the person types."""
        last = view.messages[-1] if view.messages else None
        if last is None:
            self._show(f"\n{_introduction(view)}\nWrite your first words; {STOP_WORD} hangs up.")
        elif isinstance(last, HumanMessage):
            self._show(f"\nagent: {last.text}")
        elif isinstance(last, ToolMessage):
            self._show(f"\nyour device: {last.text}")
        while True:
            line = await self._next_line()
            if line is None or line.strip() == STOP_WORD:
                return UserTurn("", stops=True)
            try:
                return typed_turn(line, view)
            except ValueError as error:
                self._show(str(error))

    async def _next_line(self) -> str | None:
        if self._read is not None:
            return await asyncio.to_thread(self._read)
        # The prompt stands on stderr, as all that is no result.
        sys.stderr.write("you: ")
        sys.stderr.flush()
        # A thread that waits for a person cannot be stopped, so it only looks whether there is something to read.
        while not await asyncio.to_thread(_is_typed):
            pass
        return await asyncio.to_thread(_read_line)


class InterruptingUser:
    """A person who plays the customer through LangGraph's interrupts, in Studio for instance."""

    reference = "human"
    is_interactive = True

    async def speak(self, view: UserView) -> UserTurn:
        """Wait for a person; resume with a text, or with `text` and `stop`. What cannot be read is asked for again."""
        last = view.messages[-1] if view.messages else None
        said_by = "your_device_said" if isinstance(last, ToolMessage) else "agent_said"
        question = {
            "you_play": _introduction(view),
            said_by: last.text if last is not None else None,
            "answer_with": _ANSWER_WITH,
        }
        while True:
            answer = interrupt(question)
            try:
                return resumed_turn(answer, view)
            except ValueError as error:
                question = {**question, "not_understood": str(error)}


def typed_turn(line: str, view: UserView) -> UserTurn:
    """Read what a person typed: words, or the use of a tool of the customer's device.

    Raises:
        ValueError: If it is neither; the message tells the person what to do.
    """
    if not line.strip():
        raise ValueError(_TYPE_SOMETHING)
    command, _, rest = line.strip().partition(" ")
    if command != USE_WORD:
        return UserTurn(line.strip())
    name, _, text = rest.strip().partition(" ")
    tools = {tool.name: tool for tool in view.tools}
    if name not in tools:
        known = ", ".join(f"{tool.name}({', '.join(tool.args)})" for tool in tools.values()) or "none"
        raise ValueError(f"(your device has no {name!r}; it has: {known})")
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        wanted = json.dumps({argument: "..." for argument in tools[name].args})
        raise ValueError(f"(write {USE_WORD} {name} {wanted})")
    return UserTurn("", message=AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": None}]))


def resumed_turn(answer: Any, view: UserView) -> UserTurn:
    """Read what a run was resumed with.

    Raises:
        ValueError: If it is neither words nor an object with `text` or `stop`; the message says what was wanted.
    """
    if isinstance(answer, str):
        return UserTurn("", stops=True) if answer.strip() == STOP_WORD else typed_turn(answer, view)
    if isinstance(answer, dict) and answer and answer.keys() <= {"text", "stop"}:
        text, stop = answer.get("text", ""), answer.get("stop", False)
        if isinstance(text, str) and isinstance(stop, bool) and (text.strip() or stop):
            return UserTurn(text.strip(), stops=True) if stop else typed_turn(text, view)
    raise ValueError(f"the run was resumed with {type(answer).__name__}; wanted {_ANSWER_WITH}")


def _introduction(view: UserView) -> str:
    scenario = view.scenario
    parts = ["You play a customer.", scenario.instructions]
    parts += [f"- you know: {fact}" for fact in scenario.known]
    parts += [f"- you do not know: {fact}" for fact in scenario.unknown]
    if scenario.exit_when:
        parts.append(f"You are done when this holds: {scenario.exit_when}")
    if view.persona is not None:
        parts.append(f"This is how you talk; it changes nothing else:\n{view.persona.text}")
    if view.tools:
        parts.append(f"Your device; write {USE_WORD} NAME, and its arguments as JSON:")
        parts += [f"- {tool.name}({', '.join(tool.args)}): {tool.description}" for tool in view.tools]
    return "\n".join(parts)


def _is_typed() -> bool:
    """Wait a moment for a line; where a terminal cannot be waited for, `True` at once."""
    try:
        return bool(select.select([sys.stdin], [], [], _LOOK_S)[0])
    except (OSError, ValueError):
        return True


def _read_line() -> str | None:
    return sys.stdin.readline() or None


def _show_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a person sits there
