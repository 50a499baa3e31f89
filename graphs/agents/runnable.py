"""An agent that is a Runnable ending in an AI message: it is given the whole conversation at every turn."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import Runnable

from taugraph.domains.errors import ConfigurationError
from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.agents.graph_options import RunnableOptions


class RunnableAgent:
    """A Runnable, called with a list of messages or with an object that holds them, as its input schema says."""

    is_privileged = False

    def __init__(self, reference: str, runnable: Runnable[Any, Any], options: RunnableOptions) -> None:
        """Read the input schema.

        Raises:
            ConfigurationError: If it takes neither messages nor an object with `messages`.
        """
        self.reference = reference
        self._runnable = runnable
        self._options = options
        self._keys = _input_keys(reference, runnable)

    async def reply(self, view: AgentView) -> AgentTurn:
        """Return what the Runnable answers; the harness runs its calls."""
        messages: list[BaseMessage] = list(view.messages)
        if self._options.policy == "system":
            messages.insert(0, SystemMessage(view.policy))
        known: dict[str, Any] = {"messages": messages, "policy": view.policy}
        wanted = messages if self._keys is None else {key: known[key] for key in self._keys}
        return AgentTurn(await self._runnable.ainvoke(wanted, {"configurable": dict(self._options.config)}))


def _input_keys(reference: str, runnable: Runnable[Any, Any]) -> tuple[str, ...] | None:
    """Return the keys of the object that it takes; `None` if it takes the messages themselves."""
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - a type that has no JSON schema says nothing, and messages are what agents take
        return None
    if schema.get("type") != "object":
        return None
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return ("messages", "policy")
    needed = set(schema.get("required", ())) - {"messages", "policy"}
    if "messages" not in properties or needed:
        keys = ", ".join(sorted(properties))
        raise ConfigurationError(
            f"cannot use --agent {reference!r}: its input has the keys {keys}, wanted `messages` and perhaps `policy`; "
            f"wrap it so that it takes these, or a list of messages"
        )
    return tuple(key for key in ("messages", "policy") if key in properties)
