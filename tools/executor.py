"""The tool executor: one call, one transaction, one answer.

Whatever a model sends becomes an answer it can react to. A refused request, bad arguments, an unknown tool or malformed
JSON is an error answer of bounded length, never an exception, and leaves the database as it was.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python
from sqlmodel import Session

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError, ToolRefusal
from taugraph.domains.task import GoldCall
from taugraph.tools.definition import ToolKind, kind_of
from taugraph.tools.virtual import UnkeptWorkError, VirtualDatabase

MAX_ARGUMENT_CHARACTERS = 100_000
"""Longest argument text a call may carry."""

MAX_ERROR_CHARACTERS = 500
"""Longest error answer."""

Watch = Callable[[dict[str, Any], Session], None]
"""Sees a call's arguments and the database as it stands, and only looks."""


_HARMLESS = (ToolKind.READ, ToolKind.GENERIC)
"""Kinds of tools whose refusal leaves nothing undone: published solutions look for people who are not there."""


@dataclass(frozen=True)
class Answer:
    """What a tool call came to.

    Attributes:
        text: What the caller reads: JSON, plain text, or an error starting with `Error: `.
        is_error: Whether the call was refused.
        changes: The trial's net changes after the call.
    """

    text: str
    is_error: bool
    changes: NetChanges


@dataclass(frozen=True)
class Goal:
    """Where a task's gold calls lead.

    Attributes:
        changes: Net changes after all of them.
        failures: One sentence for each gold call that was refused and should have changed something.
    """

    changes: NetChanges
    failures: tuple[str, ...]


class Executor:
    """Runs tool calls of one domain on the virtual database. Safe to use from several threads."""

    def __init__(
        self, domain: Domain, tools: Sequence[BaseTool] | None = None, database: VirtualDatabase | None = None
    ) -> None:
        """Serve the domain's agent tools, or the given ones, as far as the dialect has them."""
        self.domain = domain
        self.database = database or VirtualDatabase(domain)
        chosen = domain.agent_tools if tools is None else tools
        known = domain.dialect.tools
        self.tools = [tool for tool in chosen if known is None or tool.name in known]
        self._entries = {tool.name: _ToolEntry(tool, domain.dialect.checks_arguments) for tool in self.tools}

    def sharing(self, tools: Sequence[BaseTool]) -> "Executor":
        """Return an executor of other tools on the same database."""
        return Executor(self.domain, tools, self.database)

    def kind(self, name: str) -> ToolKind | None:
        """Return the kind of the tool of that name; `None` if there is none."""
        entry = self._entries.get(name)
        return entry.kind if entry else None

    def execute(self, name: str, arguments: object, changes: NetChanges, watch: Watch | None = None) -> Answer:
        """Run one call.

        Args:
            name: Tool name as the model wrote it.
            arguments: Arguments by name, or the raw JSON text where it could not be parsed; empty text means none.
            changes: The trial's net changes before the call.
            watch: Run in the call's transaction before the tool; what it raises is raised. `None` for nobody.
        """
        entry = self._entries.get(name) if isinstance(name, str) else None
        if entry is None:
            known = ", ".join(sorted(self._entries))
            return _refused(f"there is no tool named {_clip(name, 80)}; known are {known}", changes)
        parsed = _parse(arguments)
        if isinstance(parsed, str):
            return _refused(parsed, changes)
        if complaint := entry.complaint(parsed):
            return _refused(complaint, changes)
        return self._run(entry, parsed, changes, watch)

    def goal(
        self, calls: Iterable[GoldCall], *, start: NetChanges | None = None, user: "Executor | None" = None
    ) -> Goal:
        """Run a task's gold calls on the seed.

        Args:
            calls: The gold calls in order.
            start: Net changes before the first of them; `None` for the seed itself.
            user: Runs those that the user makes; `None` where it has no tools.
        """
        changes: NetChanges = start or {}
        failures: list[str] = []
        for call in calls:
            executor = user if user is not None and call.actor == "user" else self
            answer = executor.execute(call.name, dict(call.arguments), changes)
            changes = answer.changes
            if answer.is_error and executor.kind(call.name) not in _HARMLESS:
                failures.append(f"gold call {call.name} fails: {answer.text.removeprefix('Error: ')}")
        return Goal(changes, tuple(failures))

    def close(self) -> None:
        """Release the seed copies."""
        self.database.close()

    def _run(self, entry: "_ToolEntry", arguments: dict[str, Any], changes: NetChanges, watch: Watch | None) -> Answer:
        def work(session: Session) -> tuple[str, bool]:
            if watch is not None:
                watch(arguments, session)
            try:
                text = _as_text(entry.call(arguments, session))
                session.flush()
                return text, False
            except ToolRefusal as refusal:
                if refusal.keeps_writes:
                    return f"Error: {refusal}", True
                raise
            except (Exception, SystemExit) as error:  # a tool's boundary: what the caller sent must not end the trial
                raise ToolRefusal(_explain(error)) from error

        try:
            (text, is_error), after = self.database.run(changes, work)
        except (ToolRefusal, UnkeptWorkError) as refusal:
            return _refused(str(refusal), changes)
        return Answer(_clip_error(text) if is_error else _storable(text), is_error, after)


class _ToolEntry:
    """A tool with what a call needs to know of it, worked out once."""

    def __init__(self, tool: BaseTool, checks_arguments: bool) -> None:
        if isinstance(tool, StructuredTool) and tool.func is None:
            raise ConfigurationError(f"tool {tool.name!r} is async only: a domain's tools are plain functions")
        self.kind = kind_of(tool)
        # A tool that words its own errors would hide them from the transaction and from the error count.
        self._tool = (tool if checks_arguments else _without_validation(tool)).model_copy(
            update={"handle_tool_error": False, "handle_validation_error": False}
        )
        schema = _visible_schema(tool)
        self._allowed = frozenset(schema.get("properties", {}))
        self._required = frozenset(schema.get("required", ()))
        self._wants_session = "session" in signature(getattr(tool, "func", None) or tool._run).parameters

    def complaint(self, arguments: Mapping[str, Any]) -> str | None:
        """Say what is wrong with the arguments' names; `None` if nothing is."""
        if missing := sorted(self._required - arguments.keys()):
            return f"missing arguments: {', '.join(missing)}"
        if extra := sorted(arguments.keys() - self._allowed):
            return f"unknown arguments: {_clip(', '.join(extra), 200)}; known are {', '.join(sorted(self._allowed))}"
        return None

    def call(self, arguments: dict[str, Any], session: Session) -> object:
        """Run the tool as LangChain runs it, the session added."""
        return self._tool.invoke({**arguments, "session": session} if self._wants_session else arguments)


def _without_validation(tool: BaseTool) -> BaseTool:
    """Give the tool a plain JSON schema, which LangChain shows to models but does not enforce."""
    if not isinstance(tool, StructuredTool):
        return tool
    return tool.model_copy(update={"args_schema": _visible_schema(tool)})


def _visible_schema(tool: BaseTool) -> dict[str, Any]:
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    return schema.model_json_schema() if issubclass(schema, BaseModel) else schema.schema()


def _parse(arguments: object) -> dict[str, Any] | str:
    """Return the arguments by name, or a sentence that says why they are none."""
    try:
        if isinstance(arguments, str):
            if len(arguments) > MAX_ARGUMENT_CHARACTERS:
                return _too_long(len(arguments))
            arguments = json.loads(arguments) if arguments.strip() else {}
        if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
            kind = "null" if arguments is None else type(arguments).__name__
            return f"the arguments are {kind}, wanted one JSON object with the arguments by name"
        length = len(json.dumps(arguments))
    except (ValueError, TypeError, RecursionError) as error:
        return f"the arguments are not JSON ({error}); send one JSON object"
    return arguments if length <= MAX_ARGUMENT_CHARACTERS else _too_long(length)


def _too_long(length: int) -> str:
    return f"the arguments are {length} characters long; at most {MAX_ARGUMENT_CHARACTERS} are accepted"


def _as_text(result: object) -> str:
    return result if isinstance(result, str) else json.dumps(result, default=_as_json)


def _as_json(value: object) -> object:
    return to_jsonable_python(value, fallback=str)


def _explain(error: BaseException) -> str:
    """Say what went wrong; of wrong arguments, name each with what it was and what was wanted."""
    if not isinstance(error, ValidationError):
        try:
            return f"{type(error).__name__}: {error}"
        except Exception:  # noqa: BLE001 - an error whose own text is broken is still only an error
            return type(error).__name__
    parts = [
        f"{_clip('.'.join(map(str, item['loc'])) or 'arguments', 80)}: {item['msg']}, got {_clip(item['input'], 60)}"
        for item in error.errors(include_url=False, include_context=False)[:5]
    ]
    return f"the arguments do not fit: {'; '.join(parts)}"


def _refused(reason: str, changes: NetChanges) -> Answer:
    return Answer(_clip_error(f"Error: {reason}"), True, changes)


def _clip_error(text: str) -> str:
    safe = _storable(text)
    return safe if len(safe) <= MAX_ERROR_CHARACTERS else f"{safe[:MAX_ERROR_CHARACTERS]}... (cut)"


def _storable(text: str) -> str:
    """Escape what no database and no provider accepts: lone surrogates and NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


def _clip(value: object, limit: int) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
