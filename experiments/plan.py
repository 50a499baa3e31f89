"""What is to be played: which tasks, how often, and under which identity.

The identity is everything that can move a score. Its digest, the fingerprint, decides whether a run may be resumed or
compared; where it differs, the differing keys are named.
"""

import json
from collections.abc import Sequence
from hashlib import sha256

from pydantic import BaseModel

import taugraph
from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError, TaskInvalidError, UnknownNameError
from taugraph.domains.rules import check_rule_names
from taugraph.domains.task import Task
from taugraph.domains.trial import SCORING_VERSION
from taugraph.experiments.settings import RunSettings, without_secrets
from taugraph.graphs.persona import find_persona
from taugraph.graphs.stage import Stage

Identity = dict[str, str]
"""What can move a score, name by name."""


def select_tasks(domain: Domain, settings: RunSettings) -> list[Task]:
    """Return the tasks to play, in the order of the data.

    Raises:
        UnknownNameError: If a task or split does not exist.
        ConfigurationError: If nothing is left to play.
    """
    if settings.tasks:
        chosen = _named(domain, settings.tasks)
        if settings.split is not None:
            chosen = [task for task in chosen if settings.split in task.splits]
    else:
        chosen = _of_split(domain, settings.split)
    chosen = _first(chosen, settings.limit)
    if not chosen:
        raise ConfigurationError(f"no task of {domain.name!r} is left to play; loosen --tasks, --split or --limit")
    return chosen


def _first(tasks: Sequence[Task], limit: int | None) -> list[Task]:
    """Return the first so many tasks; variants of one task count as one."""
    kept = list(dict.fromkeys(task.variant_of or task.id for task in tasks))[:limit]
    return [task for task in tasks if (task.variant_of or task.id) in kept]


def _named(domain: Domain, names: Sequence[str]) -> list[Task]:
    """Return the tasks of these ids; the id of a task that is played with personas means all of its variants."""
    variants = {name: [task for task in domain.tasks if task.variant_of == name] for name in dict.fromkeys(names)}
    return [task for name, found in variants.items() for task in (found or [domain.task(name)])]


def _of_split(domain: Domain, split: str | None) -> list[Task]:
    known = domain.splits()
    if split is not None and split not in known:
        raise UnknownNameError("split", split, known)
    wanted = split or ("test" if "test" in known else None)
    return [task for task in domain.tasks if wanted is None or wanted in task.splits]


def check_gold(stage: Stage, tasks: Sequence[Task]) -> None:
    """Work out every task's goal, and look up the rules it names, before the first trial.

    Raises:
        TaskInvalidError: If a gold call is refused under a protocol where that makes the task invalid, or nothing that
            the reward rests on can be decided.
        UnknownNameError: If a task names a rule that the domain does not have.
        ConfigurationError: If an evaluator that a task names cannot be loaded, or the user has no lines for a task.
    """
    if check_tasks := getattr(stage.user, "check_tasks", None):
        check_tasks([task.id for task in tasks])
    for task in tasks:
        stage.goals(task)
        stage.evaluators(task)
        check_rule_names(task, stage.domain.rules)
        if not task.is_decidable:
            basis = ", ".join(task.basis) or "nothing"
            raise TaskInvalidError(task.id, f"its reward rests on {basis}, of which nothing can be decided")


def identity_of(stage: Stage, settings: RunSettings, tasks: Sequence[Task]) -> Identity:
    """Return everything that can move a score of this run, name by name."""
    domain, tools = stage.domain, (*stage.executor.tools, *stage.user_executor.tools)
    return {
        "domain": domain.name,
        "dialect": _text(domain.dialect),
        "seed_data": domain.seed.content_hash,
        "policy": _digest(domain.policy),
        "tasks": tasks_digest(tasks),
        "tools": _digest(json.dumps([_tool_text(tool) for tool in tools])),
        "rules": _digest("\n".join(f"{rule.name}: {rule.text}" for rule in domain.rules)),
        "protocol": _text(stage.protocol),
        "agent": stage.agent.reference,
        "agent_options": json.dumps(without_secrets(settings.agent_options), sort_keys=True),
        "strategy": settings.strategy,
        "agent_code": str(getattr(stage.agent, "code_digest", "")),
        "agent_prompt": _digest(str(getattr(stage.agent, "instructions", ""))),
        "personas": _personas(tasks),
        "examples": str(getattr(stage.agent, "examples_digest", "")),
        "user": stage.user.reference,
        "user_code": str(getattr(stage.user, "code_digest", "")),
        "user_strategy": settings.user_strategy,
        "user_options": json.dumps(without_secrets(settings.user_options), sort_keys=True),
        "user_prompt": _digest(str(getattr(stage.user, "instructions", ""))),
        "trials": str(settings.trials),
        "seed": str(settings.seed),
        "scoring_version": str(SCORING_VERSION),
    }


def tasks_digest(tasks: Sequence[Task]) -> str:
    """Return the digest of everything the tasks say."""
    return _digest("\n".join(map(_text, tasks)))


def fingerprint_of(identity: Identity) -> str:
    """Return the digest of an identity."""
    return _digest(json.dumps(identity, sort_keys=True))


def differing_keys(first: Identity, second: Identity) -> list[str]:
    """Return the names in which two identities differ, sorted."""
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def check_same_identity(name: str, stored: Identity, now: Identity) -> None:
    """Refuse to go on with an experiment under another identity.

    Raises:
        ConfigurationError: If they differ; the message names the keys.
    """
    if keys := differing_keys(stored, now):
        shown = "; ".join(f"{key}: was {stored.get(key)!s:.60}, is {now.get(key)!s:.60}" for key in keys)
        raise ConfigurationError(
            f"experiment {name!r} cannot go on under other conditions ({shown}); "
            f"restore them, or start a new experiment with --name"
        )


def package_version() -> str:
    """Return the version of taugraph."""
    return taugraph.__version__


def _text(value: BaseModel) -> str:
    """Return a value as JSON that is the same in every process: sets are sorted."""
    return json.dumps(value.model_dump(), sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _tool_text(tool: object) -> str:
    return f"{getattr(tool, 'name', '')}: {getattr(tool, 'description', '')} {getattr(tool, 'args', '')}"


def _personas(tasks: Sequence[Task]) -> str:
    """Return a digest of how the users of the tasks talk; empty where no persona is played."""
    texts = {task.persona: find_persona(task.persona).text for task in tasks if task.persona}
    return _digest(json.dumps(texts, sort_keys=True)) if texts else ""
