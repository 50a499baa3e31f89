"""Invents the airline's reservations, as the schedule allows them.

Segments chain, nobody booked after departure, a round trip comes home, and each trip was paid exactly once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from random import Random

from taugraph.domains.airline.generate_customers import Customer, Names, Person, invent_person
from taugraph.domains.airline.generate_schedule import CONNECTION_MIN, DAYS, NOW, Schedule, Segment, fare_cents
from taugraph.domains.airline.models import CABINS
from taugraph.domains.changes import Row

BAGS_IN_FARE = {"basic_economy": 0, "economy": 1, "business": 2}
"""Bags per passenger that go free in every membership."""


@dataclass(frozen=True)
class Trip:
    """What is flown, before anybody has paid for it."""

    origin: str
    destination: str
    is_round: bool
    created_at: datetime
    segments: list[Segment]


def reservation_rows(
    schedule: Schedule, customers: Sequence[Customer], names: Names, random: Random
) -> dict[str, list[Row]]:
    """Draw 2000 reservations: the rows of `reservations`, of their flights, passengers and payments, and of whose."""
    children = ("reservation_flights", "reservation_passengers", "reservation_payments")
    rows: dict[str, list[Row]] = {table: [] for table in ("reservations", *children, "user_reservations")}
    listed: dict[str, list[str]] = {customer.user_id: [] for customer in customers}
    used: set[str] = set()
    for _ in range(2000):
        customer = random.choice(customers)
        reservation_id = _invent_reservation_id(used, random)
        trip = _invent_trip(schedule, random)
        _add_reservation(rows, reservation_id, trip, customer, _invent_party(customer, names, random), random)
        listed[customer.user_id].append(reservation_id)
    for user_id, ids in listed.items():
        rows["user_reservations"] += [
            {"user_id": user_id, "position": position, "reservation_id": reservation_id}
            for position, reservation_id in enumerate(ids)
        ]
    return rows


def _add_reservation(
    rows: dict[str, list[Row]], reservation_id: str, trip: Trip, customer: Customer, party: list[Person], random: Random
) -> None:
    cabin, is_insured = random.choice(CABINS), random.random() < 0.5
    key = {"reservation_id": reservation_id}
    per_person_cents = 3000 if is_insured else 0
    for position, (flight, day) in enumerate(trip.segments):
        price_cents = fare_cents(flight, cabin, random)
        per_person_cents += price_cents
        place = {"position": position, "flight_number": flight.number, "date": day.isoformat()}
        ends = {"origin": flight.origin, "destination": flight.destination}
        rows["reservation_flights"].append({**key, **place, **ends, "price_cents": price_cents})
    rows["reservation_passengers"] += [{**key, "position": at, **person._asdict()} for at, person in enumerate(party)]
    rows["reservation_payments"].append(
        {
            **key,
            "position": 0,
            "payment_id": random.choice(customer.payment_ids),
            "amount_cents": per_person_cents * len(party),
        }
    )
    rows["reservations"].append(
        {
            **key,
            "user_id": customer.user_id,
            "origin": trip.origin,
            "destination": trip.destination,
            "flight_type": "round_trip" if trip.is_round else "one_way",
            "cabin": cabin,
            "created_at": trip.created_at.isoformat(),
            "total_baggages": random.randint(0, BAGS_IN_FARE[cabin] * len(party)),
            "nonfree_baggages": 0,
            "insurance": "yes" if is_insured else "no",
        }
    )


def _invent_trip(schedule: Schedule, random: Random) -> Trip:
    first_moment = datetime(2024, 4, 30)
    seconds = int((NOW - first_moment).total_seconds())
    is_round = random.random() < 0.48
    while True:
        origin, destination = random.choice(list(schedule.itineraries))
        created_at = first_moment + timedelta(seconds=random.randrange(seconds))
        day = created_at.date() + timedelta(days=random.randint(0, 27))
        segments = _invent_direction(schedule, (origin, destination), day, random)
        if is_round and (destination, origin) in schedule.itineraries:
            back_day = segments[-1][1] + timedelta(days=random.randint(0, 14))
            segments += _invent_direction(schedule, (destination, origin), back_day, random)
        elif is_round:
            continue
        trip = Trip(origin, destination, is_round, created_at, segments)
        if _is_flown_in_order(trip):
            return trip


def _invent_direction(schedule: Schedule, ends: tuple[str, str], day: date, random: Random) -> list[Segment]:
    itineraries = schedule.itineraries[ends]
    stops = 0 if random.random() < 0.3 else 1
    itinerary = random.choice([one for one in itineraries if len(one) == stops + 1] or itineraries)
    return [(flight, day + timedelta(days=later)) for flight, later in itinerary]


def _is_flown_in_order(trip: Trip) -> bool:
    gap = timedelta(minutes=CONNECTION_MIN.start)
    first, first_day = trip.segments[0]
    return (
        all(day in DAYS for _, day in trip.segments)
        and first.departure(first_day) >= trip.created_at + 2 * gap
        and all(
            onward.departure(onward_day) >= flight.arrival(day) + gap
            for (flight, day), (onward, onward_day) in pairwise(trip.segments)
        )
    )


def _invent_party(customer: Customer, names: Names, random: Random) -> list[Person]:
    size = random.choice([1] * 9 + [2] * 7 + [3] * 3 + [4])
    party = [customer.person] if random.random() < 0.8 else []
    party += customer.saved[: random.randint(0, 2)]
    while len(party) < size:
        party.append(invent_person(names, random))
    return party[:size]


def _invent_reservation_id(used: set[str], random: Random) -> str:
    while True:
        reservation_id = "".join(random.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=6))
        if reservation_id not in used and not reservation_id.isalpha() and not reservation_id.isdigit():
            used.add(reservation_id)
            return reservation_id
