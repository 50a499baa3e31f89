"""What is played follows from the settings, and whatever can move a score is part of the identity."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.tiny_airline import BAD, write_tiny_airline

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.errors import ConfigurationError, TaskInvalidError, UnknownNameError
from taugraph.domains.task import Component, Scenario, Task
from taugraph.experiments.plan import (
    Identity,
    check_gold,
    check_same_identity,
    differing_keys,
    fingerprint_of,
    identity_of,
    select_tasks,
)
from taugraph.experiments.settings import RunSettings, load_settings
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.stage import Stage


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_tiny_airline(tmp_path / "data", tasks=6)


@pytest.fixture
def domain(folder: Path) -> Domain:
    extra = (folder / "tasks_test.json").read_text()
    (folder / "tasks_dev.json").write_text(extra)
    return load_domain("airline", folder)


@pytest.fixture
def stage_of() -> Iterator[Callable[..., tuple[Stage, RunSettings]]]:
    stages: list[Stage] = []

    def build(**given: Any) -> tuple[Stage, RunSettings]:
        settings = load_settings(**given)
        stages.append(build_stage(settings.context()))
        return stages[-1], settings

    yield build
    for stage in stages:
        stage.close()


def ids(domain: Domain, **given: Any) -> list[str]:
    return [task.id for task in select_tasks(domain, load_settings(**given))]


def test_the_test_split_is_played_unless_another_is_named(domain: Domain) -> None:
    assert ids(domain) == ["0", "1", "2", "3", "4", "5"]
    assert ids(domain, split="dev")[0] == "dev-0"


def test_named_tasks_are_played_once_each_in_the_order_given(domain: Domain) -> None:
    assert ids(domain, tasks="5,dev-1,5,0") == ["5", "dev-1", "0"]
    assert ids(domain, tasks="5,dev-1,0", split="dev") == ["dev-1"]


def test_a_limit_takes_the_first_tasks(domain: Domain) -> None:
    assert ids(domain, limit=2) == ["0", "1"]
    assert ids(domain, limit=99) == ["0", "1", "2", "3", "4", "5"]


def test_tasks_and_splits_that_do_not_exist_are_named(domain: Domain) -> None:
    with pytest.raises(UnknownNameError, match="no task named '77'"):
        ids(domain, tasks="77")
    with pytest.raises(UnknownNameError, match="no split named 'tset': known are dev, test; did you mean 'test'"):
        ids(domain, split="tset")


def test_nothing_left_to_play_is_refused(domain: Domain) -> None:
    with pytest.raises(ConfigurationError, match="no task of 'airline' is left to play; loosen --tasks, --split"):
        ids(domain, tasks="1", split="dev")


def test_gold_that_fails_is_found_before_the_first_trial_under_strict_alone(
    tmp_path: Path, stage_of: Callable[..., tuple[Stage, RunSettings]]
) -> None:
    data = write_tiny_airline(tmp_path / "bad", gold=BAD)
    strict, _ = stage_of(data=data)
    with pytest.raises(TaskInvalidError, match=r"task '0' cannot be scored: .*; correct the task or leave it out"):
        check_gold(strict, strict.domain.tasks)
    published, _ = stage_of(data=data, protocol="tau-bench")
    check_gold(published, published.domain.tasks)


def test_whatever_can_move_a_score_changes_the_identity(
    folder: Path, stage_of: Callable[..., tuple[Stage, RunSettings]]
) -> None:
    def identity(tasks: int = 2, **given: Any) -> Identity:
        stage, settings = stage_of(**({"data": folder} | given))
        return identity_of(stage, settings, stage.domain.tasks[:tasks])

    plain = identity()
    assert differing_keys(plain, identity()) == []
    assert differing_keys(plain, identity(concurrency=1, timeout_s=3, attempts=1)) == []
    changes: dict[str, dict[str, Any]] = {
        "agent": {"agent": "demo:0.5"},
        "tasks": {"tasks": 3},
        "protocol": {"max_turns": 3},
        "trials": {"trials": 9},
        "seed": {"seed": 1},
    }
    for key, change in changes.items():
        changed = identity(**change)
        assert differing_keys(plain, changed) == [key]
        assert fingerprint_of(plain) != fingerprint_of(changed)
    (folder / "wiki.md").write_text("# Another policy\n")
    assert differing_keys(plain, identity()) == ["policy"]
    users = (folder / "users.json").read_text().replace("gold", "silver")
    (folder / "users.json").write_text(users)
    assert differing_keys(plain, identity()) == ["policy", "seed_data"]


def test_a_key_is_no_part_of_the_identity_and_max_tokens_is(
    folder: Path, stage_of: Callable[..., tuple[Stage, RunSettings]]
) -> None:
    def identity(**options: Any) -> Identity:
        stage, settings = stage_of(data=folder, user="openai:scripted", user_options=options)
        return identity_of(stage, settings, stage.domain.tasks)

    assert identity(api_key="a") == identity(api_key="b")
    assert differing_keys(identity(api_key="a"), identity(api_key="a", max_tokens=5)) == ["user_options"]


def test_going_on_under_another_identity_is_refused_by_naming_the_keys() -> None:
    check_same_identity("x", {"seed": "1"}, {"seed": "1"})
    with pytest.raises(ConfigurationError, match=r"'x' cannot go on .*agent: was a, is None; seed: was 1, is 2\)"):
        check_same_identity("x", {"seed": "1", "agent": "a"}, {"seed": "2"})


@pytest.mark.parametrize(
    "changes",
    [
        {"basis": (Component.ASSERTIONS,), "assertions": ("The agent is kind.",)},
        {"basis": ()},
        {"basis": (Component.DATABASE, Component.ENVIRONMENT), "has_goal": False},
    ],
)
def test_a_task_of_which_nothing_can_be_decided_is_refused_before_it_is_played(changes: dict[str, Any]) -> None:
    task = Task(id="judge-me", scenario=Scenario(instructions="Wait."), **changes)
    stage = build_stage(SimulationContext())
    with pytest.raises(TaskInvalidError, match=r"'judge-me' cannot be scored: .* of which nothing can be decided"):
        check_gold(stage, [task])
    stage.close()
