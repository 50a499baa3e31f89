"""Where the value of a setting stands, so that an error names what its reader wrote and not a flag nobody typed."""

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from taugraph.domains.errors import ConfigurationError, TaugraphError, UnknownNameError

CONFIGURATION_FILE = "taugraph.toml"
"""File of settings in the working directory."""

_SETTINGS_OF_KINDS = {
    "user strategy": "user_strategy",
    "persona": "personas",
    "task": "tasks",
    "examples file or experiment": "examples",
}
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])((?: '[^']*')?)")


def variable_of(name: str) -> str | None:
    """Return the environment variable that sets something, whichever case it is written in; `None` if none does."""
    wanted = f"TAUGRAPH_{name.upper()}"
    return next((variable for variable, value in os.environ.items() if variable.upper() == wanted and value), None)


def read_file() -> dict[str, Any]:
    """Return what stands in `taugraph.toml`; nothing where there is none.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no TOML.
    """
    try:
        return tomllib.loads(Path(CONFIGURATION_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def word_by_place(error: TaugraphError, given: Mapping[str, Any]) -> str:
    """Return an error's text in which settings are named by where they stand.

    Args:
        error: What went wrong.
        given: What was typed, by setting; `None` counts as not typed.
    """
    typed = {name for name, value in given.items() if value is not None}
    try:
        written = read_file()
    except (OSError, ValueError):
        written = {}
    if isinstance(error, UnknownNameError):
        return _word_unknown(error, typed, written)
    if isinstance(error, ConfigurationError):
        return _OPTION.sub(lambda found: _word_option(found, typed, written), str(error))
    return str(error)


def _word_option(found: re.Match[str], typed: Collection[str], written: Mapping[str, Any]) -> str:
    name, value = found[1].replace("-", "_"), found[2]
    if name in typed:
        return found[0]
    if variable := variable_of(name):
        return f"{variable}{value}"
    return f"{name}{value} of {CONFIGURATION_FILE}" if name in written else found[0]


def _word_unknown(error: UnknownNameError, typed: Collection[str], written: Mapping[str, Any]) -> str:
    setting = _SETTINGS_OF_KINDS.get(error.kind, error.kind)
    variable, place = variable_of(setting), None
    if variable and error.name in os.environ[variable]:
        place = variable
    elif not variable and error.name in str(written.get(setting, "")):  # a task or a persona may stand elsewhere
        place = f"{setting} of {CONFIGURATION_FILE}"
    if setting in typed or place is None:
        return str(error)
    named = f"named {error.name!r}"
    return str(error).replace(named, f"{named} ({place})", 1)
