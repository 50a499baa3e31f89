"""Who plays: actors from their references, and the stage for a run's context.

A reference is looked up once, here, when a run is set up; a wrong one is refused before the first trial.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.errors import ConfigurationError
from taugraph.domains.protocol import Protocol, find_protocol
from taugraph.graphs.agent import Agent
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.models import ChatModels
from taugraph.graphs.persona import find_persona, load_personas
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import SimulatedUser


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
    strategy: str = "tool-calling"
    """How a chat model acts as agent: tool-calling, react, act, few-shot or reflect."""
    examples: str | None = None
    """Examples of the few-shot strategy: a file, or an experiment of the store."""
    agent_timeout_s: float = Field(default=600.0, gt=0)
    """Seconds one turn of an agent of one's own may take."""
    user: str = "demo"
    """Simulated user: demo, PROVIDER:MODEL, human, scripted:FILE, or module:attr."""
    user_options: str = "{}"
    """Options of the user's model, as a JSON object."""
    user_strategy: str = "llm"
    """How a chat model plays the user: llm, react, verify or reflection."""
    personas: tuple[str, ...] = ()
    """Personas that every task is played with: names, files, or all; none for no particular way of talking."""
    protocol: str = "strict"
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


def build_agent(context: SimulationContext, domain: Domain, models: ChatModels) -> Agent:
    """Build the agent under test.

    Args:
        context: Holds its reference: `demo`, `demo:RATE` with the chance of a slip in [0, 1], a baseline (`noop`,
            `transfer`, `yes`, `recite`, `oracle`), code or a graph of one's own, or a chat model.
        domain: The domain, whose answers a demonstration agent is given.
        models: Chat models of this run.

    Raises:
        ConfigurationError: If the reference leads nowhere, or the provider lacks a key or package.
    """
    from taugraph.graphs.agents.baselines import BASELINES, ORACLE  # noqa: PLC0415 - only what is used is imported
    from taugraph.graphs.agents.demo import DemoAgent  # noqa: PLC0415 - only what is used is imported

    reference, options = context.agent, read_options("agent", context.agent_options)
    if reference == "demo" or reference.startswith("demo:"):
        _refuse_options("agent", reference, options)
        return DemoAgent(reference, domain)
    if reference in BASELINES or reference == ORACLE:
        _refuse_options("agent", reference, options)
        return oracle_for(domain) if reference == ORACLE else BASELINES[reference]()
    return _chat_agent(context, options, domain, models)


def _chat_agent(context: SimulationContext, options: dict[str, Any], domain: Domain, models: ChatModels) -> Agent:
    from taugraph.graphs.agents.chat import ChatAgent  # noqa: PLC0415 - only what is used is imported

    return ChatAgent(context.agent, models.build(context.agent, options, actor="agent"), models.calls)


def oracle_for(domain: Domain) -> Agent:
    """Build the demonstration agent that never slips, under its own name."""
    from taugraph.graphs.agents.demo import DemoAgent  # noqa: PLC0415 - only what is used is imported

    oracle = DemoAgent("demo:0", domain)
    oracle.reference = "oracle"
    return oracle


def build_user(context: SimulationContext, protocol: Protocol, models: ChatModels) -> SimulatedUser:
    """Build the simulated user.

    Args:
        context: Holds its reference: `demo`, or a chat model, and the strategy of a model.
        protocol: Decides how the user stops.
        models: Chat models of this run.

    Raises:
        ConfigurationError: If the reference leads nowhere, or the provider lacks a key or package.
    """
    from taugraph.graphs.users.demo import DemoUser  # noqa: PLC0415 - only what is used is imported
    from taugraph.graphs.users.llm import LlmUser  # noqa: PLC0415 - only what is used is imported

    reference, options = context.user, read_options("user", context.user_options)
    if reference == "demo":
        _refuse_options("user", reference, options)
        return DemoUser(stops_on_token=protocol.stops_on_token)
    model = models.build(reference, options, actor="user")
    return LlmUser(reference, model, models.calls, stops_on_token=protocol.stops_on_token)


def build_stage(context: SimulationContext, models: ChatModels | None = None) -> Stage:
    """Build domain, actors and protocol from their references.

    Raises:
        TaugraphError: If a reference leads nowhere or the data cannot be read; the message says what to do.
    """
    models = models or ChatModels(context.calls)
    domain = load_domain(context.domain, Path(context.data) if context.data else None)
    domain = in_personas(domain, context.personas)
    protocol = context.rules()
    agent = build_agent(context, domain, models)
    return Stage(domain, agent, build_user(context, protocol, models), protocol)


def in_personas(domain: Domain, names: Sequence[str]) -> Domain:
    """Return the domain with every task once per persona, as `TASK@PERSONA`; unchanged if no persona is named.

    Raises:
        UnknownNameError: If there is no such persona.
    """
    if not names:
        return domain
    names = tuple(load_personas()) if "all" in names else tuple(dict.fromkeys(names))
    for name in names:
        find_persona(name)
    tasks = [
        task.model_copy(update={"id": f"{task.id}@{Path(name).stem}", "persona": name, "variant_of": task.id})
        for task in domain.tasks
        for name in names
    ]
    return replace(domain, tasks=tasks)


def stage_for(context: SimulationContext) -> Stage:
    """Return the stage for a context, built once per process: the server asks for it at every node.

    Raises:
        TaugraphError: If it cannot be built; the next call tries again.
    """
    with _BUILDING:
        return _built_stage(context)


_BUILDING = threading.Lock()
_built_stage = lru_cache(maxsize=8)(build_stage)


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


def _refuse_options(actor: str, reference: str, options: Mapping[str, Any]) -> None:
    if options:
        raise ConfigurationError(
            f"--{actor}-options are for chat models, and --{actor} is {reference!r}; leave them out"
        )
