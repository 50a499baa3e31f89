"""Recorded trials in LangGraph Studio: their histories rebuilt, and a thread registered for each.

A thread is played on with what its experiment was played with: an assistant holds its settings.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from taugraph.domains.domain import installed_domains, load_domain
from taugraph.domains.errors import TaugraphError, UnknownNameError
from taugraph.domains.folder import is_folder
from taugraph.domains.trial import Trial
from taugraph.experiments.settings import HIDDEN, RunSettings, restored
from taugraph.experiments.store import Experiment, Store
from taugraph.experiments.studio_server import missing_package, shipped_configuration
from taugraph.graphs.casting import in_personas

MOST_TRIALS = 50
"""Trials that are opened unless one is named."""

STUDIO = "https://smith.langchain.com/studio/?baseUrl="
"""LangGraph's own page; it needs a browser with a login, the trials stay on this machine."""

_SCRIPTED = "scripted:"
_FILE = re.compile(r".+?\.py(?=:)|.+?\.json(?=#|$)")
_OPTIONS = ("agent_options", "user_options")
_ORDER = ("failed", "unscored", "passed")


@dataclass(frozen=True)
class OpenedTrial:
    """A trial that can be opened.

    Attributes:
        thread_id: Its thread; empty if there is none.
        trial: The trial.
        differs: In what its rebuilt end differs from the stored one, or why it could not be rebuilt.
    """

    thread_id: str
    trial: Trial
    differs: tuple[str, ...]


def trials_to_open(store: Store, name: str, place: str | None) -> list[Trial]:
    """Return the trials of an experiment, or the one at `TASK/TRIAL`.

    Failed ones come first, then those that infrastructure broke, by their last attempt.

    Raises:
        UnknownNameError: If there is no such experiment or trial.
    """
    scored = [((row.task_id, row.trial), str(row.outcome)) for row in store.counts(name)]
    outcomes = dict(scored)
    broken = {(row.trial.task_id, row.trial.trial): row.trial for row in store.unscored(name)}
    outcomes |= {key: "unscored" for key in broken.keys() - outcomes.keys()}
    if place is None:
        chosen = sorted(outcomes, key=lambda key: (_ORDER.index(outcomes[key]), *key))[:MOST_TRIALS]
    else:
        known = {f"{task_id}/{trial}": (task_id, trial) for task_id, trial in outcomes}
        if place not in known:
            raise UnknownNameError("trial", place, known)
        chosen = [known[place]]
    wanted = {task_id for task_id, trial in chosen if outcomes[task_id, trial] != "unscored"}
    found = {(trial.task_id, trial.trial): trial for task_id in wanted for trial in store.trials(name, task_id)}
    return [found.get(key) or broken[key] for key in chosen]


def rebuild_trials(experiment: Experiment, trials: Sequence[Trial], checkpoints: Path) -> list[OpenedTrial]:
    """Rebuild the step histories of trials in a file of checkpoints.

    Raises:
        ConfigurationError: If the package that keeps checkpoints is missing.
        TaugraphError: If the domain cannot be read.
    """
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_package(error) from error
    from taugraph.experiments.rebuild import rebuild  # noqa: PLC0415 - only where a trial is opened

    settings = settings_of(experiment)
    domain = in_personas(load_domain(settings.domain, settings.data), settings.personas)
    checkpoints.parent.mkdir(parents=True, exist_ok=True)

    async def work() -> list[OpenedTrial]:
        async with AsyncSqliteSaver.from_conn_string(str(checkpoints)) as saver:
            opened = []
            for trial in trials:
                try:
                    found = await rebuild(trial, domain, settings.context().rules(), saver, experiment=experiment.name)
                except TaugraphError as error:
                    opened.append(OpenedTrial("", trial, (f"cannot be rebuilt: {error}",)))
                else:
                    opened.append(OpenedTrial(found.thread_id, trial, found.differs))
            return opened

    return asyncio.run(work())


def settings_of(experiment: Experiment) -> RunSettings:
    """Return the settings that an experiment was played with, without the secrets, which are not stored.

    Raises:
        TaugraphError: If they no longer fit.
    """
    stored = {name: value for name, value in experiment.configuration.items() if name in RunSettings.model_fields}
    kept = {name: _without_hidden(stored.get(name) or {}) for name in _OPTIONS}
    return restored({**stored, **kept})


def context_of(experiment: Experiment) -> dict[str, Any]:
    """Return an experiment's settings as the graph takes them, with files named so that any folder leads to them.

    Raises:
        TaugraphError: If they no longer fit.
    """
    context = settings_of(experiment).context()
    examples, is_named = context.examples, context.domain in installed_domains()
    own: dict[str, Any] = {
        "domain": _absolute(context.domain) if not is_named and is_folder(context.domain) else context.domain,
        "data": context.data and _absolute(context.data),
        "agent": _file_made_absolute(context.agent),
        "user": _file_made_absolute(context.user),
        "examples": _absolute(examples) if examples and Path(examples).is_file() else examples,
        "personas": [_absolute(name) if name.endswith(".md") else name for name in context.personas],
    }
    return {**context.model_dump(mode="json"), **own}


async def register(url: str, experiment: Experiment, opened: Sequence[OpenedTrial]) -> str:
    """Tell the server of an experiment's settings and threads, so that it shows them and can play them on.

    Returns:
        The name of the assistant that plays them on.
    """
    from langgraph_sdk import get_client  # noqa: PLC0415 - only where a server runs

    graph = graph_of(experiment)
    async with get_client(url=url) as client:
        played_by: dict[str, str] = {}  # under a name of ours, because the server drops an `assistant_id` from metadata
        if experiment.kind == "run":
            # Its id follows from its settings, so that another experiment of the same name has another one.
            context = context_of(experiment)
            known_as = str(uuid5(NAMESPACE_URL, f"taugraph/{experiment.name}/{json.dumps(context, sort_keys=True)}"))
            await client.assistants.create(
                graph, context=context, assistant_id=known_as, name=experiment.name, if_exists="do_nothing"
            )
            played_by["assistant"] = known_as
        for one in opened:
            if not one.thread_id:
                continue
            about = {"task_id": one.trial.task_id, "trial": one.trial.trial, "outcome": one.trial.outcome}
            await client.threads.create(
                thread_id=one.thread_id,
                graph_id=graph,
                metadata={**played_by, "experiment": experiment.name, **about},
                if_exists="do_nothing",
            )
    return experiment.name if experiment.kind == "run" else graph


def graph_of(experiment: Experiment) -> str:
    """Return the name of the graph that serves an experiment's domain."""
    return experiment.domain if experiment.domain in shipped_configuration()["graphs"] else "simulation"


def _without_hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_hidden(item) for name, item in value.items() if item != HIDDEN}
    return [_without_hidden(item) for item in value] if isinstance(value, list) else value


def _file_made_absolute(reference: str) -> str:
    """Make the file in a reference such as `./agent.py:graph` or `scripted:talk.yaml` absolute; leave others alone."""
    if reference.startswith(_SCRIPTED):
        return _SCRIPTED + _absolute(reference.removeprefix(_SCRIPTED))
    found = None if re.match(r"https?://", reference) else _FILE.match(reference)
    return reference if found is None else _absolute(found[0]) + reference[found.end() :]


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())
