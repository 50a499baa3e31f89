"""Examples for the few-shot strategy, from the passed trials of an earlier experiment.

No example comes from a task that is played, nor from a variant of one. What was chosen becomes a file beside the store,
named by its digest, so that a resume shows the very same conversations.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, messages_from_dict

from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError, StoreError, UnknownNameError
from taugraph.domains.task import Task
from taugraph.domains.trial import Trial
from taugraph.experiments.plan import Identity, identity_of, select_tasks
from taugraph.experiments.settings import DEFAULT_STORE, RunSettings
from taugraph.experiments.store import Experiment, Store
from taugraph.graphs.agents.strategies import strategy_options
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.delivery import spoken_text

DEFAULT_LIMIT = 3
"""Examples taken from an experiment unless `examples_limit` says otherwise."""

_LOG = logging.getLogger("taugraph")
_SAME_WORLD = ("domain", "seed_data", "policy", "tools")


def context_with_examples(
    settings: RunSettings, store: Store, identity: Mapping[str, str] | None = None
) -> SimulationContext:
    """Return the settings as the graph takes them, examples from an experiment replaced by the file they were put in.

    Args:
        settings: Of the run; a file of examples, and any other strategy, is left as it is.
        store: Holds the experiment and has the file beside it.
        identity: Stored identity of a run that goes on: its examples are taken if they are still there.

    Raises:
        UnknownNameError: If there is neither a file nor an experiment of that name.
        ConfigurationError: If the experiment was of another world, or no example is left.
        StoreError: If the store cannot be read, or the file not written.
    """
    context = settings.context()
    if settings.strategy != "few-shot" or not settings.examples or Path(settings.examples).expanduser().is_file():
        return context
    name, limit = settings.examples, strategy_options(context).examples_limit or DEFAULT_LIMIT
    source = _find(store, name)
    if source.privileged:
        _LOG.warning("the examples of experiment %s are by an agent that was given the answers", name)
    folder = store.path.parent if store.path else Path(DEFAULT_STORE).parent
    kept = _path(folder, (identity or {}).get("examples", ""))
    if not _is_whole(kept):
        kept = _write(folder, choose_examples(source, settings, store, limit=limit))
    return context.model_copy(update={"examples": str(kept)})


def choose_examples(source: Experiment, settings: RunSettings, store: Store, *, limit: int) -> str:
    """Return conversations of passed trials as lines of JSON, one per task, the first that passed.

    Args:
        source: The experiment that they come from.
        settings: Of the run that is to be shown them: none of its tasks is among them.
        store: Holds the trials.
        limit: Conversations at most, in the order of the experiment's plan.

    Raises:
        ConfigurationError: If the experiment was of another world, or none is left.
    """
    domain, tasks, now = _world(settings)
    stored = source.configuration.get("identity", {})
    if keys := [key for key in _SAME_WORLD if stored.get(key) != now[key]]:
        raise ConfigurationError(
            f"the trials of experiment {source.name!r} are no examples for this run: {', '.join(keys)} differ; name an "
            f"experiment on the same domain and data"
        )
    played = {_root(domain, task.id) for task in tasks}
    others = [task_id for task_id in source.task_ids if _root(domain, task_id) not in played]
    lines = [line for _, line in zip(range(limit), _passed(store, source.name, others), strict=False)]
    if not lines:
        raise ConfigurationError(
            f"experiment {source.name!r} has no example for this run: got {len(source.task_ids)} tasks, "
            f"{len(source.task_ids) - len(others)} of them played here, and none of the others passed; "
            f"name another experiment, or play fewer tasks with --tasks"
        )
    return "".join(f"{line}\n" for line in lines)


def _find(store: Store, name: str) -> Experiment:
    try:
        return store.experiment(name)
    except UnknownNameError as error:
        raise UnknownNameError("examples file or experiment", name, error.known) from error


def _world(settings: RunSettings) -> tuple[Domain, Sequence[Task], Identity]:
    """Return the run's domain, its tasks, and its identity as far as neither actor has a part in it."""
    nobody = {"agent": "noop", "agent_options": "{}", "strategy": "tool-calling", "examples": None}
    nobody |= {"user": "demo", "user_options": "{}", "user_strategy": "llm"}
    stage = build_stage(settings.context().model_copy(update=nobody))
    try:
        tasks = select_tasks(stage.domain, settings)
        return stage.domain, tasks, identity_of(stage, settings, tasks)
    finally:
        stage.close()


def _root(domain: Domain, task_id: str) -> str:
    """Return the task behind a variant; of a persona that this run does not know, what stands before the `@`."""
    known = {task.id: task.variant_of for task in domain.tasks}
    seen: set[str] = set()
    while task_id not in seen:
        seen.add(task_id)
        if task_id not in known and "@" in task_id:
            task_id = task_id.rpartition("@")[0]
        task_id = known.get(task_id) or task_id
    return task_id


def _passed(store: Store, name: str, task_ids: Sequence[str]) -> Iterator[str]:
    for task_id in task_ids:
        for trial in store.trials(name, task_id):
            if trial.outcome == "passed" and (messages := _as_openai(trial)):
                document = {"task_id": task_id, "trial": trial.trial, "messages": messages}
                yield json.dumps(document, ensure_ascii=False, sort_keys=True)
                break


def _as_openai(trial: Trial) -> list[dict[str, Any]]:
    """Return a conversation as OpenAI's API has it; empty if it holds a call that nobody could read."""
    messages = messages_from_dict(trial.messages)
    if any(isinstance(message, AIMessage) and message.invalid_tool_calls for message in messages):
        return []
    return [_one(message) for message in messages]


def _one(message: BaseMessage) -> dict[str, Any]:
    text = spoken_text(message)
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if not isinstance(message, AIMessage):
        return {"role": "user", "content": text}
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
        }
        for call in message.tool_calls
    ]
    return {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _path(folder: Path, digest: str) -> Path:
    return folder / f"examples-{digest}.jsonl"


def _is_whole(path: Path) -> bool:
    """Tell whether a kept file is there and still what its name says."""
    try:
        return path.name == _path(path.parent, _digest(path.read_bytes())).name
    except OSError:
        return False


def _write(folder: Path, lines: str) -> Path:
    path = _path(folder, _digest(lines.encode()))
    partial = path.with_suffix(f".{os.getpid()}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial.write_text(lines, encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"cannot keep the examples at {str(path)!r}: {error.strerror}; make it writable") from error
    return path


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]
