"""Changing and cancelling a reservation."""

from typing import Any

from sqlmodel import Session

from taugraph.domains.airline.models import Reservation, ReservationFlight, ReservationPayment
from taugraph.domains.errors import ToolRefusal
from taugraph.tools.airline.bookings import BAG_CENTS, Cabin
from taugraph.tools.airline.documents import (
    Document,
    dialect_of,
    passengers_of,
    payments_of,
    reservation_document,
    segments_of,
)
from taugraph.tools.airline.lookups import charge, find_method, find_reservation
from taugraph.tools.airline.requests import Passenger, Segment, read_passengers, read_segments
from taugraph.tools.airline.trips import (
    PricedSegment,
    check_chain,
    price_segment,
    release_seats,
    store_passengers,
    store_segments,
    take_seats,
)
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool


@domain_tool(ToolKind.WRITE)
def update_reservation_flights(
    reservation_id: str, cabin: Cabin, flights: list[Segment], payment_id: str, session: DatabaseSession
) -> Document:
    """Change the flights or the cabin of a reservation and settle the difference in price.

    Args:
        reservation_id: The reservation's id.
        cabin: Cabin for all flights after the change.
        flights: All flights after the change in order, those that stay included.
        payment_id: Gift card or credit card in the customer's profile that pays, or gets back, the difference.
    """
    reservation = find_reservation(session, reservation_id)
    requested = read_segments(session, flights)
    party = len(passengers_of(session, reservation_id))
    stored = list(segments_of(session, reservation_id))
    segments = [_kept_or_priced(session, reservation, stored, sent, cabin, party) for sent in requested]
    if dialect_of(session).corrected:
        _check_stands(reservation)
        check_chain(segments, reservation.origin, reservation.destination, reservation.flight_type)
    difference = party * (
        sum(segment.price_cents for segment in segments) - sum(segment.price_cents for segment in stored)
    )
    charge(find_method(session, reservation.user_id, payment_id), difference)
    if dialect_of(session).corrected:
        _move_seats(session, reservation, stored, segments, cabin, party)
    store_segments(session, reservation_id, segments)
    if dialect_of(session).stores_changed_cabin:
        reservation.cabin = cabin
    if difference:
        _add_payments(session, reservation_id, [(payment_id, difference)])
    session.flush()
    return reservation_document(session, reservation)


def _kept_or_priced(
    session: Session,
    reservation: Reservation,
    stored: list[ReservationFlight],
    sent: dict[str, Any],
    cabin: str,
    party: int,
) -> PricedSegment:
    """Keep a segment that stands in the reservation in the same cabin; price it anew otherwise."""
    if cabin == reservation.cabin:
        for segment in stored:
            if (segment.flight_number, segment.date) == (sent["flight_number"], sent["date"]):
                return PricedSegment(sent, segment.origin, segment.destination, segment.price_cents)
    return price_segment(session, sent, cabin, party)


def _move_seats(
    session: Session,
    reservation: Reservation,
    stored: list[ReservationFlight],
    segments: list[PricedSegment],
    cabin: str,
    party: int,
) -> None:
    kept = {(segment.flight_number, segment.date) for segment in segments if segment.day is None}
    given_up = [segment for segment in stored if (segment.flight_number, segment.date) not in kept]
    release_seats(session, given_up, reservation.cabin, party)
    take_seats(segments, cabin, party)


@domain_tool(ToolKind.WRITE)
def update_reservation_passengers(
    reservation_id: str, passengers: list[Passenger], session: DatabaseSession
) -> Document:
    """Correct the passengers of a reservation; their number stays the same.

    Args:
        reservation_id: The reservation's id.
        passengers: All passengers after the change.
    """
    travellers = read_passengers(session, passengers)
    reservation = find_reservation(session, reservation_id)
    if dialect_of(session).corrected:
        _check_stands(reservation)
    if len(travellers) != len(passengers_of(session, reservation_id)):
        raise ToolRefusal("the number of passengers cannot be changed")
    store_passengers(session, reservation_id, travellers)
    session.flush()
    return reservation_document(session, reservation)


@domain_tool(ToolKind.WRITE)
def update_reservation_baggages(
    reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str, session: DatabaseSession
) -> Document:
    """Change the number of checked bags of a reservation and charge the bags that are not free.

    Args:
        reservation_id: The reservation's id.
        total_baggages: Checked bags in all after the change.
        nonfree_baggages: Bags among them that are beyond the free allowance.
        payment_id: Gift card or credit card in the customer's profile that pays.
    """
    reservation = find_reservation(session, reservation_id)
    if dialect_of(session).corrected:
        _check_stands(reservation)
        if not 0 <= nonfree_baggages <= total_baggages:
            raise ToolRefusal("nonfree_baggages must lie between 0 and total_baggages")
    price = round(BAG_CENTS * max(0, nonfree_baggages - reservation.nonfree_baggages))
    charge(find_method(session, reservation.user_id, payment_id), price)
    reservation.total_baggages = total_baggages
    reservation.nonfree_baggages = nonfree_baggages
    if price:
        _add_payments(session, reservation_id, [(payment_id, price)])
    session.flush()
    return reservation_document(session, reservation)


@domain_tool(ToolKind.WRITE)
def cancel_reservation(reservation_id: str, session: DatabaseSession) -> Document:
    """Cancel a whole reservation and refund what was paid to where it came from.

    Args:
        reservation_id: The reservation's id.
    """
    reservation = find_reservation(session, reservation_id)
    history = list(payments_of(session, reservation_id))
    if dialect_of(session).corrected:
        _check_stands(reservation)
        _refund_gift_cards(session, reservation, history)
        party = len(passengers_of(session, reservation_id))
        release_seats(session, segments_of(session, reservation_id), reservation.cabin, party)
    _add_payments(session, reservation_id, [(entry.payment_id, -entry.amount_cents) for entry in history])
    reservation.status = "cancelled"
    session.flush()
    return reservation_document(session, reservation)


def _refund_gift_cards(session: Session, reservation: Reservation, history: list[ReservationPayment]) -> None:
    for entry in history:
        if entry.payment_id.startswith("gift_card"):
            method = find_method(session, reservation.user_id, entry.payment_id)
            method.amount_cents = (method.amount_cents or 0) + entry.amount_cents


def _check_stands(reservation: Reservation) -> None:
    if reservation.status == "cancelled":
        raise ToolRefusal(f"reservation {reservation.reservation_id} is cancelled")


def _add_payments(session: Session, reservation_id: str, entries: list[tuple[str, int]]) -> None:
    """Put (payment id, cents) at the end of the payment history."""
    history = payments_of(session, reservation_id)
    free = history[-1].position + 1 if history else 0
    for position, (payment_id, amount_cents) in enumerate(entries, start=free):
        session.add(
            ReservationPayment(
                reservation_id=reservation_id, position=position, payment_id=payment_id, amount_cents=amount_cents
            )
        )
