"""Replaying recorded conversations: their words, our tools, our scoring, and how far the rewards agree."""

import asyncio
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.errors import DataError, UnknownNameError
from taugraph.domains.protocol import Protocol
from taugraph.domains.trial import Failure, Termination, Trial
from taugraph.experiments.plan import check_gold, identity_of
from taugraph.experiments.play import Player
from taugraph.experiments.reasons import failure_reasons
from taugraph.experiments.recordings import Recording, load_recordings
from taugraph.experiments.run import OnTrial, closed_on_error, keeper, new_experiment, plan_of
from taugraph.experiments.schedule import Interrupt, Place, run_schedule
from taugraph.experiments.settings import RunSettings
from taugraph.experiments.store import Store
from taugraph.experiments.untraced import untraced
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

    def play(self, on_trial: OnTrial = lambda trial: None) -> str | None:
        """Replay everything; return why it ended early, or `None`.

        Raises:
            StoreError: If a trial cannot be stored; those before it are.
        """
        return asyncio.run(self._play(on_trial))

    @property
    def missing(self) -> int:
        """How many recordings are still to be replayed."""
        return len(set(self._store.missing(self.name)) & {recording.place for recording in self.recordings})

    async def _play(self, on_trial: OnTrial) -> str | None:
        player = Player(self._stage, experiment=self.name)
        notes = {recording.place: recording.note for recording in self.recordings}

        async def play(task_id: str, trial: int) -> Trial:
            if note := notes[task_id, trial]:
                failure = Failure(kind="no_conversation", message=note)
                end = Termination.INFRASTRUCTURE
                return Trial(task_id=task_id, trial=trial, seed=0, termination=end, failure=failure)
            return await player.play(task_id, trial, 0)

        try:
            with self.interrupt.on_signals():
                return await run_schedule(
                    [recording.place for recording in self.recordings],
                    play,
                    keeper(self.name, self._store, on_trial),
                    concurrency=self._settings.concurrency,
                    interrupt=self.interrupt,
                )
        finally:
            self._stage.close()

    def agreement(self) -> Agreement:
        """Compare the stored rewards with the recorded ones."""
        ours = self._outcomes()
        compared = [recording for recording in self.recordings if recording.place in ours]
        different = [
            Difference(task_id=row.task_id, trial=row.trial, recorded=row.reward, ours=reward, reason=reason)
            for row in compared
            for reward, reason in [ours[row.place]]
            if not _same_reward(reward, row.reward)
        ]
        return Agreement(same=len(compared) - len(different), different=different)

    def _outcomes(self) -> dict[Place, tuple[float | None, str]]:
        """Return what each replayed trial came to, and why."""
        experiment = self._store.experiment(self.name)
        broken = (attempt.trial for attempt in self._store.unscored(self.name))
        scored = (trial for task_id in experiment.task_ids for trial in self._store.trials(self.name, task_id))
        return {(trial.task_id, trial.trial): (trial.reward, _reason(trial)) for trial in chain(broken, scored)}


@untraced
def start_replay(path: Path, settings: RunSettings, store: Store, name: str) -> Replay:
    """Set up the replay of a results file and store its plan.

    Raises:
        TaugraphError: If the file, the data or the store does not allow it; nothing has been replayed.
    """
    recordings = load_recordings(path)
    domain = load_domain(settings.domain, settings.data)
    stage = _stage(path, domain, settings.context().rules(), recordings)
    with closed_on_error(stage):
        tasks = [domain.task(task_id) for task_id in dict.fromkeys(recording.task_id for recording in recordings)]
        check_gold(stage, tasks)
        trials = max(recording.trial for recording in recordings) + 1
        identity = {**identity_of(stage, settings, tasks), "trials": str(trials)}
        configuration = {**settings.stored(), "agent": AGENT, "user": USER, "file": path.name}
        plan = plan_of(stage, tasks, trials)
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
    broken = [trial.failure.message] if trial.failure else []
    if trial.outcome == "unscored":
        return "; ".join(broken) or trial.termination.value
    if trial.outcome == "passed":
        return "every check passes: the database is as the gold calls leave it, and every claim was said"
    return "; ".join(dict.fromkeys([*broken, *failure_reasons(trial)]))[:500]
