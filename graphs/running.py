"""Running the tool calls of one message in order, each in a transaction of its own, whoever made them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, ToolMessage

from taugraph.domains.changes import NetChanges
from taugraph.tools.definition import ToolKind
from taugraph.tools.executor import Executor, Watch

Eye = Callable[[str, ToolKind | None, Sequence[ToolMessage]], Watch | None]
"""Returns who watches a call, from its name, its kind and the answers to the message's earlier calls."""


@dataclass(frozen=True)
class Ran:
    """What the calls of one message came to.

    Attributes:
        answers: One message per call, in order, without ids of their own.
        changes: The trial's net changes after them.
        errors: How many were errors.
        errors_in_row: How many were errors since the last that was none, those before this message included.
        handed_off: Whether one of them was a handoff.
    """

    answers: list[ToolMessage]
    changes: NetChanges
    errors: int
    errors_in_row: int
    handed_off: bool


def run_calls(
    executor: Executor, message: AIMessage, changes: NetChanges, *, errors_in_row: int = 0, eye: Eye | None = None
) -> Ran:
    """Run the calls.

    Args:
        executor: Holds the tools and the database.
        message: Whose calls are run, the unreadable ones last.
        changes: The trial's net changes before them.
        errors_in_row: Tool errors since the last call that was none.
        eye: Who watches; `None` for nobody.
    """
    answers: list[ToolMessage] = []
    errors, handed_off = 0, False
    for call in [*message.tool_calls, *message.invalid_tool_calls]:
        name = str(call["name"] or "")
        arguments = call["args"] if call["args"] is not None else ""
        kind = executor.kind(name)
        answer = executor.execute(name, arguments, changes, eye(name, kind, answers) if eye else None)
        changes = answer.changes
        errors, errors_in_row = (errors + 1, errors_in_row + 1) if answer.is_error else (errors, 0)
        handed_off = handed_off or kind is ToolKind.HANDOFF
        status = "error" if answer.is_error else "success"
        answers.append(ToolMessage(answer.text, name=name, tool_call_id=call["id"] or "", status=status))
    return Ran(answers, changes, errors, errors_in_row, handed_off)
