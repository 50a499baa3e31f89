"""Loading an attribute of Python code by reference: `module:attr`, or `./file.py:attr` relative to a folder."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from taugraph.domains.errors import ConfigurationError


def load_attribute(reference: str, folder: Path) -> Any:
    """Return what a reference names.

    Args:
        reference: `package.module:attr`, or `FILE.py:attr`.
        folder: Where a file is looked for.

    Raises:
        ConfigurationError: If it leads nowhere, or the code cannot be imported.
    """
    place, colon, attribute = reference.rpartition(":")
    if not colon or not place or not attribute:
        raise ConfigurationError(f"cannot load {reference!r}: wanted module:attr or ./file.py:attr")
    module = load_file(folder / place) if place.endswith(".py") else _import(reference, place)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise ConfigurationError(f"cannot load {reference!r}: {place} has no {attribute!r}; correct the name") from None


def load_file(path: Path) -> ModuleType:
    """Import a Python file under a name of its own, its folder importable meanwhile.

    Raises:
        ConfigurationError: If there is no such file, or it raises.
    """
    path = path.resolve()
    written = path.read_bytes() if path.is_file() else b""
    name = f"_taugraph_{path.stem}_{sha256(str(path).encode() + written).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigurationError(f"cannot load {path.name}: there is no such file in {path.parent}")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importable(path.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ConfigurationError(f"cannot import {path.name}: {type(error).__name__}: {error}") from error
    return module


def _import(reference: str, module: str) -> ModuleType:
    try:
        return import_module(module)
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"cannot load {reference!r}: {type(error).__name__}: {error}") from error


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
