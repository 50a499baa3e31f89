"""The airline's rules on its own seed: each kept once and broken once."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.conversation import Conversation

from taugraph.domains.airline.rules import RULES
from taugraph.tools.airline import domain
from taugraph.tools.executor import Executor

PERSON = {"first_name": "Ada", "last_name": "Moss", "dob": "1980-01-01"}
BASIC, BASIC_OWNER = "L9NLB9", "greta_kealoha_9975"
BASIC_FLIGHTS = [("TG206", "2024-05-20"), ("TG262", "2024-05-20"), ("TG180", "2024-05-23"), ("TG263", "2024-05-23")]


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    executor = Executor(domain)
    yield executor
    executor.close()


@pytest.fixture
def talk(executor: Executor) -> Conversation:
    return Conversation(executor)


def with_customer(talk: Conversation, user_id: str, words: str = "") -> Conversation:
    return talk.user(f"Hello, I am {user_id}. {words}")


def flights(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"flight_number": flight, "date": date} for flight, date in pairs]


def update(talk: Conversation, key: str, cabin: str, *pairs: tuple[str, str]) -> Conversation:
    wanted = flights(*pairs)
    return talk.does("update_reservation_flights", reservation_id=key, cabin=cabin, flights=wanted, payment_id="none")


def book(talk: Conversation, **changes: Any) -> Conversation:
    arguments = {
        "user_id": "yelena_quispe_7817",
        "origin": "MSP",
        "destination": "LAS",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": flights(("TG218", "2024-05-29")),
        "passengers": [PERSON],
        "payment_methods": [{"payment_id": "certificate_3366928", "amount": 150}],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
    }
    return with_customer(talk, "yelena_quispe_7817").does("book_reservation", **arguments | changes)


def test_rules_have_names_of_their_own_and_a_sentence_each() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.text.endswith(".") and ". " not in rule.text for rule in RULES)


def test_a_question_about_another_reservation_or_change_is_no_consent(talk: Conversation) -> None:
    with_customer(talk, "freya_zielinski_1883").agent("Shall I cancel your trip from Phoenix?").user("Yes.")
    assert talk.call("cancel_reservation", reservation_id="GV36FQ").broken == []
    talk.agent("Shall I cancel GV36FQ?").user("Yes.").call("cancel_reservation", reservation_id="GSGD89")
    assert talk.broken[0] == "consent_before_write"
    assert talk.violations[0]["message"] == len(talk.messages) - 2


@pytest.mark.parametrize(
    ("asked", "broken"),
    [
        ("Shall I add bags: five in all, one to pay?", []),
        ("Shall I change the passengers of R56M7D?", ["consent_before_write"]),
        ("Shall I cancel R56M7D?", ["consent_before_write"]),
    ],
)
def test_the_question_is_about_the_change_that_is_made(talk: Conversation, asked: str, broken: list[str]) -> None:
    bags = {"total_baggages": 5, "nonfree_baggages": 1, "payment_id": "gift_card_6086286"}
    with_customer(talk, "maeve_valdez_6864").agent(asked).user("Yes.")
    assert talk.call("update_reservation_baggages", reservation_id="R56M7D", **bags).broken == broken


def test_the_customer_is_known_by_user_id_before_anything_is_read(talk: Conversation) -> None:
    talk.user("My reservation is R56M7D.").call("get_reservation_details", reservation_id="R56M7D")
    assert talk.broken == ["identity_known_before_private_data"]
    assert talk.call("get_user_details", user_id="maeve_valdez_6864").broken == ["identity_known_before_private_data"]


def test_a_customer_who_gave_the_user_id_may_be_looked_up(talk: Conversation) -> None:
    with_customer(talk, "Maeve_Valdez_6864").call("get_user_details", user_id="maeve_valdez_6864")
    assert talk.call("get_reservation_details", reservation_id="R56M7D").broken == []


def test_a_conversation_is_with_one_customer(talk: Conversation) -> None:
    with_customer(talk, "maeve_valdez_6864", "Or theo_obi_9722, or 3FCKR4?")
    talk.call("get_user_details", user_id="maeve_valdez_6864")
    assert talk.call("get_reservation_details", reservation_id="3FCKR4").broken == []
    assert talk.call("get_user_details", user_id="theo_obi_9722").broken == ["one_customer_per_conversation"]


def test_basic_economy_changes_its_cabin_but_not_its_flights(talk: Conversation) -> None:
    update(with_customer(talk, BASIC_OWNER), BASIC, "economy", *BASIC_FLIGHTS)
    assert talk.broken == []
    update(talk, BASIC, "basic_economy", *BASIC_FLIGHTS[:3], ("TG263", "2024-05-24"))
    assert talk.broken == ["basic_economy_keeps_flights"]


def test_a_flown_flight_stays_while_a_later_one_may_be_exchanged(talk: Conversation) -> None:
    with_customer(talk, "leila_fontaine_5572")
    flying, *later = ("TG040", "2024-05-15"), ("TG008", "2024-05-23"), ("TG121", "2024-05-23")
    assert update(talk, "9VP8L3", "economy", flying, ("TG008", "2024-05-24"), later[1]).broken == []
    assert update(talk, "9VP8L3", "economy", ("TG040", "2024-05-16"), *later).broken == ["flown_flights_stay"]
    assert talk.does("cancel_reservation", reservation_id="9VP8L3").broken == ["flown_flights_stay"] * 2


CANCELLING = {
    "booked this morning": ("GV36FQ", "freya_zielinski_1883", "Plans changed.", True),
    "business": ("WJE7TZ", "quentin_galvez_2610", "Plans changed.", True),
    "cancelled by the airline": ("F2CSQP", "quentin_abara_9375", "Plans changed.", True),
    "insured and ill": ("7V3HM8", "henrik_obi_5761", "I have the flu.", True),
    "insured, but plans changed": ("7V3HM8", "henrik_obi_5761", "Plans changed.", False),
    "uninsured and ill": ("G9QSQZ", "anders_fontaine_3023", "I have the flu.", False),
}


@pytest.mark.parametrize("case", CANCELLING)
def test_a_trip_is_cancelled_on_one_of_four_grounds(talk: Conversation, case: str) -> None:
    key, owner, words, allowed = CANCELLING[case]
    with_customer(talk, owner, words).does("cancel_reservation", reservation_id=key)
    assert talk.broken == ([] if allowed else ["cancellation_is_allowed"])


@pytest.mark.parametrize(("total", "paid", "kept"), [(5, 1, True), (4, 0, True), (5, 0, False), (4, 1, False)])
def test_exactly_the_bags_beyond_the_allowance_are_paid(talk: Conversation, total: int, paid: int, kept: bool) -> None:
    bags = {"total_baggages": total, "nonfree_baggages": paid, "payment_id": "gift_card_6086286"}
    with_customer(talk, "maeve_valdez_6864").does("update_reservation_baggages", reservation_id="R56M7D", **bags)
    assert talk.broken == ([] if kept else ["bags_follow_allowance"])


def test_the_allowance_of_a_booking_grows_with_the_party(talk: Conversation) -> None:
    assert book(talk, passengers=[PERSON, PERSON], total_baggages=2).broken == []
    assert book(talk, passengers=[PERSON], total_baggages=9).broken == ["bags_follow_allowance"]


def test_bags_are_never_taken_off(talk: Conversation) -> None:
    bags = {"total_baggages": 0, "nonfree_baggages": 0, "payment_id": "gift_card_6086286"}
    with_customer(talk, "maeve_valdez_6864").does("update_reservation_baggages", reservation_id="R56M7D", **bags)
    assert talk.broken == ["bags_are_only_added"]


def test_a_party_is_five_at_most(talk: Conversation) -> None:
    assert book(talk, passengers=[PERSON] * 5).broken == []
    assert book(talk, passengers=[PERSON] * 6).broken == ["party_is_at_most_five"]


def test_one_certificate_pays_at_most(talk: Conversation) -> None:
    with_customer(talk, "kalani_vasquez_8663", "I ask for compensation.")
    talk.does("cancel_reservation", reservation_id="94RDZ4")
    talk.does("send_certificate", user_id="kalani_vasquez_8663", amount=50)
    talk.does("send_certificate", user_id="kalani_vasquez_8663", amount=50.0)
    assert talk.broken == []
    ids = [f"certificate_0005000_{number}" for number in (1, 2)]
    payments = [{"payment_id": key, "amount": 50} for key in ids]
    book(talk, user_id="kalani_vasquez_8663", payment_methods=payments[:1])
    assert "payments_keep_limits" not in talk.broken
    book(talk, user_id="kalani_vasquez_8663", payment_methods=payments)
    assert "payments_keep_limits" in talk.broken


COMPENSATING = {
    "cancelled flight, silver": ("leila_saleh_4784", 100, []),
    "cancelled flight, too much": ("leila_saleh_4784", 150, ["compensation_is_due"]),
    "cancelled flight, two in business": ("keiko_mendoza_2895", 200, []),
    "cancelled flight, regular and uninsured": ("rashida_jankowski_7011", 200, ["compensation_is_due"]),
    "delayed flight, nothing changed": ("kalani_vasquez_8663", 50, ["compensation_is_due"]),
}


@pytest.mark.parametrize("case", COMPENSATING)
def test_compensation_is_what_the_disruption_entitles_to(talk: Conversation, case: str) -> None:
    user_id, amount, broken = COMPENSATING[case]
    with_customer(talk, user_id, "I want a voucher.").does("send_certificate", user_id=user_id, amount=amount)
    assert talk.broken == broken


def test_compensation_is_asked_for(talk: Conversation) -> None:
    with_customer(talk, "leila_saleh_4784", "My flight was cancelled.")
    talk.does("send_certificate", user_id="leila_saleh_4784", amount=100)
    assert talk.broken == ["compensation_is_asked_for"]


@pytest.mark.parametrize("value", [None, 7, "x", [], ["x"], {"a": [1]}, [{"payment_id": 3}], True])
def test_arguments_of_any_type_break_no_rule_in_our_own_code(talk: Conversation, value: Any) -> None:
    talk.user("Hello.")
    for tool in domain.agent_tools:
        talk.call(tool.name, **dict.fromkeys(tool.tool_call_schema.model_json_schema()["properties"], value))
    for argument in ("user_id", "flights", "passengers", "payment_methods", "total_baggages", "cabin"):
        book(talk, **{argument: value})
