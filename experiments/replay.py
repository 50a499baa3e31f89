"""Replaying recorded conversations: their words, our tools, our scoring, and how far the rewards agree."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.errors import DataError, UnknownNameError
from taugraph.domains.protocol import Protocol
from taugraph.domains.trial import Failure, Termination, Trial
from taugraph.experiments.plan import check_gold, identity_of
from taugraph.experiments.play import Player
from taugraph.experiments.recordings import Recording, load_recordings
from taugraph.experiments.report import failure_reasons
from taugraph.experiments.run import new_experiment
from taugraph.experiments.schedule import Interrupt, run_schedule
from taugraph.experiments.settings import RunSettings
from taugraph.experiments.store import Store
from taugraph.graphs.agents.recorded import RecordedAgent
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.recorded import RecordedUser

AGENT, USER = "recorded-agent", "recorded-user"
"""References of the actors of a replay."""


class Difference(BaseModel):
    """A trial whose reward is not the recorded one."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    task_id: str
    """Task."""
    trial: int
    """Index of the trial, from 0."""
    recorded: float | None
    """Reward in the file; `None` where it has none."""
    ours: float | None
    """Our reward; `None` where the recording holds no conversation."""
    reason: str
    """Why ours is what it is."""


class Agreement(BaseModel):
    """How far our rewards agree with the recorded ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    same: int
    """Trials with the same reward."""
    different: list[Difference]
    """The others, in the order of the file."""


class Replay:
    """A results file being replayed as an experiment."""

    def __init__(self, name: str, settings: RunSettings, store: Store, stage: Stage, recordings: Sequence[Recording]):
        self.name = name
        self.recordings = recordings
        self.interrupt = Interrupt()
        self._settings = settings
        self._store = store
        self._stage = stage

    def play(self, on_trial: Callable[[Trial], None] = lambda trial: None) -> str | None:
        """Replay everything; return why it ended early, or `None`.

        Raises:
            StoreError: If a trial cannot be stored; those before it are.
        """
        return asyncio.run(self._play(on_trial))

    async def _play(self, on_trial: Callable[[Trial], None]) -> str | None:
        player = Player(self._stage, experiment=self.name)
        notes = {recording.place: recording.note for recording in self.recordings}

        async def play(task_id: str, trial: int) -> Trial:
            if note := notes[task_id, trial]:
                failure = Failure(kind="no_conversation", message=note)
                end = Termination.INFRASTRUCTURE
                return Trial(task_id=task_id, trial=trial, seed=0, termination=end, failure=failure)
            return await player.play(task_id, trial, 0)

        async def keep(trial: Trial) -> None:
            await asyncio.to_thread(self._store.add_trial, self.name, trial)
            on_trial(trial)

        try:
            with self.interrupt.on_signals():
                return await run_schedule(
                    [recording.place for recording in self.recordings],
                    play,
                    keep,
                    concurrency=self._settings.concurrency,
                    interrupt=self.interrupt,
                )
        finally:
            self._stage.close()

    def agreement(self) -> Agreement:
        """Compare the stored rewards with the recorded ones."""
        ours = {(trial.task_id, trial.trial): trial for trial in self._store.trials(self.name)}
        broken = {(attempt.trial.task_id, attempt.trial.trial): attempt for attempt in self._store.unscored(self.name)}
        different = []
        for recording in self.recordings:
            trial = ours.get(recording.place)
            if trial is None and recording.place not in broken:
                continue
            reward = trial.reward if trial else None
            if not _same_reward(reward, recording.reward):
                reason = _reason(trial) if trial else broken[recording.place].trial.failure
                text = reason if isinstance(reason, str) else reason.message if reason else "unknown"
                different.append(
                    Difference(
                        task_id=recording.task_id,
                        trial=recording.trial,
                        recorded=recording.reward,
                        ours=reward,
                        reason=text,
                    )
                )
        return Agreement(same=len(ours.keys() | broken.keys()) - len(different), different=different)


def start_replay(path: Path, settings: RunSettings, store: Store, name: str) -> Replay:
    """Set up the replay of a results file and store its plan.

    Raises:
        TaugraphError: If the file, the data or the store does not allow it; nothing has been replayed.
    """
    recordings = load_recordings(path)
    domain = load_domain(settings.domain, settings.data)
    stage = _stage(path, domain, settings.context().rules(), recordings)
    task_ids = tuple(dict.fromkeys(recording.task_id for recording in recordings))
    tasks = [stage.domain.task(task_id) for task_id in task_ids]
    check_gold(stage, tasks)
    trials = max(recording.trial for recording in recordings) + 1
    identity = {**identity_of(stage, settings, tasks), "trials": str(trials)}
    configuration = {**settings.stored(), "agent": AGENT, "user": USER, "file": path.name}
    plan = {"domain": domain.name, "trials": trials, "task_ids": task_ids}
    store.create_experiment(new_experiment(name, "replay", plan, configuration, identity, privileged=False))
    return Replay(name, settings, store, stage, recordings)


def _stage(path: Path, domain: Domain, protocol: Protocol, recordings: Sequence[Recording]) -> Stage:
    for recording in recordings:
        try:
            domain.task(recording.task_id)
        except UnknownNameError as error:
            wanted = f"a task of {domain.name!r}: give the data that were recorded with --data"
            raise DataError(path, f"of trial {recording.trial}", "task_id", recording.task_id, wanted) from error
    agent = RecordedAgent(AGENT, {recording.place: recording.agent for recording in recordings})
    user = RecordedUser(USER, {recording.place: recording.user for recording in recordings})
    return Stage(domain=domain, agent=agent, user=user, protocol=protocol)


def _same_reward(ours: float | None, recorded: float | None) -> bool:
    if ours is None or recorded is None:
        return ours is recorded
    return abs(ours - recorded) <= 1e-6


def _reason(trial: Trial) -> str:
    """Say what our reward rests on."""
    if trial.outcome == "passed":
        return "every check passes: the database is as the gold calls leave it, and every claim was said"
    return "; ".join(failure_reasons(trial))[:500]
