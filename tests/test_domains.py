"""What every installed domain must keep: its data, tools and tasks fit each other, and no task is won by silence."""

import inspect
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from langchain_core.tools import BaseTool
from pydantic import TypeAdapter

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import Domain, installed_domains, load_domain
from taugraph.domains.protocol import STRICT
from taugraph.domains.task import GoldCall, Task
from taugraph.domains.trial import Score, Termination
from taugraph.evaluators.reward import Played, reward_of, score_trial
from taugraph.experiments.check_suite import ends_alone
from taugraph.graphs.agents.baselines import SilentAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser
from taugraph.tools.definition import ToolKind
from taugraph.tools.executor import Executor
from taugraph.tools.seed_image import table_of


def actors_of(task: Task) -> set[str]:
    return {call.actor for call in task.gold}


DOMAINS = installed_domains()
TASKS = [(name, task.id) for name in DOMAINS for task in load_domain(name).tasks]
SHARED = [
    (name, task.id)
    for name, task_id in TASKS
    for task in [load_domain(name).task(task_id)]
    if "user" in actors_of(task)
]
TOOLS = [
    (name, tool.name)
    for name in DOMAINS
    for tool in (*Executor(load_domain(name)).tools, *load_domain(name).user_tools)
]


@cache
def stage_of(name: str) -> Stage:
    return Stage(load_domain(name), SilentAgent(), DemoUser())


def executor_of(name: str) -> Executor:
    return stage_of(name).executor


@pytest.fixture(scope="module", autouse=True)
def close_stages() -> Iterator[None]:
    yield
    for name in DOMAINS:
        stage_of(name).close()
    stage_of.cache_clear()


@pytest.fixture(params=DOMAINS)
def domain(request: pytest.FixtureRequest) -> Domain:
    return load_domain(request.param)


def play(stage: Stage, task: Task) -> tuple[NetChanges, list[str], list[str]]:
    """Make the gold calls one after the other, as agent and user do; return net changes, answers and refusals."""
    changes = stage.start(task)
    answers, refusals = [], []
    for call in task.gold:
        answer = executor_for(stage, call).execute(call.name, dict(call.arguments), changes)
        changes = answer.changes
        answers.append(answer.text)
        if answer.is_error:
            refusals.append(f"{call.name}: {answer.text}")
    return changes, answers, refusals


def executor_for(stage: Stage, call: GoldCall) -> Executor:
    return stage.user_executor if call.actor == "user" else stage.executor


def scores_of(stage: Stage, task: Task, changes: NetChanges, delivered: Sequence[str]) -> list[Score]:
    goal = stage.goal(task)
    return score_trial(task, [goal.changes], Played(changes, delivered), STRICT, stage.domain.comparison)


def tool_of(name: str, tool_name: str) -> BaseTool:
    stage = stage_of(name)
    tools = [*stage.executor.tools, *stage.user_executor.tools]
    return next(tool for tool in tools if tool.name == tool_name)


def test_there_is_a_domain_with_tasks() -> None:
    assert {name for name, _ in TASKS} <= set(DOMAINS)
    assert TASKS


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_the_gold_calls_of_a_task_reach_its_goal(name: str, task_id: str) -> None:
    stage = stage_of(name)
    task = stage.domain.task(task_id)
    changes, _, refusals = play(stage, task)
    assert refusals == []
    assert stage.goal(task).failures == ()
    scores = scores_of(stage, task, changes, [f"It is {claim.value}." for claim in task.claims])
    assert {score.value for score in scores} <= {1.0, None}
    assert reward_of(scores, Termination.USER_STOP) == 1.0


@pytest.mark.parametrize(("name", "task_id"), TASKS)
@pytest.mark.parametrize("delivered", [[], ["", "Is there anything else I can help you with? You're all set!"]])
def test_doing_nothing_fails_a_task(name: str, task_id: str, delivered: list[str]) -> None:
    stage = stage_of(name)
    task = stage.domain.task(task_id)
    scores = scores_of(stage, task, stage.start(task), delivered)
    assert reward_of(scores, Termination.USER_STOP) == 0.0
    assert any(score.value is not None and score.value < 1 and score.evidence for score in scores)


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_handing_over_at_once_fails_a_task_unless_that_is_its_goal(name: str, task_id: str) -> None:
    stage, executor = stage_of(name), executor_of(name)
    task = executor.domain.task(task_id)
    start = stage.start(task)
    handoffs = [tool for tool in executor.tools if executor.kind(tool.name) is ToolKind.HANDOFF]
    changes = executor.execute(handoffs[0].name, {"summary": "Please help."}, start).changes if handoffs else start
    is_its_goal = any(executor.kind(call.name) is ToolKind.HANDOFF for call in task.gold)
    assert is_its_goal or reward_of(scores_of(stage, task, changes, []), Termination.USER_STOP) == 0.0


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_replaying_the_gold_calls_again_gives_the_same(name: str, task_id: str) -> None:
    stage = stage_of(name)
    task = stage.domain.task(task_id)
    first = play(stage, task)
    assert play(stage, task) == first
    assert stage.goal(task).changes == first[0]


def test_replaying_in_a_new_database_gives_the_same(domain: Domain) -> None:
    fresh = Stage(domain, SilentAgent(), DemoUser())
    for task in reversed(domain.tasks):
        assert play(fresh, task) == play(stage_of(domain.name), task)
    fresh.close()


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_a_task_that_changes_nothing_says_what_must_be_said(name: str, task_id: str) -> None:
    stage = stage_of(name)
    task = stage.domain.task(task_id)
    assert stage.goal(task).changes != stage.start(task) or task.claims


@pytest.mark.parametrize(("name", "task_id"), SHARED)
def test_a_task_in_which_both_sides_act_needs_both(name: str, task_id: str) -> None:
    stage = stage_of(name)
    task = stage.domain.task(task_id)
    assert actors_of(task) == {"agent", "user"}
    alone = ends_alone(stage, task)
    assert not alone["agent"]
    assert not alone["user"] or task.claims


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_a_claim_is_not_said_by_what_the_user_says_anyway(name: str, task_id: str) -> None:
    stage = stage_of(name)
    task = stage.domain.task(task_id)
    told = [task.scenario.instructions, *task.scenario.known, task.scenario.opening or ""]
    claims = scores_of(stage, task, stage.start(task), told)[1]
    assert [entry["claim"] for entry in claims.evidence if entry["said_in"] is not None] == []


@pytest.mark.parametrize(("name", "tool_name"), TOOLS)
def test_the_schema_of_a_tool_comes_from_its_signature(name: str, tool_name: str) -> None:
    tool = tool_of(name, tool_name)
    function = getattr(tool, "func", None)
    assert function is not None
    visible = {key: item for key, item in inspect.signature(function).parameters.items() if key != "session"}
    schema = tool.tool_call_schema
    document = schema if isinstance(schema, dict) else TypeAdapter(schema).json_schema()
    properties = document.get("properties", {})
    assert list(properties) == list(visible)
    assert set(document.get("required", ())) == {
        key for key, item in visible.items() if item.default is inspect.Parameter.empty
    }
    assert all(item.get("description") for item in properties.values())
    assert tool.description


def test_ids_and_names_are_unique(domain: Domain) -> None:
    for names in (
        [task.id for task in domain.tasks],
        [tool.name for tool in (*domain.agent_tools, *domain.user_tools)],
        [table_of(table).name for table in domain.tables],
    ):
        assert len(set(names)) == len(names)


def test_the_dialect_and_the_tasks_name_tools_that_exist(domain: Domain) -> None:
    known = {tool.name for tool in domain.agent_tools}
    assert (domain.dialect.tools or frozenset()) <= known
    usable = known if domain.dialect.tools is None else domain.dialect.tools
    made = {(call.actor, call.name) for task in domain.tasks for call in task.gold}
    assert {name for actor, name in made if actor == "agent"} <= usable
    assert {name for actor, name in made if actor == "user"} <= {tool.name for tool in domain.user_tools}


def test_the_comparison_names_tables_and_columns_that_exist(domain: Domain) -> None:
    columns = {table_of(table).name: set(table_of(table).columns.keys()) for table in domain.tables}
    for table, position in domain.comparison.unordered.items():
        assert position in columns[table]
    for table, ignored in domain.comparison.ignored.items():
        assert ignored <= columns[table]


def test_the_seed_has_rows_of_known_tables_parents_first(domain: Domain) -> None:
    order = [domain.tables.index(type(row)) for row in domain.seed.rows()]
    assert order
    assert order == sorted(order)


def test_reading_changes_nothing(domain: Domain) -> None:
    stage = stage_of(domain.name)
    for task in domain.tasks:
        start = stage.start(task)
        for call in task.gold:
            executor = executor_for(stage, call)
            if executor.kind(call.name) is ToolKind.READ:
                assert executor.execute(call.name, dict(call.arguments), start).changes == start


def test_there_is_a_policy_and_a_fixed_clock(domain: Domain) -> None:
    assert domain.policy.strip()
    assert domain.now == load_domain(domain.name).now
    assert domain.source == "own"
