"""A conversation that a test writes down, its calls made on a real executor while the domain's rules watch."""

from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from taugraph.domains.changes import NetChanges
from taugraph.domains.task import Scenario, Task
from taugraph.graphs.watch import PolicyWatch
from taugraph.tools.executor import Executor

TASK = Task(id="a", scenario=Scenario(instructions="x"))


class Conversation:
    """What was said and done so far, and the rules that were broken."""

    def __init__(self, executor: Executor) -> None:
        self.messages: list[BaseMessage] = []
        self.violations: list[dict[str, Any]] = []
        self._executor = executor
        self._changes: NetChanges = {}

    def user(self, text: str) -> Self:
        self.messages.append(HumanMessage(text))
        return self

    def agent(self, text: str) -> Self:
        self.messages.append(AIMessage(text))
        return self

    def call(self, name: str, **arguments: Any) -> Self:
        """Make a call, whatever comes of it."""
        self.messages.append(AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c"}]))
        watch = PolicyWatch(self._executor.domain.rules, TASK, self.messages)
        look = watch.of_call(name, self._executor.kind(name), [])
        answer = self._executor.execute(name, arguments, self._changes, look)
        self._changes = answer.changes
        status: Any = "error" if answer.is_error else "success"
        self.messages.append(ToolMessage(answer.text, tool_call_id="c", status=status))
        self.violations += watch.violations
        assert not watch.errors, watch.errors
        return self

    def does(self, name: str, **arguments: Any) -> Self:
        """Make a call that the customer agreed to."""
        return (
            self.agent(f"{name.replace('_', ' ')}: {arguments}. Go ahead?").user("Yes, please.").call(name, **arguments)
        )

    @property
    def broken(self) -> list[str]:
        """Names of the rules that were broken, in order."""
        return [violation["rule"] for violation in self.violations]
