"""Rebuilding the step history of a stored trial: its recorded words played through the real graph once more.

Tools are deterministic and the database is derived, so a trial that kept one record opens with a checkpoint for every
step, as if it had kept them all. The end that is reached is compared with the end that was stored. A history that
leads to the stored end already is left as it is, with whatever was forked from it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, messages_from_dict
from langgraph.checkpoint.base import BaseCheckpointSaver

from taugraph.domains.domain import Domain
from taugraph.domains.errors import ModelCallError
from taugraph.domains.protocol import Protocol
from taugraph.domains.trial import Failure, Termination, Trial
from taugraph.experiments.play import Player, as_trial
from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.beginning import messages_before
from taugraph.graphs.boundary import DeadlineError, termination_of
from taugraph.graphs.calling import RejectedError
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn, UserView


class RecordedFailureError(Exception):
    """What the agent or the user raised when the trial was recorded."""


class RecordedOutageError(ModelCallError):
    """What kept a provider, or the harness, from going on when the trial was recorded."""

    def __str__(self) -> str:
        return str(self.detail)


@dataclass(frozen=True)
class Rebuilt:
    """A trial with its step history.

    Attributes:
        thread_id: Where its checkpoints are.
        trial: What playing it again came to.
        differs: In what it differs from the stored trial; empty if in nothing.
    """

    thread_id: str
    trial: Trial
    differs: tuple[str, ...]


async def rebuild(
    trial: Trial, domain: Domain, protocol: Protocol, saver: BaseCheckpointSaver[Any], *, experiment: str
) -> Rebuilt:
    """Play a stored trial again, step by step, unless its steps are there already.

    Args:
        trial: The trial.
        domain: Its domain, with the task as it was played.
        protocol: Rules of its conversation and scoring.
        saver: Keeps the checkpoints.
        experiment: Name of its experiment, from which the thread's id derives.
    """
    opening = next((len(messages_before(task)) for task in domain.tasks if task.id == trial.task_id), 0)
    stage = Stage(domain, TranscriptAgent(trial), TranscriptUser(trial, opening), protocol)
    try:
        player = Player(stage, experiment=experiment, checkpointer=saver, durability="sync")
        thread_id = player.thread_id(trial.task_id, trial.trial)
        if (kept := await _find_kept(saver, thread_id, trial)) is not None:
            return Rebuilt(thread_id, kept, ())
        await saver.adelete_thread(thread_id)
        again = await player.play(trial.task_id, trial.trial, trial.seed)
    finally:
        stage.close()
    return Rebuilt(thread_id, again, tuple(_differences(trial, again)))


async def _find_kept(saver: BaseCheckpointSaver[Any], thread_id: str, trial: Trial) -> Trial | None:
    """Return the trial as a history kept it; `None` unless all its steps are there and lead to the stored end."""
    end, steps = None, 0
    async for each in saver.alist({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}):
        steps += 1
        values = each.checkpoint["channel_values"]
        if end is None and values.get("termination") and "scores" in values:
            found = as_trial(values, None, started_at=trial.started_at or datetime.now(UTC), duration_s=0.0)
            end = None if any(_differences(trial, found)) else found
    return end if steps > len(trial.timeline) else None


class TranscriptAgent:
    """Says what stands in a transcript, at the place where the conversation is."""

    reference = "transcript"
    is_privileged = False

    def __init__(self, trial: Trial) -> None:
        self._messages: list[AnyMessage] = messages_from_dict(trial.messages)  # type: ignore[assignment] # transcripts hold no other kinds
        self._turns = dict(_agent_turns(trial, self._messages))
        self._failure = trial.failure

    async def reply(self, view: AgentView) -> AgentTurn:
        """Return the turn that was recorded here.

        Raises:
            RecordedFailureError: If the agent failed here.
        """
        place = len(view.messages)
        if place not in self._turns:
            if self._failure is not None and self._failure.kind == "empty_reply":
                return AgentTurn(AIMessage(""))
            raise _error_of("agent", self._failure)
        new = self._messages[place : self._turns[place]]
        message = new[-1]
        assert isinstance(message, AIMessage), "an agent's turn ends with its message"
        return AgentTurn(message, before=new[:-1])


class TranscriptUser:
    """Says what stands in a transcript, turn by turn, its own tools' calls included."""

    reference = "transcript"

    def __init__(self, trial: Trial, opening: int = 0) -> None:
        """Take a trial, and how many messages its task begins with, which nobody says."""
        self._turns = iter(list(_user_turns(trial, opening)))
        self._termination, self._failure = trial.termination, trial.failure

    async def speak(self, view: UserView) -> UserTurn:
        """Return the next turn.

        Raises:
            RecordedFailureError: If the user failed here.
        """
        if (turn := next(self._turns, None)) is not None:
            return turn
        if self._termination is Termination.USER_STOP:
            return UserTurn("", stops=True)
        if self._termination is Termination.MAX_TURNS:
            return UserTurn("(the words of the turn that was one too many)")
        if self._failure is not None and self._failure.kind == "empty_reply":
            return UserTurn("")
        raise _error_of("user", self._failure)


def _agent_turns(trial: Trial, messages: Sequence[AnyMessage]) -> Iterator[tuple[int, int]]:
    """Yield where every turn of the agent begins and ends in the transcript."""
    if trial.timeline:
        before = 0
        for step in trial.timeline:
            if step.node == "agent" and step.messages > before:
                yield before, step.messages
            before = step.messages
        return
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            yield place, place + 1


def _user_turns(trial: Trial, opening: int) -> Iterator[UserTurn]:
    """Yield the turns of the user: before each of its messages, the calls of its own tools that led to it."""
    messages = messages_from_dict(trial.messages)
    for place in range(opening, len(messages) + 1):
        entries = [entry for entry in trial.user_log if entry["at"] == place]
        words = messages[place].text if place < len(messages) and isinstance(messages[place], HumanMessage) else None
        aside = [_without_place(entry) for entry in entries if "message" not in entry]
        stops = trial.termination is Termination.USER_STOP and place == len(messages) - 1
        held = None
        for entry in entries:
            if entry["kind"] == "called":
                called = _message(entry)
                held = called.text.strip() or None
                yield UserTurn(called.text, stops=stops and held == words, message=called, aside=aside)
                aside = []
        if words is None or (held is not None and held == words.strip()):
            continue
        spoken = next((_message(entry) for entry in entries if entry["kind"] == "spoken"), None)
        yield UserTurn(words, stops=stops, message=spoken, aside=aside)


def _message(entry: dict[str, Any]) -> AIMessage:
    [message] = messages_from_dict([entry["message"]])
    assert isinstance(message, AIMessage), "only the user's own messages are called or spoken"
    return message


def _without_place(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "at"}


def _error_of(actor: str, failure: Failure | None) -> Exception:
    """Return an error that leads to the end that a failure led to."""
    if failure is None:
        return RecordedFailureError(f"the recorded words of the {actor} end here")
    if termination_of(failure) is Termination.INFRASTRUCTURE:
        return RecordedOutageError(actor, failure.kind, failure.message)
    own = {"rejected_by_provider": RejectedError, "deadline": DeadlineError}
    return own.get(failure.kind, RecordedFailureError)(failure.message)


def _differences(stored: Trial, again: Trial) -> Iterator[str]:
    pairs = {
        "termination": (stored.termination.value, again.termination.value),
        "reward": (stored.reward, again.reward),
        "changes": (stored.changes, again.changes),
    }
    for name, (was, now) in pairs.items():
        if was != now:
            yield f"{name}: was {was!s:.120}, is {now!s:.120}"
    before, after = (list(map(_shown, messages_from_dict(trial.messages))) for trial in (stored, again))
    for place, (first, second) in enumerate(zip(before, after, strict=False), 1):
        if first != second:
            yield f"message {place}: was {first!s:.120}, is {second!s:.120}"
            return
    if len(before) != len(after):
        yield f"messages: were {len(before)}, are {len(after)}"


def _shown(message: BaseMessage) -> tuple[str, str, list[tuple[str, Any]]]:
    calls = [(call["name"], call["args"]) for call in getattr(message, "tool_calls", [])]
    return message.type, message.text, calls
