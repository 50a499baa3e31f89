"""The evaluators work alone, in a user's own `aevaluate` and on experiments that are there."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langsmith import Client, aevaluate, aevaluate_existing, utils
from support.langsmith_recorder import LangSmithRecorder
from typer.testing import CliRunner

from taugraph import evaluators
from taugraph.cli import app
from taugraph.evaluators import (
    claims_were_not_said,
    claims_were_said,
    database_matches_goal,
    pass_hat_k_summary,
    task_was_solved,
)
from taugraph.evaluators.reliability import TaskCount, pass_hat_k

CHANGES = {"orders": {'["W1"]': [{"id": "W1", "status": "open"}, {"id": "W1", "status": "cancelled"}]}}
SAID = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "You get $12.50 back."}]


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[LangSmithRecorder]:
    with LangSmithRecorder() as server:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2-test")
        utils.get_env_var.cache_clear()
        yield server
    utils.get_env_var.cache_clear()


def test_the_database_of_the_outputs_is_compared_with_every_accepted_end() -> None:
    assert database_matches_goal({"changes": CHANGES}, {"changes": CHANGES})["score"] == 1.0
    assert database_matches_goal({"changes": CHANGES}, {"changes": [{}, CHANGES]})["score"] == 1.0
    missed = database_matches_goal({"changes": {}}, {"changes": CHANGES})
    assert missed["score"] == 0.0
    assert "cancelled" in missed["comment"]


def test_whole_tables_can_stand_for_changes() -> None:
    rows = [{"id": "W1", "cents": 500}, {"id": "W2", "cents": 700}]
    same = database_matches_goal({"database": {"orders": rows}}, {"database": {"orders": list(reversed(rows))}})
    other = database_matches_goal({"database": {"orders": rows}}, {"database": {"orders": rows[:1]}})
    assert (same["score"], other["score"]) == (1.0, 0.0)


def test_claims_are_looked_for_in_what_was_delivered() -> None:
    reference = {"claims": [{"value": "12.50", "kind": "money"}], "must_not_say": ["manager"]}
    assert claims_were_said({"messages": SAID}, reference)["score"] == 1.0
    assert claims_were_said({"messages": [HumanMessage("Hi"), AIMessage("It is $12.50.")]}, reference)["score"] == 1.0
    beside = AIMessage("It is $12.50.", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    assert claims_were_said({"messages": [beside]}, reference)["score"] == 0.0
    assert claims_were_not_said({"messages": SAID}, reference)["score"] == 1.0
    assert claims_were_not_said({"messages": [AIMessage("Ask the manager.")]}, reference)["score"] == 0.0


def test_a_run_without_outputs_fails_and_an_example_without_a_criterion_gives_no_score() -> None:
    for evaluator in (database_matches_goal, claims_were_said, claims_were_not_said, task_was_solved):
        assert evaluator({"messages": SAID, "changes": {}}, {})["score"] is None
    for evaluator in (database_matches_goal, claims_were_said, task_was_solved):
        assert evaluator(None, {"changes": {}, "claims": ["x"]})["score"] == 0.0


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=6), st.randoms())
def test_pass_hat_k_does_not_depend_on_the_order_in_which_runs_come_back(
    outcomes: list[list[bool]], random: Any
) -> None:
    rows = [
        (SimpleNamespace(error=None, outputs={"reward": float(passed)}), SimpleNamespace(id=number, outputs={}))
        for number, tried in enumerate(outcomes)
        for passed in tried
    ]
    random.shuffle(rows)
    results = pass_hat_k_summary([run for run, _ in rows], [example for _, example in rows])["results"]
    counts = [TaskCount(str(number), len(tried), sum(tried)) for number, tried in enumerate(outcomes)]
    assert [one["key"] for one in results] == [f"pass^{k}" for k in range(1, min(map(len, outcomes)) + 1)]
    for k, one in enumerate(results, 1):
        assert one["score"] == pass_hat_k(counts, k).value


def test_a_run_that_raised_has_failed_and_is_not_left_out() -> None:
    good = SimpleNamespace(error=None, outputs={"reward": 1.0})
    broken = SimpleNamespace(error="RuntimeError()", outputs={"output": None})
    example = SimpleNamespace(id=1, outputs={})
    results = pass_hat_k_summary([good, broken], [example, example])["results"]
    assert [one["score"] for one in results] == [0.5, 0.0]


@pytest.mark.filterwarnings("ignore:The following arguments are no longer used:DeprecationWarning")  # the client's own
def test_they_serve_a_user_s_own_experiment(recorder: LangSmithRecorder) -> None:
    client = Client()
    dataset = client.create_dataset("own")
    examples = [
        {
            "id": uuid4(),
            "inputs": {"price": price},
            "reference_outputs": {"claims": [{"value": price, "kind": "money"}]},
        }
        for price in ("12.50", "7.00")
    ]
    client.create_examples(dataset_id=dataset.id, examples=examples)
    asked: list[str] = []

    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        asked.append(inputs["price"])
        if inputs["price"] == "7.00" and asked.count("7.00") == 2:
            raise RuntimeError("the agent broke")
        return {"messages": [{"role": "assistant", "content": f"That is ${inputs['price']}."}]}

    async def evaluate() -> Any:
        results = await aevaluate(
            target,
            data="own",
            evaluators=[claims_were_said, task_was_solved],
            summary_evaluators=[pass_hat_k_summary],
            num_repetitions=3,
            max_concurrency=0,
            client=client,
            experiment_prefix="mine",
        )
        return results.experiment_name

    name = asyncio.run(evaluate())
    client.flush()
    session = next(one for one in recorder.sessions.values() if one["name"] == name)
    summary = recorder.summary_of(session["id"])
    assert {key: round(value, 4) for key, value in summary.items()} == {
        "pass^1": round(5 / 6, 4),
        "pass^2": round((1 + 1 / 3) / 2, 4),
        "pass^3": 0.5,
    }


def test_the_module_is_described_where_users_look() -> None:
    assert all(getattr(evaluators, name).__doc__ for name in evaluators.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = evaluators.nothing  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:The following arguments are no longer used:DeprecationWarning")  # the client's own
def test_they_score_an_experiment_that_is_there_again(
    recorder: LangSmithRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("run", "airline", "--limit", "3", "-k", "2", "--agent", "demo:0.5", "--name", "x", "--langsmith", "--json")
    played = CliRunner().invoke(app, words)
    assert played.exit_code == 0, played.output
    rewards = {run["id"]: run["outputs"]["reward"] for run in recorder.roots()}
    recorder.feedback.clear()
    client = Client()

    async def score() -> None:
        await aevaluate_existing(
            "x", evaluators=[database_matches_goal], summary_evaluators=[pass_hat_k_summary], client=client
        )

    asyncio.run(score())
    client.flush()
    [session] = recorder.sessions
    summary = recorder.summary_of(session)
    expected = json.loads(played.stdout)["pass_hat_k"]
    assert summary == {f"pass^{k}": pytest.approx(expected[k]["value"], abs=5e-5) for k in ("1", "2")}
    for run_id, reward in rewards.items():
        matches = recorder.feedback_of(run_id)["database_matches_goal"]
        assert matches in (0.0, 1.0)
        assert matches >= reward
