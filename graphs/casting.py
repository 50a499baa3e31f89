"""Who plays: the stage for a run's context.

A reference is looked up once, here, when a run is set up; a wrong one is refused before the first trial.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.errors import ConfigurationError
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.persona import find_persona, load_personas
from taugraph.graphs.stage import Stage

_LOG = logging.getLogger("taugraph")


def build_stage(context: SimulationContext, models: ChatModels | None = None, *, is_served: bool = False) -> Stage:
    """Build domain, actors and protocol from their references.

    Args:
        context: The references.
        models: Chat models of a run; `None` for new ones.
        is_served: Whether LangGraph's server plays the trials.

    Raises:
        TaugraphError: If a reference leads nowhere or the data cannot be read; the message says what to do.
    """
    from taugraph.graphs.agents.building import build_agent  # noqa: PLC0415 - only what is used is imported
    from taugraph.graphs.users.building import build_user  # noqa: PLC0415 - only what is used is imported

    models = models or ChatModels(context.calls)
    domain = load_domain(context.domain, Path(context.data) if context.data else None)
    domain = in_personas(domain, context.personas)
    if context.personas and (context.user == "demo" or context.user.startswith("scripted:")):
        _LOG.warning("the %s user talks the same whatever the persona", context.user.partition(":")[0])
    protocol = context.rules()
    agent = build_agent(context, domain, models)
    return Stage(domain, agent, build_user(context, protocol, models, is_served=is_served), protocol)


def in_personas(domain: Domain, names: Sequence[str]) -> Domain:
    """Return the domain with every task once per persona, as `TASK@PERSONA`; unchanged if no persona is named.

    Raises:
        UnknownNameError: If there is no such persona.
        ConfigurationError: If two have one name.
        DataError: If the file of one cannot be read.
    """
    if not names:
        return domain
    named = [name for part in names for name in (load_personas() if part == "all" else [part])]
    names = tuple(dict.fromkeys(named))
    for name in names:
        find_persona(name)
    stems = [Path(name).stem for name in names]
    if twice := [stem for stem in stems if stems.count(stem) > 1]:
        raise ConfigurationError(f"two personas are named {twice[0]!r}; rename the file of one of them")
    tasks = [
        task.model_copy(update={"id": f"{task.id}@{Path(name).stem}", "persona": name, "variant_of": task.id})
        for task in domain.tasks
        for name in names
    ]
    return replace(domain, tasks=tasks)


def stage_for(context: SimulationContext) -> Stage:
    """Return the stage for a context, built once per process: the server asks for it at every node.

    Raises:
        TaugraphError: If it cannot be built; the next call tries again.
    """
    with _BUILDING:
        return _built_stage(context)


_BUILDING = threading.Lock()
_built_stage = lru_cache(maxsize=8)(partial(build_stage, is_served=True))
