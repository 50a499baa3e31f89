"""Settings of a run: from the command line, the environment (`TAUGRAPH_...`), and `taugraph.toml`, in this order."""

import json
import logging
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue, ValidationError, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.experiments.setting_places import CONFIGURATION_FILE, read_file, variable_of
from taugraph.graphs.context import SimulationContext

DEFAULT_STORE = ".taugraph/results.db"
"""Where results are kept unless told otherwise."""

HIDDEN = "***"
"""What stands in a stored configuration where a secret was."""

_SECRET = re.compile(r"key|token(?!s)|secret|passw|authorization|header|credential|cookie", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_OPTIONS = ("agent_options", "user_options")
_STORED = "the stored experiment"

_LOG = logging.getLogger("taugraph")

_Options = Annotated[dict[str, JsonValue], NoDecode]


class RunSettings(BaseSettings):
    """Everything that can be set about a run."""

    model_config = SettingsConfigDict(
        env_prefix="TAUGRAPH_",
        env_ignore_empty=True,
        toml_file=CONFIGURATION_FILE,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    domain: str = "airline"
    """Domain: a name, a folder with policy.md and tasks.yaml, or package.module:attr."""
    data: Path | None = None
    """Folder with published files in place of the domain's own data."""
    agent: str = "demo"
    """Agent under test: demo, PROVIDER:MODEL, module:attr, FILE.py:attr, langgraph.json#name, or a URL#assistant."""
    agent_options: _Options = Field(default_factory=dict)
    """Options of the agent's model, as JSON: base_url, temperature, ..."""
    strategy: str = "tool-calling"
    """How a chat model acts: tool-calling, react, act, few-shot, reflect."""
    examples: str | None = None
    """Examples of the few-shot strategy: a file, or an experiment's name."""
    agent_timeout_s: float = Field(default=600.0, gt=0)
    """Seconds one turn of an agent or user of your own may take."""
    user: str = "demo"
    """Simulated user: demo, PROVIDER:MODEL, human, scripted:FILE, or module:attr."""
    user_options: _Options = Field(default_factory=dict)
    """Options of the user's model, as JSON."""
    user_strategy: str = "llm"
    """How a chat model plays the user: llm, react, verify, reflection."""
    personas: Annotated[tuple[str, ...], NoDecode] = ()
    """Play every task with these personas: names, or all."""
    protocol: str = "strict"
    """Rules of conversation and scoring: strict or tau-bench."""
    trials: int = Field(default=4, ge=1)
    """Trials of every task: the k of pass^k."""
    tasks: Annotated[tuple[str, ...], NoDecode] = ()
    """Task ids, separated by commas; all of the split if unset."""
    split: str | None = None
    """Split of the tasks; test where there is one."""
    limit: int | None = Field(default=None, ge=1)
    """Take only the first so many tasks."""
    concurrency: int = Field(default=8, ge=1)
    """Trials played at the same time."""
    seed: int = 0
    """Seed of the run; every trial's own seed derives from it."""
    max_turns: int | None = Field(default=None, ge=1)
    """User messages per trial at most; the protocol's limit if unset."""
    max_steps: int | None = Field(default=None, ge=1)
    """Agent messages per trial at most; the protocol's limit if unset."""
    max_tool_errors: int | None = Field(default=None, ge=1)
    """Tool errors in a row at most; the protocol's limit if unset."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds one model call may take."""
    attempts: int = Field(default=4, ge=1)
    """Attempts at one model call when the provider fails."""
    store: str = DEFAULT_STORE
    """Results store: a file, or a database URL."""
    server: Annotated[tuple[str, ...], NoDecode] = ()
    """LangGraph servers that play the trials: addresses, separated by commas."""
    keep_threads: bool = False
    """Leave the threads of stored trials on the servers."""

    @field_validator("data", "examples", "split", "limit", "max_turns", "max_steps", "max_tool_errors", mode="before")
    @classmethod
    def _unset_empty(cls, value: Any) -> Any:
        return None if value == "" else value  # TOML has no way to write None

    @field_validator("tasks", "personas", "server", mode="before")
    @classmethod
    def _split_names(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        if isinstance(value, list | tuple):  # published tasks are numbered, and a list in TOML may say so
            return tuple(str(part) if type(part) is int else part for part in value)
        return value

    @field_validator(*_OPTIONS, mode="before")
    @classmethod
    def _read_options(cls, value: Any, info: ValidationInfo) -> Any:
        return read_options(info.field_name or "options", value) if isinstance(value, str) else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: given values, environment, file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def context(self) -> SimulationContext:
        """Return what decides how a trial is played."""
        return SimulationContext(
            domain=self.domain,
            data=str(self.data) if self.data else None,
            agent=self.agent,
            agent_options=json.dumps(self.agent_options, sort_keys=True),
            strategy=self.strategy,
            examples=self.examples,
            agent_timeout_s=self.agent_timeout_s,
            user=self.user,
            user_options=json.dumps(self.user_options, sort_keys=True),
            user_strategy=self.user_strategy,
            personas=self.personas,
            protocol=self.protocol,
            max_turns=self.max_turns,
            max_steps=self.max_steps,
            max_tool_errors=self.max_tool_errors,
            timeout_s=self.timeout_s,
            attempts=self.attempts,
        )

    def stored(self) -> dict[str, Any]:
        """Return the settings as they may be written down: without addresses and without secrets."""
        document = self.model_dump(mode="json", exclude={"store", "server", "keep_threads"})
        return {name: without_secrets(value) for name, value in document.items()}


def load_settings(**given: Any) -> RunSettings:
    """Join what was given with the environment and `taugraph.toml`; `None` counts as not given.

    Raises:
        ConfigurationError: If a value does not fit.
        UnknownNameError: If `taugraph.toml` names a setting that does not exist.
    """
    return _build({name: value for name, value in given.items() if value is not None})


def find_store(given: str | None) -> str:
    """Return where the store is: as given, as the environment says, or as `taugraph.toml` does; else the usual place.

    What else is wrong in `taugraph.toml` does not matter to whoever only looks at results.
    """
    if found := given or os.environ.get("TAUGRAPH_STORE"):
        return found
    try:
        said = read_file().get("store")
    except (OSError, ValueError) as error:
        _LOG.warning("taugraph.toml cannot be read (%s): the store is taken to be %s", error, DEFAULT_STORE)
        return DEFAULT_STORE
    return said if isinstance(said, str) and said else DEFAULT_STORE


def restored(stored: Mapping[str, Any], **given: Any) -> RunSettings:
    """Return the settings of a stored experiment, with some of them given anew; `None` counts as not given.

    The environment and `taugraph.toml` count only for the store, the servers and secrets, which are not stored.

    Raises:
        ConfigurationError: If they no longer fit, or a secret has to be given again.
    """
    values = {**stored, **{name: value for name, value in given.items() if value is not None}}
    for name in _OPTIONS:
        if given.get(name) is None and HIDDEN in json.dumps(values.get(name)):
            values[name] = _with_secrets(name, values[name])
    return _build(values, stored=[name for name in stored if given.get(name) is None])


def _build(values: dict[str, Any], *, stored: Collection[str] = ()) -> RunSettings:
    # As text, because pydantic-settings would mix an object with the one of the next source, key by key.
    texts = {name: json.dumps(values[name]) for name in _OPTIONS if isinstance(values.get(name), dict)}
    try:
        return RunSettings(**{**values, **texts})
    except ValidationError as error:
        raise _explain(error, values, stored) from error
    except SettingsError as error:
        raise ConfigurationError(f"cannot read the settings: {error}; correct the environment") from error
    except (ValueError, OSError) as error:
        raise ConfigurationError(f"cannot read {CONFIGURATION_FILE}: {error}; correct the file") from error


def _with_secrets(name: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the environment or `taugraph.toml`, provided they are the stored ones but for secrets."""
    now: dict[str, Any] = getattr(load_settings(), name)
    if without_secrets(now) != stored:
        option = f"--{name.replace('_', '-')}"
        raise ConfigurationError(f"the experiment was run with a secret in {option}; give {option} again")
    return now


def read_options(name: str, text: str) -> dict[str, Any]:
    """Read a model's options from a JSON object; the error does not repeat them, for they may hold a key.

    Raises:
        ConfigurationError: If the text is something else.
    """
    wanted = """wanted a JSON object such as '{"base_url": "http://127.0.0.1:8000/v1"}'"""
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"cannot read --{name.replace('_', '-')}: got no JSON ({error}), {wanted}") from None
    if not isinstance(options, dict):
        got = f"a JSON {type(options).__name__}"
        raise ConfigurationError(f"cannot read --{name.replace('_', '-')}: got {got}, {wanted}")
    return options


def without_secrets(value: Any) -> Any:
    """Return a copy without what looks like a secret: by its name, or as the user part of a URL.

    Numbers are never secrets: `max_tokens` is not.
    """
    if isinstance(value, dict):
        return {name: HIDDEN if _is_secret(str(name), item) else without_secrets(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return _PASSWORD_IN_URL.sub(HIDDEN, value) if isinstance(value, str) else value


def _is_secret(name: str, value: Any) -> bool:
    return bool(value) and not isinstance(value, int | float) and _SECRET.search(name) is not None


def _explain(
    error: ValidationError, given: Collection[str], stored: Collection[str]
) -> ConfigurationError | UnknownNameError:
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    if first["type"] == "extra_forbidden":
        place = _STORED if name in stored else None if name in given else CONFIGURATION_FILE
        return UnknownNameError("setting", name, RunSettings.model_fields, place)
    got = "something else" if name in _OPTIONS else repr(first["input"])[:200]
    wanted = str(first["msg"]).replace("Input should be ", "")
    return ConfigurationError(f"cannot use {name}: got {got}, wanted {wanted}; correct {_place(name, given, stored)}")


def _place(name: str, given: Collection[str], stored: Collection[str]) -> str:
    """Return where a value came from, as a person would look for it."""
    if name in stored:
        return f"{name} in {_STORED}, or play a new one"
    if name in given:
        return f"--{name.replace('_', '-')}"
    variable = variable_of(name)
    return f"{variable} in the environment" if variable else f"{name} in {CONFIGURATION_FILE}"
