"""A domain that is a folder: `policy.md` and `tasks.yaml`, and perhaps `tools.py` with stand-ins for an agent's tools.

It has no tables. The agent's own tools run as they are, but for those that `tools.py` answers for; a task is solved by
what was said, by what was called, and by what evaluators of one's own say.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import ValidationError

from taugraph.domains.code_files import load_file
from taugraph.domains.domain import Domain, Seed
from taugraph.domains.errors import ConfigurationError, DataError
from taugraph.domains.folder_yaml import read_yaml
from taugraph.domains.task import ClaimKind, Task, load_tasks

DEFAULT_NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""Clock of a folder that says no `now`."""

_CLAIM_LISTS = ("claims", "must_not_say")


def is_folder(reference: str) -> bool:
    """Tell whether a domain's reference means a folder."""
    return "/" in reference or Path(reference).is_dir()


def load_folder(path: Path) -> Domain:
    """Load a domain from a folder.

    Raises:
        DataError: If the folder lacks a file, or one of them breaks its schema.
        ConfigurationError: If `tools.py` cannot be imported or holds no tools.
    """
    if not path.is_dir():
        raise DataError(path, None, None, "no such folder", "a folder with policy.md and tasks.yaml")
    policy = path / "policy.md"
    if not policy.is_file():
        raise DataError(policy, None, None, "no such file", "the document that the agent must follow")
    now, tasks = _tasks_of(path)
    digest = _digest(path)
    return Domain(
        name=path.resolve().name,
        tables=(),
        seed=Seed(digest, rows=lambda: ()),
        policy=policy.read_text(encoding="utf-8"),
        agent_tools=_tools_of(path),
        tasks=tasks,
        now=now,
        folder=path.resolve(),
    )


def _tasks_of(path: Path) -> tuple[datetime, tuple[Task, ...]]:
    lines, yaml = path / "tasks.jsonl", path / "tasks.yaml"
    if yaml.is_file():
        return _read_tasks(yaml)
    if lines.is_file():
        return DEFAULT_NOW, tuple(task.model_copy(update={"has_goal": False}) for task in load_tasks(lines))
    raise DataError(yaml, None, None, "no such file", "a list of tasks, here or in tasks.jsonl")


def _read_tasks(path: Path) -> tuple[datetime, tuple[Task, ...]]:
    document = read_yaml(path)
    now, listed = DEFAULT_NOW, document
    if isinstance(document, dict):
        if unknown := sorted(map(str, document.keys() - {"now", "tasks"})):
            raise DataError(path, None, unknown[0], document.get(unknown[0]), "`now` and `tasks` only")
        now, listed = _moment(path, document.get("now")), document.get("tasks")
    if not isinstance(listed, list) or not listed:
        raise DataError(path, None, None, listed, "a list of at least one task, or `tasks:` with one")
    tasks: dict[str, Task] = {}
    for number, item in enumerate(listed, 1):
        task = _task(path, number, item)
        if task.id in tasks:
            raise DataError(path, task.id, "id", task.id, "an id that no other task has")
        tasks[task.id] = task
    return now, tuple(tasks.values())


def _task(path: Path, number: int, item: object) -> Task:
    record = str(item.get("id") or number) if isinstance(item, dict) else str(number)
    if not isinstance(item, dict):
        raise DataError(path, record, None, item, "a task with `id` and `scenario`")
    document = {str(name): value for name, value in item.items()}
    for name in _CLAIM_LISTS:
        if isinstance(document.get(name), list):
            document[name] = [_claim(one) for one in document[name]]
    if isinstance(document.get("calls"), dict):
        document["calls"] = _calls(document["calls"])
    try:
        return Task.model_validate({"has_goal": False, **document})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or None
        hint = (
            "; YAML reads yes, no, on and off as truth values: put it in quotes"
            if first["input"] in (True, False)
            else ""
        )
        raise DataError(path, record, field, first["input"], f"{first['msg']}{hint}") from error


def _claim(claim: object) -> object:
    """Return a claim in full: plain text is words to be said, `{money: 250.00}` an amount."""
    if isinstance(claim, str):
        return {"value": claim}
    if not isinstance(claim, Mapping) or "value" in claim:
        return claim
    kinds = [name for name in claim if name in set(ClaimKind)]
    if len(kinds) != 1:
        return claim
    rest = {name: value for name, value in claim.items() if name != kinds[0]}
    return {"kind": kinds[0], "value": claim[kinds[0]], **rest}


def _calls(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return call rules in full: a plain name means a call with any arguments."""
    full = dict(rules)
    for name in ("required", "forbidden"):
        if isinstance(full.get(name), list):
            full[name] = [{"name": one} if isinstance(one, str) else one for one in full[name]]
    return full


def _moment(path: Path, value: object) -> datetime:
    if value is None:
        return DEFAULT_NOW
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise DataError(path, None, "now", value, "a moment such as 2026-05-15T15:00:00") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _tools_of(path: Path) -> tuple[BaseTool, ...]:
    file = path / "tools.py"
    if not file.is_file():
        return ()
    module = load_file(file)
    listed = getattr(module, "tools", None)
    found = (
        [value for value in vars(module).values() if isinstance(value, BaseTool)] if listed is None else list(listed)
    )
    if not found or not all(isinstance(tool, BaseTool) for tool in found):
        raise ConfigurationError(
            f"{file} holds no LangChain tools: decorate functions with @tool, or list them as `tools`"
        )
    names = [tool.name for tool in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigurationError(f"{file} holds two tools named {twice[0]!r}; rename one of them")
    return tuple(found)


def _digest(path: Path) -> str:
    whole = sha256()
    for file in sorted(_files(path)):
        whole.update(f"{file.relative_to(path)}\0".encode())
        whole.update(sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16]


def _files(path: Path) -> Iterator[Path]:
    for pattern in ("policy.md", "tasks.yaml", "tasks.jsonl", "*.py"):
        yield from path.glob(pattern)
