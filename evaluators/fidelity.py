"""Whether the simulated user played its scenario, turn by turn: a trial that it spoiled says little about the agent.

Every check reads words and records alone and reports with evidence what anybody can verify. Doubt is in the user's
favour: how it talks is its persona's affair, what it quotes from the agent is known to it, and what it asks is not
stated. The score never gates: it moves no reward, but reports show pass^k without the trials it spoiled.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.rules import Event
from taugraph.domains.task import Scenario
from taugraph.domains.trial import Score
from taugraph.evaluators import fidelity_agent_words as agent_words
from taugraph.evaluators.fidelity_conduct import (
    agent_voice,
    claim_of_deed,
    early_stop,
    is_repetition,
    normal,
    openings,
    tells_everything,
)
from taugraph.evaluators.fidelity_facts import ungiven_facts
from taugraph.evaluators.fidelity_words import Given
from taugraph.evaluators.mentions import as_plain

KEY = "user_was_faithful"
"""Name of this evaluator's score."""

_LONGEST_QUOTE = 120


class Check(StrEnum):
    """What a simulated user may have done wrong."""

    SAYS_UNKNOWN_FACT = "says_unknown_fact"
    """It states a fact that neither its scenario nor the agent gave it."""
    CONTRADICTS_KNOWN_FACT = "contradicts_known_fact"
    """It states another value for a fact that its scenario names."""
    GIVES_EVERYTHING_AT_ONCE = "gives_everything_at_once"
    """Its first message holds nearly all that it knows."""
    STOPS_EARLY = "stops_early"
    """It left while the agent waited for it or was about to act."""
    REPEATS_ITSELF = "repeats_itself"
    """It said the same again, word by word, without being asked to."""
    SPEAKS_AS_AGENT = "speaks_as_agent"
    """It spoke as if it were the service agent."""
    CLAIMS_UNDONE_ACTION = "claims_undone_action"
    """It took as done what was neither done nor reported as done."""


@dataclass(frozen=True)
class Witnessed:
    """A finished trial as far as the user's conduct shows in it.

    Attributes:
        scenario: What the user was told.
        history: Words that reached the other side, and calls that were answered, in order.
        writes: Names of the tools that change something.
        handoffs: Names of the tools that hand over to a human.
        is_reached: Whether the trial ended as the task wants it, what had to be said included.
        ended_by_user: Whether the user ended the conversation.
        user_log: What the user did that the agent never saw.
        begins_at: Messages of the transcript that the task itself put there.
    """

    scenario: Scenario
    history: Sequence[Event]
    writes: Collection[str] = ()
    handoffs: Collection[str] = ()
    is_reached: bool = False
    ended_by_user: bool = False
    user_log: Sequence[Mapping[str, Any]] = ()
    begins_at: int = 0


def is_reached(scores: Sequence[Score], *, changes_anything: bool) -> bool:
    """Tell whether a trial ended as its task wants it.

    Args:
        scores: The trial's scores.
        changes_anything: Whether the task wants the database changed; then its state decides alone.
    """
    values = {score.key: score.value for score in scores}
    database = values.get("database_matches_goal")
    if database is None:
        return values.get("claims_were_said") == 1.0
    if database < 1.0:
        return False
    return changes_anything or values.get("claims_were_said") != 0.0


def user_was_faithful(seen: Witnessed) -> Score:
    """Score whether the user played its scenario.

    Returns:
        1.0 if no check found anything, 0.0 if one did, `None` if the user said nothing; the evidence is one object per
        finding with `turn`, the number of the user's message from 1, `check` and `what`.
    """
    turns = [event for event in seen.history if event.kind == "user" and event.message >= seen.begins_at]
    if not turns:
        return Score(key=KEY, value=None, gates=False)
    evidence: list[dict[str, JsonValue]] = [
        {"turn": turn, "check": check.value, "what": what[:_LONGEST_QUOTE]} for turn, check, what in _findings(seen)
    ]
    return Score(key=KEY, value=0.0 if evidence else 1.0, evidence=evidence, gates=False)


_Finding = tuple[int, Check, str]


class _SoFar:
    """The conversation up to a turn of the user's."""

    def __init__(self, seen: Witnessed) -> None:
        scenario = seen.scenario
        parts = (scenario.instructions, *scenario.known, *scenario.unknown, scenario.opening, scenario.exit_when)
        self.scenario = as_plain("\n".join(part for part in parts if part))
        self.given = Given([self.scenario, *map(_answer_of, seen.user_log)])
        self.said: list[str] = []
        self.heard: list[str] = []
        self.has_written = False
        self.last = ""


def _answer_of(entry: Mapping[str, Any]) -> str:
    """Return what a tool of the user's own told it."""
    content = entry.get("message", {}).get("data", {}).get("content") if entry.get("kind") == "answered" else None
    return content if isinstance(content, str) else ""


def _findings(seen: Witnessed) -> Iterator[_Finding]:
    so_far = _SoFar(seen)
    for event in seen.history:
        if event.kind == "user" and event.message < seen.begins_at:
            so_far.given.hear(event.text)
        elif event.kind == "user":
            text = as_plain(event.text.replace(STOP_TOKEN, " ")).strip()
            so_far.last = text
            if text:
                yield from _of_turn(seen, so_far, text)
                so_far.said.append(text)
                so_far.given.hear(text)
        elif event.kind == "agent":
            so_far.heard.append(as_plain(event.text))
            so_far.given.hear(event.text)
            so_far.last = ""
        elif not event.is_error and (event.name in seen.writes or event.name in seen.handoffs):
            so_far.has_written = True
    yield from _of_the_end(seen, so_far)


def _of_turn(seen: Witnessed, so_far: _SoFar, text: str) -> Iterator[_Finding]:
    turn = len(so_far.said) + 1
    for fact in ungiven_facts(text, so_far.given, so_far.scenario):
        yield turn, Check.CONTRADICTS_KNOWN_FACT if fact.contradicts else Check.SAYS_UNKNOWN_FACT, fact.text
    if turn == 1 and not so_far.heard and (share := tells_everything(text, seen.scenario)):
        yield turn, Check.GIVES_EVERYTHING_AT_ONCE, share
    is_restart = so_far.has_written and normal(text) in openings(seen.scenario, so_far.said)
    if is_repetition(text, so_far.said, so_far.heard, is_restart=is_restart):
        yield turn, Check.REPEATS_ITSELF, text
    if words := agent_voice(text, so_far.scenario):
        yield turn, Check.SPEAKS_AS_AGENT, words
    if (claim := claim_of_deed(text)) and not _may_be_done(seen, so_far):
        yield turn, Check.CLAIMS_UNDONE_ACTION, claim


def _may_be_done(seen: Witnessed, so_far: _SoFar) -> bool:
    """Tell whether something was done, or the agent said so or was about to."""
    if so_far.has_written or any(entry.get("kind") == "answered" for entry in seen.user_log):
        return True
    return any(map(agent_words.reports, so_far.heard[-3:])) or (
        bool(so_far.heard) and agent_words.promises(so_far.heard[-1])
    )


def _of_the_end(seen: Witnessed, so_far: _SoFar) -> Iterator[_Finding]:
    handed_over = any(event.kind == "call" and event.name in seen.handoffs for event in seen.history)
    if not seen.ended_by_user or seen.is_reached or handed_over:
        return
    turns = len(so_far.said)
    why = early_stop(so_far.last, so_far.heard, turns=turns)
    if why is not None and not _acted_last(seen):
        yield max(turns, 1), Check.STOPS_EARLY, why


def _acted_last(seen: Witnessed) -> bool:
    """Tell whether the agent changed something after its last words."""
    for event in reversed(seen.history):
        if event.kind == "agent":
            return False
        if event.kind == "call" and event.name in seen.writes and not event.is_error:
            return True
    return False
