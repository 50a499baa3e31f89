"""Running an experiment: set up, play what is missing, store each trial the moment it ends, report."""

import asyncio
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from taugraph.domains.errors import ConfigurationError
from taugraph.domains.trial import SCORING_VERSION, Trial
from taugraph.experiments.plan import (
    Identity,
    check_gold,
    check_same_identity,
    fingerprint_of,
    identity_of,
    package_version,
    select_tasks,
)
from taugraph.experiments.play import Player
from taugraph.experiments.report import Report, ReportIdentity, build_report
from taugraph.experiments.schedule import Interrupt, in_rounds, run_schedule
from taugraph.experiments.settings import RunSettings, restored
from taugraph.experiments.store import Experiment, Store
from taugraph.graphs.casting import build_stage
from taugraph.graphs.models import ChatModels
from taugraph.graphs.seeds import trial_seed
from taugraph.graphs.stage import Stage

OnTrial = Callable[[Trial], None]
"""Told of every trial after it was stored."""


def new_name(domain: str) -> str:
    """Return a name for an experiment: domain, moment and a few random letters."""
    return f"{domain.partition(':')[0].rpartition('.')[2]}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class Run:
    """One experiment being run in this process."""

    def __init__(self, name: str, settings: RunSettings, store: Store, stage: Stage, models: ChatModels) -> None:
        self.name = name
        self.interrupt = Interrupt()
        self._settings = settings
        self._store = store
        self._stage = stage
        self._models = models

    @property
    def missing(self) -> int:
        """How many trials are still to be played."""
        return len(self._store.missing(self.name))

    def play(self, on_trial: OnTrial = lambda trial: None) -> str | None:
        """Play everything that is missing.

        Returns:
            Why the run ended early; `None` if everything was played.

        Raises:
            StoreError: If a trial cannot be stored; those before it are.
        """
        return asyncio.run(self.play_async(on_trial))

    async def play_async(self, on_trial: OnTrial = lambda trial: None) -> str | None:
        """Play everything that is missing, inside a running event loop; see `play`."""
        player = Player(self._stage, experiment=self.name)
        planned = self._store.experiment(self.name)
        missing = set(self._store.missing(self.name))
        places = [place for place in in_rounds(planned.task_ids, planned.trials) if place in missing]

        async def play(task_id: str, trial: int) -> Trial:
            return await player.play(task_id, trial, trial_seed(self._settings.seed, task_id, trial))

        async def keep(trial: Trial) -> None:
            await asyncio.to_thread(self._store.add_trial, self.name, trial)
            on_trial(trial)

        try:
            with self.interrupt.on_signals():
                return await run_schedule(
                    places, play, keep, concurrency=self._settings.concurrency, interrupt=self.interrupt
                )
        finally:
            await self._models.aclose()
            self._stage.close()


def start_run(settings: RunSettings, store: Store, name: str | None = None) -> Run:
    """Set up a new experiment and store its plan.

    Raises:
        TaugraphError: If a setting, the data or the store does not allow it; nothing has been played.
    """
    models = ChatModels(settings.context().calls)
    stage = build_stage(settings.context(), models)
    tasks = select_tasks(stage.domain, settings)
    check_gold(stage, tasks)
    identity = identity_of(stage, settings, tasks)
    chosen = name or new_name(settings.domain)
    plan = {"domain": stage.domain.name, "trials": settings.trials, "task_ids": tuple(task.id for task in tasks)}
    store.create_experiment(
        new_experiment(chosen, "run", plan, settings.stored(), identity, privileged=stage.agent.is_privileged)
    )
    return Run(chosen, settings, store, stage, models)


def resume_run(name: str, store: Store, **given: Any) -> Run:
    """Set up a stored experiment again, to play what is missing.

    Args:
        name: The experiment.
        store: Where it is kept.
        given: Settings to give anew, such as `concurrency`; `None` for the stored ones.

    Raises:
        UnknownNameError: If there is no such experiment.
        ConfigurationError: If it would go on under other conditions; the message names them.
    """
    experiment = store.experiment(name)
    if experiment.kind != "run":
        raise ConfigurationError(
            f"experiment {name!r} is a replay of recorded conversations; run `taugraph replay` again"
        )
    stored = dict(experiment.configuration)
    identity = stored.pop("identity")
    settings = restored(stored, **given)
    models = ChatModels(settings.context().calls)
    stage = build_stage(settings.context(), models)
    tasks = [stage.domain.task(task_id) for task_id in experiment.task_ids]
    check_same_identity(name, identity, identity_of(stage, settings, tasks))
    check_gold(stage, tasks)
    return Run(name, settings, store, stage, models)


def new_experiment(
    name: str,
    kind: Any,
    plan: dict[str, Any],
    configuration: dict[str, Any],
    identity: Identity,
    *,
    privileged: bool,
) -> Experiment:
    """Return the record of a new experiment."""
    return Experiment(
        name=name,
        kind=kind,
        fingerprint=fingerprint_of(identity),
        package_version=package_version(),
        scoring_version=SCORING_VERSION,
        privileged=privileged,
        configuration={**configuration, "identity": identity},
        **plan,
    )


def report_on(name: str, store: Store) -> Report:
    """Build the report of a stored experiment.

    Raises:
        UnknownNameError: If there is no such experiment.
    """
    experiment = store.experiment(name)
    configuration = experiment.configuration
    return build_report(
        identity=ReportIdentity(
            experiment=experiment.name,
            domain=experiment.domain,
            agent=str(configuration.get("agent", "?")),
            user=str(configuration.get("user", "?")),
            protocol=str(configuration.get("protocol", "?")),
            kind=experiment.kind,
            privileged=experiment.privileged,
            tasks=len(experiment.task_ids),
            trials=experiment.trials,
            fingerprint=experiment.fingerprint,
            package_version=experiment.package_version,
            scoring_version=experiment.scoring_version,
        ),
        planned=in_rounds(experiment.task_ids, experiment.trials),
        trials=store.trials(name),
        unscored=[attempt.trial for attempt in store.unscored(name)],
    )
