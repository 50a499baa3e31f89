"""Opening what is to be published: an experiment of the store with its domain as it was played."""

from dataclasses import dataclass
from pathlib import Path

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.errors import ConfigurationError
from taugraph.experiments.langsmith.connection import Connection
from taugraph.experiments.langsmith.publishing import Publisher, project_name
from taugraph.experiments.plan import tasks_digest
from taugraph.experiments.settings import restored
from taugraph.experiments.store import Experiment, Store
from taugraph.graphs.casting import in_personas


@dataclass(frozen=True)
class Publication:
    """An experiment and the domain it was played in."""

    experiment: Experiment
    domain: Domain


def load_publication(name: str, store: Store) -> Publication:
    """Load an experiment with its domain.

    Raises:
        UnknownNameError: If there is no such experiment.
        ConfigurationError: If the domain's tasks are no longer those that were played.
        DataError: If the domain's data cannot be read.
    """
    experiment = store.experiment(name)
    stored = {key: value for key, value in experiment.configuration.items() if key not in ("identity", "floors")}
    settings = restored(stored)
    domain = load_domain(settings.domain, Path(settings.data) if settings.data else None)
    domain = in_personas(domain, settings.personas)
    played = [domain.task(task_id) for task_id in experiment.task_ids]
    if tasks_digest(played) != experiment.configuration["identity"].get("tasks"):
        raise ConfigurationError(
            f"experiment {name!r} was played on other tasks than {settings.domain!r} has now: restore them, then push"
        )
    return Publication(experiment, domain)


def open_publisher(name: str, store: Store, prefix: str | None = None) -> Publisher:
    """Return what sends an experiment's trials to LangSmith.

    Args:
        name: The experiment.
        store: Where it is kept.
        prefix: Stands before the name of LangSmith's experiment; `None` for nothing.

    Raises:
        UnknownNameError: If there is no such experiment.
        ConfigurationError: If LangSmith has no key or another experiment of that name, or the tasks have changed.
        LangSmithFailedError: If LangSmith refuses.
    """
    publication = load_publication(name, store)
    connection = Connection()
    try:
        return Publisher(
            connection,
            store,
            publication.experiment,
            publication.domain,
            project_name(publication.experiment.name, prefix),
        )
    except BaseException:
        connection.close()
        raise
