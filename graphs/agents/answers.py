"""A graph's messages as a turn: which of its calls it answered itself, and which are for the harness to run."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from taugraph.domains.trial import Usage
from taugraph.graphs.delivery import has_calls
from taugraph.graphs.usage import add_usage, usage_of

Call = dict[str, Any]
"""A readable or unreadable call of a message."""

Owns = Callable[[str], bool]
"""Tells by name whether a tool is the graph's own to run."""


class AgentGraphError(Exception):
    """A graph that leaves nothing which could be a turn."""


@dataclass(frozen=True)
class OwnTurn:
    """What a graph said and did in one turn.

    Attributes:
        message: Words for the user, or calls for the harness.
        before: Its own calls and their answers.
        usage: What the other messages report, of which nobody else hears.
    """

    message: AIMessage
    before: list[AnyMessage]
    usage: Usage


def keyed(messages: Sequence[AnyMessage]) -> dict[str, AnyMessage]:
    """Return the messages by what they are known by: their ids, or their places where they have none."""
    return {message.id or f"#{index}": message for index, message in enumerate(messages)}


def pending_message(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """Return the last message that calls tools; `None` if there is none."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and has_calls(message):
            return message
    return None


def split_calls(message: AIMessage, owns: Owns) -> tuple[list[Call], list[Call]]:
    """Return the calls of tools of the graph's own, and all others in the order in which the harness answers."""
    calls: list[Call] = [dict(call) for call in message.tool_calls]
    own = [call for call in calls if owns(call["name"])]
    others = [call for call in calls if not owns(call["name"])]
    return own, [*others, *(dict(call) for call in message.invalid_tool_calls)]


def corrected(messages: Sequence[AnyMessage], answers: Sequence[ToolMessage], owns: Owns) -> list[AIMessage]:
    """Return the calling message as the harness took it, if it took it otherwise than the graph wrote it.

    The harness gives ids to calls that have none, and may take only the first call of a message.
    """
    message = pending_message(messages)
    if message is None or message.id is None:
        return []
    waiting = list(answers)

    def taken(call: Call) -> Call | None:
        if not waiting:
            return None
        return {**call, "id": waiting.pop(0).tool_call_id}

    calls = [dict(call) if owns(call["name"]) else taken(dict(call)) for call in message.tool_calls]
    unreadable = [taken(dict(call)) for call in message.invalid_tool_calls]
    kept = {
        "tool_calls": [call for call in calls if call is not None],
        "invalid_tool_calls": [call for call in unreadable if call is not None],
    }
    changed = message.model_copy(update=kept)
    if changed == message:
        return []
    return [changed.model_copy(update={"content": _without_blocks(message, kept["tool_calls"])})]


def as_turn(fresh: Sequence[AnyMessage], domain: Collection[str], owns: Owns) -> OwnTurn:
    """Make a turn of the messages that a graph has added.

    Args:
        fresh: Those messages, in order.
        domain: Names of the domain's tools.
        owns: Tells the graph's own tools.

    Raises:
        AgentGraphError: If they hold no words and no calls, or the graph ran a tool of the domain by itself.
    """
    spoken = [message for message in fresh if isinstance(message, AIMessage)]
    if not spoken:
        raise AgentGraphError(
            f"the graph ended without a new AI message: got {_listed(fresh)}, wanted words for the user or tool calls"
        )
    answers = {message.tool_call_id: message for message in fresh if isinstance(message, ToolMessage)}
    before: list[AnyMessage] = []
    usage = Usage(calls=0)
    for message in spoken[:-1]:
        done = _answered(message, answers, domain)
        if not done:
            usage = add_usage(usage, usage_of(message))
        else:
            before += [_narrowed(message, done), *(answers[call["id"]] for call in done)]
    last = spoken[-1]
    if not has_calls(last):
        return OwnTurn(last, before, usage)
    done = _answered(last, answers, domain)
    open_calls = [call for call in last.tool_calls if call["id"] not in answers and not owns(call["name"])]
    if not open_calls and not last.invalid_tool_calls:
        raise AgentGraphError("the graph ended with its own tool's answer and said nothing to the user")
    if len(open_calls) == len(last.tool_calls):
        return OwnTurn(last, before, usage)
    if done:
        # One message of the graph becomes two of the transcript, and was one call of a model.
        free = {
            "usage_metadata": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
            "response_metadata": {},
            "content": "",
        }
        before += [_narrowed(last, done).model_copy(update=free), *(answers[call["id"]] for call in done)]
        usage = add_usage(usage, Usage(calls=-1))
    kept = {"tool_calls": open_calls, "content": _without_blocks(last, open_calls)}
    return OwnTurn(last.model_copy(update=kept), before, usage)


def _answered(message: AIMessage, answers: dict[str, ToolMessage], domain: Collection[str]) -> list[Any]:
    done = [call for call in message.tool_calls if call["id"] in answers]
    for call in done:
        if call["name"] in domain:
            raise AgentGraphError(
                f"the graph ran {call['name']!r}, a tool of the domain, by itself: it was not stopped before the node "
                f'that did; name it with --agent-options \'{{"tools_nodes": ["NODE"]}}\', or make that graph a node'
            )
    return done


def _narrowed(message: AIMessage, calls: list[Any]) -> AIMessage:
    return message.model_copy(update={"content": message.text, "tool_calls": calls, "invalid_tool_calls": []})


def _without_blocks(message: AIMessage, calls: Sequence[Any]) -> Any:
    """Return the content without blocks of other calls, where a provider would miss their answers."""
    if isinstance(message.content, str) or len(calls) == len(message.tool_calls):
        return message.content
    return message.text


def _listed(messages: Sequence[AnyMessage]) -> str:
    kinds = [message.type for message in messages]
    return f"{len(kinds)} new messages ({', '.join(kinds[:5])})" if kinds else "no new messages"
