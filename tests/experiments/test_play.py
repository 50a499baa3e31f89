"""One trial is played from the first word to its record, and what breaks inside stays inside."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from support.tiny_airline import CANCEL, write_tiny_airline

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ModelCallError
from taugraph.domains.protocol import STRICT
from taugraph.domains.trial import Termination, Trial
from taugraph.experiments.play import Player
from taugraph.graphs.agent import AgentView
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn, UserView


class Caller:
    """Opens, and hangs up at the first answer."""

    reference = "caller"

    async def speak(self, view: UserView) -> UserTurn:
        return UserTurn("", stops=True) if view.messages else UserTurn("Cancel my trip.")


class Clerk:
    """Cancels, then says so; or fails as it was told to."""

    reference = "clerk"
    is_privileged = False

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    async def reply(self, view: AgentView) -> AIMessage:
        if len(view.messages) == 1:
            return AIMessage("", tool_calls=[{"name": CANCEL["name"], "args": CANCEL["kwargs"], "id": "c"}])
        if self.error:
            raise self.error
        return AIMessage("It is cancelled.")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    data = write_tiny_airline(tmp_path / "data")
    built = Stage(domain=load_domain("airline", data), agent=Clerk(), user=Caller(), protocol=STRICT)
    yield built
    built.close()


async def play(stage: Stage, error: BaseException | None = None) -> Trial:
    stage.agent = Clerk(error)
    return await Player(stage, experiment="x").play("0", 3, 42)


async def test_a_trial_is_recorded_whole(stage: Stage) -> None:
    trial = await play(stage)
    assert (trial.task_id, trial.trial, trial.seed, trial.reward) == ("0", 3, 42, 1.0)
    assert [message["type"] for message in trial.messages] == ["human", "ai", "tool", "ai"]
    assert trial.termination is Termination.USER_STOP
    assert trial.started_at is not None
    assert trial.started_at.tzinfo is not None
    assert 0 < trial.duration_s < 60
    assert trial.changes


async def test_a_provider_failure_leaves_the_trial_unscored_with_what_was_said(stage: Stage) -> None:
    trial = await play(stage, ModelCallError("agent", "rate_limit", "429"))
    assert trial.outcome == "unscored"
    assert trial.failure is not None
    assert trial.failure.kind == "rate_limit"
    assert len(trial.messages) == 3


async def test_an_agent_that_raises_has_failed(stage: Stage) -> None:
    trial = await play(stage, ZeroDivisionError("mine"))
    assert (trial.outcome, trial.termination) == ("failed", Termination.AGENT_ERROR)


async def test_a_fault_of_the_harness_leaves_the_trial_unscored_with_a_traceback(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(stage.executor, "execute", break_down)
    trial = await play(stage)
    assert trial.outcome == "unscored"
    assert trial.failure is not None
    assert trial.failure.kind == "harness"
    assert trial.failure.message == "OSError: the disk is gone"
    assert "break_down" in (trial.failure.traceback or "")
    assert [message["type"] for message in trial.messages] == ["human", "ai"]


async def test_a_trial_that_never_began_has_a_record_too(stage: Stage) -> None:
    trial = await Player(stage).play("no such task", 0, 0)
    assert trial.outcome == "unscored"
    assert trial.failure is not None
    assert "no task named 'no such task'" in trial.failure.message


async def test_checkpoints_are_forgotten_unless_somebody_keeps_them(stage: Stage) -> None:
    saver = InMemorySaver()
    keeping, forgetting = Player(stage, experiment="x", checkpointer=saver), Player(stage, experiment="x")
    await keeping.play("0", 0, 0)
    await forgetting.play("0", 0, 0)
    assert list(saver.list({"configurable": {"thread_id": keeping.thread_id("0", 0)}}))
    assert not list(forgetting._saver.list(None))


def test_thread_ids_differ_by_experiment_task_and_trial(stage: Stage) -> None:
    first, second = Player(stage, experiment="x"), Player(stage, experiment="y")
    ids = {player.thread_id(task, trial) for player in (first, second) for task in "ab" for trial in (0, 1)}
    assert len(ids) == 8
    assert Player(stage, experiment="x").thread_id("a", 0) in ids
