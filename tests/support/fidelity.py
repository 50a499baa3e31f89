"""Conversations as the fidelity evaluator sees them, written down or read from a file."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from taugraph.domains.rules import Event
from taugraph.domains.task import Scenario
from taugraph.evaluators.fidelity import Witnessed, user_was_faithful

HANDOFF = "transfer_to_human_agents"


class Conversation(NamedTuple):
    """One conversation and what is wrong with its user."""

    name: str
    seen: Witnessed
    faults: frozenset[str]


def witnessed(
    scenario: Scenario, turns: Sequence[Sequence[str]], *, is_reached: bool = True, ended_by_user: bool = True
) -> Witnessed:
    """Return turns of `user`, `agent`, and `write` or `read` with a tool's name, as a finished trial."""
    history = []
    for place, (who, text) in enumerate(turns):
        if who == "user" or who == "agent":
            history.append(Event(place, who, text))
        else:
            history.append(Event(place, "call", "{}", text, {}))
    writes = [text for who, text in turns if who == "write"]
    return Witnessed(scenario, history, writes, [HANDOFF], is_reached, ended_by_user)


def checks_of(seen: Witnessed) -> set[str]:
    """Return the names of the checks that found something."""
    return {str(entry["check"]) for entry in user_was_faithful(seen).evidence}


def read_conversations(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a file of JSON lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        scenario = Scenario.model_validate(row["scenario"])
        seen = witnessed(scenario, row["turns"], is_reached=row["reached"], ended_by_user=row["ended"])
        yield Conversation(row["name"], seen, frozenset(row["faults"]))
