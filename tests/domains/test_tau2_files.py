"""Tasks of the second generation are read as they are, and begin where they say."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.published import write_json

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.errors import DataError
from taugraph.domains.task import Component
from taugraph.domains.tau2_files import read_tau2_tasks
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser

ROOT = Path(__file__).parents[2]
TAU2 = Path(os.environ.get("TAUGRAPH_TAU2_BENCH_DIR", ROOT.parent / "shared" / "tau2-bench"))
needs_tau2 = pytest.mark.skipif(not TAU2.is_dir(), reason=f"no tau2-bench data: {TAU2} is missing")


def task(**changes: Any) -> dict[str, Any]:
    return {
        "id": "0",
        "user_scenario": {"persona": "You are brief.", "instructions": "Cancel your order."},
        "evaluation_criteria": {"actions": [], "communicate_info": ["12"], "reward_basis": ["DB", "COMMUNICATE"]},
    } | changes


def folder(tmp_path: Path, *tasks: Any, splits: Any = None) -> Path:
    write_json(tmp_path / "tasks.json", list(tasks))
    if splits is not None:
        write_json(tmp_path / "split_tasks.json", splits)
    return tmp_path


def test_a_task_keeps_its_words_its_claims_its_basis_and_its_splits(tmp_path: Path) -> None:
    told = {
        "domain": "retail",
        "reason_for_call": "You want a lamp.",
        "task_instructions": "Be kind.",
        "known_info": "Your zip is 1.",
        "unknown_info": None,
    }
    criteria = {"actions": None, "nl_assertions": ["The agent is kind."], "reward_basis": ["DB", "NL_ASSERTION"]}
    spoken = task(id="1", user_scenario={"instructions": told}, evaluation_criteria=criteria)
    first, second = read_tau2_tasks(folder(tmp_path, task(), spoken, splits={"base": ["0", "1"], "test": ["1"]}))
    assert first.scenario.instructions == "You are brief.\n\nCancel your order."
    assert [claim.value for claim in first.claims] == ["12"]
    assert (first.splits, first.basis) == (("base",), (Component.DATABASE, Component.CLAIMS))
    assert (second.splits, second.basis) == (("base", "test"), (Component.DATABASE, Component.ASSERTIONS))
    assert (second.scenario.known, second.scenario.unknown) == (("Your zip is 1.",), ())
    assert (second.has_goal, second.assertions) == (False, ("The agent is kind.",))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"user_scenario": {}}, "record 0, field user_scenario.instructions"),
        ({"evaluation_criteria": {"reward_basis": ["LUCK"]}}, "record 0, field evaluation_criteria.reward_basis.0"),
        (
            {
                "evaluation_criteria": {
                    "actions": [{"action_id": "a", "requestor": "user", "name": "f", "arguments": {}}]
                }
            },
            "got 'a call by the user', wanted calls by the assistant",
        ),
        ({"evaluation_criteria": {"env_assertions": [{"func_name": "f"}]}}, "this domain has no such functions"),
    ],
)
def test_a_task_that_breaks_the_schema_is_refused_by_file_record_and_field(
    tmp_path: Path, broken: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_tau2_tasks(folder(tmp_path, task(**broken)))


@pytest.mark.parametrize(
    ("content", "message"), [("{", "no JSON"), ("{}", "wanted a JSON list of tasks"), ("[]", "wanted a JSON list")]
)
def test_a_file_that_holds_no_tasks_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "tasks.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_tau2_tasks(tmp_path)


def test_two_tasks_of_one_id_and_splits_of_unknown_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="wanted an id that no other task has"):
        read_tau2_tasks(folder(tmp_path, task(), task()))
    with pytest.raises(DataError, match=r"record test.*got \['9'\], wanted ids of tasks"):
        read_tau2_tasks(folder(tmp_path, task(), splits={"test": ["9"]}))


@pytest.fixture(scope="module")
def shop() -> Domain:
    return load_domain("retail", TAU2 / "retail")


@needs_tau2
def test_every_published_shop_task_is_read_and_its_gold_reaches_its_own_end(shop: Domain) -> None:
    assert (len(shop.tasks), shop.dialect.name, shop.splits()) == (114, "tau2", ["base", "test", "train"])
    stage = Stage(shop, DemoAgent("demo:0", shop), DemoUser())
    ends = [stage.executor.goal(task.gold) for task in shop.tasks]
    again = [stage.executor.goal(task.gold) for task in shop.tasks]
    assert ends == again
    assert [task.id for task, end in zip(shop.tasks, ends, strict=True) if end.failures] == ["64", "105"]
    stage.close()


@needs_tau2
def test_published_airline_tasks_run_on_records_of_either_generation(tmp_path: Path) -> None:
    records = TAU2.parent / "tau-bench" / "airline"
    if not records.is_dir():
        pytest.skip(f"no tau-bench data: {records} is missing")
    for name in ("tasks.json", "split_tasks.json", "policy.md"):
        (tmp_path / name).write_text((TAU2 / "airline" / name).read_text(encoding="utf-8"), encoding="utf-8")
    collections = {name: json.loads((records / f"{name}.json").read_text()) for name in ("users", "flights")}
    collections["reservations"] = json.loads((records / "reservations.json").read_text())
    write_json(tmp_path / "db.json", collections)
    airline = load_domain("airline", tmp_path)
    stage = Stage(airline, DemoAgent("demo:0", airline), DemoUser())
    assert len(airline.tasks) == 50
    assert not [task.id for task in airline.tasks if stage.goal(task).failures]
    stage.close()
