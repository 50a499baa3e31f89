"""How an agent's own tools compare with the domain's: told before the first trial, for nobody would see it later."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

Schema = Mapping[str, Any]
"""JSON schema of a tool's arguments."""

_WIDTH = 80


@dataclass(frozen=True)
class Difference:
    """A tool that both have, with other arguments.

    Attributes:
        name: The tool.
        lacking: Arguments of the domain's tool that the agent's has not.
        unknown: Arguments of the agent's tool that the domain's has not.
        required: Arguments that only one of them requires.
    """

    name: str
    lacking: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolMatch:
    """Which of the domain's tools an agent has, and which tools are its own.

    Attributes:
        same: Tools that both have alike.
        different: Tools that both have, with other arguments.
        lacking: The domain's tools that the agent has not.
        own: Tools of the agent alone; they are run as they are.
    """

    same: tuple[str, ...] = ()
    different: tuple[Difference, ...] = field(default=())
    lacking: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def can_act(self) -> bool:
        """Whether the agent can do anything in the domain; true where there is nothing to do it with."""
        return bool(self.same or self.different or not self.lacking)


def match_tools(agent: Mapping[str, Schema], domain: Mapping[str, Schema]) -> ToolMatch:
    """Compare the agent's tools with the domain's, by name and by their arguments' names."""
    both = [name for name in domain if name in agent]
    differences = {name: _difference(name, agent[name], domain[name]) for name in both}
    return ToolMatch(
        same=tuple(name for name in both if differences[name] is None),
        different=tuple(found for name in both if (found := differences[name]) is not None),
        lacking=tuple(name for name in domain if name not in agent),
        own=tuple(name for name in agent if name not in domain),
    )


def schemas_of(tools: Iterable[BaseTool]) -> dict[str, Schema]:
    """Return the arguments' schema by name of tool, as a model is shown it."""
    return {tool.name: convert_to_openai_tool(tool)["function"].get("parameters", {}) for tool in tools}


def match_of(agent: object, tools: Iterable[BaseTool]) -> ToolMatch | None:
    """Compare an agent's tools with the domain's; `None` if it has none of its own or they cannot be seen."""
    match = getattr(agent, "match", None)
    found = match(schemas_of(tools)) if callable(match) else None
    return found if isinstance(found, ToolMatch) else None


def render_match(match: ToolMatch) -> str:
    """Return the comparison as a few lines of at most 80 columns; one line where the agent has none of the tools."""
    total = len(match.same) + len(match.different) + len(match.lacking)
    if not match.can_act:
        return f"the agent has none of the domain's {total} tools, so it will not be able to act"
    lines = [f"the agent has {total - len(match.lacking)} of the domain's {total} tools"]
    for name, found in (("lacks", match.lacking), ("its own, run as they are", match.own)):
        if found:
            lines += _wrapped(f"  {name}: ", list(found))
    for difference in match.different:
        lines += _wrapped(f"  other arguments: {difference.name}: ", _in_words(difference))
    return "\n".join(lines)


def _difference(name: str, agent: Schema, domain: Schema) -> Difference | None:
    has, wants = dict(agent.get("properties", {})), dict(domain.get("properties", {}))
    required = set(agent.get("required", ())) ^ set(domain.get("required", ()))
    found = Difference(
        name,
        lacking=tuple(each for each in wants if each not in has),
        unknown=tuple(each for each in has if each not in wants),
        required=tuple(sorted(each for each in required if each in has and each in wants)),
    )
    return found if found != Difference(name) else None


def _in_words(difference: Difference) -> list[str]:
    return [
        *(f"lacks {name}" for name in difference.lacking),
        *(f"adds {name}" for name in difference.unknown),
        *(f"{name} required by one only" for name in difference.required),
    ]


def _wrapped(start: str, words: list[str]) -> list[str]:
    """Break a list of words into lines; a word that is too long is cut."""
    lines, line = [], start
    for number, word in enumerate(words):
        piece = word + (", " if number < len(words) - 1 else "")
        if len((line + piece).rstrip()) > _WIDTH and line.strip() != start.strip():
            lines.append(line.rstrip())
            line = "    "
        line += piece
    return [each[:_WIDTH] for each in [*lines, line.rstrip()]]
