"""Agents that deserve nothing: what they score is the floor that a suite of tasks gives away.

None of them knows a task, reads the policy or understands a word. All work on any domain: tools are told apart by
their kind alone.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from taugraph.graphs.agent import AgentView
from taugraph.tools.definition import ToolKind, kind_of

NEUTRAL_SENTENCE = "Understood."
"""All that `noop` says: no digit, no promise, no question."""

_MOST_READS = 24
_MOST_ERRORS_IN_ROW = 8
_ID = re.compile(r"#?\w+(?:[-@.+]\w+)*")


class SilentAgent:
    """Says one neutral sentence, whatever it hears, and calls no tool."""

    reference = "noop"
    is_privileged = False
    _sentence = NEUTRAL_SENTENCE

    async def reply(self, view: AgentView) -> AIMessage:
        """Return the sentence."""
        return self.next_message(view)

    def next_message(self, view: AgentView) -> AIMessage:
        """Return the sentence, outside an event loop too."""
        return AIMessage(self._sentence)


class YesAgent(SilentAgent):
    """Says that all is done, and does nothing."""

    reference = "yes"
    _sentence = "Yes, done."


class TransferAgent(SilentAgent):
    """Hands over to a human at once, then says goodbye."""

    reference = "transfer"
    _sentence = "Goodbye."

    def next_message(self, view: AgentView) -> AIMessage:
        """Return the handoff, or the goodbye where it was made or the domain has none."""
        handoffs = [tool for tool in view.tools if kind_of(tool) is ToolKind.HANDOFF]
        if not handoffs or any(isinstance(message, AIMessage) for message in view.messages):
            return super().next_message(view)
        arguments = {name: _any_value(field) for name, field in _required(handoffs[0]).items()}
        return AIMessage("", tool_calls=[_call(handoffs[0].name, arguments)])


class RecitingAgent(SilentAgent):
    """Reads every record it is told an id of, by the user or by a list in a record, and recites what it read."""

    reference = "recite"

    def __init__(self) -> None:
        self._readers: list[tuple[str, str]] | None = None

    def next_message(self, view: AgentView) -> AIMessage:
        """Return the next read, or everything that was read."""
        if sum(isinstance(message, HumanMessage) for message in view.messages) < 2:
            return AIMessage("Could you tell me your user id and the details?")
        room = _MOST_ERRORS_IN_ROW - _errors_in_row(view)
        if calls := list(islice(self._untried(view), room)):
            return AIMessage("", tool_calls=calls)
        read = [message.text for message in view.messages if _is_record(message)]
        return AIMessage("\n".join([*read, "Goodbye."]))

    def _untried(self, view: AgentView) -> Iterator[ToolCall]:
        """Yield for each id the next read that was not tried; an id that has led to a record needs no other."""
        if self._readers is None:
            self._readers = [(tool.name, name) for tool in view.tools for name in _ids_wanted(tool)]
        tried = [(call["name"], call["args"]) for message in view.messages for call in _calls(message)]
        if len(tried) >= _MOST_READS:
            return
        found = set(map(str, _read_ids(view)))
        for identity in dict.fromkeys(_told_ids(view)):
            reads = ((tool, {name: identity}) for tool, name in self._readers)
            untried = next((read for read in reads if read not in tried), None)
            if identity not in found and untried:
                yield _call(*untried)


def _call(tool: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(name=tool, args=arguments, id=f"{tool}-{json.dumps(arguments, sort_keys=True)}")


def _calls(message: Any) -> list[Any]:
    return list(message.tool_calls) if isinstance(message, AIMessage) else []


def _required(tool: BaseTool) -> dict[str, dict[str, Any]]:
    """Return the schemas of the arguments that a call must have."""
    document: dict[str, Any] = convert_to_openai_tool(tool)["function"].get("parameters", {})
    fields = document.get("properties", {})
    return {name: fields[name] for name in document.get("required", ())}


def _any_value(field: dict[str, Any]) -> Any:
    if field.get("enum"):
        return field["enum"][0]
    plain = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return plain.get(field.get("type", ""), "The customer needs help.")


def _ids_wanted(tool: BaseTool) -> list[str]:
    """Return the argument of a tool that reads by one text and nothing else."""
    fields = _required(tool)
    is_reader = kind_of(tool) is ToolKind.READ and len(fields) == 1
    return [name for name, field in fields.items() if is_reader and field.get("type") == "string"]


def _is_record(message: object) -> TypeGuard[ToolMessage]:
    return isinstance(message, ToolMessage) and message.status != "error"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _read_ids(view: AgentView) -> Iterator[Any]:
    records = {message.tool_call_id for message in view.messages if _is_record(message)}
    for message in view.messages:
        for call in _calls(message):
            if call["id"] in records:
                yield from call["args"].values()


def _told_ids(view: AgentView) -> Iterator[str]:
    """Yield what may be an id: words with a digit from the user, and the texts in lists of what was read."""
    for message in view.messages:
        if isinstance(message, HumanMessage):
            yield from _words(message.text)
        elif _is_record(message):
            record = _parsed(message.text)
            yield from _words(message.text) if record is None else _listed(record)


def _words(text: str) -> Iterator[str]:
    return (word for word in _ID.findall(text) if len(word) > 3 and any(letter.isdigit() for letter in word))


def _listed(value: Any) -> Iterator[str]:
    children: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        if isinstance(value, list) and isinstance(child, str) and any(letter.isdigit() for letter in child):
            yield child
        yield from _listed(child)


def _errors_in_row(view: AgentView) -> int:
    """Return how many reads failed since the last that did not; a protocol may end the trial at ten."""
    in_row = 0
    for message in view.messages:
        if isinstance(message, ToolMessage):
            in_row = in_row + 1 if message.status == "error" else 0
    return in_row


BASELINES = {agent.reference: agent for agent in (SilentAgent, TransferAgent, YesAgent, RecitingAgent)}
"""The unprivileged baselines by reference."""

ORACLE = "oracle"
"""Reference of the agent that plays each task's answers without a slip: `demo:0`, privileged."""
