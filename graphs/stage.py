"""A stage: one domain with its executor, the two actors and the protocol, shared by all trials of a run."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from taugraph.domains.changes import NetChanges
from taugraph.domains.code_files import load_attribute
from taugraph.domains.domain import Domain
from taugraph.domains.errors import TaskInvalidError
from taugraph.domains.protocol import STRICT, Protocol
from taugraph.domains.task import GoldCall, Task
from taugraph.evaluators.custom import CustomEvaluator, as_evaluator
from taugraph.graphs.agent import Agent
from taugraph.graphs.beginning import start_of
from taugraph.graphs.user import SimulatedUser
from taugraph.tools.executor import Executor, Goal


@dataclass
class Stage:
    """What the nodes of the simulation graph work with.

    Attributes:
        domain: The world.
        agent: Who is under test.
        user: Who plays the customer.
        protocol: Rules of conversation and scoring.
        executor: Runs the agent's tool calls.
        user_executor: Runs the calls of the user's own tools, on the same database.
    """

    domain: Domain
    agent: Agent
    user: SimulatedUser
    protocol: Protocol = STRICT
    executor: Executor = field(init=False)
    user_executor: Executor = field(init=False)
    _goals: dict[tuple[str, int], Goal] = field(init=False, default_factory=dict)
    _evaluators: dict[str, CustomEvaluator] = field(init=False, default_factory=dict)
    _starts: dict[str, NetChanges] = field(init=False, default_factory=dict)
    _goals_lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.executor = Executor(self.domain)
        self.user_executor = self.executor.sharing(self.domain.user_tools)

    def goal(self, task: Task) -> Goal:
        """Return where the task's gold calls lead, worked out once.

        Raises:
            TaskInvalidError: If a gold call is refused under a protocol where that makes the task invalid.
        """
        return self._end_of(task, 0, task.gold)

    def goals(self, task: Task) -> list[NetChanges]:
        """Return the net changes of every accepted end: the gold's, then the alternatives'.

        Raises:
            TaskInvalidError: If a call of any of them is refused where that makes the task invalid.
        """
        solutions = enumerate((task.gold, *task.alternatives))
        return [self._end_of(task, number, calls).changes for number, calls in solutions]

    def evaluators(self, task: Task) -> list[CustomEvaluator]:
        """Return the evaluators of one's own that the task names, loaded once.

        Raises:
            ConfigurationError: If one cannot be loaded, or wants what there is not.
        """
        folder = self.domain.folder or Path.cwd()
        for reference in task.evaluators:
            if reference not in self._evaluators:
                self._evaluators[reference] = as_evaluator(reference, load_attribute(reference, folder))
        return [self._evaluators[reference] for reference in task.evaluators]

    def start(self, task: Task) -> NetChanges:
        """Return the net changes with which the task begins, worked out once; empty where it begins on the seed.

        Raises:
            TaskInvalidError: If its data or a call of its own is refused.
        """
        with self._goals_lock:
            return self._start_of(task)

    def _start_of(self, task: Task) -> NetChanges:
        if task.initial is None:
            return {}
        if task.id not in self._starts:
            self._starts[task.id] = start_of(task, task.initial, self.executor, self.user_executor)
        return self._starts[task.id]

    def _end_of(self, task: Task, number: int, calls: Sequence[GoldCall]) -> Goal:
        with self._goals_lock:
            if (task.id, number) not in self._goals:
                start = self._start_of(task)
                self._goals[task.id, number] = self.executor.goal(calls, start=start, user=self.user_executor)
            goal = self._goals[task.id, number]
        if goal.failures and not self.protocol.gold_may_fail:
            raise TaskInvalidError(task.id, goal.failures[0])
        return goal

    def close(self) -> None:
        """Release the seed copies."""
        self.executor.close()
