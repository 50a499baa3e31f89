"""How a chat model acts as the agent: strategies by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.graphs.agent import Agent
from taugraph.graphs.agents.chat import ChatAgent
from taugraph.graphs.agents.few_shot import FewShotAgent, load_examples
from taugraph.graphs.agents.react import WritingAgent
from taugraph.graphs.agents.reflect import ReflectingAgent
from taugraph.graphs.context import SimulationContext, read_options
from taugraph.graphs.models import ChatModels

STRATEGIES = ("tool-calling", "react", "act", "few-shot", "reflect")
"""Names of the strategies; the first is what a chat model does unless told otherwise."""


class StrategyOptions(BaseModel):
    """Agent options that are for the strategy and not for the model."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    parallel_tool_calls: bool | None = None
    """Whether one message may call several tools; `None` leaves it to the provider."""
    examples_limit: int | None = Field(default=None, ge=1)
    """Examples at most; `None` for three of an experiment, all of a file."""
    examples_characters: int = Field(default=24_000, ge=1)
    """Room for all examples together, in characters."""


_EXAMPLE_OPTIONS = frozenset({"examples_limit", "examples_characters"})


def model_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the agent options that are for the model."""
    return {name: value for name, value in options.items() if name not in StrategyOptions.model_fields}


def strategy_options(context: SimulationContext) -> StrategyOptions:
    """Read the strategy's options, and check that they and the examples go with it.

    Raises:
        UnknownNameError: If there is no such strategy.
        ConfigurationError: If an option has another type or goes with another strategy, or examples are missing or
            not wanted.
    """
    _check_name(context.strategy)
    given = read_options("agent", context.agent_options)
    chosen = {name: value for name, value in given.items() if name in StrategyOptions.model_fields}
    try:
        options = StrategyOptions.model_validate(chosen)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        wanted = first["msg"].replace("Input should be ", "")
        raise ConfigurationError(
            f"cannot use {first['loc'][0]} in --agent-options: got {first['input']!r}, wanted {wanted}; correct it"
        ) from error
    if context.strategy != "few-shot":
        _refuse_examples(context)
        if unused := sorted(_EXAMPLE_OPTIONS & chosen.keys()):
            raise ConfigurationError(f"{unused[0]} in --agent-options is for --strategy few-shot; leave it out")
    elif not context.examples:
        raise ConfigurationError(
            "--strategy few-shot needs examples: got none, wanted a JSONL file of conversations or the name of an "
            "experiment; add --examples"
        )
    if context.strategy in ("react", "act") and "parallel_tool_calls" in chosen:
        raise ConfigurationError(
            f"--strategy {context.strategy} acts once per message; leave parallel_tool_calls out of --agent-options"
        )
    return options


def build_chat_agent(reference: str, model: BaseChatModel, context: SimulationContext, models: ChatModels) -> Agent:
    """Build an agent that is a chat model with the strategy that the context names.

    Args:
        reference: How the agent is named on the command line.
        model: The model.
        context: Holds the strategy, its options, and for `few-shot` the file of its examples.
        models: The models of the run, for how long and how often they are tried.

    Raises:
        UnknownNameError: If there is no such strategy.
        ConfigurationError: If strategy, options and examples do not go together, the model takes no tools, or the
            examples cannot be opened.
        DataError: If an example breaks the schema.
    """
    options = strategy_options(context)
    if context.strategy in ("react", "act"):
        return WritingAgent(reference, model, models.calls, thinks=context.strategy == "react")
    _check_takes_tools(reference, model)
    parallel = options.parallel_tool_calls
    if context.strategy == "few-shot":
        path = Path(context.examples or "").expanduser()
        examples = load_examples(path, characters=options.examples_characters, limit=options.examples_limit)
        return FewShotAgent(reference, model, models.calls, examples, parallel_tool_calls=parallel)
    kind = ReflectingAgent if context.strategy == "reflect" else ChatAgent
    return kind(reference, model, models.calls, parallel_tool_calls=parallel)


def refuse_strategy(reference: str, context: SimulationContext) -> None:
    """Refuse a strategy, and examples, for an agent that is no chat model.

    Raises:
        UnknownNameError: If there is no such strategy at all.
        ConfigurationError: If there is one.
    """
    _check_name(context.strategy)
    if context.strategy != STRATEGIES[0]:
        raise ConfigurationError(
            f"--strategy {context.strategy} is for chat models, and --agent is {reference!r}; leave it out, or name a "
            f"model such as openai:gpt-4.1"
        )
    _refuse_examples(context)


def _check_takes_tools(reference: str, model: BaseChatModel) -> None:
    if getattr(type(model), "bind_tools", None) is BaseChatModel.bind_tools:
        raise ConfigurationError(
            f"--agent {reference!r} takes no tools: got {type(model).__name__} without bind_tools, wanted a model "
            f"with it; use --strategy react, which needs none"
        )


def _check_name(strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise UnknownNameError("strategy", strategy, STRATEGIES)


def _refuse_examples(context: SimulationContext) -> None:
    if context.examples:
        raise ConfigurationError(
            f"--examples {context.examples!r} is for a chat model with --strategy few-shot; leave it out otherwise"
        )
