"""Rules in general: what is consent, who the conversation is with, and how a broken rule is told."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlmodel import Session

from taugraph.domains.answers import agrees, refuses, withdraws
from taugraph.domains.consent import CONSENT
from taugraph.domains.errors import UnknownNameError
from taugraph.domains.rules import Event, Moment, PolicyRule, check_rule_names
from taugraph.domains.task import Scenario, Task

AGREEING = """\
Yes, please go ahead.
yes
y
Sure, go ahead.
OK
No, that's fine, go ahead.
No, that's all. Please proceed.
No problem, go ahead.
Yes, go ahead. I don't need insurance.
Yes, but please make sure I get the refund.
Sounds good!
Yes, please cancel it. How long will the refund take?
That's correct.
I confirm.
Please cancel it.
Yes, I no longer need it.
Can you go ahead and do that?
Yes, I don\u2019t mind paying.
Yes, I can't wait to fly!
Yes, the nonstop one.
Yes to both.
Yes, please proceed with economy instead.
Yes, and there are no other changes."""

NOT_AGREEING = """\
No.
no, thank you
No, don't.
Yes, but not that one.
Yes, but use my gift card instead.
Yes, but I'd like business.
Yes, but first tell me the refund.
Yes, wait.
Yes... actually, no.
Yes, how much would that be?
Yes, only if it is free.
Ok, but what does it cost?
Ok how much will I get?
Are you sure?
I'm not sure.
Not yet.
Hold on, let me think.
Never mind.
That's not correct.
That is incorrect.
I disagree.
I'd rather keep it.
Stop, I changed my mind.
Use the credit card instead.
Please don't cancel it.
Please tell me the price first.
Please confirm the price.
Can you confirm the price?
I want to confirm the details first.
What happens if I confirm?
My reservation id is GV36FQ.
I want to cancel my reservation.
No, I want you to proceed with the other one, not this one.
Thanks."""

ASKED = "I will move parcel P12 to Oslo for $4.50. Shall I go ahead?"


@pytest.mark.parametrize("answer", AGREEING.split("\n"))
def test_a_clear_yes_agrees(answer: str) -> None:
    assert agrees(answer)
    assert not withdraws(answer)


@pytest.mark.parametrize("answer", NOT_AGREEING.split("\n"))
def test_anything_else_does_not(answer: str) -> None:
    assert not agrees(answer)


def test_a_no_refuses_without_taking_back_what_was_agreed() -> None:
    assert refuses("No, thanks.")
    assert not withdraws("No, thanks.")
    assert withdraws("Wait, stop!")


@pytest.fixture
def session() -> Iterator[Session]:
    with Session() as session:
        yield session


def happened(*events: str) -> list[Event]:
    """Return a history: `agent: ...`, `user: ...`, or `call: place` for a parcel that was moved there."""
    history = []
    for index, event in enumerate(events):
        kind, _, text = event.partition(": ")
        if kind == "call":
            history.append(Event(index, "call", "done", "move", {"parcel": "P12", "place": text}))
        else:
            history.append(Event(index, "user" if kind == "user" else "agent", text))
    return history


def broken(session: Session, *events: str, writes: bool = True, **arguments: Any) -> list[str]:
    wanted = arguments or {"parcel": "P12", "place": "Oslo"}
    return list(CONSENT.check(Moment("move", wanted, writes, happened(*events), session)))


def test_a_yes_to_the_question_about_the_change_is_consent(session: Session) -> None:
    assert broken(session, "user: Hi", f"agent: {ASKED}", "user: Yes, please.") == []
    assert broken(session, "user: Hi", writes=False) == []


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ((), "before the customer was asked anything"),
        (("user: Move P12 to Oslo, yes!",), "before the customer was asked anything"),
        (("user: Hi", f"agent: {ASKED}", "user: How long does it take?"), "no clear yes"),
        (("user: Hi", f"agent: {ASKED}", "user: No."), "no clear yes"),
        (("user: Hi", "agent: Shall I open a ticket?", "user: Yes."), "no question before it proposes this change"),
        (("user: Hi", "agent: I moved P12 to Oslo.", "user: Ok."), "no question before it proposes this change"),
        (("user: Hi", f"agent: {ASKED}", "user: Yes.", "call: Oslo"), "once more with the same arguments"),
        (("user: Hi", f"agent: {ASKED}", "user: Yes.", "agent: One moment.", "user: Stop, wait!"), "which stops it"),
        (("user: Hi", f"agent: {ASKED}", "user: Yes.", "agent: Really proceed?", "user: No."), "which stops it"),
        (("user: Hi", f"agent: {ASKED}", "user: Yes.", f"agent: {ASKED}", "user: Hmm."), "no clear yes"),
    ],
)
def test_without_consent_it_says_what_was_missing(session: Session, events: tuple[str, ...], why: str) -> None:
    [explanation] = broken(session, *events)
    assert why in explanation


def test_one_yes_to_a_list_covers_every_change_on_it_but_no_other(session: Session) -> None:
    listed = ("user: Hi", "agent: 1. P12 to Oslo 2. P13 to Rome. Do you agree?", "user: Yes to both.", "call: Oslo")
    assert broken(session, *listed, parcel="P13", place="Rome") == []
    assert broken(session, *listed, "agent: P12 is on its way.", "user: Thanks.", parcel="P13", place="Rome") == []
    assert broken(session, *listed, parcel="P14", place="Bonn") != []


@pytest.mark.parametrize(
    ("asked", "bags"), [("Add three bags?", 3), ("Three in all?", 3), ("$1,200 it is?", 1200), ("For $4.00?", 4)]
)
def test_numbers_are_named_in_digits_or_words(session: Session, asked: str, bags: int) -> None:
    assert broken(session, "user: Hi", f"agent: {asked}", "user: Yes.", bags=bags) == []
    assert broken(session, "user: Hi", f"agent: {asked}", "user: Yes.", bags=7) != []


def test_a_breach_is_told_with_rule_place_and_call(session: Session) -> None:
    [violation] = CONSENT.violations(Moment("move", {}, True, [], session), 4)
    assert (violation.rule, violation.message, violation.call) == ("consent_before_write", 4, "move")


def test_a_task_cannot_rest_on_a_rule_that_the_domain_lacks() -> None:
    rules = [PolicyRule("kept", "It is kept.", lambda moment: ())]
    task = Task(id="a", scenario=Scenario(instructions="x"), rules=("kept",))
    check_rule_names(task, rules)
    with pytest.raises(UnknownNameError, match=r"no policy rule named 'kpt'.*kept"):
        check_rule_names(task.model_copy(update={"rules": ("kpt",)}), rules)


@pytest.mark.parametrize(
    "answer",
    [
        *("Absolutely not.", "Of course not!", "Definitely not", "No way.", "Yes, if it is free.", "Okay, let me see."),
        *("It's fine, keep my reservation.", "Go ahead only when the fee is waived."),
    ],
)
def test_a_no_or_a_condition_is_no_consent(answer: str) -> None:
    assert not agrees(answer)


@pytest.mark.parametrize(
    "answer",
    [
        *("Yes, please cancel it. I wanted to go but I can't anymore.", "Affirmative.", "I do confirm."),
        *("Yes, go ahead, but how long will the refund take?", "Yes. I'm not happy with the delay, though."),
    ],
)
def test_a_reason_or_a_question_beside_a_yes_leaves_it_a_yes(answer: str) -> None:
    assert agrees(answer)
