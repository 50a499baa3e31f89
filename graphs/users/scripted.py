"""A user that says the lines of a file, task by task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage

from taugraph.domains.errors import DataError
from taugraph.domains.folder_yaml import read_yaml
from taugraph.graphs.user import UserTurn, UserView

ANY_TASK = "*"
"""Stands in a file for every task that is not named."""

_WANTED = "a list of lines: words, or an object with `text` and `stop`"


class ScriptedUser:
    """Says the lines of the task one after another, and hangs up after the last."""

    def __init__(self, reference: str, lines: Mapping[str, Sequence[UserTurn]]) -> None:
        self.reference = reference
        self._lines = lines

    async def speak(self, view: UserView) -> UserTurn:
        """Return the line that belongs to this place in the conversation.

        Raises:
            LookupError: If the file has no lines for the task.
        """
        task_id = view.key.task_id
        found = next(
            (self._lines[name] for name in (task_id, task_id.rpartition("@")[0], ANY_TASK) if name in self._lines), None
        )
        if found is None:
            raise LookupError(f"{self.reference} has no lines for task {task_id!r}, and none under {ANY_TASK!r}")
        spoken = sum(isinstance(message, AIMessage) for message in view.messages)
        return found[spoken] if spoken < len(found) else UserTurn("", stops=True)


def load_script(reference: str, path: Path) -> ScriptedUser:
    """Read a script: YAML or JSON, task id to lines.

    Raises:
        DataError: If there is no such file, or it says something else.
    """
    document = read_yaml(path)
    if not isinstance(document, dict) or not document:
        raise DataError(path, None, None, document, "an object: task id, or * for any, to its lines")
    return ScriptedUser(reference, {str(task): _lines(path, str(task), lines) for task, lines in document.items()})


def _lines(path: Path, task: str, lines: Any) -> list[UserTurn]:
    if not isinstance(lines, list) or not lines:
        raise DataError(path, task, None, lines, _WANTED)
    return [_line(path, task, number, line) for number, line in enumerate(lines, 1)]


def _line(path: Path, task: str, number: int, line: Any) -> UserTurn:
    if isinstance(line, str):
        return UserTurn(line)
    if isinstance(line, dict) and line and line.keys() <= {"text", "stop"}:
        text, stop = line.get("text", ""), line.get("stop", False)
        if isinstance(text, str) and isinstance(stop, bool):
            return UserTurn(text, stops=stop)
    raise DataError(path, task, f"line {number}", line, _WANTED)
