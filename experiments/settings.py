"""Settings of a run: from the command line, the environment (`TAUGRAPH_...`), and `taugraph.toml`, in this order."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from taugraph.domains.errors import ConfigurationError
from taugraph.graphs.casting import SimulationContext

DEFAULT_STORE = ".taugraph/results.db"
"""Where results are kept unless told otherwise."""

_SECRET = re.compile(r"key|token|secret|password|authorization|header|credential", re.IGNORECASE)
HIDDEN = "***"
"""What stands in a stored configuration where a secret was."""


class RunSettings(BaseSettings):
    """Everything that can be set about a run."""

    model_config = SettingsConfigDict(
        env_prefix="TAUGRAPH_",
        toml_file="taugraph.toml",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    domain: str = "airline"
    """Domain: a name, or package.module:attr."""
    data: Path | None = None
    """Folder with published files in place of the domain's own data."""
    agent: str = "demo"
    """Agent under test: demo, demo:RATE, or PROVIDER:MODEL."""
    agent_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the agent's model, as JSON: base_url, temperature, ..."""
    user: str = "demo"
    """Simulated user: demo, or PROVIDER:MODEL."""
    user_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the user's model, as JSON."""
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

    @field_validator("tasks", mode="before")
    @classmethod
    def _split_tasks(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

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
            user=self.user,
            user_options=json.dumps(self.user_options, sort_keys=True),
            protocol=self.protocol,
            max_turns=self.max_turns,
            max_steps=self.max_steps,
            max_tool_errors=self.max_tool_errors,
            timeout_s=self.timeout_s,
            attempts=self.attempts,
        )

    def stored(self) -> dict[str, Any]:
        """Return the settings as they may be written down: without the store's address and without secrets."""
        document = self.model_dump(mode="json", exclude={"store"})
        return {name: without_secrets(value) for name, value in document.items()}


def load_settings(**given: Any) -> RunSettings:
    """Join what was given with the environment and `taugraph.toml`; `None` counts as not given.

    Raises:
        ConfigurationError: If a value does not fit, or a name is unknown.
    """
    values = {name: value for name, value in given.items() if value is not None}
    try:
        return RunSettings(**values)
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from error
    except (SettingsError, ValueError) as error:
        raise ConfigurationError(f"cannot read the settings: {error}; check taugraph.toml and TAUGRAPH_...") from error


def restored(stored: Mapping[str, Any], **given: Any) -> RunSettings:
    """Return the settings of a stored experiment, with some of them given anew.

    Raises:
        ConfigurationError: If they no longer fit, or a secret has to be given again.
    """
    values = {**stored, **{name: value for name, value in given.items() if value is not None}}
    for name in ("agent_options", "user_options"):
        if HIDDEN in json.dumps(values.get(name, {})):
            option = f"--{name.replace('_', '-')}"
            raise ConfigurationError(f"the experiment was run with a secret in {option}; give {option} again")
    return load_settings(**values)


def without_secrets(value: Any) -> Any:
    """Return a copy with every value hidden whose name looks like a secret's."""
    if isinstance(value, dict):
        return {
            name: HIDDEN if _SECRET.search(str(name)) and item else without_secrets(item)
            for name, item in value.items()
        }
    return [without_secrets(item) for item in value] if isinstance(value, list) else value


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"])) or "settings"
    got = HIDDEN if _SECRET.search(name) else repr(first["input"])
    wanted = str(first["msg"]).replace("Input should be ", "")
    return f"cannot use {name}: got {got[:200]}, wanted {wanted}; correct --{name.replace('_', '-')} or taugraph.toml"
