"""What the records tell about a trip at the moment of a call; every rule reads them through these functions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlmodel import Session, col, select

from taugraph.domains.airline.models import (
    FlightDay,
    Reservation,
    ReservationFlight,
    ReservationPassenger,
    User,
    UserReservation,
)
from taugraph.domains.rules import Moment


def cabin_of(moment: Moment, reservation: Reservation) -> str:
    """Return the cabin as it was last agreed on; not every dialect's records keep up with a change of it."""
    cabin = reservation.cabin
    for event in moment.calls("update_reservation_flights"):
        arguments = event.arguments or {}
        if arguments.get("reservation_id") == reservation.reservation_id:
            cabin = str(arguments.get("cabin"))
    return cabin


def flights_of(session: Session, reservation: Reservation) -> list[tuple[str, str]]:
    """Return (flight, date) of a reservation's segments in order."""
    wanted = select(ReservationFlight.flight_number, ReservationFlight.date)
    mine = ReservationFlight.reservation_id == reservation.reservation_id
    return [
        (flight, date) for flight, date in session.exec(wanted.where(mine).order_by(col(ReservationFlight.position)))
    ]


def is_flown(session: Session, flight: str, date: str) -> bool:
    """Tell whether a flight has left: its status says so, or it was due before today and not cancelled."""
    status = status_of(session, flight, date)
    return status in ("flying", "landed") or (status != "cancelled" and date < f"{session.info['now']:%Y-%m-%d}")


def status_of(session: Session, flight: str, date: str) -> str | None:
    """Return how a flight stands on a date; `None` where the schedule does not have it."""
    day = session.get(FlightDay, (flight, date))
    return day.status if day else None


def party_of(session: Session, reservation_id: str) -> int:
    """Return how many passengers a reservation has."""
    wanted = select(ReservationPassenger.position).where(ReservationPassenger.reservation_id == reservation_id)
    return len(session.exec(wanted).all())


def reservations_of(session: Session, user: User) -> Sequence[Reservation]:
    """Return the reservations that a profile lists."""
    listed = select(UserReservation.reservation_id).where(UserReservation.user_id == user.user_id)
    return session.exec(select(Reservation).where(col(Reservation.reservation_id).in_(listed))).all()


def flights_read_before(moment: Moment, reservation_id: str) -> Iterator[tuple[str, str]]:
    """Yield the flights that a reservation had when it was looked up, for they may have been exchanged since."""
    for event in moment.calls("get_reservation_details"):
        if (event.arguments or {}).get("reservation_id") != reservation_id:
            continue
        try:
            document = json.loads(event.text)
        except ValueError:
            continue
        flights = document.get("flights", []) if isinstance(document, dict) else []
        yield from flight_pairs(flight for flight in flights if isinstance(flight, dict))


def flight_pairs(flights: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return (flight, date) of flights as tools write them."""
    return [(str(flight.get("flight_number")), str(flight.get("date"))) for flight in flights]
