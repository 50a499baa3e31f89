"""Two experiments beside each other: what moved, how sure that is, and what else differs."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langsmith import utils
from scipy.stats import fisher_exact
from support.langsmith_recorder import LangSmithRecorder
from typer.testing import CliRunner, Result

from taugraph.cli import app
from taugraph.domains.errors import ConfigurationError
from taugraph.experiments.comparing import Side, compare
from taugraph.experiments.comparing_text import render_comparison
from taugraph.experiments.slices import Variant

RUN = ("run", "airline", "--limit", "4", "-k", "3", "--json")


def side(name: str, *passes: int, trials: int = 4, **settings: str) -> Side:
    outcomes = {f"t{number}": [place < passed for place in range(trials)] for number, passed in enumerate(passes)}
    return Side(name, outcomes, trials, settings)


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LangSmithRecorder]:
    monkeypatch.chdir(tmp_path)
    with LangSmithRecorder() as server:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2-test")
        utils.get_env_var.cache_clear()
        yield server
    utils.get_env_var.cache_clear()


def test_the_difference_is_taken_task_by_task() -> None:
    found = compare(side("a", 4, 3, 2, 1, 4, 4), side("b", 3, 2, 1, 0, 3, 3))
    one = found.pass_hat_k[1]
    assert (one.first.value, one.second.value, one.difference.value) == (0.75, 0.5, -0.25)
    assert (one.difference.low, one.difference.high) == (-0.25, -0.25)
    assert (found.verdict, len(found.worse), found.better) == ("worse", 6, ())


def test_a_shift_that_may_be_chance_is_called_unclear() -> None:
    found = compare(side("a", 4, 0, 4, 0), side("b", 0, 4, 4, 1))
    assert found.verdict == "unclear"
    assert [task.task_id for task in found.worse] == ["t0"]
    assert [task.task_id for task in found.better] == ["t1", "t3"]


def test_only_tasks_that_both_scored_count_and_the_rest_is_told() -> None:
    first = Side("a", {"x": [True], "y": [True], "z": []}, 1, {})
    second = Side("b", {"x": [False], "w": [True], "z": [True]}, 1, {})
    found = compare(first, second)
    assert (found.tasks, found.only_first, found.only_second) == (1, 1, 2)
    assert "1 common task · 1 only in a · 2 only in b" in render_comparison(found)


def test_experiments_without_a_common_task_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="they scored no common task"):
        compare(Side("a", {"x": [True]}, 1, {}), Side("b", {"y": [True]}, 1, {}))


def test_variants_of_one_scenario_bring_one_difference_together() -> None:
    names = [f"{task}@{persona}" for task, persona in product("abc", ("terse", "furious"))]
    variants = {name: Variant(name[0], name[2:]) for name in names}
    first = Side("a", {name: [True, True] for name in names}, 2, {}, variants=variants)
    second = Side("b", {name: [name[0] != "a", True] for name in names}, 2, {}, variants=variants)
    assert compare(first, second).pass_hat_k[1].difference.tasks == 3


def test_what_differs_is_named_and_more_than_the_agent_is_a_note() -> None:
    found = compare(side("a", 4, agent="x", user="u", policy="p"), side("b", 4, agent="y", user="v", policy="p"))
    assert found.differs == {"agent": ("x", "y"), "user": ("u", "v")}
    assert found.notes == ("More than the agent differs: user.",)


@given(st.integers(0, 8), st.integers(1, 8), st.integers(0, 8), st.integers(1, 8))
def test_the_chance_of_a_change_is_fisher_s(a: int, n: int, b: int, m: int) -> None:
    a, b = min(a, n), min(b, m)
    first = Side("a", {"t": [place < a for place in range(n)]}, n, {})
    second = Side("b", {"t": [place < b for place in range(m)]}, m, {})
    found = compare(first, second)
    for task in (*found.worse, *found.better):
        less = "greater" if task in found.worse else "less"
        assert task.p == pytest.approx(fisher_exact([[a, n - a], [b, m - b]], alternative=less).pvalue)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_no_line_is_wider_than_a_terminal_and_the_other_way_round_mirrors(pairs: list[tuple[int, int]]) -> None:
    first, second = (side("n" * 60, *column, agent="w" * 200) for column in zip(*pairs, strict=True))
    found, mirrored = compare(first, second), compare(second, first)
    assert all(len(line) <= 80 for line in render_comparison(found).splitlines())
    assert {task.task_id for task in found.worse} == {task.task_id for task in mirrored.better}
    assert found.pass_hat_k[1].difference.value == pytest.approx(-(mirrored.pass_hat_k[1].difference.value or 0))


def test_two_runs_of_the_store_are_compared(recorder: LangSmithRecorder) -> None:
    call(*RUN, "--agent", "demo:0", "--name", "good")
    call(*RUN, "--agent", "demo:1", "--name", "bad")
    ended = call("compare", "good", "bad")
    assert ended.exit_code == 0, ended.output
    assert "bad is worse" in ended.stdout
    assert "  agent: demo:0" in ended.stdout
    assert "The agent of good is a demonstration that was given the answers." in " ".join(ended.stdout.split())
    assert recorder.requests == []


def test_an_experiment_of_langsmith_is_compared_with_one_of_the_store(recorder: LangSmithRecorder) -> None:
    call(*RUN, "--agent", "demo:0.5", "--name", "x", "--langsmith")
    ended = call("compare", "x", "langsmith:x", "--json")
    assert ended.exit_code == 0, ended.output
    found = json.loads(ended.stdout)
    assert (found["tasks"], found["verdict"], found["worse"], found["better"]) == (4, "unclear", [], [])
    for rate in found["pass_hat_k"].values():
        assert rate["first"] == rate["second"]
    assert "fingerprint" not in found["differs"]


def test_an_unknown_experiment_of_langsmith_is_refused_in_one_line(recorder: LangSmithRecorder) -> None:
    call(*RUN, "--agent", "demo:0", "--name", "x")
    ended = call("compare", "x", "langsmith:nothing")
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
    assert "no LangSmith experiment named 'nothing'" in ended.stderr
