"""The airline's policy as rules that a tool call keeps or breaks; `policy.md` says the same in words."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from taugraph.domains.airline.handoffs import HANDOFF
from taugraph.domains.airline.models import (
    PaymentMethod,
    Reservation,
    User,
)
from taugraph.domains.airline.trips import (
    cabin_of,
    flight_pairs,
    flights_of,
    flights_read_before,
    is_flown,
    party_of,
    reservations_of,
    status_of,
)
from taugraph.domains.consent import Proposal, consent_rule
from taugraph.domains.rules import Moment, PolicyRule, find_row, one_customer_rule

FREE_BAGS = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 3},
}
"""Bags each passenger checks free of charge: membership of who booked -> cabin -> bags."""

PAYMENT_LIMITS = {"certificate": 1, "credit_card": 1, "gift_card": 3}
"""How many payment methods of a kind pay for one booking at most."""

MOST_PASSENGERS = 5
"""Passengers of one reservation at most."""

CANCELLED_FLIGHT_USD, DELAYED_FLIGHT_USD = 100, 50
"""Compensation per passenger."""

_INSURED_REASON = re.compile(
    r"\b(?:sick\w*|ill|illness\w*|unwell|health|medical\w*|doctors?|physician|hospital\w*|surger\w+|operation|injur\w+|flu|covid"
    r"|fever|virus|infection|disease|diagnos\w+|pregnan\w+|(?:broke|broken|fractured|sprained)\s+(?:\w+\s+)?(?:leg|arm|ankle"
    r"|foot|hip|wrist|bone|rib)\w*|weather|storms?|thunderstorms?|hurricanes?|typhoon|tornado\w*|blizzard|snow\w*|flood\w*|fog)\b",
    re.IGNORECASE,
)
_ASKS_COMPENSATION = re.compile(
    r"compensat|voucher|certificate|reimburs|goodwill|make (?:it |this |that )?up (?:to|for)|some credit"
    r"|something back|refund|for (?:the|my|our|this|all this) (?:trouble|inconvenience|wait)|entitled|owe me",
    re.IGNORECASE,
)


def customer_of(session: Session, arguments: Mapping[str, Any]) -> str | None:
    """Return the customer whose profile or reservation a call is about; `None` if it is about none that exists."""
    if (user := find_row(session, User, arguments.get("user_id"))) is not None:
        return user.user_id
    reservation = find_row(session, Reservation, arguments.get("reservation_id"))
    return reservation.user_id if reservation else None


def identity_is_known(moment: Moment) -> Iterable[str]:
    """Want the user id said by the customer, or already read, before the customer's data is touched."""
    customer = customer_of(moment.session, moment.arguments)
    if customer is None or moment.customer_named(customer):
        return
    if not any(customer in event.text for event in moment.calls()):
        yield f"{moment.name} touches the data of {customer}, whom the customer has not named as user id"


def basic_economy_keeps_flights(moment: Moment) -> Iterable[str]:
    """Want the flights of a basic economy reservation to stay; its cabin may change."""
    reservation = _changed_trip(moment)
    if reservation is None or cabin_of(moment, reservation) != "basic_economy":
        return
    if _wanted(moment) != flights_of(moment.session, reservation):
        yield f"the flights of {reservation.reservation_id} were changed, which is in basic economy"


def flown_flights_stay(moment: Moment) -> Iterable[str]:
    """Want a trip with a flown flight not cancelled, and the flown flight itself not exchanged."""
    if moment.name == "cancel_reservation":
        reservation, kept = moment.find(Reservation, "reservation_id"), []
    else:
        reservation, kept = _changed_trip(moment), _wanted(moment)
    if reservation is None:
        return
    for flight, date in flights_of(moment.session, reservation):
        if (flight, date) not in kept and is_flown(moment.session, flight, date):
            yield f"{moment.name} gives up {flight} of {date}, which has been flown or is in the air"
            return


def cancellation_is_allowed(moment: Moment) -> Iterable[str]:
    """Want one of the four grounds on which a trip can be cancelled."""
    reservation = moment.find(Reservation, "reservation_id") if moment.name == "cancel_reservation" else None
    if (
        reservation is None
        or cabin_of(moment, reservation) == "business"
        or _is_booked_within_a_day(moment, reservation)
    ):
        return
    stored = flights_of(moment.session, reservation)
    if any(status_of(moment.session, flight, date) == "cancelled" for flight, date in stored):
        return
    if reservation.insurance == "yes" and moment.customer_said(_INSURED_REASON):
        return
    insured = (
        "insured, but for no stated reason of health or weather" if reservation.insurance == "yes" else "uninsured"
    )
    yield (
        f"{reservation.reservation_id} was cancelled: booked {reservation.created_at}, {reservation.cabin}, {insured}, "
        "and no flight of it cancelled by the airline"
    )


def bags_follow_allowance(moment: Moment) -> Iterable[str]:
    """Want exactly the bags beyond the free allowance to be paid for."""
    total, paid = moment.number("total_baggages"), moment.number("nonfree_baggages")
    allowance, stored = _allowance(moment)
    if allowance is None or total is None or paid is None:
        return
    beyond = max(0, total - allowance)
    if paid not in (beyond, max(beyond, stored)):
        yield f"{total:g} bags with {allowance} free leave {beyond:g} to pay, but nonfree_baggages is {paid:g}"


def bags_are_only_added(moment: Moment) -> Iterable[str]:
    """Want checked bags never taken off a reservation."""
    if moment.name != "update_reservation_baggages":
        return
    reservation, total = moment.find(Reservation, "reservation_id"), moment.number("total_baggages")
    if reservation is not None and total is not None and total < reservation.total_baggages:
        yield f"the bags of {reservation.reservation_id} went from {reservation.total_baggages} to {total:g}"


def payments_keep_limits(moment: Moment) -> Iterable[str]:
    """Want one certificate, one credit card and three gift cards per booking at most."""
    if moment.name != "book_reservation":
        return
    ids = {part["payment_id"] for part in moment.records("payment_methods") if isinstance(part.get("payment_id"), str)}
    user_id = moment.arguments.get("user_id")
    rows = [moment.session.get(PaymentMethod, (user_id, key)) for key in sorted(ids) if isinstance(user_id, str)]
    for source, count in Counter(row.source for row in rows if row is not None).items():
        if count > PAYMENT_LIMITS.get(source, count):
            yield f"the booking is paid with {count} of {source}; at most {PAYMENT_LIMITS[source]} may be"


def party_is_at_most_five(moment: Moment) -> Iterable[str]:
    """Want five passengers per booking at most."""
    party = len(moment.records("passengers"))
    if moment.name == "book_reservation" and party > MOST_PASSENGERS:
        yield f"{party} passengers were booked on one reservation; at most {MOST_PASSENGERS} may be"


def compensation_is_due(moment: Moment) -> Iterable[str]:
    """Want a certificate to be worth what a disruption of one of the customer's reservations entitles to."""
    user = moment.find(User, "user_id") if moment.name == "send_certificate" else None
    if user is None:
        return
    due = sorted(
        {amount for reservation in reservations_of(moment.session, user) for amount in _due(moment, user, reservation)}
    )
    if moment.number("amount") not in due:
        entitled = " or ".join(f"${amount}" for amount in due) or "nothing"
        sent = moment.arguments.get("amount")
        yield f"a certificate over {sent!r} was sent to {user.user_id}, who is entitled to {entitled}"


def compensation_is_asked_for(moment: Moment) -> Iterable[str]:
    """Want no compensation that the customer did not ask for."""
    if moment.name == "send_certificate" and not moment.customer_said(_ASKS_COMPENSATION):
        yield "a certificate was sent, but the customer did not ask for compensation"


def _due(moment: Moment, user: User, reservation: Reservation) -> Iterator[int]:
    """Yield the amounts in dollars that a reservation's disruptions entitle to."""
    if user.membership == "regular" and reservation.insurance != "yes" and reservation.cabin != "business":
        return
    key = reservation.reservation_id
    flights = {*flights_of(moment.session, reservation), *flights_read_before(moment, key)}
    statuses = {status_of(moment.session, flight, date) for flight, date in flights}
    party = party_of(moment.session, key)
    if "cancelled" in statuses:
        yield CANCELLED_FLIGHT_USD * party
    settled = moment.calls("cancel_reservation", "update_reservation_flights")
    if "delayed" in statuses and any((event.arguments or {}).get("reservation_id") == key for event in settled):
        yield DELAYED_FLIGHT_USD * party


def _changed_trip(moment: Moment) -> Reservation | None:
    return moment.find(Reservation, "reservation_id") if moment.name == "update_reservation_flights" else None


def _wanted(moment: Moment) -> list[tuple[str, str]]:
    return flight_pairs(moment.records("flights"))


def _is_booked_within_a_day(moment: Moment, reservation: Reservation) -> bool:
    now: datetime = moment.session.info["now"]
    return now - datetime.fromisoformat(reservation.created_at) < timedelta(days=1)


def _allowance(moment: Moment) -> tuple[int | None, int]:
    """Return how many bags are free in all, and how many were paid for before; `None` where nothing tells."""
    if moment.name == "book_reservation":
        user, cabin, party, paid = moment.find(User, "user_id"), moment.arguments.get("cabin"), None, 0
    elif moment.name == "update_reservation_baggages" and (found := moment.find(Reservation, "reservation_id")):
        user, cabin = moment.session.get(User, found.user_id), cabin_of(moment, found)
        party, paid = party_of(moment.session, found.reservation_id), found.nonfree_baggages
    else:
        return None, 0
    each = FREE_BAGS.get(user.membership, {}).get(str(cabin)) if user else None
    party = len(moment.records("passengers")) if party is None else party
    return (None if each is None else each * party), paid


_PROPOSALS = {
    "book_reservation": Proposal(r"\b(?:re)?book|reserv|purchas", ("flights", "cabin", "total_baggages")),
    "cancel_reservation": Proposal(r"cancel"),
    "update_reservation_flights": Proposal(
        r"chang|updat|modif|upgrad|downgrad|switch|mov|rebook|exchang|replac", ("flights", "cabin")
    ),
    "update_reservation_passengers": Proposal(r"passenger|travell?er|name|birth", ("passengers",)),
    "update_reservation_baggages": Proposal(r"bag|luggage|suitcase", ("total_baggages", "nonfree_baggages")),
    "send_certificate": Proposal(r"certificate|voucher|compensat", ("amount",)),
}

RULES = (
    consent_rule(_PROPOSALS, Reservation),
    one_customer_rule(customer_of, record_argument="reservation_id"),
    PolicyRule(
        "identity_known_before_private_data",
        "The customer has named the user id before a profile or reservation is read or written.",
        identity_is_known,
    ),
    PolicyRule(
        "basic_economy_keeps_flights",
        "A reservation in basic economy keeps its flights; only its cabin may change.",
        basic_economy_keeps_flights,
    ),
    PolicyRule(
        "flown_flights_stay",
        "A trip of which a flight has been flown is not cancelled, and the flown flight is not exchanged.",
        flown_flights_stay,
    ),
    PolicyRule(
        "cancellation_is_allowed",
        "A trip is cancelled only within 24 hours of booking, after the airline cancelled a flight, in business, or "
        "insured for a reason of health or weather.",
        cancellation_is_allowed,
    ),
    PolicyRule(
        "bags_follow_allowance",
        "Exactly the bags beyond the free allowance of membership, cabin and party are paid for.",
        bags_follow_allowance,
    ),
    PolicyRule("bags_are_only_added", "Checked bags are added, never taken off.", bags_are_only_added),
    PolicyRule(
        "payments_keep_limits",
        "A booking is paid with one certificate, one credit card and three gift cards at most.",
        payments_keep_limits,
    ),
    PolicyRule("party_is_at_most_five", "A reservation takes up to five passengers.", party_is_at_most_five),
    PolicyRule(
        "compensation_is_due",
        "A certificate is worth what a disruption of the customer's trip entitles to, and goes only to those entitled.",
        compensation_is_due,
    ),
    PolicyRule(
        "compensation_is_asked_for",
        "Compensation is only given to customers who ask for it.",
        compensation_is_asked_for,
    ),
    HANDOFF,
)
"""Every rule of the airline."""
