"""The demonstration agent and user: right without slips, wrong in the ways they say, the same for the same seed."""

import asyncio
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from acting import AIRLINE, CANCEL, play, said, scores

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError
from taugraph.domains.task import Task
from taugraph.graphs.agents.demo import DemoAgent, DemoAgentModel, Slip
from taugraph.graphs.seeds import actor_seed
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser
from taugraph.tools.definition import ToolKind, kind_of

SetStage = Callable[..., Stage]
TASK_IDS = [task.id for task in AIRLINE.tasks]
WRITES = frozenset(tool.name for tool in AIRLINE.agent_tools if kind_of(tool) in (ToolKind.WRITE, ToolKind.HANDOFF))
PHONE = load_domain("phone")


def demo(set_stage: SetStage, reference: str) -> Stage:
    return set_stage(DemoAgent(reference, AIRLINE), DemoUser())


def drawn(task: Task, trial: int, rate: float = 1.0) -> Slip | None:
    """Return the slip that a trial with seed 0 draws."""
    seed = actor_seed(0, task.id, trial, "agent")
    return DemoAgentModel(task=task, writes=WRITES, seed=seed, slip_rate=rate)._draw(Random(seed))


def untimed(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state but for when things happened."""
    return {key: value for key, value in state.items() if key != "timeline"}


def trials_with(slip: Slip, per_task: int = 1) -> Iterator[tuple[str, int]]:
    for task in AIRLINE.tasks:
        yield from [(task.id, trial) for trial in range(40) if drawn(task, trial) is slip][:per_task]


@pytest.mark.parametrize("task_id", TASK_IDS)
async def test_without_slips_every_own_task_passes(task_id: str, set_stage: SetStage) -> None:
    state = await play(demo(set_stage, "demo:0"), task_id)
    assert (state["termination"], state["reward"], state["tool_errors"]) == ("user_stop", 1.0, 0)


@pytest.mark.parametrize("slip", [Slip.FORGETS_WRITE, Slip.WRONG_ARGUMENT, Slip.WRONG_ITEM])
async def test_a_slip_in_a_change_loses_the_trial_by_its_database(slip: Slip, set_stage: SetStage) -> None:
    stage = demo(set_stage, "demo:1")
    trials = list(trials_with(slip))
    assert len(trials) > 5
    states = [await play(stage, task_id, trial=trial) for task_id, trial in trials]
    wrong = [
        trial
        for trial, state in zip(trials, states, strict=True)
        if (scores(state)["database_matches_goal"], state["reward"], state["termination"]) != (0.0, 0.0, "user_stop")
    ]
    assert wrong == []


@pytest.mark.parametrize("task", PHONE.tasks, ids=lambda task: task.id)
async def test_a_slip_in_what_either_side_has_to_do_loses_the_trial_by_its_database(task: Task) -> None:
    stage = Stage(PHONE, DemoAgent("demo:1", PHONE), DemoUser())
    states = [await play(stage, task.id, trial=trial) for trial in range(8)]
    stage.close()
    kept = [state for state in states if scores(state)["database_matches_goal"] == 1.0]
    assert len(kept) < len(states)
    for state in kept:
        unasked = not [text for _, text in said(state) if "Shall I go ahead" in text]
        assert scores(state).get("claims_were_said") == 0.0 or unasked


async def test_an_answer_left_out_loses_the_trial_by_its_claims(set_stage: SetStage) -> None:
    stage = demo(set_stage, "demo:1")
    trials = list(trials_with(Slip.OMITS_ANSWER))
    assert {task_id for task_id, _ in trials} == {task.id for task in AIRLINE.tasks if task.claims}
    for task_id, trial in trials:
        state = await play(stage, task_id, trial=trial)
        found = scores(state)
        assert (found["database_matches_goal"], found["claims_were_said"], state["reward"]) == (1.0, 0.0, 0.0)


async def test_acting_unasked_costs_no_reward_but_no_question_was_put(set_stage: SetStage) -> None:
    stage = demo(set_stage, "demo:1")
    task_id, trial = next(trials_with(Slip.ACTS_UNCONFIRMED))
    state = await play(stage, task_id, trial=trial)
    assert state["reward"] == 1.0
    assert not [text for _, text in said(state) if "Shall I go ahead" in text]
    assert "consent_before_write" in {violation["rule"] for violation in state["violations"]}
    assert scores(state)["policy_was_followed"] == 0.0


@pytest.mark.parametrize("task_id", TASK_IDS)
async def test_without_slips_no_rule_of_the_policy_is_broken(task_id: str, set_stage: SetStage) -> None:
    state = await play(demo(set_stage, "demo:0"), task_id)
    assert (state.get("violations", []), scores(state)["policy_was_followed"]) == ([], 1.0)


async def test_the_same_seed_gives_the_same_trial_however_many_run_beside_it(set_stage: SetStage) -> None:
    stage = demo(set_stage, "demo:0.5")
    places = [(task_id, trial) for task_id in TASK_IDS[:4] for trial in range(2)]
    alone = [await play(stage, task_id, trial=trial) for task_id, trial in places]
    together = await asyncio.gather(*(play(stage, task_id, trial=trial) for task_id, trial in reversed(places)))
    assert list(map(untimed, reversed(together))) == list(map(untimed, alone))


async def test_another_seed_gives_other_trials(set_stage: SetStage) -> None:
    stage = demo(set_stage, "demo:0.5")
    rewards = [[(await play(stage, CANCEL, trial=trial, seed=seed))["reward"] for trial in range(4)] for seed in (0, 1)]
    assert rewards[0] != rewards[1]


def test_slips_are_about_as_frequent_as_the_rate_says() -> None:
    slips = [drawn(task, trial, 0.2) for task in AIRLINE.tasks for trial in range(100)]
    assert 0.15 < sum(slip is not None for slip in slips) / len(slips) < 0.25


@pytest.mark.parametrize("reference", ["demo", "demo:0", "demo:1", "demo:0.25", "demo:1e-1"])
def test_a_rate_is_read_from_the_reference(reference: str) -> None:
    agent = DemoAgent(reference, AIRLINE)
    assert (agent.reference, agent.is_privileged) == (reference, True)


@pytest.mark.parametrize("text", ["", "often", "-0.1", "1.1", "nan", "inf", "0,5", "0:1"])
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"got slip rate '{text}', wanted a number in \[0, 1\]"):
        DemoAgent(f"demo:{text}", AIRLINE)
