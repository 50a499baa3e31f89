"""Booking a reservation."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal

from sqlmodel import Session, col, func, select

from taugraph.domains.airline.models import Reservation, ReservationPayment, UserReservation
from taugraph.domains.errors import ToolRefusal
from taugraph.domains.money import to_cents
from taugraph.tools.airline.documents import (
    Document,
    dialect_of,
    payments_of,
    reservation_document,
)
from taugraph.tools.airline.lookups import find_method, find_user
from taugraph.tools.airline.requests import (
    Passenger,
    Payment,
    Segment,
    extra_keys,
    read_passengers,
    read_payments,
    read_segments,
)
from taugraph.tools.airline.trips import check_chain, price_segment, store_passengers, store_segments, take_seats
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool

BAG_CENTS = 50_00
"""Price of a checked bag beyond the allowance."""

INSURANCE_CENTS = 30_00
"""Price of travel insurance per passenger."""

Cabin = Literal["basic_economy", "economy", "business"]
"""Cabin of every segment of a reservation."""

_FIXED_IDS = ("HATHAT", "HATHAU", "HATHAV")
_PAYMENT_KEYS = ("payment_id", "amount")


@domain_tool(ToolKind.WRITE)
def book_reservation(  # noqa: PLR0913 - the published tool has these parameters
    user_id: str,
    origin: str,
    destination: str,
    flight_type: Literal["one_way", "round_trip"],
    cabin: Cabin,
    flights: list[Segment],
    passengers: list[Passenger],
    payment_methods: list[Payment],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: Literal["yes", "no"],
    session: DatabaseSession,
) -> Document:
    """Book a trip and charge it to the customer's payment methods, which must add up to the total price.

    Args:
        user_id: The customer's user id.
        origin: Airport where the trip starts, as a three-letter code.
        destination: Airport where the trip leads, as a three-letter code.
        flight_type: Whether the trip goes one way or comes back.
        cabin: Cabin for all flights.
        flights: The flights in order, the way back included.
        passengers: Everyone who travels.
        payment_methods: How much is paid with which payment method.
        total_baggages: Checked bags in all.
        nonfree_baggages: Bags among them that are beyond the free allowance.
        insurance: Whether travel insurance is bought for everyone.
    """
    find_user(session, user_id)
    travellers = read_passengers(session, passengers)
    parts = read_payments(session, payment_methods)
    requested = read_segments(session, flights)
    reservation = Reservation(
        reservation_id="",
        user_id=user_id,
        origin=origin,
        destination=destination,
        flight_type=flight_type,
        cabin=cabin,
        created_at=session.info["now"].strftime("%Y-%m-%dT%H:%M:%S"),
        total_baggages=total_baggages,
        nonfree_baggages=nonfree_baggages,
        insurance=insurance,
    )
    _check_published_fields(session, reservation)
    segments = [price_segment(session, sent, cabin, len(travellers)) for sent in requested]
    if dialect_of(session).corrected:
        check_chain(segments, origin, destination, flight_type)
        _check_party(reservation, len(travellers))
    total = len(travellers) * sum(segment.price_cents for segment in segments)
    total += INSURANCE_CENTS * len(travellers) if insurance == "yes" else 0
    total += _bag_price(nonfree_baggages)
    _check_payments(session, user_id, parts, total)
    reservation.reservation_id = _new_id(session, reservation, requested, travellers)
    _charge(session, user_id, parts)
    _store(session, reservation, parts)
    store_segments(session, reservation.reservation_id, segments)
    store_passengers(session, reservation.reservation_id, travellers)
    if dialect_of(session).booking_takes_seats:
        take_seats(segments, cabin, len(travellers))
    session.flush()
    return reservation_document(session, reservation)


def _check_published_fields(session: Session, reservation: Reservation) -> None:
    """Check the fields of which the later published version builds a typed record."""
    if dialect_of(session).keeps_nested_objects:
        return
    if reservation.flight_type not in ("one_way", "round_trip") or reservation.insurance not in ("yes", "no"):
        raise ToolRefusal("flight_type must be one_way or round_trip, insurance yes or no")
    for name in ("total_baggages", "nonfree_baggages"):
        value = getattr(reservation, name)
        if isinstance(value, bool) or int(value) != float(value):
            raise ToolRefusal(f"{name} must be a whole number, got {value!r}")
        setattr(reservation, name, int(value))


def _check_party(reservation: Reservation, party: int) -> None:
    if party == 0:
        raise ToolRefusal("a reservation needs at least one passenger")
    if not 0 <= reservation.nonfree_baggages <= reservation.total_baggages:
        raise ToolRefusal("nonfree_baggages must lie between 0 and total_baggages")


def _bag_price(nonfree_baggages: float) -> int:
    if not isinstance(nonfree_baggages, int | float):
        raise ToolRefusal("nonfree_baggages must be a number")
    return round(BAG_CENTS * nonfree_baggages)


def _check_payments(session: Session, user_id: str, parts: Sequence[dict[str, Any]], total_cents: int) -> None:
    left: dict[str, int] = {}
    for part in parts:
        method, amount = find_method(session, user_id, part["payment_id"]), to_cents(part["amount"])
        if dialect_of(session).corrected and amount <= 0:
            raise ToolRefusal(f"the amount paid with {method.payment_id} must be positive")
        if method.source == "credit_card":
            continue
        balance = left.get(method.payment_id, method.amount_cents or 0)
        if balance < amount:
            raise ToolRefusal(f"{method.payment_id} has not enough balance")
        if dialect_of(session).corrected:
            left[method.payment_id] = 0 if method.source == "certificate" else balance - amount
    paid = sum(to_cents(part["amount"]) for part in parts)
    if paid != total_cents:
        raise ToolRefusal(f"the payments add up to {paid / 100:.2f}, but the total price is {total_cents / 100:.2f}")


def _charge(session: Session, user_id: str, parts: Sequence[dict[str, Any]]) -> None:
    spent: set[str] = set()
    for part in parts:
        if part["payment_id"] in spent:
            raise ToolRefusal(f"certificate {part['payment_id']} is already used up", keeps_writes=True)
        method = find_method(session, user_id, part["payment_id"])
        if method.source == "gift_card":
            method.amount_cents = (method.amount_cents or 0) - to_cents(part["amount"])
        elif method.source == "certificate":
            spent.add(method.payment_id)
            session.delete(method)
    session.flush()


def _store(session: Session, reservation: Reservation, parts: Sequence[dict[str, Any]]) -> None:
    key = reservation.reservation_id
    if (overwritten := session.get(Reservation, key)) is not None:
        for entry in payments_of(session, key):
            session.delete(entry)
        session.delete(overwritten)
        session.flush()
    session.add(reservation)
    for position, part in enumerate(parts):
        session.add(
            ReservationPayment(
                reservation_id=key,
                position=position,
                payment_id=part["payment_id"],
                amount_cents=to_cents(part["amount"]),
                extra=extra_keys(part, _PAYMENT_KEYS),
            )
        )
    session.add(
        UserReservation(
            user_id=reservation.user_id,
            position=_next_place(session, reservation.user_id),
            reservation_id=key,
        )
    )
    session.flush()


def _next_place(session: Session, user_id: str) -> int:
    last = session.exec(select(func.max(UserReservation.position)).where(col(UserReservation.user_id) == user_id)).one()
    return 0 if last is None else last + 1


def _new_id(
    session: Session, reservation: Reservation, segments: Sequence[dict[str, Any]], travellers: Sequence[dict[str, Any]]
) -> str:
    """Choose the id: a published one in call order, or one that derives from what is booked.

    An id from the content does not depend on the order of bookings: two right bookings compare equal in either order.
    """
    dialect = dialect_of(session)
    if dialect.fixed_ids:
        for candidate in _FIXED_IDS:
            if session.get(Reservation, candidate) is None:
                return candidate
        if dialect.reuses_last_reservation_id:
            return _FIXED_IDS[-1]
        raise ToolRefusal("no further reservation can be booked")
    names = sorted(str(sorted(traveller.items())) for traveller in travellers)
    content = f"{reservation.user_id}|{[(sent['flight_number'], sent['date']) for sent in segments]}|{names}"
    for attempt in range(1_000):
        number = int.from_bytes(sha256(f"{content}|{attempt}".encode()).digest()[:8])
        candidate = _as_letters(number)
        if session.get(Reservation, candidate) is None:
            return candidate
    raise ToolRefusal("no further reservation of this kind can be booked")


def _as_letters(number: int) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    letters = ""
    for _ in range(6):
        number, place = divmod(number, len(alphabet))
        letters += alphabet[place]
    return letters
