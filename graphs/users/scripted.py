"""A user that says the lines of a file, task by task."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage

from taugraph.domains.errors import ConfigurationError, DataError
from taugraph.domains.folder_yaml import read_yaml
from taugraph.graphs.user import UserTurn, UserView

ANY_TASK = "*"
"""Stands in a file for every task that is not named."""

_WANTED = "a list of lines: words, or an object with `text` and `stop`"
_WANTED_RECORD = 'an object such as {"task": "TASK", "lines": ["Hello.", {"text": "Bye.", "stop": true}]}'


class ScriptedUser:
    """Says the lines of the task one after another, and hangs up after the last.

    Attributes:
        reference: How it is named on the command line.
        code_digest: Digest of the lines.
    """

    def __init__(self, reference: str, lines: Mapping[str, Sequence[UserTurn]]) -> None:
        self.reference = reference
        self._lines = lines
        said = {task: [(line.text, line.stops) for line in script] for task, script in lines.items()}
        self.code_digest = sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    async def speak(self, view: UserView) -> UserTurn:
        """Return the line that belongs to this place in the conversation.

        Raises:
            LookupError: If the file has no lines for the task.
        """
        found = self._of(view.key.task_id)
        if found is None:
            raise LookupError(self._lacks(view.key.task_id))
        spoken = sum(isinstance(message, AIMessage) for message in view.messages)
        return found[spoken] if spoken < len(found) else UserTurn("", stops=True)

    def check_tasks(self, task_ids: Collection[str]) -> None:
        """Refuse tasks for which there are no lines.

        Raises:
            ConfigurationError: If there is one; the message names it.
        """
        if missing := [task_id for task_id in task_ids if self._of(task_id) is None]:
            raise ConfigurationError(f"{self._lacks(missing[0])}; write them, or choose others with --tasks")

    def _of(self, task_id: str) -> Sequence[UserTurn] | None:
        """Return the lines of a task, of the task behind its variant, or of any."""
        names = (task_id, task_id.rpartition("@")[0], ANY_TASK)
        return next((self._lines[name] for name in names if name in self._lines), None)

    def _lacks(self, task_id: str) -> str:
        return f"{self.reference} has no lines for task {task_id!r}, and none under {ANY_TASK!r}"


def load_script(reference: str, path: Path) -> ScriptedUser:
    """Read a script: YAML or JSON, task id to lines; or JSON Lines, each an object with `task` and `lines`.

    Raises:
        DataError: If there is no such file, or it says something else.
    """
    if path.suffix == ".jsonl":
        return ScriptedUser(reference, dict(_records(path)))
    document = read_yaml(path)
    if not isinstance(document, dict) or not document:
        raise DataError(path, None, None, document, "an object: task id, or * for any, to its lines")
    return ScriptedUser(reference, {str(task): _lines(path, str(task), lines) for task, lines in document.items()})


def _records(path: Path) -> Iterator[tuple[str, list[UserTurn]]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise DataError(path, None, None, str(error), "JSON Lines in UTF-8") from error
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = f"line {number}"
        try:
            document = json.loads(line)
        except ValueError as error:
            raise DataError(path, record, None, str(error), _WANTED_RECORD) from error
        if not isinstance(document, dict) or document.keys() != {"task", "lines"}:
            raise DataError(path, record, None, document, _WANTED_RECORD)
        task = str(document["task"])
        if task in seen:
            raise DataError(path, record, "task", task, "every task once")
        seen.add(task)
        yield task, _lines(path, task, document["lines"])
    if not seen:
        raise DataError(path, None, None, "no lines", _WANTED_RECORD)


def _lines(path: Path, task: str, lines: Any) -> list[UserTurn]:
    if not isinstance(lines, list) or not lines:
        raise DataError(path, task, None, lines, _WANTED)
    read = [_line(path, task, number, line) for number, line in enumerate(lines, 1)]
    if not read[0].text:
        raise DataError(path, task, "line 1", lines[0], "words: the user opens the conversation")
    return read


def _line(path: Path, task: str, number: int, line: Any) -> UserTurn:
    turn = None
    if isinstance(line, str):
        turn = UserTurn(line.strip())
    elif isinstance(line, dict) and line and line.keys() <= {"text", "stop"}:
        text, stop = line.get("text", ""), line.get("stop", False)
        if isinstance(text, str) and isinstance(stop, bool):
            turn = UserTurn(text.strip(), stops=stop)
    if turn is None or not (turn.text or turn.stops):
        raise DataError(path, task, f"line {number}", line, _WANTED)
    return turn
