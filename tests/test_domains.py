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
from taugraph.domains.task import Task
from taugraph.domains.trial import Score, Termination
from taugraph.evaluators.reward import Played, reward_of, score_trial
from taugraph.tools.definition import ToolKind
from taugraph.tools.executor import Executor
from taugraph.tools.seed_image import table_of

DOMAINS = installed_domains()
TASKS = [(name, task.id) for name in DOMAINS for task in load_domain(name).tasks]
TOOLS = [(name, tool.name) for name in DOMAINS for tool in Executor(load_domain(name)).tools]


@cache
def executor_of(name: str) -> Executor:
    return Executor(load_domain(name))


@pytest.fixture(scope="module", autouse=True)
def close_executors() -> Iterator[None]:
    yield
    for name in DOMAINS:
        executor_of(name).close()
    executor_of.cache_clear()


@pytest.fixture(params=DOMAINS)
def domain(request: pytest.FixtureRequest) -> Domain:
    return load_domain(request.param)


def play(executor: Executor, task: Task) -> tuple[NetChanges, list[str], list[str]]:
    """Make the gold calls one after the other, as an agent does; return net changes, answers and refusals."""
    changes: NetChanges = {}
    answers, refusals = [], []
    for call in task.gold:
        answer = executor.execute(call.name, dict(call.arguments), changes)
        changes = answer.changes
        answers.append(answer.text)
        if answer.is_error:
            refusals.append(f"{call.name}: {answer.text}")
    return changes, answers, refusals


def scores_of(executor: Executor, task: Task, changes: NetChanges, delivered: Sequence[str]) -> list[Score]:
    goal = executor.goal(task.gold)
    return score_trial(task, [goal.changes], Played(changes, delivered), STRICT, executor.domain.comparison)


def tool_of(name: str, tool_name: str) -> BaseTool:
    return next(tool for tool in executor_of(name).tools if tool.name == tool_name)


def test_there_is_a_domain_with_tasks() -> None:
    assert {name for name, _ in TASKS} <= set(DOMAINS)
    assert TASKS


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_the_gold_calls_of_a_task_reach_its_goal(name: str, task_id: str) -> None:
    executor = executor_of(name)
    task = executor.domain.task(task_id)
    changes, _, refusals = play(executor, task)
    assert refusals == []
    assert executor.goal(task.gold).failures == ()
    scores = scores_of(executor, task, changes, [f"It is {claim.value}." for claim in task.claims])
    assert {score.value for score in scores} <= {1.0, None}
    assert reward_of(scores, Termination.USER_STOP) == 1.0


@pytest.mark.parametrize(("name", "task_id"), TASKS)
@pytest.mark.parametrize("delivered", [[], ["", "Is there anything else I can help you with? You're all set!"]])
def test_doing_nothing_fails_a_task(name: str, task_id: str, delivered: list[str]) -> None:
    executor = executor_of(name)
    task = executor.domain.task(task_id)
    scores = scores_of(executor, task, {}, delivered)
    assert reward_of(scores, Termination.USER_STOP) == 0.0
    assert any(score.value is not None and score.value < 1 and score.evidence for score in scores)


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_handing_over_at_once_fails_a_task_unless_that_is_its_goal(name: str, task_id: str) -> None:
    executor = executor_of(name)
    task = executor.domain.task(task_id)
    handoffs = [tool for tool in executor.tools if executor.kind(tool.name) is ToolKind.HANDOFF]
    changes = executor.execute(handoffs[0].name, {"summary": "Please help."}, {}).changes if handoffs else {}
    is_its_goal = any(executor.kind(call.name) is ToolKind.HANDOFF for call in task.gold)
    assert is_its_goal or reward_of(scores_of(executor, task, changes, []), Termination.USER_STOP) == 0.0


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_replaying_the_gold_calls_again_gives_the_same(name: str, task_id: str) -> None:
    executor = executor_of(name)
    task = executor.domain.task(task_id)
    first = play(executor, task)
    assert play(executor, task) == first
    assert executor.goal(task.gold).changes == first[0]


def test_replaying_in_a_new_database_gives_the_same(domain: Domain) -> None:
    fresh = Executor(domain)
    for task in reversed(domain.tasks):
        assert play(fresh, task) == play(executor_of(domain.name), task)
    fresh.close()


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_a_task_that_changes_nothing_says_what_must_be_said(name: str, task_id: str) -> None:
    executor = executor_of(name)
    task = executor.domain.task(task_id)
    assert executor.goal(task.gold).changes or task.claims


@pytest.mark.parametrize(("name", "task_id"), TASKS)
def test_a_claim_is_not_said_by_what_the_user_says_anyway(name: str, task_id: str) -> None:
    executor = executor_of(name)
    task = executor.domain.task(task_id)
    told = [task.scenario.instructions, *task.scenario.known, task.scenario.opening or ""]
    claims = scores_of(executor, task, {}, told)[1]
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
        [tool.name for tool in domain.agent_tools],
        [tool.name for tool in domain.user_tools],
        [table_of(table).name for table in domain.tables],
    ):
        assert len(set(names)) == len(names)


def test_the_dialect_and_the_tasks_name_tools_that_exist(domain: Domain) -> None:
    known = {tool.name for tool in domain.agent_tools}
    assert (domain.dialect.tools or frozenset()) <= known
    usable = known if domain.dialect.tools is None else domain.dialect.tools
    assert {call.name for task in domain.tasks for call in task.gold} <= usable


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
    executor = executor_of(domain.name)
    reads = [call for task in domain.tasks for call in task.gold if executor.kind(call.name) is ToolKind.READ]
    for call in reads:
        assert executor.execute(call.name, dict(call.arguments), {}).changes == {}


def test_there_is_a_policy_and_a_fixed_clock(domain: Domain) -> None:
    assert domain.policy.strip()
    assert domain.now == load_domain(domain.name).now
    assert domain.source == "own"
