"""The shop's own tasks: solvable on the seed, consistent with it, and failed by whoever does nothing."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from support.seed_tables import Tables, read_tables

from taugraph.domains.retail import seed
from taugraph.domains.task import Claim, ClaimKind, Task, load_tasks
from taugraph.evaluators.claims import claims_were_said
from taugraph.tools.definition import ToolKind
from taugraph.tools.executor import Executor
from taugraph.tools.retail import domain

TASKS = load_tasks(Path(seed.__file__).with_name("tasks.jsonl"))
HANDOFF = "transfer_to_human_agents"
IDENTIFIES = {"find_user_id_by_email", "find_user_id_by_name_zip"}
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    executor = Executor(domain)
    yield executor
    executor.close()


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(seed.SEED_FOLDER, seed.SEED_TABLES)


@pytest.fixture(scope="module")
def answers(executor: Executor) -> dict[str, list[tuple[str, str]]]:
    """Task id -> (tool, answer) of each gold call; no call may be refused."""
    found: dict[str, list[tuple[str, str]]] = {}
    for task in TASKS:
        changes, texts = {}, []
        for call in task.gold:
            answer = executor.execute(call.name, dict(call.arguments), changes)
            assert not answer.is_error, (task.id, call, answer.text)
            changes = answer.changes
            texts.append((call.name, answer.text))
        found[task.id] = texts
    return found


def shown(task: Task) -> str:
    return task.scenario.model_dump_json()


def customer(task: Task) -> str:
    return next(str(call.arguments["user_id"]) for call in task.gold if call.name == "get_user_details")


def writes(executor: Executor, task: Task) -> list[str]:
    return [call.name for call in task.gold if executor.kind(call.name) is ToolKind.WRITE]


def numbers(text: str) -> set[float]:
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)}


def test_the_suite_has_its_size_and_splits() -> None:
    splits = Counter(split for task in TASKS for split in task.splits)
    assert len(TASKS) >= 110
    assert splits == {"train": 71, "test": 45, "smoke": 8}
    assert all(set(task.splits) in ({"train"}, {"test"}, {"test", "smoke"}) for task in TASKS)


def test_ids_openings_and_customers_are_unique() -> None:
    for key in (lambda task: task.id, lambda task: task.scenario.opening, customer):
        assert max(Counter(map(key, TASKS)).values()) == 1
    assert all(re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", task.id) for task in TASKS)


def test_the_suite_covers_what_it_should(executor: Executor) -> None:
    used = Counter(name for task in TASKS for name in writes(executor, task))
    every = {tool.name for tool in executor.tools if executor.kind(tool.name) is ToolKind.WRITE}
    assert used.keys() == every
    assert min(used.values()) >= 5
    assert sum(len(writes(executor, task)) >= 2 for task in TASKS) >= 25
    assert sum(task.handoff is not None for task in TASKS) >= 8
    assert sum("refusal" in task.tags for task in TASKS) >= 10
    assert sum(bool(task.alternatives) for task in TASKS) >= 3
    assert sum(bool(task.must_not_say) for task in TASKS) >= 3
    assert sum("same-name" in task.tags for task in TASKS) >= 10


@each_task
def test_a_task_is_whole(task: Task, executor: Executor) -> None:
    scenario = task.scenario
    assert all((scenario.opening, scenario.exit_when, scenario.known, scenario.unknown, task.claims))
    assert task.author == "taugraph"
    assert f"writes:{len(writes(executor, task))}" in task.tags
    assert sum(tag.startswith("difficulty:") for tag in task.tags) == 1
    assert len([tag for tag in task.tags if ":" not in tag]) >= 1
    assert set(task.rules) <= {rule.name for rule in domain.rules}
    assert (task.handoff is not None) == any(call.name == HANDOFF for call in task.gold)
    assert ("handoff" in task.tags) == (task.handoff is not None)
    assert task.gold[0].name in IDENTIFIES


@each_task
def test_every_solution_runs_on_the_seed_and_solutions_differ(task: Task, executor: Executor) -> None:
    goals = [executor.goal(solution) for solution in (task.gold, *task.alternatives)]
    assert [goal.failures for goal in goals] == [()] * len(goals)
    assert bool(goals[0].changes) == bool(writes(executor, task) or task.handoff)
    assert all(one.changes != other.changes for one, other in combinations(goals, 2))


@each_task
def test_saying_nothing_or_yes_or_what_the_user_said_fails(task: Task) -> None:
    texts = [task.scenario.instructions, *task.scenario.known, task.scenario.opening or ""]
    for delivered in ([], ["Yes, done."], texts):
        assert claims_were_said(task.claims, delivered).value == 0.0
    for claim in task.claims:
        assert claims_were_said([claim], texts).value == 0.0, claim


@each_task
def test_claims_can_be_read_from_answers(task: Task, answers: dict[str, list[tuple[str, str]]]) -> None:
    texts = [text for _, text in answers[task.id]]
    for claim in task.claims:
        assert "," not in claim.value
        if claim.kind is ClaimKind.MONEY:
            assert re.fullmatch(r"\d+\.\d\d", claim.value)
            assert float(claim.value) in set().union(*map(numbers, texts)), claim
        elif claim.kind is ClaimKind.NUMBER:
            assert any(count_or_value(claim, text) for text in texts), claim
        else:
            assert any(claim.value in text for text in texts), claim


def count_or_value(claim: Claim, text: str) -> bool:
    document = json.loads(text) if text.startswith("{") else {}
    available = sum(variant["available"] for variant in document.get("variants", {}).values())
    return float(claim.value) == available or float(claim.value) in numbers(text)


@each_task
def test_sums_are_worked_out_from_what_was_looked_up(task: Task, answers: dict[str, list[tuple[str, str]]]) -> None:
    looked_up = set().union(*(numbers(text) for name, text in answers[task.id] if name != "calculate"))
    for call in task.gold:
        if call.name == "calculate":
            assert numbers(str(call.arguments["expression"])) <= looked_up | {0.0}


def test_a_task_without_a_change_asks_for_more_than_reciting(
    executor: Executor, answers: dict[str, list[tuple[str, str]]]
) -> None:
    for task in TASKS:
        if not writes(executor, task):
            row = [text for name, text in answers[task.id] if name != "calculate"]
            assert claims_were_said(task.claims, row).value == 0.0, task.id


@each_task
def test_facts_are_those_of_the_customer(task: Task, tables: Tables) -> None:
    user = next(row for row in tables["users"] if row["user_id"] == customer(task))
    orders = {row["order_id"] for row in tables["orders"] if row["user_id"] == user["user_id"]}
    cards = {row["last_four"] for row in tables["payment_methods"] if row["user_id"] == user["user_id"]}
    named = set(re.findall(r"#W\d+", shown(task)))
    assert named <= {row["order_id"] for row in tables["orders"]}
    assert named <= orders or "other-person" in task.tags
    assert {str(call.arguments["order_id"]) for call in task.gold if "order_id" in call.arguments} <= orders
    assert set(re.findall(r"ending in (\w+)", shown(task))) <= cards
    assert f"{user['first_name']} {user['last_name']}" in task.scenario.instructions
    known = " ".join(task.scenario.known)
    assert (f"email: {user['email']}" in known) or (f"zip code: {user['zip']}" in known)


def shingles(task: Task) -> set[tuple[str, ...]]:
    text = task.scenario.instructions
    for name in task.scenario.known[0].split()[2:]:
        text = text.replace(name, "")
    words = re.findall(r"[a-z']+", re.sub(r"#W\d+", "", text).lower())
    return {tuple(words[start : start + 3]) for start in range(len(words) - 2)}


def test_no_two_texts_are_near_duplicates() -> None:
    found = [(task.id, shingles(task)) for task in TASKS]
    worst = max((len(one & other) / min(len(one), len(other)), *ids) for (ids, one, other) in paired(found))
    assert worst[0] < 0.3, worst


def paired(
    found: list[tuple[str, set[tuple[str, ...]]]],
) -> Iterator[tuple[tuple[str, str], set[tuple[str, ...]], set[tuple[str, ...]]]]:
    for (name, one), (other_name, other) in combinations(found, 2):
        yield (name, other_name), one, other
