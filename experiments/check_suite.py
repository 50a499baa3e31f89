"""A suite of tasks under the linter's lens: its seed's values, its gold calls played, its trials by the baselines.

Everything is worked out once and asked by many checks.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import Domain
from taugraph.domains.errors import TaskInvalidError
from taugraph.domains.protocol import PROTOCOLS, STRICT
from taugraph.domains.task import GoldCall, Task
from taugraph.domains.trial import Trial
from taugraph.evaluators.database import database_matches_a_goal
from taugraph.experiments.play import Player
from taugraph.graphs.agent import Agent, AgentView
from taugraph.graphs.agents.baselines import BASELINES, ORACLE
from taugraph.graphs.agents.building import build_agent
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import SimulatedUser, UserTurn, UserView
from taugraph.graphs.users.building import build_user
from taugraph.tools.definition import ToolKind
from taugraph.tools.seed_image import table_of

WATCHED = "noop"
"""The baseline in whose trials the views are looked at."""

_LEAST_ID = 4
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T.*)?")
_WORD = re.compile(r"#?\w+(?:[-.]\w+)*")


class Finding(BaseModel):
    """One thing that a check has to say about a suite."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    task_id: str | None
    """Task it is about; `None` for the whole suite."""
    check: str
    """Name of the check."""
    severity: Literal["fault", "note"]
    """A fault fails the suite; a note is for a person to judge."""
    message: str
    """What is wrong, in a sentence."""


def fault(task: Task | None, check: str, message: str) -> Finding:
    """Return a finding that fails the suite."""
    return Finding(task_id=task.id if task else None, check=check, severity="fault", message=message)


def note(task: Task | None, check: str, message: str) -> Finding:
    """Return a finding for a person to judge."""
    return Finding(task_id=task.id if task else None, check=check, severity="note", message=message)


@dataclass(frozen=True)
class GoldStep:
    """A gold call that was made.

    Attributes:
        call: The call.
        kind: Kind of its tool; `None` if there is no such tool.
        text: The answer.
        is_error: Whether it was refused.
        before: Net changes before it.
    """

    call: GoldCall
    kind: ToolKind | None
    text: str
    is_error: bool
    before: NetChanges


@dataclass(frozen=True)
class Views:
    """What agent and user were given in one trial, as they were given it."""

    agent: list[AgentView]
    user: list[UserView]


class Suite:
    """The tasks of a domain with what the checks ask about them."""

    def __init__(self, domain: Domain, tasks: Sequence[Task], stage: Stage, agents: dict[str, Agent]) -> None:
        """Play every solution and every baseline on a stage."""
        self.domain = domain
        self.tasks = tasks
        self.executor = stage.executor
        self.user_executor = stage.user_executor
        self.solutions = {
            task.id: [play_gold(stage, task, calls) for calls in (task.gold, *task.alternatives)] for task in tasks
        }
        self.alone = {task.id: ends_alone(stage, task) for task in tasks if _is_shared(task)}
        self.views: dict[str, Views] = {task.id: Views([], []) for task in tasks}
        self.trials = {reference: self._play(stage, agent) for reference, agent in agents.items()}

    def kind(self, call: GoldCall) -> ToolKind | None:
        """Return the kind of the tool that a gold call names, among those of who makes it; `None` if there is none."""
        return (self.user_executor if call.actor == "user" else self.executor).kind(call.name)

    def passed(self, reference: str) -> list[str]:
        """Return the ids of the tasks that an agent passes; one that cannot be scored is passed by nobody."""
        passed = [trial.task_id for trial in self.trials[reference] if trial.outcome == "passed"]
        return [task_id for task_id in passed if task_id not in self.invalid]

    @cached_property
    def invalid(self) -> frozenset[str]:
        """Ids of the tasks whose solution is refused a change, so that an agent that does nothing looks right."""
        harmless = (ToolKind.READ, ToolKind.GENERIC)
        return frozenset(
            task_id
            for task_id, solutions in self.solutions.items()
            if any(step.is_error and step.kind not in harmless for steps in solutions for step in steps)
        )

    def answers(self, task: Task) -> list[str]:
        """Return the answers that the task's solutions get, refusals left out."""
        return [step.text for steps in self.solutions[task.id] for step in steps if not step.is_error]

    @cached_property
    def seed_values(self) -> frozenset[str]:
        """Every value of the seed, JSON columns included, as text."""
        return frozenset(value for row in self.rows for value in leaves(row))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The seed's rows, each with its table under `""`."""
        return [{"": str(type(row).__tablename__), **row.model_dump(mode="json")} for row in self.domain.seed.rows()]

    @cached_property
    def id_shapes(self) -> frozenset[str]:
        """What the texts in the tables' keys look like, as far as they hold a digit."""
        keys = {table_of(table).name: list(table_of(table).primary_key.columns.keys()) for table in self.domain.tables}
        ids = {row[name] for row in self.rows for name in keys[row[""]] if isinstance(row[name], str)}
        return frozenset(_shape(value) for value in ids if _may_be_id(value))

    def ids_in(self, text: str) -> list[str]:
        """Return the words of a text that look like a key of the seed."""
        return [word for word in _WORD.findall(text) if self.is_id(word)]

    def is_id(self, value: str) -> bool:
        """Tell whether a value looks like a key of the seed."""
        return _may_be_id(value) and _shape(value) in self.id_shapes

    def _play(self, stage: Stage, agent: Agent) -> list[Trial]:
        user = stage.user
        stage.agent = agent
        if agent.reference == WATCHED:
            stage.agent, stage.user = _WatchedAgent(agent, self.views), _WatchedUser(user, self.views)
        player = Player(stage)

        async def play() -> list[Trial]:
            return [await player.play(task.id, 0, 0) for task in self.tasks]

        try:
            return asyncio.run(play())
        finally:
            stage.user = user


def open_suite(domain: Domain, split: str | None = None) -> Suite:
    """Play a domain's tasks by the gold, by the oracle and by every baseline.

    The protocol is the one named as the data's dialect is, or the strict one.

    Args:
        domain: The domain; its ids need not be unique.
        split: Take only the tasks of this split; `None` for all.
    """
    protocol = PROTOCOLS.get(domain.dialect.name, STRICT)
    tasks = [task for task in domain.tasks if split is None or split in task.splits]
    domain = replace(domain, tasks=list({task.id: task for task in reversed(tasks)}.values()))
    models = ChatModels()
    agents = {name: build_agent(SimulationContext(agent=name), domain, models) for name in (*BASELINES, ORACLE)}
    stage = Stage(domain, agents[WATCHED], build_user(SimulationContext(), protocol, models), protocol)
    try:
        return Suite(domain, tasks, stage, agents)
    finally:
        stage.close()


def play_gold(stage: Stage, task: Task, calls: Iterable[GoldCall]) -> list[GoldStep]:
    """Make the calls one after the other, from where the task's trials begin."""
    executors = {"agent": stage.executor, "user": stage.user_executor}
    steps = []
    try:
        changes = stage.start(task)
    except TaskInvalidError as error:
        return [GoldStep(call, executors[call.actor].kind(call.name), f"Error: {error}", True, {}) for call in calls]
    for call in calls:
        executor = executors[call.actor]
        answer = executor.execute(call.name, dict(call.arguments), changes)
        steps.append(GoldStep(call, executor.kind(call.name), answer.text, answer.is_error, changes))
        changes = answer.changes
    return steps


def _is_shared(task: Task) -> bool:
    return {call.actor for call in task.gold} == {"agent", "user"}


def ends_alone(stage: Stage, task: Task) -> dict[str, bool]:
    """Tell by actor whether its own gold calls, without the other's, lead to an end that is accepted.

    The user can make only calls whose ids and codes it was told or has read itself.
    """
    try:
        start, goals = stage.start(task), stage.goals(task)
    except TaskInvalidError:
        return {}
    ends: dict[str, bool] = {}
    for actor, executor in (("agent", stage.executor), ("user", stage.user_executor)):
        changes, known = start, " ".join(told(task))
        for call in (call for call in task.gold if call.actor == actor):
            if actor == "user" and not _is_known(call, known):
                continue
            answer = executor.execute(call.name, dict(call.arguments), changes)
            changes, known = answer.changes, f"{known} {answer.text}"
        ends[actor] = database_matches_a_goal(changes, goals, stage.domain.comparison).value == 1.0
    return ends


def _is_known(call: GoldCall, known: str) -> bool:
    return all(value in known for value in leaves(dict(call.arguments)) if _may_be_id(value))


def told(task: Task) -> list[str]:
    """Return everything the simulated user is told."""
    scenario = task.scenario
    texts = (scenario.instructions, *scenario.known, *scenario.unknown, scenario.opening, scenario.exit_when)
    return [text for text in texts if text]


def leaves(value: Any) -> Iterator[str]:
    """Yield every value inside a JSON value as text; the keys of objects are no values."""
    if isinstance(value, dict | list | tuple):
        for child in value.values() if isinstance(value, dict) else value:
            yield from leaves(child)
    elif value is not None:
        yield str(value)


def _may_be_id(value: str) -> bool:
    return len(value) >= _LEAST_ID and any(map(str.isdigit, value)) and not _DATE.fullmatch(value)


def _shape(value: str) -> str:
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", value)))


class _WatchedAgent:
    """An agent with a note of what it was given."""

    def __init__(self, agent: Agent, views: dict[str, Views]) -> None:
        self.reference, self.is_privileged = agent.reference, agent.is_privileged
        self._agent, self._views = agent, views

    async def reply(self, view: AgentView) -> Any:
        self._views[view.key.task_id].agent.append(view)
        return await self._agent.reply(view)


class _WatchedUser:
    """A user with a note of what it was given."""

    def __init__(self, user: SimulatedUser, views: dict[str, Views]) -> None:
        self.reference = user.reference
        self._user, self._views = user, views

    async def speak(self, view: UserView) -> UserTurn:
        self._views[view.key.task_id].user.append(view)
        return await self._user.speak(view)
