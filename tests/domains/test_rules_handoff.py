"""Handing over to a colleague: demanded by the policy, not decided by words and records, or plainly out of place."""

from collections.abc import Iterator

import pytest
from support.conversation import Conversation

from taugraph.tools.airline import domain as airline
from taugraph.tools.executor import Executor
from taugraph.tools.retail import domain as retail

RULE = "handoff_only_when_out_of_scope"
FREYA, FRESH = "freya_zielinski_1883", "GV36FQ"
LEILA, FLOWN = "leila_fontaine_5572", "9VP8L3"
PENDING, PROCESSED = "#W2362066", "#W7422582"


FLYERS_OTHER_MATTERS = """\
Customer wants to change the name on the certificate for KEY.
Needs a group booking of nine, reservation KEY.
Wants to add a wheelchair to KEY.
Wants to add her frequent flyer number to reservation KEY.
Wants to change the contact number on reservation KEY.
Wants to update passport details for KEY's passengers.
Wants to add a pet to KEY.
Wants to change the seats on reservation KEY.
Wants to know why reservation KEY was cancelled.
Needs a copy of the invoice of reservation KEY
Wants to cancel the insurance of KEY.
Wants to cancel the lounge access of KEY.
Wants to change meal preferences for flights in KEY
Wants to transfer the reservation KEY to her company's travel account
Wants to modify the billing name of reservation KEY
Wants to move the refund of KEY to another card
Requests special assistance for passengers on KEY
Wants to update the emergency contact for reservation KEY
Wants to cancel the hotel that came with KEY
Wants to cancel KEY and change the contact number on KEY.
Wants to cancel KEY and needs help with her frequent flyer number.
Wants to cancel reservation KEY's transfer service.
Wants to cancel KEY; asks for help with her newsletter.
Requests a bereavement refund for KEY.
Wants to cancel KEY and receive a statement for her employer.
Wants the flight of KEY explained.
Wants to cancel flight alerts for reservation KEY.
Wants to cancel tickets for the lounge, reservation KEY.
Asks for a quote for 12 passengers. KEY is her last trip.
Wants to change the flight notifications of KEY.
Wants to upgrade KEY with a voucher code from a partner.
Wants to cancel KEY via her travel agency; asks to call it.
Wants to cancel reservation KEY from the waiting list.
Wants to change her flight from KEY to a charter.
Requests a cancellation letter for KEY."""

SHOPPERS_OTHER_MATTERS = """\
Wants to change the email for order KEY
Wants to add a gift message to order KEY
Wants to change the delivery date of order KEY
Wants to update the phone number on order KEY
Wants a return label for order KEY
Wants to return an item of KEY that is damaged
Wants to change the courier of order KEY
Customer wants to cancel the newsletter; order KEY
Wants to change the name on order KEY
Wants to cancel the return of order KEY
Wants to change the invoice address of order KEY
Wants the exchange of order KEY undone
Wants to return order KEY in a shop
Wants to cancel her account, order KEY is the last one
Wants to change the delivery instructions of order KEY
Wants to change the address of order KEY and the phone number.
Wants to cancel order KEY and her newsletter.
Wants to know when order KEY can be cancelled.
Wants to exchange the address label of KEY
Asks for the status of the refund of KEY.
Wants to change the payment method of order KEY to instalments.
Wants to return items from order KEY, which were never hers.
Wants to cancel order KEY (the replacement that the shop sent by mistake).
Wants to cancel order KEY because it was made by a thief."""


@pytest.fixture(scope="module")
def executors() -> Iterator[dict[str, Executor]]:
    executors = {domain.name: Executor(domain) for domain in (airline, retail)}
    yield executors
    for executor in executors.values():
        executor.close()


@pytest.fixture
def flyer(executors: dict[str, Executor]) -> Conversation:
    return Conversation(executors["airline"])


@pytest.fixture
def shopper(executors: dict[str, Executor]) -> Conversation:
    return Conversation(executors["retail"])


def hands_over(talk: Conversation, summary: object) -> list[str]:
    talk.violations.clear()
    talk.call("transfer_to_human_agents", summary=summary)
    assert set(talk.broken) <= {RULE}
    return [violation["explanation"] for violation in talk.violations]


def looked_up(talk: Conversation, words: str, user: str = FREYA, trip: str = FRESH) -> Conversation:
    talk.user(f"I am {user}. {words}").call("get_user_details", user_id=user)
    return talk.call("get_reservation_details", reservation_id=trip)


def found(talk: Conversation, words: str, order: str = PENDING) -> Conversation:
    talk.user(words).call("find_user_id_by_email", email="paloma.whitfield9265@example.com")
    return talk.call("get_order_details", order_id=order)


@pytest.mark.parametrize(
    "words", ["Hello.", "Hi there, could you help me, please?", "Please cancel my flight to Reno."]
)
def test_a_handoff_before_anything_was_looked_up_for_a_plain_request_is_a_breach(
    flyer: Conversation, words: str
) -> None:
    [explanation] = hands_over(flyer.user(words), "The customer needs help.")
    assert "before anything was looked up" in explanation
    assert words in explanation


@pytest.mark.parametrize(
    "words",
    [
        *("I want to speak to a human.", "Please cancel my flight and get me a manager.", "My suitcase never arrived."),
        *("Please cancel my flight home, I am on board.", "Change the address in my account.", "It is complicated."),
        *("I was charged twice for my flight, cancel one flight.", "Please cancel my seat on the flight."),
    ],
)
def test_a_handoff_at_once_is_not_judged_where_the_customer_may_be_after_something_else(
    flyer: Conversation, words: str
) -> None:
    assert hands_over(flyer.user(words), "The customer needs help.") == []


def test_the_shop_hands_over_no_plain_request_at_once_either(shopper: Conversation) -> None:
    assert len(hands_over(shopper.user("I'd like to return two items."), "Wants a return.")) == 1
    assert hands_over(shopper.user("It is about a lost parcel."), "A parcel is lost.") == []


@pytest.mark.parametrize(
    "summary",
    [
        f"Freya wants to cancel {FRESH}.",
        f"The user requests cancellation of reservation {FRESH} and a refund. Please assist her with this request.",
        f"Customer needs to change the date of the flight, reservation {FRESH}. Requires human agent assistance.",
        f"Wants to add two checked bags to {FRESH}.",
    ],
)
def test_a_summary_that_asks_only_for_what_tools_and_rules_settle_is_a_breach(
    flyer: Conversation, summary: str
) -> None:
    [explanation] = hands_over(looked_up(flyer, "I have changed my mind about my trip."), summary)
    assert f"handed over for {FRESH}" in explanation


@pytest.mark.parametrize(
    "summary",
    [
        f"Freya wants {FRESH} cancelled and her suitcase traced.",
        f"Freya wants to cancel {FRESH} and have her name on the loyalty card corrected.",
        f"Freya wants to cancel {FRESH}, which she believes to be insured.",
        f"Freya wants to cancel {FRESH}. Please order a wheelchair for her sister.",
        f"{FRESH} was cancelled. She wants her new address in the profile.",
        f"{FRESH}: see the conversation.",
        "Freya wants to cancel a reservation.",
        "Freya wants to cancel XXXXXX.",
        "",
        None,
        7,
    ],
)
def test_a_summary_that_may_ask_for_more_is_not_judged(flyer: Conversation, summary: object) -> None:
    assert hands_over(looked_up(flyer, "I have changed my mind about my trip."), summary) == []


def test_a_trip_of_which_a_flight_was_flown_is_for_a_colleague(flyer: Conversation) -> None:
    looked_up(flyer, "Cancel my trip, please.", LEILA, FLOWN)
    assert hands_over(flyer, f"Leila wants to cancel {FLOWN}.") == []
    assert hands_over(flyer.user("And?"), f"Leila wants to cancel {FLOWN} and {FRESH}.") == []


def test_what_the_customer_said_of_another_matter_keeps_the_rule_silent(flyer: Conversation) -> None:
    looked_up(flyer, "I also need somebody to look for my lost suitcase.")
    assert hands_over(flyer, f"Freya wants to cancel {FRESH}.") == []


def test_a_tool_that_only_ever_refused_keeps_the_rule_silent(flyer: Conversation) -> None:
    looked_up(flyer, "Cancel it.").call("cancel_reservation", reservation_id="XXXXXX")
    assert hands_over(flyer, f"Freya wants to cancel {FRESH}.") == []


def test_a_forbidden_wish_is_refused_and_not_handed_over(flyer: Conversation) -> None:
    looked_up(flyer, "My plans have changed, cancel it.", "henrik_obi_5761", "7V3HM8")
    flyer.agent("I may not cancel it.").user("Then give me to somebody who can.")
    assert len(hands_over(flyer, "Henrik wants to cancel 7V3HM8 although his reason is not insured.")) == 1


def test_a_second_handoff_needs_new_words_of_the_customer(flyer: Conversation) -> None:
    flyer.user("My suitcase is lost.")
    assert hands_over(flyer, "A suitcase is lost.") == []
    [explanation] = hands_over(flyer.agent("A colleague takes over."), "A suitcase is lost.")
    assert "once more" in explanation
    assert hands_over(flyer.user("Somebody has to change my address, too."), "Address.") == []


@pytest.mark.parametrize(
    ("order", "summary"),
    [
        (PENDING, f"Paloma wants to cancel {PENDING}."),
        (PENDING, f"The customer would like to change the address of order {PENDING}. Needs assistance."),
        (PROCESSED, f"She insists on cancelling order {PROCESSED}."),
    ],
)
def test_the_shop_settles_orders_without_a_colleague(shopper: Conversation, order: str, summary: str) -> None:
    [explanation] = hands_over(found(shopper, "I have a wish.", PENDING), summary)
    assert order in explanation


@pytest.mark.parametrize(
    "summary",
    [
        f"Paloma wants the cancellation of {PENDING} taken back.",
        f"Paloma wants her return request for {PENDING} taken back.",
        f"The parcel of {PENDING} is lost; she wants to cancel the order.",
        f"Paloma needs an invoice for {PENDING}.",
        f"Paloma wants {PENDING} repaired.",
    ],
)
def test_what_the_shop_leaves_to_colleagues_is_handed_over(shopper: Conversation, summary: str) -> None:
    assert hands_over(found(shopper, "I have a wish."), summary) == []


def test_a_cancelled_order_is_not_judged_as_it_may_be_revived(shopper: Conversation) -> None:
    found(shopper, "I no longer need it.").does("cancel_pending_order", order_id=PENDING, reason="no longer needed")
    assert hands_over(shopper.user("Hm."), f"Paloma wants to change the items of order {PENDING}.") == []


@pytest.mark.parametrize("summary", FLYERS_OTHER_MATTERS.split("\n"))
def test_what_no_tool_of_the_airline_does_is_not_taken_for_a_trip_matter(flyer: Conversation, summary: str) -> None:
    assert hands_over(looked_up(flyer, "I have a wish."), summary.replace("KEY", FRESH)) == []


@pytest.mark.parametrize("summary", SHOPPERS_OTHER_MATTERS.split("\n"))
def test_what_no_tool_of_the_shop_does_is_not_taken_for_an_order_matter(shopper: Conversation, summary: str) -> None:
    assert hands_over(found(shopper, "I have a wish."), summary.replace("KEY", PENDING)) == []


@pytest.mark.parametrize(
    "words", ["Cancel my flight alerts.", "Cancel my flight and my newsletter.", "Book a hotel.", "A question!"]
)
def test_an_unusual_request_is_not_taken_for_a_plain_one(flyer: Conversation, words: str) -> None:
    assert hands_over(flyer.user(words), "A wish.") == []


def test_a_handoff_before_the_customer_said_anything_is_not_judged(flyer: Conversation) -> None:
    assert hands_over(flyer, "Nobody is there.") == []
