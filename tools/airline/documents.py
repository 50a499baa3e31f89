"""The airline's records as the JSON documents that tools answer with."""

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session, col, select

from taugraph.domains.airline.dialects import AirlineDialect
from taugraph.domains.airline.models import (
    CABINS,
    Flight,
    FlightDay,
    PaymentMethod,
    Reservation,
    ReservationFlight,
    ReservationPassenger,
    ReservationPayment,
    SavedPassenger,
    User,
    UserReservation,
)
from taugraph.domains.money import to_amount

Document = dict[str, Any]
"""A JSON object."""


def dialect_of(session: Session) -> AirlineDialect:
    """Return the dialect of the world behind a session."""
    dialect: AirlineDialect = session.info["dialect"]
    return dialect


def user_document(session: Session, user: User) -> Document:
    """Return a user's profile with payment methods, saved passengers and reservation ids."""
    dialect = dialect_of(session)
    address = {key: getattr(user, key) for key in ("address1", "address2", "city", "country", "state", "zip")}
    if user.address2 is None and not dialect.shows_unset_fields:
        del address["address2"]
    own_id = {"user_id": user.user_id} if dialect.shows_user_id else {}
    return {
        **own_id,
        "name": {"first_name": user.first_name, "last_name": user.last_name},
        "address": address,
        "email": user.email,
        "dob": user.dob,
        "payment_methods": {method.payment_id: _method(method) for method in payment_methods(session, user.user_id)},
        "saved_passengers": [
            {"first_name": saved.first_name, "last_name": saved.last_name, "dob": saved.dob}
            for saved in session.exec(
                select(SavedPassenger)
                .where(SavedPassenger.user_id == user.user_id)
                .order_by(col(SavedPassenger.position))
            )
        ],
        "membership": user.membership,
        "reservations": list(
            session.exec(
                select(UserReservation.reservation_id)
                .where(UserReservation.user_id == user.user_id)
                .order_by(col(UserReservation.position))
            )
        ),
    }


def payment_methods(session: Session, user_id: str) -> Sequence[PaymentMethod]:
    """Return a user's means of payment in profile order."""
    wanted = select(PaymentMethod).where(PaymentMethod.user_id == user_id).order_by(col(PaymentMethod.position))
    return session.exec(wanted).all()


def _method(method: PaymentMethod) -> Document:
    document: Document = {"source": method.source, "id": method.payment_id}
    if method.source == "credit_card":
        return document | {"brand": method.brand, "last_four": method.last_four}
    return document | {"amount": to_amount(method.amount_cents or 0)}


def reservation_document(session: Session, reservation: Reservation) -> Document:
    """Return a reservation with its segments, passengers and payment history."""
    fields = ("reservation_id", "user_id", "origin", "destination", "flight_type", "cabin")
    document: Document = {name: getattr(reservation, name) for name in fields}
    key = reservation.reservation_id
    document["flights"] = [_segment(segment) for segment in segments_of(session, key)]
    document["passengers"] = [_passenger(passenger) for passenger in passengers_of(session, key)]
    document["payment_history"] = [
        {**(entry.extra or {}), "payment_id": entry.payment_id, "amount": to_amount(entry.amount_cents)}
        for entry in payments_of(session, key)
    ]
    for name in ("created_at", "total_baggages", "nonfree_baggages", "insurance"):
        document[name] = getattr(reservation, name)
    if reservation.status is not None or dialect_of(session).shows_unset_fields:
        document["status"] = reservation.status
    return document


def segments_of(session: Session, reservation_id: str) -> Sequence[ReservationFlight]:
    """Return a reservation's segments in order."""
    wanted = select(ReservationFlight).where(ReservationFlight.reservation_id == reservation_id)
    return session.exec(wanted.order_by(col(ReservationFlight.position))).all()


def passengers_of(session: Session, reservation_id: str) -> Sequence[ReservationPassenger]:
    """Return a reservation's passengers in order."""
    wanted = select(ReservationPassenger).where(ReservationPassenger.reservation_id == reservation_id)
    return session.exec(wanted.order_by(col(ReservationPassenger.position))).all()


def payments_of(session: Session, reservation_id: str) -> Sequence[ReservationPayment]:
    """Return a reservation's payment history in order."""
    wanted = select(ReservationPayment).where(ReservationPayment.reservation_id == reservation_id)
    return session.exec(wanted.order_by(col(ReservationPayment.position))).all()


def _segment(segment: ReservationFlight) -> Document:
    return {
        **(segment.extra or {}),
        "origin": segment.origin,
        "destination": segment.destination,
        "flight_number": segment.flight_number,
        "date": segment.date,
        "price": to_amount(segment.price_cents),
    }


def _passenger(passenger: ReservationPassenger) -> Document:
    values = {name: getattr(passenger, name) for name in ("first_name", "last_name", "dob")}
    return {**(passenger.extra or {}), **{name: value for name, value in values.items() if value is not None}}


def flight_summary(flight: Flight) -> Document:
    """Return what is true of a flight on every day."""
    return {
        "flight_number": flight.flight_number,
        "origin": flight.origin,
        "destination": flight.destination,
        "scheduled_departure_time_est": flight.scheduled_departure_time_est,
        "scheduled_arrival_time_est": flight.scheduled_arrival_time_est,
    }


def day_document(day: FlightDay) -> Document:
    """Return a flight's record of one date: the fields that its status has."""
    document: Document = {"status": day.status}
    if day.status == "available":
        document["available_seats"] = {cabin: seats_in(day, cabin) for cabin in CABINS}
        document["prices"] = {cabin: to_amount(price_in(day, cabin)) for cabin in CABINS}
    for moment in ("estimated", "actual"):
        for event in ("departure", "arrival"):
            name = f"{moment}_{event}_time_est"
            if (value := getattr(day, name)) is not None:
                document[name] = value
    return document


def flight_document(session: Session, flight: Flight) -> Document:
    """Return a flight with its record of every date."""
    days = session.exec(
        select(FlightDay).where(FlightDay.flight_number == flight.flight_number).order_by(col(FlightDay.date))
    )
    return {**flight_summary(flight), "dates": {day.date: day_document(day) for day in days}}


def seats_in(day: FlightDay, cabin: str) -> int:
    """Return the free seats of a cabin; 0 on a day that has none.

    Raises:
        KeyError: If there is no such cabin.
    """
    return int(getattr(day, f"{_cabin(cabin)}_seats") or 0)


def price_in(day: FlightDay, cabin: str) -> int:
    """Return a cabin's price per person in cents; 0 on a day that has none.

    Raises:
        KeyError: If there is no such cabin.
    """
    return int(getattr(day, f"{_cabin(cabin)}_price_cents") or 0)


def change_seats(day: FlightDay, cabin: str, by: int) -> None:
    """Add free seats to a cabin, or take them away where `by` is negative."""
    setattr(day, f"{_cabin(cabin)}_seats", seats_in(day, cabin) + by)


def _cabin(cabin: str) -> str:
    if cabin not in CABINS:
        raise KeyError(f"there is no cabin {cabin!r}")
    return cabin
