"""Fidelity in whole trials: it is scored with every trial, moves no reward, and the demonstration user is faithful."""

import asyncio

import pytest

from taugraph.domains.domain import load_domain
from taugraph.domains.protocol import STRICT, TAU_BENCH
from taugraph.domains.trial import Score, Trial
from taugraph.experiments.play import Player
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import SimulatedUser, UserTurn, UserView
from taugraph.graphs.users.demo import DemoUser

CANCEL = "cancel-within-a-day"


class Inventive:
    """Says what the demonstration user says, and a booking code of its own making."""

    reference = "inventive"

    async def speak(self, view: UserView) -> UserTurn:
        turn = await DemoUser().speak(view)
        return turn if turn.stops or not view.messages else UserTurn(f"{turn.text} My code is ZZ91QX.")


def trials_of(name: str, user: SimulatedUser, *ids: str, protocol: str = "strict") -> list[Trial]:
    domain = load_domain(name)
    stage = Stage(domain, DemoAgent("demo:0", domain), user, STRICT if protocol == "strict" else TAU_BENCH)

    async def play() -> list[Trial]:
        return [await Player(stage).play(task_id, 0, 0) for task_id in ids or [task.id for task in domain.tasks]]

    trials = asyncio.run(play())
    stage.close()
    return trials


def fidelity(trial: Trial) -> Score:
    [score] = [score for score in trial.scores if score.key == "user_was_faithful"]
    return score


@pytest.mark.parametrize("name", ["airline", "retail"])
def test_the_demonstration_user_is_faithful_in_every_task(name: str) -> None:
    trials = trials_of(name, DemoUser())
    assert {trial.task_id: fidelity(trial).evidence for trial in trials if fidelity(trial).value != 1.0} == {}


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
def test_an_unfaithful_user_costs_the_agent_nothing(protocol: str) -> None:
    stops_on_token = protocol == "tau-bench"
    [faithful] = trials_of("airline", DemoUser(stops_on_token=stops_on_token), CANCEL, protocol=protocol)
    [spoiled] = trials_of("airline", Inventive(), CANCEL)
    assert (fidelity(faithful).value, faithful.reward) == (1.0, 1.0)
    assert (fidelity(spoiled).value, fidelity(spoiled).gates, spoiled.reward) == (0.0, False, 1.0)
    assert fidelity(spoiled).evidence[0] == {"turn": 2, "check": "says_unknown_fact", "what": "ZZ91QX"}
