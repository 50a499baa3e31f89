"""A stage: one domain with its executor, the two actors and the protocol, shared by all trials of a run."""

import threading
from dataclasses import dataclass, field

from taugraph.domains.domain import Domain
from taugraph.domains.errors import TaskInvalidError
from taugraph.domains.protocol import STRICT, Protocol
from taugraph.domains.task import Task
from taugraph.graphs.agent import Agent
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
        executor: Runs the tool calls.
    """

    domain: Domain
    agent: Agent
    user: SimulatedUser
    protocol: Protocol = STRICT
    executor: Executor = field(init=False)
    _goals: dict[str, Goal] = field(init=False, default_factory=dict)
    _goals_lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.executor = Executor(self.domain)

    def goal(self, task: Task) -> Goal:
        """Return where the task's gold calls lead, worked out once.

        Raises:
            TaskInvalidError: If a gold call is refused under a protocol where that makes the task invalid.
        """
        with self._goals_lock:
            if task.id not in self._goals:
                ends = self.protocol.handoff_ends_trial
                self._goals[task.id] = self.executor.goal(task.gold, skip_handoff=ends)
            goal = self._goals[task.id]
        if goal.failures and not self.protocol.gold_may_fail:
            raise TaskInvalidError(task.id, goal.failures[0])
        return goal

    def close(self) -> None:
        """Release the seed copies."""
        self.executor.close()
