"""Settings of a run as the graph knows them: every field has a default, so that Studio can start a trial with none."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.config import JsonDict

from taugraph.domains.errors import ConfigurationError
from taugraph.domains.protocol import PROTOCOLS, Protocol, find_protocol
from taugraph.graphs.calling import CallSettings

AGENT_STRATEGIES = ("tool-calling", "react", "act", "few-shot", "reflect")
"""How a chat model may act as agent; the first is the usual one."""

USER_STRATEGIES = ("llm", "react", "verify", "reflection")
"""How a chat model may play the user; the first is the usual one."""


def _one_of(names: tuple[str, ...]) -> JsonDict:
    """Return what makes Studio's form a list to choose from; the names are looked up later, with a better error."""
    return {"enum": [*names]}


class SimulationContext(BaseModel):
    """Settings of a run, as the server and Studio show them; every field has a default."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    domain: str = "airline"
    """Domain by name, or package.module:attr."""
    data: str | None = None
    """Folder with published files in place of the domain's own data."""
    agent: str = "demo"
    """Agent under test: demo, noop, PROVIDER:MODEL, module:attr, FILE.py:attr, langgraph.json#name, URL#assistant."""
    agent_options: str = "{}"
    """Options of the agent's model, as a JSON object."""
    strategy: str = Field(default="tool-calling", json_schema_extra=_one_of(AGENT_STRATEGIES))
    """How a chat model acts as agent: tool-calling, react, act, few-shot or reflect."""
    examples: str | None = None
    """Examples of the few-shot strategy: a file, or an experiment of the store."""
    agent_timeout_s: float = Field(default=600.0, gt=0)
    """Seconds one turn of an agent or user of your own may take."""
    user: str = "demo"
    """Simulated user: demo, PROVIDER:MODEL, human, scripted:FILE, or module:attr."""
    user_options: str = "{}"
    """Options of the user's model, as a JSON object."""
    user_strategy: str = Field(default="llm", json_schema_extra=_one_of(USER_STRATEGIES))
    """How a chat model plays the user: llm, react, verify or reflection."""
    personas: tuple[str, ...] = ()
    """Personas that every task is played with: names, files, or all; none for no particular way of talking."""
    protocol: str = Field(default="strict", json_schema_extra=_one_of(tuple(PROTOCOLS)))
    """Rules of conversation and scoring: strict or tau-bench."""
    max_turns: int | None = Field(default=None, ge=1)
    """User messages at most; unset for the protocol's limit."""
    max_steps: int | None = Field(default=None, ge=1)
    """Agent messages at most; unset for the protocol's limit."""
    max_tool_errors: int | None = Field(default=None, ge=1)
    """Tool errors in a row at most; unset for the protocol's limit."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds one model call may take."""
    attempts: int = Field(default=4, ge=1)
    """Attempts at one model call when the provider fails."""

    def rules(self) -> Protocol:
        """Return the protocol with this run's limits.

        Raises:
            UnknownNameError: If there is no such protocol.
        """
        limits = {"max_turns": self.max_turns, "max_steps": self.max_steps, "max_tool_errors": self.max_tool_errors}
        chosen = {name: value for name, value in limits.items() if value is not None}
        return find_protocol(self.protocol).model_copy(update=chosen)

    @property
    def calls(self) -> CallSettings:
        """How long and how often models are tried."""
        return CallSettings(timeout_s=self.timeout_s, attempts=self.attempts)


def context_for(domain: str) -> type[SimulationContext]:
    """Return the settings with another domain as default, as a schema of their own for Studio's form."""
    description = SimulationContext.model_fields["domain"].description
    return create_model(
        "SimulationContext", __base__=SimulationContext, domain=(str, Field(default=domain, description=description))
    )


def read_options(actor: str, text: str) -> dict[str, Any]:
    """Read a model's options from a JSON object.

    Raises:
        ConfigurationError: If the text is something else.
    """
    try:
        options = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(
            f"cannot read --{actor}-options: got {len(text)} characters, wanted a JSON object such as "
            f'\'{{"base_url": "http://127.0.0.1:8000/v1"}}\' ({error})'
        ) from error
    if not isinstance(options, dict):
        raise ConfigurationError(f"cannot read --{actor}-options: got a {type(options).__name__}, wanted a JSON object")
    return options


def refuse_options(actor: str, reference: str, options: Mapping[str, Any]) -> None:
    """Refuse model options for an actor that is no model.

    Raises:
        ConfigurationError: If there are any.
    """
    if options:
        raise ConfigurationError(
            f"--{actor}-options are for chat models and graphs, and --{actor} is {reference!r}; leave them out, "
            "in taugraph.toml too"
        )
