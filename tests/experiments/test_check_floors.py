"""The floors of a suite are worked out once, kept beside the seeds, and stand in the report."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.library_domain import domain
from typer.testing import CliRunner

from taugraph import cli
from taugraph.domains.domain import load_domain
from taugraph.domains.task import GoldCall, Task
from taugraph.experiments.floors import floors_of
from taugraph.experiments.plan import identity_of
from taugraph.experiments.settings import RunSettings
from taugraph.graphs.agents.baselines import SilentAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAUGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def staged(*tasks: Task) -> Iterator[Stage]:
    stage = Stage(replace(domain, tasks=list(tasks)), SilentAgent(), DemoUser())
    yield stage
    stage.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    yield from staged(*domain.tasks[:2], domain.tasks[2].model_copy(update={"claims": (), "gold": ()}))


def floors(stage: Stage) -> dict[str, float]:
    tasks = stage.domain.tasks
    return floors_of(stage, tasks, identity_of(stage, RunSettings(), tasks))


def test_the_floor_is_the_share_of_tasks_that_silence_passes(stage: Stage) -> None:
    assert floors(stage) == {"noop": pytest.approx(1 / 3), "transfer": pytest.approx(1 / 3)}


def test_it_is_worked_out_once(stage: Stage, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = floors(stage)
    assert json.loads(next(cache.glob("floors-*.json")).read_text()) == first
    monkeypatch.setattr(SilentAgent, "next_message", lambda *_: pytest.fail("asked again"))
    assert floors(stage) == first


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"noop": 2, "transfer": 0}', '{"noop": "x", "transfer": 0}'])
def test_a_damaged_cache_is_written_anew(stage: Stage, cache: Path, content: str) -> None:
    first = floors(stage)
    kept = next(cache.glob("floors-*.json"))
    kept.write_text(content)
    assert floors(stage) == first
    assert json.loads(kept.read_text()) == first


def test_other_tasks_have_other_floors(stage: Stage, cache: Path) -> None:
    floors(stage)
    for other in staged(*domain.tasks):
        assert floors(other) == {"noop": 0.0, "transfer": 0.0}
    assert len(list(cache.glob("floors-*.json"))) == 2


def test_a_report_names_the_floors_without_asking_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*words: str) -> str:
        result = CliRunner().invoke(cli.app, words)
        assert result.exit_code == 0, result.output
        return result.stdout

    call("run", "support.library_domain:domain", "-k", "1", "--agent", "noop", "--name", "x")
    monkeypatch.setitem(sys.modules, "support.library_domain", None)
    assert json.loads(call("report", "x", "--json"))["floors"] == {"noop": 0.0, "transfer": 0.0}
    assert "floor: pass^1 of agents that do nothing · noop .000 · transfer .000" in call("report", "x").splitlines()


def test_a_handoff_is_really_made(tmp_path: Path) -> None:
    airline = load_domain("airline")
    task = next(task for task in airline.tasks if task.gold).model_copy(
        update={"gold": (GoldCall(name="transfer_to_human_agents", arguments={"summary": "x"}),), "claims": ()}
    )
    stage = Stage(replace(airline, tasks=[task]), SilentAgent(), DemoUser())
    assert floors(stage) == {"noop": 0.0, "transfer": 1.0}
    stage.close()
