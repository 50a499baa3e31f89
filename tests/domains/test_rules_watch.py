"""Rules at work in whole trials: own tasks keep them all, recordings run under them, and a faulty one is not silent."""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.protocol import STRICT, TAU_BENCH, Protocol
from taugraph.domains.rules import Moment, PolicyRule
from taugraph.domains.trial import Termination, Trial
from taugraph.experiments.play import Player
from taugraph.experiments.recordings import load_recordings
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.agents.recorded import RecordedAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser
from taugraph.graphs.users.recorded import RecordedUser

PUBLISHED = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench"))
RECORDED = PUBLISHED / "trajectories" / "gpt-4o-airline-trials-0-1.json"
CANCEL = "cancel-within-a-day"


def stage_of(domain: Domain, protocol: Protocol = STRICT) -> Stage:
    return Stage(domain, DemoAgent("demo:0", domain), DemoUser(stops_on_token=protocol.stops_on_token), protocol)


def played(stage: Stage, task_id: str) -> Trial:
    trial = asyncio.run(Player(stage).play(task_id, 0, 0))
    stage.close()
    return trial


def policy_of(trial: Trial) -> dict[str, float | None]:
    return {score.key: score.value for score in trial.scores if "policy" in score.key or "rules" in score.key}


@pytest.mark.parametrize("name", ["airline", "retail"])
def test_the_gold_of_own_tasks_breaks_no_rule(name: str) -> None:
    stage = stage_of(load_domain(name))

    async def play() -> list[Trial]:
        return [await Player(stage).play(task.id, 0, 0) for task in stage.domain.tasks]

    broken = {
        trial.task_id: score.evidence or score.value
        for trial in asyncio.run(play())
        for score in trial.scores
        if score.key == "policy_was_followed" and score.value != 1.0
    }
    stage.close()
    assert broken == {}


def with_rule(*required: str, breaks: bool = False, raises: type[Exception] | None = None) -> Domain:
    """Return the airline with one rule, on which its tasks rest if they are told so."""

    def check(moment: Moment) -> Iterable[str]:
        if raises:
            raise raises(moment.name)
        return [f"{moment.name} was called"] if breaks and moment.changes_database else []

    domain = load_domain("airline")
    task = domain.task(CANCEL).model_copy(update={"rules": required})
    return replace(domain, rules=(PolicyRule("kept", "It is kept.", check),), tasks=(task,))


def test_a_broken_rule_is_reported_and_costs_the_reward_only_where_the_task_names_it() -> None:
    reported, gated = (played(stage_of(with_rule(*names, breaks=True)), CANCEL) for names in ((), ("kept",)))
    assert (policy_of(reported), reported.reward) == (
        {"policy_was_followed": 0.0, "required_rules_were_kept": None},
        1.0,
    )
    assert (policy_of(gated), gated.reward) == ({"policy_was_followed": 0.0, "required_rules_were_kept": 0.0}, 0.0)
    [evidence] = next(score for score in gated.scores if score.key == "policy_was_followed").evidence
    place = evidence.pop("message")
    assert evidence == {
        "rule": "kept",
        "call": "cancel_reservation",
        "explanation": "cancel_reservation was called",
    }
    assert isinstance(place, int)
    assert gated.messages[place]["data"]["tool_calls"][0]["name"] == "cancel_reservation"


def test_the_published_protocol_checks_no_policy() -> None:
    trial = played(stage_of(with_rule("kept", raises=KeyError), TAU_BENCH), CANCEL)
    assert (policy_of(trial), trial.termination) == ({}, Termination.USER_STOP)


def test_a_rule_that_raises_is_noted_and_leaves_the_policy_undecided() -> None:
    trial = played(stage_of(with_rule(raises=KeyError)), CANCEL)
    assert (policy_of(trial)["policy_was_followed"], trial.reward) == (None, 1.0)
    errors = trial.notes["rule_errors"]
    assert isinstance(errors, list)
    assert errors[-1] == "kept at cancel_reservation: KeyError: 'cancel_reservation'"


def test_a_required_rule_that_raises_leaves_the_trial_unscored() -> None:
    trial = played(stage_of(with_rule("kept", raises=RuntimeError)), CANCEL)
    assert (trial.termination, trial.reward) == (Termination.INFRASTRUCTURE, None)
    assert trial.failure is not None
    assert trial.failure.message == "RuntimeError: get_user_details"


def test_a_required_rule_that_cannot_read_arguments_is_broken_and_noted() -> None:
    trial = played(stage_of(with_rule("kept", raises=TypeError)), CANCEL)
    assert (policy_of(trial)["required_rules_were_kept"], trial.reward) == (0.0, 0.0)
    errors = trial.notes["rule_errors"]
    assert isinstance(errors, list)
    assert errors[-1] == "kept at cancel_reservation: TypeError: cancel_reservation"


@pytest.mark.skipif(not RECORDED.is_file(), reason="the published recordings are not here")
def test_recorded_conversations_run_under_the_rules() -> None:
    domain, recordings = load_domain("airline", PUBLISHED / "airline"), load_recordings(RECORDED)
    agent = RecordedAgent("agent", {one.place: one.agent for one in recordings})
    user = RecordedUser("user", {one.place: one.user for one in recordings})
    stage = Stage(domain, agent, user, TAU_BENCH.model_copy(update={"checks_policy": True}))

    async def play() -> list[Trial]:
        return [await Player(stage).play(*one.place, 0) for one in recordings if one.note is None]

    trials = asyncio.run(play())
    stage.close()
    assert [trial.notes["rule_errors"] for trial in trials if "rule_errors" in trial.notes] == []
    values = [policy_of(trial)["policy_was_followed"] for trial in trials]
    assert None not in values
    assert 0 < sum(value == 0.0 for value in values) < len(values)
    handed_over = {
        one.place
        for one, trial in zip([one for one in recordings if one.note is None], trials, strict=True)
        for score in trial.scores
        for breach in (score.evidence if score.key == "policy_was_followed" else ())
        if breach["rule"] == "handoff_only_when_out_of_scope"
    }
    # read one by one: none of these customers wanted what is for a colleague, and no gold hands them over
    assert handed_over == {("4", 0), ("18", 0), ("10", 1), ("12", 1), ("20", 1)}
