"""Options of an agent that is a graph or a Runnable, as `--agent-options` gives them."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from taugraph.domains.errors import ConfigurationError, UnknownNameError


class RunnableOptions(BaseModel):
    """How a Runnable is called."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    policy: Literal["system"] | None = None
    """`system` to put the domain's policy before the conversation; unset to leave it to the agent's own prompt."""
    config: dict[str, Any] = {}
    """Configurable values by name."""


class GraphOptions(RunnableOptions):
    """How a graph is called and where it is stopped."""

    input_key: str = "messages"
    """Key of the state that holds the messages."""
    context: dict[str, Any] | None = None
    """Context of every call; unset for none."""
    tools_nodes: tuple[str, ...] = ()
    """Nodes that run tools; those that hold a ToolNode, or are called `tools`, if unset."""


class RemoteOptions(GraphOptions):
    """How a deployed graph is called."""

    api_key: str | None = None
    """Key of the server; unset for the environment's."""
    headers: dict[str, str] = {}
    """Headers of every request."""


_Options = TypeVar("_Options", bound=RunnableOptions)


def read_graph_options(kind: type[_Options], reference: str, given: Mapping[str, Any]) -> _Options:
    """Read the options of a graph.

    Raises:
        UnknownNameError: If there is no such option.
        ConfigurationError: If a value does not fit.
    """
    for name in given:
        if name not in kind.model_fields:
            raise UnknownNameError(f"option of --agent-options for agent {reference!r}", name, kind.model_fields)
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, wanted = ".".join(map(str, first["loc"])), str(first["msg"]).replace("Input should be ", "")
        raise ConfigurationError(f"cannot use {name!r} of --agent-options: wanted {wanted}") from None
