"""A small starter next to an existing agent: a configuration file and a domain of one folder with one task."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taugraph.domains.errors import ConfigurationError
from taugraph.experiments.settings import RunSettings

DOMAIN_FOLDER = "evals"
"""Folder of the starter's domain."""

_TEMPLATES = Path(__file__).with_name("starter")


@dataclass(frozen=True)
class Started:
    """What was written.

    Attributes:
        written: New files.
        left: Files that were there and were left as they are.
        agent: Reference of the agent in the configuration; `None` if none was found.
    """

    written: tuple[Path, ...]
    left: tuple[Path, ...]
    agent: str | None


def write_starter(folder: Path, agent: str | None = None) -> Started:
    """Write the starter's files where they are missing.

    Args:
        folder: Where the agent is.
        agent: Its reference; `None` to look for a `langgraph.json`.

    Raises:
        ConfigurationError: If something cannot be written.
    """
    found = agent or find_agent(folder)
    texts = {folder / "taugraph.toml": configuration(found)}
    for template in sorted(_TEMPLATES.iterdir()):
        texts[folder / DOMAIN_FOLDER / template.name] = template.read_text(encoding="utf-8")
    written, left = [], []
    for path, text in texts.items():
        if path.exists():
            left.append(path)
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"cannot write {path}: {error}; give a folder that can be written") from error
        written.append(path)
    return Started(tuple(written), tuple(left), found)


def find_agent(folder: Path) -> str | None:
    """Return the reference of the first graph of a `langgraph.json` in the folder; `None` without one."""
    try:
        graphs = json.loads((folder / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
        return f"./langgraph.json#{next(iter(graphs))}"
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None


def configuration(agent: str | None) -> str:
    """Return a `taugraph.toml` with every setting of a run: domain and agent set, the rest commented out."""
    return "\n".join(_lines(agent)) + "\n"


def _lines(agent: str | None) -> Iterator[str]:
    yield "# Settings of `taugraph run`; the command line and TAUGRAPH_... in the environment come before them."
    values = {"domain": f"./{DOMAIN_FOLDER}", "agent": agent}
    for name, field in RunSettings.model_fields.items():
        yield ""
        yield f"# {field.description}"
        value = values.get(name)
        if value is not None:
            yield f"{name} = {json.dumps(value)}"
        elif name in values:
            yield f'# {name} = "./agent.py:graph"'
        else:
            yield f"# {name} = {_as_toml(field.get_default(call_default_factory=True))}"


def _as_toml(value: Any) -> str:
    if value is None:
        return '""  # unset'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return "[]"
    if isinstance(value, dict):
        return "{}"
    return json.dumps(value)
