"""Two simulated users beside each other, from the store and on the command line."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from support.store import ended, planned
from typer.testing import CliRunner, Result

from taugraph.cli import app
from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.domains.trial import Score
from taugraph.experiments.store import Store, open_store
from taugraph.experiments.users import compare_users
from taugraph.experiments.users_text import render_users

IDENTITY = {"agent": "A", "user": "openai:small", "user_strategy": "llm", "tasks": "t1", "seed": "0"}
TASKS = ("a", "b", "c")


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results.db"


@pytest.fixture
def store(location: Path) -> Iterator[Store]:
    with open_store(location) as opened:
        yield opened


def add(
    store: Store,
    name: str,
    marks: Mapping[str, str],
    *,
    task_ids: tuple[str, ...] = TASKS,
    personas: tuple[str, ...] = (),
    **changes: str,
) -> None:
    """Store an experiment whose trials are marked p passed, f failed, P and F the same with a fault of the user."""
    identity = IDENTITY | changes
    configuration: dict[str, Any] = {"agent": "A", "user": identity["user"], "identity": identity, "personas": personas}
    trials = max(map(len, marks.values()), default=1)
    store.create_experiment(planned(name, task_ids=task_ids, trials=max(trials, 1), configuration=configuration))
    for task_id, own in marks.items():
        for index, mark in enumerate(own):
            evidence = [{"turn": 1, "check": "stops_early", "what": "x"}] if mark.isupper() else []
            score = Score(key="user_was_faithful", value=0.0 if evidence else 1.0, evidence=evidence, gates=False)
            trial = ended(task_id, index, 1.0 if mark in "pP" else 0.0, scores=[score], turns=3 + index)
            store.add_trial(name, trial)


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_differences_are_paired_over_the_tasks(store: Store) -> None:
    add(store, "one", {"a": "pp", "b": "pf", "c": "ff"})
    add(store, "two", {"a": "pp", "b": "FF", "c": "Ff"}, user="openai:large")
    found = compare_users("one", "two", store)
    assert found.differing == ("user",)
    assert (found.tasks, found.left_out) == (3, 0)
    # 0, -1/2, 0: mean -1/6, error sqrt((1/36 + 4/36 + 1/36) / 2 / 3) = 1/6, t(.975, 2) = 4.302653
    assert found.pass_1.value == pytest.approx(-1 / 6)
    assert found.pass_1.low == pytest.approx(-1 / 6 - 4.302653 / 6, abs=1e-6)
    assert (found.fault_share.value, found.fault_share.tasks) == (0.5, 3)
    one, two = found.users
    assert (one.trials, one.fault_share.value, one.by_check, one.turns) == (6, 0.0, {}, 3.5)
    assert (two.fault_share.value, two.by_check) == (0.5, {"stops_early": 3})
    assert {k: rate.value for k, rate in two.pass_hat_k.items()} == {1: pytest.approx(1 / 3), 2: pytest.approx(1 / 3)}


def test_only_common_tasks_count_and_the_others_are_named_by_number(store: Store) -> None:
    add(store, "one", {"a": "p", "b": "f"}, task_ids=("a", "b"))
    add(store, "two", {"b": "p", "c": "p", "d": "p"}, task_ids=("b", "c", "d"), user="other", tasks="t2")
    found = compare_users("one", "two", store)
    assert (found.tasks, found.left_out, found.pass_1.value, found.pass_1.low) == (1, 3, 1.0, None)
    assert [user.trials for user in found.users] == [1, 1]
    assert "1 common task · 3 left out" in render_users(found)


def test_variants_of_one_task_bring_one_difference(store: Store) -> None:
    ids = ("a@calm", "a@loud", "b@calm", "b@loud")
    for name, marks in (("one", "pppp"), ("two", "pfff")):
        own = dict(zip(ids, marks, strict=True))
        add(store, name, own, task_ids=ids, personas=("calm", "loud"), user=name)
    found = compare_users("one", "two", store)
    assert (found.pass_1.value, found.pass_1.tasks) == (-0.75, 2)


def test_more_than_another_user_is_refused_by_name(store: Store) -> None:
    add(store, "one", {"a": "p"})
    add(store, "two", {"a": "p"}, user="other", agent="B", seed="1")
    with pytest.raises(ConfigurationError, match="more than the user differs \\(agent: A and B; seed: 0 and 1\\)"):
        compare_users("one", "two", store)


def test_the_same_ids_with_other_contents_are_refused(store: Store) -> None:
    add(store, "one", {"a": "p"})
    add(store, "two", {"a": "p"}, user="other", tasks="t2")
    with pytest.raises(ConfigurationError, match="tasks: t1 and t2"):
        compare_users("one", "two", store)


def test_experiments_without_a_common_task_are_refused(store: Store) -> None:
    add(store, "one", {"a": "p"}, task_ids=("a",))
    add(store, "two", {"b": "p"}, task_ids=("b",), tasks="t2")
    with pytest.raises(ConfigurationError, match="they share no task"):
        compare_users("one", "two", store)


def test_an_experiment_that_is_missing_or_has_no_trials_is_named(store: Store) -> None:
    add(store, "one", {"a": "p"})
    add(store, "two", {}, user="other")
    with pytest.raises(ConfigurationError, match="'two': it has no scored trial"):
        compare_users("one", "two", store)
    with pytest.raises(UnknownNameError, match="no experiment named 'three'"):
        compare_users("one", "three", store)


def test_trials_that_were_never_judged_are_refused(store: Store) -> None:
    add(store, "one", {"a": "p"})
    configuration = {"agent": "A", "identity": IDENTITY}
    store.create_experiment(planned("old", task_ids=TASKS, trials=1, configuration=configuration))
    store.add_trial("old", ended("a"))
    with pytest.raises(ConfigurationError, match="never judged for user faults"):
        compare_users("one", "old", store)


def test_a_verdict_stands_beside_each_difference(store: Store) -> None:
    ids = tuple(f"t{index}" for index in range(12))
    add(store, "one", {name: "pp" for name in ids}, task_ids=ids)
    add(store, "two", {name: "FF" if name != "t3" else "FP" for name in ids}, task_ids=ids, user="other")
    text = render_users(compare_users("one", "two", store))
    assert text.count("over 12 tasks · clear") == 2
    assert "stops early" in text
    assert "0 and 24 trials" in text


@pytest.mark.parametrize("name", ["x" * 200, "予約を取り消す" * 10, "a\tb\x1b[31m"])
def test_no_name_makes_a_line_wide(store: Store, name: str) -> None:
    add(store, "one", {"a": "pP"}, user=name)
    add(store, "two", {"a": "pf"}, user="other")
    lines = render_users(compare_users("one", "two", store)).splitlines()
    assert all(cell_len(line) <= 80 and line.isprintable() for line in lines)


def test_the_command_prints_text_and_json(location: Path, store: Store) -> None:
    add(store, "one", {"a": "pp", "b": "pf"})
    add(store, "two", {"a": "pP", "b": "ff"}, user="openai:large")
    text = call("users", "compare", "one", "two", "--store", location)
    assert (text.exit_code, text.stderr) == (0, "")
    assert "the users differ in: user" in text.stdout
    shown = call("users", "compare", "one", "two", "--store", location, "--json")
    found = json.loads(shown.stdout)
    assert found["pass_1"]["value"] == -0.25
    assert [user["user"] for user in found["users"]] == ["openai:small", "openai:large"]


def test_the_command_says_in_one_line_what_is_wrong(location: Path, store: Store) -> None:
    add(store, "one", {"a": "p"})
    wrong = call("users", "compare", "one", "two", "--store", location)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("taugraph: no experiment named 'two': known are one")
    assert wrong.stderr.count("\n") == 1
    missing = call("users", "compare", "one", "two", "--store", location.with_name("none.db"))
    assert missing.exit_code == 2
    assert "no results store at" in missing.stderr
