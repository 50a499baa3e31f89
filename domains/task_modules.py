"""Tasks that were published as Python are read as text: the module is parsed, never imported and never run.

Only what spells a value out is understood: literals, and `Task(...)` and `Action(...)` with keywords. Whatever would
have to be computed is refused with its line, so no task is silently left out or changed.
"""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taugraph.domains.errors import DataError

_LITERAL = "a literal: text, number, True, False, None, list, tuple or object"


@dataclass(frozen=True)
class ModuleTask:
    """One `Task(...)` of a module, not yet validated.

    Attributes:
        line: Line on which it starts, from 1.
        fields: Its keywords with their values; every `Action(...)` is an object of its keywords.
    """

    line: int
    fields: dict[str, Any]


def read_task_module(path: Path, content: bytes) -> list[ModuleTask]:
    """Read the tasks of a Python module without running it.

    Args:
        path: The file, for messages.
        content: What it holds.

    Raises:
        DataError: If it is not Python, holds not exactly one list of `Task(...)` calls, uses that list elsewhere, or a
            task is more than literals.
    """
    try:
        module = ast.parse(content)
        return [
            ModuleTask(node.lineno, _Reader(path, index).call(node, "Task", ()))
            for index, node in enumerate(_task_list(path, module))
        ]
    except SyntaxError as error:
        record = f"line {error.lineno} column {error.offset}" if error.lineno else None
        raise DataError(path, record, None, error.msg, "Python") from error
    except (ValueError, RecursionError, MemoryError) as error:  # the parser's answers to text it cannot hold
        raise DataError(path, None, None, str(error) or type(error).__name__, "Python that can be parsed") from error


def _task_list(path: Path, module: ast.Module) -> list[ast.expr]:
    found = [
        (target.id, statement.value.elts)
        for statement in module.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.List)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name) and any(_is_call(element, "Task") for element in statement.value.elts)
    ]
    if len(found) != 1:
        raise DataError(path, None, None, f"{len(found)} lists of Task(...)", "one list of Task(...) calls")
    ((name, tasks),) = found
    uses = [node for node in ast.walk(module) if isinstance(node, ast.Name) and node.id == name]
    if len(uses) > 1:
        line = max(node.lineno for node in uses)
        raise DataError(path, f"line {line}", None, f"{name} used again", "the list complete where it is written")
    return tasks


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


@dataclass(frozen=True)
class _Reader:
    """Turns the syntax of one task into values."""

    path: Path
    index: int

    def call(self, node: ast.expr, name: str, place: tuple[str, ...]) -> dict[str, Any]:
        """Read `name(keyword=value, ...)` as an object."""
        if not isinstance(node, ast.Call) or not _is_call(node, name) or node.args:
            raise self._refusal(node, place, ast.unparse(node), f"{name}(...) with keywords only")
        fields: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._refusal(keyword.value, place, f"**{ast.unparse(keyword.value)}", "keywords one by one")
            self._refuse_repeated(keyword.value, place, keyword.arg, fields)
            fields[keyword.arg] = self._value(keyword.value, (*place, keyword.arg))
        return fields

    def _value(self, node: ast.expr, place: tuple[str, ...]) -> Any:
        match node:
            case ast.Constant(value=str() | int() | float() | None as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if not isinstance(
                number, bool
            ):
                return -number
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self._value(element, (*place, str(i))) for i, element in enumerate(elements)]
            case ast.Dict():
                return self._object(node, place)
            case ast.Call() if place[:1] == ("actions",) and len(place) == 2:
                return self.call(node, "Action", place)
        raise self._refusal(node, place, ast.unparse(node), _LITERAL)

    def _object(self, node: ast.Dict, place: tuple[str, ...]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                got = f"**{ast.unparse(value)}" if key is None else ast.unparse(key)
                raise self._refusal(key or value, place, got, "keys that are text")
            self._refuse_repeated(key, place, key.value, fields)
            fields[key.value] = self._value(value, (*place, key.value))
        return fields

    def _refuse_repeated(self, node: ast.expr, place: tuple[str, ...], key: str, known: dict[str, Any]) -> None:
        if key in known:
            raise self._refusal(node, (*place, key), f"the key {key!r} again", "each key once")

    def _refusal(self, node: ast.expr, place: tuple[str, ...], got: str, wanted: str) -> DataError:
        return DataError(self.path, f"{self.index} (line {node.lineno})", ".".join(place) or None, got, wanted)
