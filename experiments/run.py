"""Running an experiment: set up, play what is missing, store each trial the moment it ends, report."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from taugraph.domains.errors import ConfigurationError, StoreError
from taugraph.domains.task import Task
from taugraph.domains.trial import SCORING_VERSION, Trial
from taugraph.experiments.examples import context_with_examples
from taugraph.experiments.floors import floors_of
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
from taugraph.experiments.remote import open_player
from taugraph.experiments.remote_checks import ModelsElsewhere, check_servers, check_settings
from taugraph.experiments.report import Report, ReportIdentity, build_report
from taugraph.experiments.schedule import Interrupt, Place, in_rounds, run_schedule
from taugraph.experiments.settings import RunSettings, restored
from taugraph.experiments.slices import variants_of
from taugraph.experiments.store import Experiment, Store
from taugraph.experiments.untraced import untraced
from taugraph.graphs.agents.hooks import close_agent, open_agent
from taugraph.graphs.agents.tool_match import ToolMatch, match_of
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.seeds import trial_seed
from taugraph.graphs.stage import Stage

_LOG = logging.getLogger("taugraph")

OnTrial = Callable[[Trial], None]
"""Told of every trial after it was stored."""


def new_name(domain: str) -> str:
    """Return a name for an experiment: domain, moment and a few random letters."""
    shown = Path(domain).resolve().name if "/" in domain else domain.partition(":")[0].rpartition(".")[2]
    return f"{shown}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


class Run:
    """One experiment being run in this process, or on servers where the settings name some.

    Attributes:
        interrupt: Stops it.
        on_ready: Told before the first trial how the agent's tools compare with the domain's.
    """

    def __init__(
        self,
        name: str,
        settings: RunSettings,
        store: Store,
        stage: Stage,
        models: ChatModels,
        context: SimulationContext,
    ) -> None:
        self.name = name
        self.interrupt = Interrupt()
        self.on_ready: Callable[[ToolMatch | None], None] = lambda match: None
        self._settings = settings
        self._store = store
        self._stage = stage
        self._models = models
        self._context = context

    @property
    def missing(self) -> int:
        """How many trials are still to be played."""
        return len(self._store.missing(self.name))

    @property
    def is_interactive(self) -> bool:
        """Whether a person plays the user: then trials come one by one."""
        return bool(getattr(self._stage.user, "is_interactive", False))

    def play(self, on_trial: OnTrial = lambda trial: None) -> str | None:
        """Play everything that is missing.

        Returns:
            Why the run ended early; `None` if everything was played.

        Raises:
            StoreError: If a trial cannot be stored; those before it are.
            ConfigurationError: If code of somebody's own ends the process; the trials before that are stored.
        """
        try:
            return asyncio.run(self.play_async(on_trial))
        except SystemExit as error:  # deep inside a graph nothing can catch it, and it must not look like success
            raise ConfigurationError(
                f"code of the agent, the user or an evaluator ended the process (exit code {error.code}); the "
                "trials so far are stored: correct the code, then start a new experiment"
            ) from error

    async def play_async(self, on_trial: OnTrial = lambda trial: None) -> str | None:
        """Play everything that is missing, inside a running event loop; see `play`."""
        try:
            planned, missing = self._store.experiment(self.name), set(self._store.missing(self.name))
            places = [place for place in in_rounds(planned.task_ids, planned.trials) if place in missing]
            keep = keeper(self.name, self._store, on_trial)
            if self._settings.server:
                async with open_player(self._settings, self._context, planned, places) as remote:
                    return await self._schedule(places, remote.play, remote.releasing(keep))
            await open_agent(self._stage.agent)
            self.on_ready(match_of(self._stage.agent, self._stage.executor.tools))
            return await self._schedule(places, Player(self._stage, experiment=self.name).play, keep)
        finally:
            await close_agent(self._stage.agent)
            await self._models.aclose()
            self._stage.close()

    async def _schedule(
        self,
        places: list[Place],
        play: Callable[[str, int, int], Awaitable[Trial]],
        keep: Callable[[Trial], Awaitable[None]],
    ) -> str | None:
        async def play_place(task_id: str, trial: int) -> Trial:
            return await play(task_id, trial, trial_seed(self._settings.seed, task_id, trial))

        with self.interrupt.on_signals():
            concurrency = 1 if self.is_interactive else self._settings.concurrency
            return await run_schedule(places, play_place, keep, concurrency=concurrency, interrupt=self.interrupt)


def keeper(name: str, store: Store, on_trial: OnTrial) -> Callable[[Trial], Awaitable[None]]:
    """Return what stores a finished trial and then tells of it.

    Where another process has scored the same trial meanwhile, its score stands and the run goes on.
    """

    def is_scored(trial: Trial) -> bool:
        try:
            return any((row.task_id, row.trial) == (trial.task_id, trial.trial) for row in store.counts(name))
        except StoreError:
            return False

    async def keep(trial: Trial) -> None:
        try:
            await asyncio.to_thread(store.add_trial, name, trial)
        except StoreError:
            if not await asyncio.to_thread(is_scored, trial):
                raise
            _LOG.warning("task %s trial %s was scored by another process: that stands", trial.task_id, trial.trial)
        on_trial(trial)

    return keep


@untraced
def start_run(settings: RunSettings, store: Store, name: str | None = None) -> Run:
    """Set up a new experiment and store its plan.

    Raises:
        TaugraphError: If a setting, the data or the store does not allow it; nothing has been played.
    """
    check_settings(settings)
    context = context_with_examples(settings, store)
    models = models_for(settings, context)
    stage = build_stage(context, models)
    with closed_on_error(stage):
        tasks = select_tasks(stage.domain, settings)
        check_gold(stage, tasks)
        chosen = name or new_name(settings.domain)
        identity = identity_of(stage, settings, tasks)
        check_servers(settings.server, context, [task.id for task in tasks], identity)
        plan = plan_of(stage, tasks, settings.trials)
        privileged = stage.agent.is_privileged
        configuration = {**settings.stored(), "floors": floors_of(stage, tasks, identity)}
        store.create_experiment(new_experiment(chosen, "run", plan, configuration, identity, privileged=privileged))
        return Run(chosen, settings, store, stage, models, context)


@untraced
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
    identity, _ = stored.pop("identity"), stored.pop("floors", None)
    settings = restored(stored, **given)
    check_settings(settings)
    context = context_with_examples(settings, store, identity)
    models = models_for(settings, context)
    stage = build_stage(context, models)
    with closed_on_error(stage):
        tasks = [stage.domain.task(task_id) for task_id in experiment.task_ids]
        check_same_identity(name, identity, identity_of(stage, settings, tasks))
        check_gold(stage, tasks)
        check_servers(settings.server, context, experiment.task_ids, identity)
        return Run(name, settings, store, stage, models, context)


def models_for(settings: RunSettings, context: SimulationContext) -> ChatModels:
    """Return the models of a run: where servers play it, their keys need not be here."""
    return (ModelsElsewhere if settings.server else ChatModels)(context.calls)


@contextmanager
def closed_on_error(stage: Stage) -> Iterator[None]:
    """Close the stage if setting up fails."""
    try:
        yield
    except BaseException:
        stage.close()
        raise


def plan_of(stage: Stage, tasks: Sequence[Task], trials: int) -> dict[str, Any]:
    """Return what an experiment plans to play."""
    return {"domain": stage.domain.name, "trials": trials, "task_ids": tuple(task.id for task in tasks)}


def new_experiment(
    name: str,
    kind: Any,
    plan: dict[str, Any],
    configuration: dict[str, Any],
    identity: Identity,
    *,
    privileged: bool,
) -> Experiment:
    """Return the record of a new experiment.

    Raises:
        ConfigurationError: If the store cannot hold it, for its name above all.
    """
    try:
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
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise ConfigurationError(f"cannot plan experiment {name!r}: {reason}; choose another --name") from error


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
            floors=configuration.get("floors") or {},
        ),
        planned=in_rounds(experiment.task_ids, experiment.trials),
        trials=(as_counted(trial) for task_id in experiment.task_ids for trial in store.trials(name, task_id)),
        unscored=(as_counted(attempt.trial) for attempt in store.unscored(name)),
        variants=variants_of(experiment.task_ids, configuration.get("personas") or ()),
    )


def as_counted(trial: Trial) -> Trial:
    """Return a trial without its transcript and changes, which a report of ten thousand cannot hold in memory."""
    return trial.model_copy(update={"messages": [], "changes": {}})
