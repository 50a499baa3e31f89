"""How a tool is written: an ordinary function with a session, made into an ordinary LangChain tool.

The model sees name, description and argument schema, all from the function's signature and docstring. The session is an
injected argument: hidden from the model, given by the executor.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool
from sqlmodel import Session

DatabaseSession = Annotated[Session, InjectedToolArg]
"""Type of a tool's `session` parameter."""


class ToolKind(StrEnum):
    """What a tool may do, kept as the tool's first tag."""

    READ = "read"
    """Only looks something up."""
    WRITE = "write"
    """Changes the database."""
    GENERIC = "generic"
    """Neither reads nor changes the domain's records."""
    HANDOFF = "handoff"
    """Hands the conversation over to a human."""


def domain_tool(kind: ToolKind) -> Callable[[Callable[..., object]], BaseTool]:
    """Make a function into a tool of that kind.

    The function's Google docstring gives the description and, for each argument but the session, its text.
    """

    def make(function: Callable[..., object]) -> BaseTool:
        return StructuredTool.from_function(function, parse_docstring=True, tags=[kind.value])

    return make


def kind_of(tool: BaseTool) -> ToolKind:
    """Return the tool's kind; a tool that states none is taken to write."""
    kinds = {kind.value: kind for kind in ToolKind}
    return next((kinds[tag] for tag in tool.tags or () if tag in kinds), ToolKind.WRITE)
