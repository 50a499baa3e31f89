"""Watching the policy while the tools run: the domain's rules, asked at the moment of each call.

They see the database inside the call's own transaction. A rule that raises is noted, and leaves the policy undecided.
Where the task's reward rests on that rule, an error that odd arguments cause is a breach, so that no agent can leave
its trial unscored by sending them; any other error is a fault of ours, and does leave it unscored.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from sqlmodel import Session

from taugraph.domains.rules import Event, Moment, PolicyRule, Violation
from taugraph.domains.task import Task
from taugraph.graphs.delivery import delivered_text
from taugraph.tools.definition import ToolKind
from taugraph.tools.executor import Watch

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a rule meets in arguments of odd size or kind."""


class PolicyWatch:
    """The rules that watch the calls of one agent message."""

    def __init__(self, rules: Sequence[PolicyRule], task: Task, messages: Sequence[BaseMessage]) -> None:
        """Look back on the transcript, whose last message makes the calls."""
        self._rules = rules
        self._required = frozenset(task.rules)
        self._messages = messages
        self.violations: list[dict[str, Any]] = []
        self.errors: list[str] = []

    def of_call(self, name: str, kind: ToolKind | None, answers: Sequence[ToolMessage]) -> Watch:
        """Return what the executor is to run before the call; `answers` are those to the message's earlier calls."""

        def watch(arguments: dict[str, Any], session: Session) -> None:
            history = list(history_of([*self._messages, *answers]))
            moment = Moment(name, arguments, kind is ToolKind.WRITE, history, session)
            for rule in self._rules:
                self._check(rule, moment)

        return watch

    def _check(self, rule: PolicyRule, moment: Moment) -> None:
        try:
            broken = list(rule.violations(moment, len(self._messages) - 1))
        except Exception as error:
            self.errors.append(f"{rule.name} at {moment.name}: {type(error).__name__}: {error}"[:500])
            if rule.name not in self._required:
                return
            if not isinstance(error, _UNREADABLE):
                raise
            explanation = f"the rule cannot read the arguments of {moment.name} ({type(error).__name__})"
            place = len(self._messages) - 1
            breach = Violation(rule=rule.name, message=place, call=moment.name, explanation=explanation)
            self.violations.append(breach.model_dump())
        else:
            self.violations.extend(map(Violation.model_dump, broken))


def history_of(messages: Sequence[BaseMessage]) -> Iterator[Event]:
    """Yield what a transcript tells: words that were delivered, and calls that were answered."""
    calls: list[tuple[int, dict[str, Any]]] = []
    for index, message in enumerate(messages):
        if isinstance(message, HumanMessage):
            yield Event(index, "user", message.text)
        elif isinstance(message, ToolMessage) and calls:
            place, call = calls.pop(0)
            arguments = call["args"] if isinstance(call["args"], dict) else None
            is_error = message.status == "error"
            yield Event(place, "call", message.text, str(call["name"] or ""), arguments, is_error)
        elif isinstance(message, AIMessage):
            calls = [(index, dict(call)) for call in (*message.tool_calls, *message.invalid_tool_calls)]
            if text := delivered_text(message):
                yield Event(index, "agent", text)
