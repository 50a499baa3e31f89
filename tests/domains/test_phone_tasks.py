"""The carrier's own tasks: agent and customer both have to act, and the texts tell what the customer may know."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from taugraph.domains.task import Task
from taugraph.experiments.check_suite import ends_alone
from taugraph.graphs.agents.baselines import SilentAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser
from taugraph.tools.definition import ToolKind
from taugraph.tools.phone import domain

TASKS = domain.tasks
IDENTIFIES = {"find_customer_by_name", "find_customer_by_phone"}
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage(domain, SilentAgent(), DemoUser())
    yield stage
    stage.close()


def kinds(stage: Stage, task: Task, actor: str) -> list[ToolKind | None]:
    executor = stage.user_executor if actor == "user" else stage.executor
    return [executor.kind(call.name) for call in task.gold if call.actor == actor]


def test_there_are_enough_tasks_in_every_split() -> None:
    splits = Counter(split for task in TASKS for split in task.splits)
    assert len(TASKS) >= 25
    assert (splits["smoke"], splits["train"] > 4, splits["test"] > 18) == (4, True, True)


@each_task
def test_both_sides_act_and_the_user_changes_something(task: Task, stage: Stage) -> None:
    assert ToolKind.WRITE in kinds(stage, task, "user")
    changing = {ToolKind.WRITE, ToolKind.HANDOFF} & set(kinds(stage, task, "agent"))
    assert changing or task.claims or "look_up_puk" in {call.name for call in task.gold}


@each_task
def test_neither_side_gets_there_alone(task: Task, stage: Stage) -> None:
    alone = ends_alone(stage, task)
    assert alone["agent"] is False
    assert alone["user"] is False or task.claims


def test_in_many_tasks_the_sides_take_turns() -> None:
    turns = []
    for task in TASKS:
        actors = [call.actor for call in task.gold]
        turns.append(sum(actor != before for before, actor in pairwise(actors)))
    assert sum(count >= 3 for count in turns) >= 10
    assert sum(count >= 2 for count in turns) >= 20
    assert max(turns) >= 5


@each_task
def test_the_customer_is_identified_first(task: Task) -> None:
    assert task.gold[0].name in IDENTIFIES
    assert [call.name for call in task.gold[1:3]] == ["get_customer_details", "get_line_details"]
    text = task.scenario.model_dump_json()
    assert all(str(value) in text for value in task.gold[0].arguments.values())


@each_task
def test_the_customer_is_told_no_id_of_the_carriers(task: Task) -> None:
    assert re.findall(r"\b[BCDL]\d{5}\b", task.scenario.model_dump_json()) == []


@each_task
def test_one_phone_is_in_the_customers_hand_and_it_is_the_customers(task: Task, stage: Stage) -> None:
    assert task.initial is not None
    held = [key for key, fields in task.initial.data["devices"].items() if fields == {**fields, "in_hand": True}]  # type: ignore[dict-item]
    assert len(held) == 1
    answer = stage.user_executor.execute("check_status_bar", {}, stage.start(task))
    assert answer.text.startswith("Status bar: ")


@each_task
def test_something_is_wrong_or_wanted_on_the_phone_itself(task: Task, stage: Stage) -> None:
    goal, start = stage.goal(task).changes, stage.start(task)
    tables = {"devices", "app_permissions", "bills"}
    assert any(goal.get(table) != start.get(table) for table in tables)


@each_task
def test_it_reads_as_somebody_wrote_it(task: Task) -> None:
    scenario = task.scenario
    assert scenario.instructions.startswith("You are ")
    assert scenario.opening
    assert scenario.exit_when
    assert not re.search(
        r"_|\bgold\b|\btool\b|\btask\b", scenario.model_dump_json(exclude={"exit_when"}).split('"known"')[0][20:]
    )


def test_every_tool_that_changes_something_is_called_for_somewhere() -> None:
    made = {call.name for task in TASKS for call in task.gold}
    for tools in (domain.agent_tools, domain.user_tools):
        writing = {tool.name for tool in tools if tool.tags and tool.tags[0] in ("write", "handoff")}
        assert writing <= made


def test_there_are_refusals_handoffs_and_red_herrings() -> None:
    tags = Counter(tag for task in TASKS for tag in task.tags)
    assert (tags["refusal"] >= 3, tags["handoff"] >= 3, tags["red-herring"] >= 3) == (True, True, True)
    assert all(("handoff" in task.tags) == (task.handoff is not None) for task in TASKS)
