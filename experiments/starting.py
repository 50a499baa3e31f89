"""A small starter next to an existing agent: a configuration file and a domain of one folder with one task."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taugraph.domains.errors import ConfigurationError
from taugraph.experiments.settings import RunSettings
from taugraph.graphs.agents.baselines import BASELINES, ORACLE
from taugraph.graphs.agents.references import parse_reference

DOMAIN_FOLDER = "evals"
"""Folder of the starter's domain."""

PLACEHOLDER = "./agent.py:graph"
"""Stands for the agent where none was found: a run says that it is missing, rather than play a demonstration."""

_BUILT_IN = ("demo", ORACLE, *BASELINES)
_TEMPLATES = Path(__file__).with_name("starter")


@dataclass(frozen=True)
class Started:
    """What was written.

    Attributes:
        written: New files.
        left: Files that were there and were left as they are.
        agent: Reference of the agent for the configuration; `None` if none was found.
        others: Further graphs of the `langgraph.json` that the agent was found in.
    """

    written: tuple[Path, ...]
    left: tuple[Path, ...]
    agent: str | None
    others: tuple[str, ...]


def write_starter(folder: Path, agent: str | None = None) -> Started:
    """Write the starter's files where they are missing.

    Args:
        folder: Where the agent is.
        agent: Its reference, as seen from the folder; `None` to look for a `langgraph.json`.

    Raises:
        ConfigurationError: If something cannot be written, or the reference has none of the accepted shapes.
    """
    if agent is not None and agent.partition(":")[0] not in _BUILT_IN:
        parse_reference(agent)
    graphs = graphs_of(folder)
    found = agent or (graphs[0] if graphs else None)
    texts = {folder / "taugraph.toml": configuration(found)}
    for template in sorted(_TEMPLATES.iterdir()):
        texts[folder / DOMAIN_FOLDER / template.name] = template.read_text(encoding="utf-8")
    written, left = [], []
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            if not path.is_file():
                raise ConfigurationError(f"cannot write {path}: what stands there is no file; move it away") from None
            left.append(path)
            continue
        except OSError as error:
            raise ConfigurationError(f"cannot write {path}: {error}; give a folder that can be written") from error
        written.append(path)
    return Started(tuple(written), tuple(left), found, () if agent else graphs[1:])


def graphs_of(folder: Path) -> tuple[str, ...]:
    """Return a reference for each graph of the folder's `langgraph.json`; nothing where there is none to read."""
    try:
        graphs = json.loads((folder / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return tuple(f"./langgraph.json#{name}" for name in graphs) if isinstance(graphs, dict) else ()


def configuration(agent: str | None) -> str:
    """Return a `taugraph.toml` with every setting of a run: domain and agent set, the rest commented out."""
    return "\n".join(_lines(agent)) + "\n"


def _lines(agent: str | None) -> Iterator[str]:
    yield "# Settings of `taugraph run`; the command line and TAUGRAPH_... in the environment come before them."
    values = {"domain": f"./{DOMAIN_FOLDER}", "agent": agent or PLACEHOLDER}
    for name, field in RunSettings.model_fields.items():
        yield ""
        yield f"# {field.description}"
        if name in values:
            yield f"{name} = {json.dumps(values[name], ensure_ascii=False)}"
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
