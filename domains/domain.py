"""A domain: one world an agent can be tried in, as a value.

It joins tables, seed rows, policy, tools, tasks and a fixed clock. It holds no database and no connection, so any
number of trials may share it. Third parties publish theirs in the entry-point group `taugraph.domains` or name it as
`package.module:attr`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from langchain_core.tools import BaseTool
from pydantic import JsonValue
from sqlmodel import Session, SQLModel

from taugraph.domains.dialect import Dialect
from taugraph.domains.errors import ConfigurationError, DataError, UnknownNameError
from taugraph.domains.rules import PolicyRule
from taugraph.domains.task import Task

ENTRY_POINT_GROUP = "taugraph.domains"
"""Where installed packages announce their domains."""


@dataclass(frozen=True)
class Seed:
    """The rows every trial starts from.

    Attributes:
        content_hash: Digest of everything the rows derive from; equal digests mean equal rows.
        rows: Yields validated rows, parents before children; read once per process at most.
    """

    content_hash: str
    rows: Callable[[], Iterable[SQLModel]]


@dataclass(frozen=True)
class RowComparison:
    """How rows are compared when a trial is scored.

    Attributes:
        unordered: Table -> column that only numbers its rows; they are compared as a set, without it.
        ignored: Table -> columns that are free wording and never compared.
    """

    unordered: Mapping[str, str] = field(default_factory=dict)
    ignored: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Domain:
    """One world an agent can be tried in.

    Attributes:
        name: Short and unique, such as `airline`.
        tables: SQLModel tables, parents before children, all in one metadata.
        seed: Rows every trial starts from.
        policy: The document the agent must follow, Markdown.
        agent_tools: LangChain tools of the agent; the database session is an injected argument.
        user_tools: LangChain tools of the simulated user; empty where it has no device of its own.
        tasks: Every task of the data, ids unique.
        now: The domain's fixed clock.
        dialect: How the world behaves where published versions differ.
        comparison: How rows are compared when a trial is scored.
        rules: The policy as far as it can be checked at each call, names unique.
        read_data: Builds this domain on published files instead of its own: folder in, domain out.
        change_records: Merges a task's own data into a session: collection -> record id -> fields; `None` where tasks
            cannot bring data.
        source: Where the data come from, for the run's identity: `own`, or the folder's name.
        folder: Where code that the tasks name is looked for; `None` for nowhere but installed packages.
    """

    name: str
    tables: Sequence[type[SQLModel]]
    seed: Seed
    policy: str
    agent_tools: Sequence[BaseTool]
    tasks: Sequence[Task]
    now: datetime
    dialect: Dialect = field(default_factory=lambda: Dialect(name="taugraph"))
    user_tools: Sequence[BaseTool] = ()
    comparison: RowComparison = field(default_factory=RowComparison)
    rules: Sequence[PolicyRule] = ()
    read_data: Callable[[Path], "Domain"] | None = None
    change_records: Callable[[Session, Mapping[str, Mapping[str, JsonValue]]], None] | None = None
    source: str = "own"
    folder: Path | None = None

    def task(self, task_id: str) -> Task:
        """Return the task of that id.

        Raises:
            UnknownNameError: If there is none.
        """
        for task in self.tasks:
            if task.id == task_id:
                return task
        raise UnknownNameError("task", task_id, [task.id for task in self.tasks])

    def splits(self) -> list[str]:
        """Return the names of the splits its tasks belong to, sorted."""
        return sorted({split for task in self.tasks for split in task.splits})

    def in_dialect(self, dialect: Dialect) -> "Domain":
        """Return this domain with another dialect."""
        return replace(self, dialect=dialect)


def load_domain(reference: str, data: Path | None = None) -> Domain:
    """Find a domain and, where a folder is given, build it on the files there.

    Args:
        reference: A name from the entry-point group `taugraph.domains`, `package.module:attr`, or a folder with
            `policy.md` and `tasks.yaml`.
        data: Folder with published files in place of the domain's own data; `None` for its own.

    Raises:
        UnknownNameError: If no domain has that name.
        ConfigurationError: If the reference does not lead to a domain, or the domain cannot read folders.
        DataError: If the folder or a file in it cannot be read.
    """
    domain = _find_domain(reference)
    if data is None:
        return domain
    if domain.read_data is None:
        raise ConfigurationError(f"domain {domain.name!r} reads no data folders; leave out --data")
    if not data.is_dir():
        raise DataError(data, None, None, "no such folder", "a folder with the domain's files")
    return domain.read_data(data)


def _find_domain(reference: str) -> Domain:
    from taugraph.domains.folder import is_folder, load_folder  # noqa: PLC0415 - it needs this module

    installed = reference in installed_domains()
    if not installed and is_folder(reference):
        return load_folder(Path(reference))
    return _import_domain(reference) if ":" in reference else _installed_domain(reference)


def installed_domains() -> list[str]:
    """Return the names in the entry-point group, sorted."""
    return sorted(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP))


def _installed_domain(name: str) -> Domain:
    found = [entry for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name == name]
    if not found:
        raise UnknownNameError("domain", name, installed_domains())
    return _import_domain(found[0].value)


def _import_domain(reference: str) -> Domain:
    module, _, attribute = reference.partition(":")
    try:
        value = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"cannot load domain {reference!r}: {error}; write package.module:attr of an installed package, "
            f"or one of {', '.join(installed_domains())}"
        ) from error
    if not isinstance(value, Domain):
        raise ConfigurationError(f"{reference!r} is a {type(value).__name__}, wanted a taugraph Domain")
    return value
