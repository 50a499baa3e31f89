"""The airline's tools that only look something up."""

from datetime import date as Date
from datetime import timedelta
from typing import Any

from sqlmodel import Session, col, select

from taugraph.domains.airline.models import Flight, FlightDay
from taugraph.domains.errors import ToolRefusal
from taugraph.tools.airline.documents import (
    Document,
    day_document,
    dialect_of,
    flight_summary,
    reservation_document,
    user_document,
)
from taugraph.tools.airline.lookups import find_day, find_flight, find_reservation, find_user
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool

AIRPORTS = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}
"""IATA code -> city, in the order in which they are listed."""


@domain_tool(ToolKind.READ)
def get_user_details(user_id: str, session: DatabaseSession) -> Document:
    """Show a customer's profile: name, address, payment methods, saved passengers, membership and reservation ids.

    Args:
        user_id: The customer's user id, such as "first_last_1234".
    """
    return user_document(session, find_user(session, user_id))


@domain_tool(ToolKind.READ)
def get_reservation_details(reservation_id: str, session: DatabaseSession) -> Document:
    """Show a reservation: trip, cabin, segments with prices, passengers, bags, insurance and payment history.

    Args:
        reservation_id: The reservation's id, six capital letters and digits.
    """
    return reservation_document(session, find_reservation(session, reservation_id))


@domain_tool(ToolKind.READ)
def get_flight_status(flight_number: str, date: str, session: DatabaseSession) -> str:
    """Tell the status of a flight on one date: available, on time, delayed, flying, landed or cancelled.

    Args:
        flight_number: The flight's number.
        date: Day of departure, as "YYYY-MM-DD".
    """
    find_flight(session, flight_number)
    return find_day(session, flight_number, date).status


@domain_tool(ToolKind.READ)
def list_all_airports(session: DatabaseSession) -> Any:
    """List the airports that are served, with their cities."""
    if dialect_of(session).airports_as == "object":
        return dict(AIRPORTS)
    return [{"iata": code, "city": city} for code, city in AIRPORTS.items()]


@domain_tool(ToolKind.READ)
def search_direct_flight(origin: str, destination: str, date: str, session: DatabaseSession) -> list[Document]:
    """Find bookable flights without a stop, with free seats and prices per cabin.

    Args:
        origin: Airport to leave from, as a three-letter code.
        destination: Airport to arrive at, as a three-letter code.
        date: Day of departure, as "YYYY-MM-DD".
    """
    dialect = dialect_of(session)
    if dialect.corrected:
        _calendar_date(date)
    wanted = (
        select(Flight, FlightDay)
        .join(FlightDay, col(FlightDay.flight_number) == col(Flight.flight_number))
        .where(Flight.origin == origin, Flight.destination == destination)
        .where(FlightDay.date == date, FlightDay.status == "available")
        .order_by(col(Flight.position))
    )
    shown = {"date": date if dialect.corrected else None} if dialect.shows_unset_fields else {}
    return [{**flight_summary(flight), **day_document(day), **shown} for flight, day in session.exec(wanted)]


@domain_tool(ToolKind.READ)
def search_onestop_flight(origin: str, destination: str, date: str, session: DatabaseSession) -> list[list[Document]]:
    """Find bookable connections with one stop, as pairs of flights with free seats and prices per cabin.

    Args:
        origin: Airport to leave from, as a three-letter code.
        destination: Airport to arrive at, as a three-letter code.
        date: Day on which the first flight leaves, as "YYYY-MM-DD".
    """
    if dialect_of(session).corrected:
        _calendar_date(date)
    connections = []
    for first, second in _flight_pairs(session, origin, destination):
        second_date = _second_date(session, first, date)
        if not _connects(session, first, second):
            continue
        first_day = session.get(FlightDay, (first.flight_number, date))
        second_day = session.get(FlightDay, (second.flight_number, second_date))
        if first_day is None or second_day is None or {first_day.status, second_day.status} != {"available"}:
            continue
        shown_day: FlightDay | None = second_day
        if dialect_of(session).second_leg_of == "first_day":
            shown_day = session.get(FlightDay, (second.flight_number, date))
        if shown_day is None:
            raise ToolRefusal(f"flight {second.flight_number} has no date {date!r}")
        connections.append(
            [
                {**flight_summary(first), **day_document(first_day), "date": date},
                {**flight_summary(second), "date": second_date, **day_document(shown_day)},
            ]
        )
    return connections


def _flight_pairs(session: Session, origin: str, destination: str) -> list[tuple[Flight, Flight]]:
    """Return every flight out of the origin with every flight that goes on to the destination, in schedule order."""
    outgoing = session.exec(select(Flight).where(Flight.origin == origin).order_by(col(Flight.position))).all()
    incoming = session.exec(
        select(Flight).where(Flight.destination == destination).order_by(col(Flight.position))
    ).all()
    by_origin: dict[str, list[Flight]] = {}
    for flight in incoming:
        by_origin.setdefault(flight.origin, []).append(flight)
    return [(first, second) for first in outgoing for second in by_origin.get(first.destination, [])]


def _second_date(session: Session, first: Flight, date: str) -> str:
    """Return the day the second flight leaves: the day the first one lands."""
    if "+1" not in first.scheduled_arrival_time_est:
        return date
    rule = dialect_of(session).second_leg_of
    if rule == "calendar":
        return (_calendar_date(date) + timedelta(days=1)).isoformat()
    try:
        return f"2024-05-{int(date[-2:]) + 1}"
    except (TypeError, ValueError) as error:
        if rule == "first_day":
            raise ToolRefusal(f"date {date!r} is none") from error
        return date


def _connects(session: Session, first: Flight, second: Flight) -> bool:
    """Tell whether the second flight leaves after the first one landed."""
    arrival = first.scheduled_arrival_time_est
    if dialect_of(session).second_leg_of == "calendar":
        arrival = arrival.removesuffix("+1")
    return arrival <= second.scheduled_departure_time_est


def _calendar_date(date: str) -> Date:
    try:
        found = Date.fromisoformat(date)
    except (TypeError, ValueError) as error:
        raise ToolRefusal(f"date {date!r} is none; write YYYY-MM-DD") from error
    if found.isoformat() != date:
        raise ToolRefusal(f"date {date!r} is not in the form YYYY-MM-DD")
    return found
