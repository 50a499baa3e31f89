"""How a task begins that does not begin on the seed and in silence."""

from langchain_core.messages import AIMessage, AnyMessage, convert_to_messages
from sqlmodel import Session

from taugraph.domains.changes import NetChanges
from taugraph.domains.errors import TaskInvalidError, ToolRefusal
from taugraph.domains.task import GoldCall, InitialState, Task
from taugraph.tools.executor import Executor


def start_of(task: Task, initial: InitialState, executor: Executor, user: Executor | None = None) -> NetChanges:
    """Return the net changes after the task's own data, its calls, and the calls of its earlier conversation.

    Args:
        task: The task.
        initial: How it begins.
        executor: Runs what the agent calls.
        user: Runs what the user calls; `None` where it has no tools.

    Raises:
        TaskInvalidError: If any of them is refused.
    """
    changes: NetChanges = {}
    if initial.data:
        changes = _with_data(task, initial, executor)
    spoken = [message for message in messages_before(task) if isinstance(message, AIMessage)]
    earlier = [GoldCall(name=call["name"], arguments=call["args"]) for said in spoken for call in said.tool_calls]
    start = executor.goal([*initial.calls, *earlier], start=changes, user=user)
    if start.failures:
        raise TaskInvalidError(task.id, f"before the conversation, {start.failures[0]}")
    return start.changes


def _with_data(task: Task, initial: InitialState, executor: Executor) -> NetChanges:
    change = executor.domain.change_records
    if change is None:
        raise TaskInvalidError(task.id, f"domain {executor.domain.name!r} takes no data from tasks")

    def work(session: Session) -> None:
        change(session, initial.data)

    try:
        return executor.database.run({}, work)[1]
    except (ValueError, LookupError, ToolRefusal) as error:
        raise TaskInvalidError(task.id, f"its initial data do not fit: {error}") from error


def messages_before(task: Task) -> list[AnyMessage]:
    """Return the conversation that a task begins with, each message with an id of its own."""
    if task.initial is None:
        return []
    messages = convert_to_messages([dict(message) for message in task.initial.messages])
    return [message.model_copy(update={"id": f"before-{number}"}) for number, message in enumerate(messages, 1)]  # type: ignore[misc] # a conversation holds no other kinds
