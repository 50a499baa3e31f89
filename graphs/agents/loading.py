"""Code of someone else's, imported where it stands.

A file is loaded as Python would run it: its own folder comes first on the path, so that its `tools.py` is its own. All
of taugraph is imported as `taugraph.*` and cannot be mistaken for it.
"""

import importlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from dotenv import dotenv_values

from taugraph.domains.errors import ConfigurationError, TaugraphError
from taugraph.graphs.agents.references import SHAPES, ConfigReference, FileReference, ModuleReference

_OURS = Path(__file__).resolve().parents[2]
_loaded_from: set[Path] = set()
"""Folders from which files have been loaded in this process."""


@dataclass(frozen=True)
class Loaded:
    """What a reference leads to.

    Attributes:
        value: The object itself.
        digest: Digest of the source files that were found with it.
    """

    value: Any
    digest: str


def load(reference: str, found: ModuleReference | FileReference | ConfigReference) -> Loaded:
    """Import what a reference names.

    Args:
        reference: As it was typed, for the error.
        found: What it means.

    Raises:
        ConfigurationError: If there is no such file, module or name, or importing it fails; it says where.
    """
    try:
        if isinstance(found, ConfigReference):
            return _from_config(found)
        if isinstance(found, FileReference):
            return _from_file(found.path, found.attribute)
        return _from_module(found.module, found.attribute)
    except _CannotLoadError as error:
        raise ConfigurationError(f"cannot use --agent {reference!r}: {error}") from error.__cause__
    except TaugraphError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"cannot use --agent {reference!r}: importing it failed: {what_failed(error)}"
        ) from error


def what_failed(error: BaseException) -> str:
    """Say in one line what code of someone else's raised, and where."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
    place = f" (in {frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0].replace("_", "-")
        return f"no module named {error.name!r}{place}; install it, such as with `pip install {package}`"
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} (in {error.filename}, line {error.lineno})"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}{place}"


class _CannotLoadError(Exception):
    """A reference that leads nowhere, and why."""


def _from_module(name: str, attribute: str) -> Loaded:
    _put_first(Path.cwd())
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise _CannotLoadError(
                f"there is no module {error.name!r} here or among the installed packages, and no such provider; "
                f"write {SHAPES}"
            ) from error
        raise
    parts = name.split(".")
    own = [each for each in _modules() if len(parts) > 1 and each.__name__.split(".")[0] == parts[0]]
    return Loaded(_member(module, attribute), _digest({*_sources([module, *own])}))


def _from_file(path: Path, attribute: str) -> Loaded:
    file = path.resolve()
    if not file.is_file():
        raise _CannotLoadError(f"there is no file {path}; the path is taken from the working directory")
    _forget_namesakes(file.parent)
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    root = file.parent
    while (root / "__init__.py").is_file() and root != _OURS:
        root = root.parent
    _put_first(root)
    _put_first(file.parent)
    _loaded_from.add(file.parent)
    importlib.invalidate_caches()
    module = _executed(file, root)
    own = [each for each in _modules() if _is_under(_file_of(each), file.parent)]
    return Loaded(_member(module, attribute), _digest({file, *_sources(own)}))


def _from_config(found: ConfigReference) -> Loaded:
    """Load a graph as `langgraph dev` does: dependencies on the path, environment, then the graph."""
    file = found.path.resolve()
    config = _read_config(file, found.path)
    for folder in config.get("dependencies", []):
        if isinstance(folder, str) and (file.parent / folder).is_dir():
            _put_first((file.parent / folder).resolve())
    _put_first(file.parent)
    for name, value in _environment(file, config.get("env", {})):
        os.environ.setdefault(name, value)
    target = _graph_named(found, config["graphs"])
    path, _, attribute = target.rpartition(":")
    if path.endswith(".py") or "/" in path:
        loaded = _from_file(file.parent / path, attribute)
    else:
        loaded = _from_module(path, attribute)
    return Loaded(loaded.value, sha256((loaded.digest + json.dumps(config, sort_keys=True)).encode()).hexdigest()[:16])


def _read_config(file: Path, given: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _CannotLoadError(f"there is no file {given} that can be read") from error
    except ValueError as error:
        raise _CannotLoadError(f"{given} is no JSON: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("graphs"), dict) or not config["graphs"]:
        raise _CannotLoadError(f"{given} names no graphs; wanted an object of graphs by name under 'graphs'")
    return config


def _graph_named(found: ConfigReference, graphs: dict[str, Any]) -> str:
    known = ", ".join(sorted(graphs))
    if found.name is None and len(graphs) > 1:
        raise _CannotLoadError(f"{found.path} has several graphs: {known}; write {found.path}#NAME")
    name = found.name or next(iter(graphs))
    if name not in graphs:
        raise _CannotLoadError(f"{found.path} has no graph {name!r}: known are {known}")
    entry = graphs[name]
    target = entry.get("path") if isinstance(entry, dict) else entry
    if not isinstance(target, str) or ":" not in target:
        raise _CannotLoadError(f"graph {name!r} of {found.path} is {entry!r}, wanted PATH:ATTR or MODULE:ATTR")
    return target


def _environment(file: Path, env: object) -> Iterator[tuple[str, str]]:
    """Yield what the configuration adds to the environment; what is set already stays."""
    if isinstance(env, str):
        path = file.parent / env
        if not path.is_file():
            raise _CannotLoadError(f"{file.name} names {env!r} as its environment, and there is no such file")
        env = dotenv_values(path)
    if not isinstance(env, dict):
        raise _CannotLoadError(f"'env' of {file.name} is {env!r}, wanted an object or the name of a .env file")
    for name, value in env.items():
        if value is not None:
            yield name, str(value)


def _executed(file: Path, root: Path) -> ModuleType:
    """Execute a file as a module: by its name in its package, which relative imports need, or else on its own."""
    if root != file.parent:
        name = ".".join(file.relative_to(root).with_suffix("").parts)
        try:
            importlib.import_module(name.rpartition(".")[0])
        except ImportError:
            name = file.stem  # the package is named like another one, or cannot be imported whole
    else:
        name = file.stem
    known = sys.modules.get(name)
    if known is not None and _file_of(known) != file:
        name = f"{name}_{sha256(str(file).encode()).hexdigest()[:8]}"  # some other module has that name already
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise _CannotLoadError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations of a state are looked up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _member(module: ModuleType, attribute: str) -> Any:
    value: Any = module
    for name in attribute.split("."):
        if not hasattr(value, name):
            known = ", ".join(sorted(each for each in vars(module) if not each.startswith("_"))[:20])
            raise _CannotLoadError(f"{module.__file__} has no {attribute!r}: there are {known or 'no names'}")
        value = getattr(value, name)
    return value


def _put_first(folder: Path) -> None:
    text = str(folder)
    if text in sys.path:
        sys.path.remove(text)
    sys.path.insert(0, text)


def _forget_namesakes(folder: Path) -> None:
    """Unload modules of another agent's folder that have the name of one in this folder."""
    own = {entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").is_file()}
    others = _loaded_from - {folder}
    for name, module in list(sys.modules.items()):
        file = _file_of(module)
        if name.split(".")[0] in own and not _is_under(file, folder) and any(_is_under(file, each) for each in others):
            del sys.modules[name]


def _modules() -> list[ModuleType]:
    """Return what is imported, but for ourselves."""
    imported = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    return [module for module in imported if module.__name__.split(".")[0] != "taugraph"]


def _file_of(module: object) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


def _is_under(file: Path | None, folder: Path) -> bool:
    return file is not None and file.is_relative_to(folder) and "site-packages" not in file.parts


def _sources(modules: list[ModuleType]) -> Iterator[Path]:
    for module in modules:
        file = _file_of(module)
        if file is not None and file.is_file() and file.suffix == ".py":
            yield file


def _digest(files: set[Path]) -> str:
    hashes = sorted(sha256(file.read_bytes()).hexdigest() for file in files)
    return sha256("\n".join(hashes).encode()).hexdigest()[:16]


def _is_machinery(file: str) -> bool:
    return file.startswith("<frozen") or file == __file__ or f"{os.sep}importlib{os.sep}" in file
