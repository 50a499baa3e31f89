"""The user's fidelity, check by check: what is a fault, and what only looks like one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fidelity import HANDOFF, checks_of, witnessed

from taugraph.domains.rules import Event
from taugraph.domains.task import Scenario
from taugraph.domains.trial import Score
from taugraph.evaluators.fidelity import Check, Witnessed, is_reached, user_was_faithful

ALONE = Scenario(
    instructions="You are Ada Berg. You fly alone from Denver to Boston on 21 May for three hundred dollars at most.",
    known=(
        "User id: ada_berg_1234",
        "Your date of birth: 1990-02-03",
        "Your zip code: 80014",
        "The Visa ending in 4485",
    ),
    unknown=("The reservation id",),
    opening="Hello, I need to move my flight to another day.",
    exit_when="The flight is moved.",
)
ASKED = ("agent", "Could you tell me your user id?")


def found(*turns: tuple[str, str], is_reached: bool = True, ended: bool = False) -> set[str]:
    return checks_of(witnessed(ALONE, turns, is_reached=is_reached, ended_by_user=ended))


def of_turn(text: str, heard: str = "What can I do for you?") -> set[str]:
    return found(("user", "Hello."), ("agent", heard), ("user", text))


@pytest.mark.parametrize(
    "text",
    [
        "The reservation is QX81ZZ.",
        "I paid $412 for it.",
        "Please move it to May 28.",
        "Reach me at ada@berg.example.",
        "There are two of us.",
        "It's order #W1234567.",
        "I can pay 350 dollars.",
        "The card is 4539 1112 2233 4455.",
        "Here it is: [insert reservation id].",
        "My flight is on the 5th.",
    ],
)
def test_a_fact_that_nobody_gave_is_a_fault(text: str) -> None:
    assert of_turn(text) == {Check.SAYS_UNKNOWN_FACT}


@pytest.mark.parametrize(
    "text",
    [
        "My user id is ADA_BERG_1234, born February 3rd, 1990.",
        "It is on the 21st of May, 5/21.",
        "It is on the 21st, the 2nd flight of the day.",
        "Is there one on the 5th?",
        "At most $300, please.",
        "Is it more than $412?",
        "What would it be on May 28?",
        "No, not $412.",
        "I have told you 100 times, give me 20 minutes!",
        "Just one bag, the other 3 stay here.",
        "cna you plese move teh flihgt",
        "Is there another flight for 24 hours?",
    ],
)
def test_what_is_given_asked_denied_or_a_figure_of_speech_is_none(text: str) -> None:
    assert of_turn(text) == set()


def test_what_the_agent_said_is_known() -> None:
    said = "QX81ZZ on May 28 costs $412, and two passengers are booked."
    assert of_turn("Then move QX81ZZ to May 28 for $412, for two passengers.", said) == set()


def test_what_the_agent_thought_beside_a_call_is_not_known() -> None:
    # only delivered words reach the history
    assert of_turn("Then it's QX81ZZ.", "I found it.") == {Check.SAYS_UNKNOWN_FACT}


def test_a_sum_of_given_amounts_follows_by_counting() -> None:
    said = "The fare is $149, a bag $35 and the seat $12."
    assert of_turn("So that makes $196 in total.", said) == set()
    assert of_turn("So that makes $199 in total.", said) == {Check.SAYS_UNKNOWN_FACT}


def test_what_a_tool_of_its_own_told_the_user_is_known() -> None:
    log = [{"at": 1, "kind": "answered", "message": {"type": "tool", "data": {"content": "code QX81ZZ"}}}]
    seen = Witnessed(ALONE, [Event(0, "user", "It says QX81ZZ.")], user_log=log)
    assert user_was_faithful(seen).value == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "My user id is ada_berg_4321.",
        "I was born on March 2, 1990.",
        "The zip code is 80041.",
        "My name is Ada Brandt.",
        "Use the Visa ending in 4458.",
        "Sorry, I don't have my user id at hand.",
        "I can't remember my date of birth.",
    ],
)
def test_another_value_for_a_known_fact_contradicts_it(text: str) -> None:
    assert of_turn(text) == {Check.CONTRADICTS_KNOWN_FACT}


@pytest.mark.parametrize(
    "text", ["My name is on the booking.", "my name is ada berg", "My name is Ada Berrg.", "Zip 80014"]
)
def test_the_same_value_in_other_words_does_not(text: str) -> None:
    assert of_turn(text) == set()


@pytest.mark.parametrize(
    "text",
    ["I can't find my reservation id.", "I don't have my email address.", "I don't know my zip code was wrong, do I?"],
)
def test_not_having_what_the_scenario_does_not_give_is_none(text: str) -> None:
    assert of_turn(text) == set()


def test_a_user_that_is_told_to_withhold_a_fact_may() -> None:
    told = "You are Ada. Your user id is ada_berg_1234, but you do not want to give your user id at first."
    turns = [("user", "Hi."), ASKED, ("user", "I don't have my user id.")]
    assert checks_of(witnessed(Scenario(instructions=told), turns, ended_by_user=False)) == set()


def test_unloading_all_facts_in_the_first_message_is_a_fault() -> None:
    all_of_it = "ada_berg_1234, born 1990-02-03, zip 80014, with the Visa ending in 4485: move my flight."
    assert found(("user", all_of_it), ASKED) == {Check.GIVES_EVERYTHING_AT_ONCE}
    assert found(("user", "Hi."), ASKED, ("user", all_of_it)) == set()


def test_half_of_the_facts_in_the_first_message_are_none() -> None:
    assert found(("user", "ada_berg_1234 here, zip 80014, please move my flight."), ASKED) == set()


@pytest.mark.parametrize("last", ["", "Thanks, bye!", "Never mind, that's all."])
def test_leaving_instead_of_answering_is_early(last: str) -> None:
    turns = [("user", "Hello."), ASKED, ("user", last)]
    assert found(*turns, is_reached=False, ended=True) == {Check.STOPS_EARLY}
    assert found(*turns, is_reached=True, ended=True) == set()
    assert found(*turns, is_reached=False, ended=False) == set()


def test_leaving_while_the_agent_is_about_to_act_is_early() -> None:
    turns = [("user", "Hello."), ("agent", "One moment, I will now move it."), ("user", "Thank you!")]
    assert found(*turns, is_reached=False, ended=True) == {Check.STOPS_EARLY}


def test_agreeing_and_leaving_before_it_is_done_is_early() -> None:
    turns = [("user", "Hello."), ("agent", "Shall I move it?"), ("user", "Yes, please go ahead. Thanks!")]
    assert found(*turns, is_reached=False, ended=True) == {Check.STOPS_EARLY}
    assert found(*turns, ("write", "move"), ("agent", "It is moved."), is_reached=False, ended=True) == set()


def test_leaving_before_the_agent_answered_is_early() -> None:
    assert found(("user", "Hello."), is_reached=False, ended=True) == {Check.STOPS_EARLY}


@pytest.mark.parametrize(
    "heard",
    [
        "I am unable to move it. Do you want to keep it?",
        "It has been moved. Is there anything else I can do for you?",
        "I'm transferring you to a human agent, is that fine?",
    ],
)
def test_leaving_after_a_refusal_a_handoff_or_a_closing_question_is_not(heard: str) -> None:
    assert found(("user", "Hello."), ("agent", heard), ("user", "Okay, bye."), is_reached=False, ended=True) == set()


def test_leaving_after_a_handoff_by_tool_is_not() -> None:
    seen = witnessed(ALONE, [("user", "Hi."), ASKED, ("read", HANDOFF), ("user", "")], is_reached=False)
    assert checks_of(seen) == set()


def test_saying_the_same_again_is_a_fault_unless_it_was_asked_for() -> None:
    again = ("user", "I want to move my flight to another day.")
    assert found(again, ("agent", "Where to?"), again) == {Check.REPEATS_ITSELF}
    assert found(again, ("agent", "Could you say that again?"), again) == set()
    assert found(again, ASKED, ("user", "Hm."), ASKED, again) == set()
    yes = ("user", "Yes, that is right, please go ahead.")
    assert found(yes, ("agent", "And the return?"), ("user", "k"), ("agent", "And this?"), yes) == {
        Check.REPEATS_ITSELF
    }
    assert found(("user", "Hi."), ("agent", "This?"), yes, ("agent", "And that?"), yes) == set()


def test_beginning_anew_after_it_was_done_is_a_fault() -> None:
    opening = ("user", "Move my flight.")
    turns = [opening, ("agent", "Shall I?"), ("user", "yes"), ("write", "move"), ("agent", "Done. What else?"), opening]
    assert found(*turns) == {Check.REPEATS_ITSELF}


@pytest.mark.parametrize(
    "text", ["How can I help you today?", "I have cancelled your order.", "May I have your user id?"]
)
def test_the_voice_of_the_agent_is_a_fault(text: str) -> None:
    assert of_turn(text) == {Check.SPEAKS_AS_AGENT}


@pytest.mark.parametrize(
    "text",
    [
        'You said "How can I help you today?" and then nothing.',
        "I have cancelled my plans.",
        "Thank you for your patience, I apologize for the inconvenience.",
        "May I have your name?",
        "Can you help me with anything else?",
    ],
)
def test_a_customer_who_quotes_or_is_polite_does_not_speak_as_the_agent(text: str) -> None:
    assert of_turn(text) == set()


def test_taking_as_done_what_was_not_done_is_a_fault() -> None:
    thanks = ("user", "Thanks for moving it!")
    assert found(("user", "Hi."), ASKED, thanks) == {Check.CLAIMS_UNDONE_ACTION}
    assert found(("user", "Hi."), ("write", "move"), ("agent", "Well?"), thanks) == set()
    assert found(("user", "Hi."), ("agent", "It has been moved."), thanks) == set()
    assert found(("user", "Hi."), ("agent", "One moment, I'll move it."), thanks) == set()


@pytest.mark.parametrize("text", ["Thanks for checking.", "Thanks in advance for moving it.", "Has it been moved?"])
def test_other_thanks_and_questions_claim_nothing(text: str) -> None:
    assert of_turn(text) == set()


def test_evidence_names_turn_check_and_words_and_gates_nothing() -> None:
    score = user_was_faithful(witnessed(ALONE, [("user", "Hi."), ASKED, ("user", "It is QX81ZZ.")]))
    assert (score.key, score.value, score.gates) == ("user_was_faithful", 0.0, False)
    assert score.evidence == [{"turn": 2, "check": "says_unknown_fact", "what": "QX81ZZ"}]


def test_a_user_that_said_nothing_is_not_judged() -> None:
    assert user_was_faithful(Witnessed(ALONE, [])).value is None


def test_what_the_task_itself_put_into_the_users_mouth_is_known_and_not_judged() -> None:
    history = [Event(0, "user", "It is QX81ZZ."), Event(1, "agent", "Well?"), Event(2, "user", "QX81ZZ, as I said.")]
    assert user_was_faithful(Witnessed(ALONE, history, begins_at=1)).value == 1.0


@pytest.mark.parametrize(
    ("database", "claims", "changes_anything", "reached"),
    [(1.0, 0.0, True, True), (1.0, 0.0, False, False), (1.0, None, False, True), (0.0, 1.0, True, False)],
)
def test_a_goal_is_reached_by_the_database_or_where_nothing_changes_by_the_claims(
    database: float, claims: float | None, changes_anything: bool, reached: bool
) -> None:
    scores = [Score(key="database_matches_goal", value=database), Score(key="claims_were_said", value=claims)]
    assert is_reached(scores, changes_anything=changes_anything) is reached


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "agent", "write"]), st.text(max_size=80)), max_size=8), st.booleans()
)
def test_no_words_make_it_raise(turns: list[tuple[str, str]], ended: bool) -> None:
    score = user_was_faithful(witnessed(ALONE, turns, is_reached=False, ended_by_user=ended))
    assert score.value in (None, 0.0, 1.0)
