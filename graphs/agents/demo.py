"""A demonstration agent: a scripted chat model that was given the answers and slips now and then.

It plays each task's gold calls, asks before it changes anything, and tells what has to be told. What the gold has the
customer do on a device, it asks the customer for, and waits. By its seed a trial may have one slip, of the kinds real
agents make. It shows what taugraph does; its numbers say nothing about a real agent, and every report of them says so.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from random import Random
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from pydantic import Field

from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError
from taugraph.domains.task import GoldCall, Task
from taugraph.graphs.agent import AgentView
from taugraph.graphs.guidance import guide
from taugraph.tools.definition import ToolKind, kind_of

DEFAULT_SLIP_RATE = 0.2
"""Chance that a trial has a slip, unless the reference names another."""

OPENING_QUESTION = "Of course, I can help with that. Could you tell me your user id and the details?"
"""What it says first."""

CLOSING_QUESTION = "Is there anything else I can do for you?"
"""How its last message ends."""


class Slip(StrEnum):
    """What may go wrong in a trial."""

    FORGETS_WRITE = "forgets_write"
    """Leaves one change out."""
    WRONG_ARGUMENT = "wrong_argument"
    """Gets one argument of a change wrong."""
    WRONG_ITEM = "wrong_item"
    """Takes another item of the same kind from what it has read."""
    OMITS_ANSWER = "omits_answer"
    """Does not say what the user had to be told."""
    ACTS_UNCONFIRMED = "acts_unconfirmed"
    """Changes something without asking first; the outcome may still be right."""


class DemoAgent:
    """Plays a domain's gold with occasional slips."""

    is_privileged = True

    def __init__(self, reference: str, domain: Domain) -> None:
        """Read the slip rate from the reference, `demo` or `demo:RATE`.

        Raises:
            ConfigurationError: If the rate is no number in [0, 1].
        """
        self.reference = reference
        self._domain = domain
        self._rate = _slip_rate(reference)
        self._writes = _writing(domain.agent_tools)
        self._user_writes = _writing(domain.user_tools)

    async def reply(self, view: AgentView) -> AIMessage:
        """Return the next message of the script."""
        task = self._domain.task(view.key.task_id)
        model = DemoAgentModel(
            task=task,
            writes=self._writes,
            user_writes=self._user_writes,
            seed=view.key.seed,
            slip_rate=self._rate,
        )
        reply = await model.bind_tools(view.tools).ainvoke([SystemMessage(view.policy), *view.messages])
        assert isinstance(reply, AIMessage), "a chat model answers with an AI message"
        return reply


class DemoAgentModel(BaseChatModel):
    """The script as a LangChain chat model: the next message follows from the messages so far."""

    task: Task = Field(repr=False)
    """The task with its answers."""
    writes: frozenset[str]
    """Names of the agent's tools that change something."""
    user_writes: frozenset[str] = frozenset()
    """Names of the user's own tools that change something."""
    seed: int
    """Decides whether and how this trial slips."""
    slip_rate: float
    """Chance of a slip, in [0, 1]."""

    @property
    def _llm_type(self) -> str:
        return "taugraph-demo-agent"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Accept the tools; the script already knows their names."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        step = sum(isinstance(message, AIMessage) for message in messages)
        script = self._script(messages)
        return ChatResult(generations=[ChatGeneration(message=script[min(step, len(script) - 1)])])

    def _script(self, messages: Sequence[BaseMessage]) -> list[AIMessage]:
        rng = Random(self.seed)
        slip = self._draw(rng)
        calls = self._calls(slip, rng, messages)
        script = [AIMessage(OPENING_QUESTION)]
        for number, call in enumerate(calls, 1):
            if call.actor == "user":
                script.append(AIMessage(guide(call)))
                continue
            if call.name in self.writes and slip is not Slip.ACTS_UNCONFIRMED:
                script.append(AIMessage(_confirmation(call, names_details=slip is not Slip.OMITS_ANSWER)))
            identity = f"demo-{len(script)}-{number}"
            script.append(AIMessage("", tool_calls=[{"name": call.name, "args": dict(call.arguments), "id": identity}]))
        script.append(AIMessage(self._summary(calls, slip)))
        script.append(AIMessage("You are welcome. Goodbye."))
        return script

    def _draw(self, rng: Random) -> Slip | None:
        """Decide whether this trial slips, and how, among the slips that the task leaves room for."""
        possible = [Slip.ACTS_UNCONFIRMED, Slip.FORGETS_WRITE, Slip.WRONG_ARGUMENT, Slip.WRONG_ITEM]
        if not any(map(self._writes_itself, self.task.gold)):
            possible = [Slip.FORGETS_WRITE] if any(map(self._changes, self.task.gold)) else []
        if self.task.claims:
            possible.append(Slip.OMITS_ANSWER)
        slips = rng.random() < self.slip_rate
        return rng.choice(possible) if slips and possible else None

    def _calls(self, slip: Slip | None, rng: Random, messages: Sequence[BaseMessage]) -> list[GoldCall]:
        calls = list(self.task.gold)
        changes = self._changes if slip is Slip.FORGETS_WRITE else self._writes_itself
        # What the user does again later, such as a restart, would not be missed the first time.
        writes = [
            index
            for index, call in enumerate(calls)
            if changes(call) and (call.actor == "agent" or call not in calls[index + 1 :])
        ]
        if slip not in (Slip.FORGETS_WRITE, Slip.WRONG_ARGUMENT, Slip.WRONG_ITEM):
            return calls
        chosen = rng.choice(writes)
        # What is read after the chosen call must not change the script any more.
        made = sum(call.actor == "agent" for call in calls[:chosen])
        read = [message for message in messages if isinstance(message, ToolMessage)][:made]
        spoiled = _other_item(calls[chosen], read, Random(self.seed)) if slip is Slip.WRONG_ITEM else None
        if spoiled is None and slip is not Slip.FORGETS_WRITE:
            spoiled = _other_argument(calls[chosen], Random(self.seed))
        return [*calls[:chosen], *([spoiled] if spoiled else []), *calls[chosen + 1 :]]

    def _writes_itself(self, call: GoldCall) -> bool:
        """Tell whether the agent changes something by a call."""
        return call.actor == "agent" and call.name in self.writes

    def _changes(self, call: GoldCall) -> bool:
        """Tell whether a call changes something, whoever makes it."""
        return self._writes_itself(call) or (call.actor == "user" and call.name in self.user_writes)

    def _summary(self, calls: Sequence[GoldCall], slip: Slip | None) -> str:
        done = [call.name.replace("_", " ") for call in calls if self._writes_itself(call)]
        parts = [f"Done: {', '.join(done)}." if done else "I have looked into this for you."]
        if self.task.claims and slip is not Slip.OMITS_ANSWER:
            said = "; ".join(claim.value for claim in self.task.claims)
            parts.append(f"What you asked to know: {said} .")
        return " ".join([*parts, CLOSING_QUESTION])


def _writing(tools: Sequence[BaseTool]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools if kind_of(tool) in (ToolKind.WRITE, ToolKind.HANDOFF))


def _confirmation(call: GoldCall, *, names_details: bool) -> str:
    """Ask before a change; the details are left out where they might be the answer that is to be omitted."""
    details = ", ".join(f"{name}: {json.dumps(value)}" for name, value in call.arguments.items())
    shown = f" ({details})" if names_details else ""
    return f"I am about to do this: {call.name.replace('_', ' ')}{shown}. Shall I go ahead (yes or no)?"


def _other_item(call: GoldCall, read: Sequence[ToolMessage], rng: Random) -> GoldCall | None:
    """Swap an id for a sibling of it in an earlier tool answer; `None` if there is no sibling."""
    siblings = [found for message in read for found in _groups(message.text)]
    swaps = [
        (name, other)
        for name, value in call.arguments.items()
        for group in siblings
        if isinstance(value, str) and value in group
        for other in group
        if other != value
    ]
    if not swaps:
        return None
    name, other = rng.choice(sorted(set(swaps)))
    return call.model_copy(update={"arguments": {**call.arguments, name: other}})


def _groups(text: str) -> list[list[str]]:
    """Return the groups of like things in a JSON answer: the keys of an object of objects, and lists of text."""
    try:
        found = json.loads(text)
    except ValueError:
        return []
    groups: list[list[str]] = []
    queue = [found]
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            if value and all(isinstance(item, dict) for item in value.values()):
                groups.append(list(value))
            queue.extend(value.values())
        elif isinstance(value, list):
            if value and all(isinstance(item, str) for item in value):
                groups.append(value)
            queue.extend(value)
    return groups


def _other_argument(call: GoldCall, rng: Random) -> GoldCall | None:
    """Get one argument wrong the way people do: one more, the other cabin, a passenger less.

    `None` if no argument lends itself to it; the change is then left out, so that a slip never goes unnoticed.
    """
    wrong = {name: other for name, value in call.arguments.items() if (other := _slipped(value)) != value}
    if not wrong:
        return None
    name = rng.choice(sorted(wrong))
    return call.model_copy(update={"arguments": {**call.arguments, name: wrong[name]}})


_MIXED_UP = {
    "economy": "business",
    "business": "economy",
    "basic_economy": "economy",
    "yes": "no",
    "no": "yes",
    "one_way": "round_trip",
    "round_trip": "one_way",
}


def _slipped(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return _MIXED_UP.get(value, value)
    if isinstance(value, list) and len(value) > 1:
        return value[:-1]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        first = {key: f"{item}s" if key == "last_name" else item for key, item in value[0].items()}
        return [first]
    return value


def _slip_rate(reference: str) -> float:
    _, separator, text = reference.partition(":")
    if not separator:
        return DEFAULT_SLIP_RATE
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0.0 <= rate <= 1.0:
        raise ConfigurationError(f"cannot use agent {reference!r}: got slip rate {text!r}, wanted a number in [0, 1]")
    return rate
