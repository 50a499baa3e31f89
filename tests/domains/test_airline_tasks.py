"""The airline's own task suite: as large and varied as promised, true to the seed, and passed by no lazy agent."""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue
from support.seed_tables import Row, Tables, read_tables

from taugraph.domains.airline import seed
from taugraph.domains.task import ClaimKind, Task, load_tasks
from taugraph.evaluators.claims import claims_were_said
from taugraph.evaluators.database import database_matches_a_goal
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.simulation import build_simulation
from taugraph.tools.airline import domain
from taugraph.tools.executor import Executor

TASKS = load_tasks(Path(seed.__file__).parent / "tasks.jsonl")
HANDOFF = "transfer_to_human_agents"
WRITES = (
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
)
LONGEST_OVERLAP = 0.6
PREFIXES = ("writes:", "difficulty:")

every_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(seed.SEED_FOLDER, seed.SEED_TABLES)


@pytest.fixture(scope="module")
def owners(tables: Tables) -> dict[str, str]:
    return {row["reservation_id"]: row["user_id"] for row in tables["reservations"]}


@pytest.fixture(scope="module")
def days(tables: Tables) -> dict[tuple[str, str], Row]:
    return {(row["flight_number"], row["date"]): row for row in tables["flight_days"]}


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    executor = Executor(domain)
    yield executor
    executor.close()


def writes_of(task: Task) -> list[str]:
    return [call.name for call in task.gold if call.name in (*WRITES, HANDOFF)]


def told(task: Task) -> str:
    """Return all that the simulated user is told."""
    scenario = task.scenario
    return "\n".join([scenario.instructions, scenario.opening or "", scenario.exit_when or "", *scenario.known])


def pairs(value: JsonValue) -> Iterator[tuple[str, Any]]:
    """Yield every (key, value) at any depth."""
    for key, item in value.items() if isinstance(value, dict) else ():
        yield key, item
        yield from pairs(item)
    for item in value if isinstance(value, list) else ():
        yield from pairs(item)


def masked(text: str) -> list[str]:
    """Return the words with names, places and numbers made alike."""
    return re.sub(r"[A-Z][\w'-]*|\d+", "#", text).split()


def test_the_suite_has_the_promised_size() -> None:
    splits = Counter(split for task in TASKS for split in task.splits)
    assert len(TASKS) >= 60
    assert set(splits) == {"train", "test", "smoke"}
    assert splits["train"] + splits["test"] == len(TASKS)
    assert 20 <= splits["test"] <= 30
    assert splits["smoke"] == 8
    assert all("test" in task.splits for task in TASKS if "smoke" in task.splits)


def test_the_suite_covers_every_write_refusals_handoffs_and_long_conversations() -> None:
    used = Counter(name for task in TASKS for name in set(writes_of(task)))
    assert [name for name in WRITES if used[name] < 4] == []
    assert sum("refusal" in task.tags for task in TASKS) >= 10
    assert sum(task.handoff is not None for task in TASKS) >= 6
    assert sum(len(writes_of(task)) >= 2 for task in TASKS) >= 14
    assert any(task.alternatives for task in TASKS)


def test_ids_openings_and_customers_differ() -> None:
    for told_apart in (
        [task.id for task in TASKS],
        [task.scenario.opening for task in TASKS],
        [task.gold[0].arguments["user_id"] for task in TASKS],
    ):
        assert len(set(told_apart)) == len(TASKS)


def test_no_two_tasks_tell_the_same_story() -> None:
    stories = {task.id: masked(task.scenario.instructions) for task in TASKS}
    matchers = (
        (first, second, SequenceMatcher(None, stories[first], stories[second], autojunk=False))
        for first, second in combinations(stories, 2)
    )
    alike = [
        (first, second)
        for first, second, matcher in matchers
        if matcher.quick_ratio() >= LONGEST_OVERLAP and matcher.ratio() >= LONGEST_OVERLAP
    ]
    assert alike == []


@every_task
def test_a_task_is_complete_and_tagged(task: Task) -> None:
    assert task.scenario.opening
    assert task.scenario.exit_when
    assert task.scenario.known
    assert task.scenario.unknown
    assert task.author == "taugraph"
    assert f"writes:{len(writes_of(task))}" in task.tags
    assert sum(tag.removeprefix("difficulty:") in {"easy", "medium", "hard"} for tag in task.tags) == 1
    assert [tag for tag in task.tags if not tag.startswith(PREFIXES)]
    assert (task.handoff is not None) == (HANDOFF in writes_of(task))


@every_task
def test_gold_and_alternatives_run_and_lead_to_different_ends(task: Task, executor: Executor) -> None:
    ends = [executor.goal(calls) for calls in (task.gold, *task.alternatives)]
    assert [failure for end in ends for failure in end.failures] == []
    for first, second in combinations(ends, 2):
        assert database_matches_a_goal(first.changes, [second.changes], domain.comparison).value == 0.0


@every_task
def test_silence_a_bare_handoff_and_an_empty_promise_fail(task: Task, executor: Executor) -> None:
    goals = [executor.goal(calls).changes for calls in (task.gold, *task.alternatives)]
    handed = executor.execute(HANDOFF, {"summary": "Please take over."}, {})
    for changes, said in (({}, []), (handed.changes, ["A colleague takes over."]), ({}, ["Yes, done."])):
        scores = (
            database_matches_a_goal(changes, goals, domain.comparison).value,
            claims_were_said(task.claims, said).value,
        )
        assert 0.0 in scores
    assert task.claims


@every_task
def test_what_must_be_told_is_read_or_worked_out_and_not_known_before(task: Task, executor: Executor) -> None:
    answers = []
    changes: Any = {}
    for call in task.gold:
        answer = executor.execute(call.name, dict(call.arguments), changes)
        changes = answer.changes
        answers.append(answer.text)
    for claim in task.claims:
        value = claim.value.removesuffix(".00")
        alone = rf"(?<![\w.]){re.escape(value)}(?:\.0+)?(?![\w.])"
        # A name, a refund that a cancellation pays out with a minus, and a sum all count.
        assert re.search(alone, "\n".join(answers)), claim
        assert not re.search(rf"(?<![\w-]){re.escape(value)}(?!\w|-\d)", told(task)), claim
        assert "," not in claim.value or claim.kind is ClaimKind.TEXT


@every_task
def test_ids_and_dates_belong_to_the_customer_and_to_each_other(
    task: Task, tables: Tables, owners: dict[str, str], days: dict[tuple[str, str], Row]
) -> None:
    user_id = task.gold[0].arguments["user_id"]
    methods = {row["payment_id"] for row in tables["payment_methods"] if row["user_id"] == user_id}
    airports = {row["origin"] for row in tables["flights"]}
    for calls in (task.gold, *task.alternatives):
        assert calls[0].name == "get_user_details"
        for call in calls:
            for key, value in pairs(dict(call.arguments)):
                assert key != "user_id" or value == user_id
                assert key != "reservation_id" or owners[value] == user_id
                assert key != "payment_id" or value in methods
                assert key not in ("origin", "destination") or value in airports
                assert key != "flights" or all((part["flight_number"], part["date"]) in days for part in value)
            if call.name == "get_flight_status":
                assert (call.arguments["flight_number"], call.arguments["date"]) in days


@every_task
def test_the_texts_name_only_what_the_seed_holds(task: Task, tables: Tables, owners: dict[str, str]) -> None:
    user_id = task.gold[0].arguments["user_id"]
    text = told(task)
    users = {row["user_id"]: row for row in tables["users"]}
    assert user_id in text
    assert users[str(user_id)]["first_name"] in text
    for other in re.findall(r"\b[a-z]+_[a-z]+_\d{4}\b", text):
        assert other in users
    for found in re.findall(r"\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b", text):
        assert owners[found] == user_id
    digits = {row["last_four"] for row in tables["payment_methods"] if row["user_id"] == user_id}
    assert set(re.findall(r"ending in (\d{4})", text)) <= digits
    assert set(re.findall(r"\(([A-Z]{3})\)", text)) <= {row["origin"] for row in tables["flights"]}
    assert all("2024-05-01" <= date <= "2024-05-30" for date in re.findall(r"\b2024-\d\d-\d\d\b", text))


@every_task
def test_the_birth_dates_in_the_texts_are_those_of_the_gold(task: Task, tables: Tables) -> None:
    user_id = task.gold[0].arguments["user_id"]
    born: dict[str, set[str]] = defaultdict(set)
    for row in (*tables["users"], *tables["saved_passengers"]):
        born[row["user_id"]].add(row["dob"])
    gold = json.dumps([call.model_dump() for call in task.gold])
    for date in re.findall(r"\b(?:19\d\d|20[01]\d)-\d\d-\d\d\b", told(task)):
        assert date in gold or date in born[str(user_id)]


def test_the_demonstration_agent_without_slips_passes_every_task() -> None:
    stage = build_stage(SimulationContext(agent="demo:0"))
    graph = build_simulation(stage)

    async def play(task: Task) -> tuple[str, Any, Any]:
        config: RunnableConfig = {"configurable": {"thread_id": task.id}}
        start: Any = {"task_id": task.id, "trial": 0, "seed": 0}
        state = await graph.ainvoke(start, config)
        return task.id, state["termination"], state["reward"]

    async def play_all() -> list[tuple[str, Any, Any]]:
        return [await play(task) for task in TASKS]

    assert [trial for trial in asyncio.run(play_all()) if trial[1:] != ("user_stop", 1.0)] == []
