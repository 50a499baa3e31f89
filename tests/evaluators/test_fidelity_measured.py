"""How many planted faults of simulated users are found, and how many faithful users are accused."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from support.fidelity import Conversation, checks_of, read_conversations
from support.fidelity_scenes import clean, planted

from taugraph.domains.rules import Event
from taugraph.domains.task import Scenario
from taugraph.evaluators.fidelity import Check, Witnessed, user_was_faithful

PUBLISHED = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench"))
RECORDED = PUBLISHED / "trajectories" / "gpt-4o-airline-trials-0-1.json"
WRITTEN = Path(__file__).with_name("fidelity_conversations.jsonl")


def missed(conversations: list[Conversation]) -> list[str]:
    return [f"{one.name}: {set(one.faults)}" for one in conversations if not one.faults <= checks_of(one.seen)]


def accused(conversations: list[Conversation]) -> list[str]:
    return [f"{one.name}: {checks_of(one.seen)}" for one in conversations if checks_of(one.seen) - one.faults]


def test_at_least_95_percent_of_planted_faults_are_found_under_their_name() -> None:
    conversations = list(planted(200))
    assert min(Counter(next(iter(one.faults)) for one in conversations).values()) >= 200 // len(Check)
    not_found = missed(conversations)
    print(f"planted faults found: {200 - len(not_found)} of 200")  # noqa: T201 - the figure is for whoever runs it with -s
    assert len(not_found) <= 10, not_found


def test_no_faithful_user_of_200_is_accused() -> None:
    wrong = accused(list(clean(200)))
    print(f"faithful users accused: {len(wrong)} of 200")  # noqa: T201 - the figure is for whoever runs it with -s
    assert wrong == []


def test_conversations_written_by_hand_are_judged_nearly_as_well() -> None:
    conversations = list(read_conversations(WRITTEN))
    faulty = [one for one in conversations if one.faults]
    faithful = [one for one in conversations if not one.faults]
    assert (len(faulty), len(faithful)) == (30, 30)
    not_found, wrong = missed(faulty), accused(faithful)
    print(f"by hand: {30 - len(not_found)} of 30 found, {len(wrong)} of 30 accused")  # noqa: T201 - as above
    assert len(not_found) <= 7, not_found
    assert len(wrong) <= 1, wrong


def as_witnessed(row: dict[str, object], instructions: str) -> Witnessed:
    history: list[Event] = []
    messages = row["traj"]
    assert isinstance(messages, list)
    for place, message in enumerate(messages):
        if message["role"] == "user":
            history.append(Event(place, "user", message["content"]))
        elif message["role"] == "tool":
            name, is_error = message["name"], message["content"].startswith("Error")
            history.append(Event(place, "call", message["content"], name, {}, is_error))
        elif message["role"] == "assistant" and not message.get("tool_calls"):
            history.append(Event(place, "agent", message["content"]))
    writes = {event.name for event in history if event.name.startswith(("book", "cancel", "update", "send"))}
    handoffs = ["transfer_to_human_agents"]
    scenario = Scenario(instructions=instructions)
    ended = messages[-1]["role"] == "user"
    return Witnessed(scenario, history, writes, handoffs, row["reward"] == 1.0, ended_by_user=ended)


@pytest.mark.skipif(not RECORDED.is_file(), reason="the published recordings are not here")
def test_few_recorded_users_are_accused_each_of_something_that_can_be_read() -> None:
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))
    flagged = {}
    for row in rows:
        score = user_was_faithful(as_witnessed(row, row["info"]["task"]["instruction"]))
        if score.value == 0.0:
            flagged[f"{row['task_id']}/{row['trial']}"] = sorted({str(entry["check"]) for entry in score.evidence})
    print(f"recorded users accused: {len(flagged)} of {len(rows)}")  # noqa: T201 - the figure is for whoever runs it with -s
    assert flagged == {
        "9/0": ["says_unknown_fact"],  # "[provide reservation ID]"
        "23/0": ["says_unknown_fact"],  # "my original flight is on the 5th"
        "24/0": ["says_unknown_fact"],  # an e-mail address of its own making
        "32/1": ["says_unknown_fact"],  # the same
        "45/1": ["stops_early"],  # "please go ahead", and gone
        "46/0": ["stops_early"],  # "never mind", at three questions about the flight it wants
    }
