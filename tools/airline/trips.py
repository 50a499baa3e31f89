"""Segments of a trip: checking them against the schedule, pricing them, and keeping seats in step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from taugraph.domains.airline.models import FlightDay, ReservationFlight, ReservationPassenger
from taugraph.domains.errors import ToolRefusal
from taugraph.tools.airline.documents import change_seats, passengers_of, price_in, seats_in, segments_of
from taugraph.tools.airline.lookups import find_day, find_flight
from taugraph.tools.airline.requests import extra_keys

_SEGMENT_KEYS = ("flight_number", "date", "price", "origin", "destination")
_PASSENGER_KEYS = ("first_name", "last_name", "dob")


@dataclass(frozen=True)
class PricedSegment:
    """A segment that is to be stored.

    Attributes:
        sent: The caller's object.
        origin: IATA code.
        destination: IATA code.
        price_cents: Price per person.
        day: The flight on that date; `None` where the segment stood in the reservation before and keeps its price.
    """

    sent: dict[str, Any]
    origin: str
    destination: str
    price_cents: int
    day: FlightDay | None = None

    @property
    def flight_number(self) -> str:
        """Flight of the segment."""
        return str(self.sent["flight_number"])

    @property
    def date(self) -> str:
        """Day of departure."""
        return str(self.sent["date"])


def price_segment(session: Session, sent: dict[str, Any], cabin: str, party: int) -> PricedSegment:
    """Check that a segment can be booked for the party and price it.

    Raises:
        ToolRefusal: If the flight or its date is unknown, it cannot be booked, or seats are too few.
        KeyError: If there is no such cabin.
    """
    flight = find_flight(session, sent["flight_number"])
    day = find_day(session, flight.flight_number, sent["date"])
    if day.status != "available":
        raise ToolRefusal(f"flight {flight.flight_number} cannot be booked on {day.date}: it is {day.status}")
    if seats_in(day, cabin) < party:
        raise ToolRefusal(f"flight {flight.flight_number} on {day.date} has too few seats in {cabin}")
    return PricedSegment(sent, flight.origin, flight.destination, price_in(day, cabin), day)


def store_segments(session: Session, reservation_id: str, segments: Sequence[PricedSegment]) -> None:
    """Replace a reservation's segments."""
    for stored in segments_of(session, reservation_id):
        session.delete(stored)
    session.flush()
    for position, segment in enumerate(segments):
        session.add(
            ReservationFlight(
                reservation_id=reservation_id,
                position=position,
                flight_number=segment.flight_number,
                date=segment.date,
                origin=segment.origin,
                destination=segment.destination,
                price_cents=segment.price_cents,
                extra=extra_keys(segment.sent, _SEGMENT_KEYS),
            )
        )


def store_passengers(session: Session, reservation_id: str, passengers: Sequence[dict[str, Any]]) -> None:
    """Replace a reservation's passengers."""
    for stored in passengers_of(session, reservation_id):
        session.delete(stored)
    session.flush()
    for position, passenger in enumerate(passengers):
        session.add(
            ReservationPassenger(
                reservation_id=reservation_id,
                position=position,
                **{key: passenger.get(key) for key in _PASSENGER_KEYS},
                extra=extra_keys(passenger, _PASSENGER_KEYS),
            )
        )


def take_seats(segments: Sequence[PricedSegment], cabin: str, party: int) -> None:
    """Lower the free seats of each new segment by the party."""
    for segment in segments:
        if segment.day is not None:
            change_seats(segment.day, cabin, -party)


def release_seats(session: Session, segments: Sequence[ReservationFlight], cabin: str, party: int) -> None:
    """Give back the seats of segments that can still be sold."""
    for segment in segments:
        day = session.get(FlightDay, (segment.flight_number, segment.date))
        if day is not None and day.status == "available":
            change_seats(day, cabin, party)


def check_chain(segments: Sequence[PricedSegment], origin: str, destination: str, flight_type: str) -> None:
    """Check that segments lead from the origin to the destination, and back on a round trip.

    Raises:
        ToolRefusal: If there are none, they do not join, or they lead elsewhere.
    """
    if not segments:
        raise ToolRefusal("a trip needs at least one flight")
    stops = [segments[0].origin]
    for segment in segments:
        if segment.origin != stops[-1]:
            raise ToolRefusal(f"flight {segment.flight_number} leaves from {segment.origin}, not from {stops[-1]}")
        stops.append(segment.destination)
    end = origin if flight_type == "round_trip" else destination
    if stops[0] != origin or stops[-1] != end or destination not in stops[1:]:
        raise ToolRefusal(f"the flights {' - '.join(stops)} are no {flight_type} from {origin} to {destination}")
    if [segment.date for segment in segments] != sorted(segment.date for segment in segments):
        raise ToolRefusal("the flights are not in the order of their dates")
