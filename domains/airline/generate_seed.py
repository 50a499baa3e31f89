"""Invents the airline's seed: customers, schedule and bookings, the same bytes on every machine.

Each part draws from a random generator of its own, so that a change of one leaves the others as they are, and only
integers are computed with. Bookings respect the schedule: segments chain, nobody booked after departure, a round trip
comes home, and each trip was paid exactly once. Run it with `python -m taugraph.domains.airline.generate_seed`.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from itertools import pairwise
from math import isqrt
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from taugraph.domains.airline.models import CABINS
from taugraph.domains.airline.seed import SEED_FOLDER, SEED_TABLES, seed_columns, seed_file

NOW = datetime(2024, 5, 15, 15)
"""The domain's clock."""
DAYS = [date(2024, 5, day) for day in range(1, 31)]
"""Days on which every flight flies."""
FARES = {"basic_economy": (50, 99), "economy": (100, 199), "business": (200, 500)}
"""Cheapest and dearest price of a segment in whole dollars, by cabin."""
BAGS_IN_FARE = {"basic_economy": 0, "economy": 1, "business": 2}
"""Bags per passenger that go free in every membership."""
CONNECTION_MIN = range(60, 301)
"""Minutes that may lie between two segments of one direction."""

Row = dict[str, Any]
Rows = dict[str, list[Row]]


class Person(NamedTuple):
    """Somebody who flies."""

    first_name: str
    last_name: str
    dob: str


@dataclass(frozen=True)
class PlannedFlight:
    """A flight of the schedule; times in minutes."""

    number: str
    origin: str
    destination: str
    departs: int
    block: int

    def departure(self, day: date) -> datetime:
        """Return the scheduled departure on a day."""
        return datetime.combine(day, time()) + timedelta(minutes=self.departs)

    def arrival(self, day: date) -> datetime:
        """Return the scheduled arrival of the flight that departs on a day."""
        return self.departure(day) + timedelta(minutes=self.block)


Segment = tuple[PlannedFlight, date]
"""A flight on the day of its departure."""
Itinerary = list[tuple[PlannedFlight, int]]
"""One direction of a trip: flights with their days after the first."""


@dataclass(frozen=True)
class Customer:
    """Somebody with a profile, and what a booking takes from it."""

    user_id: str
    person: Person
    payment_ids: list[str]
    saved: list[Person]


@dataclass(frozen=True)
class Trip:
    """What is flown, before anybody has paid for it."""

    origin: str
    destination: str
    is_round: bool
    created_at: datetime
    segments: list[Segment]


@dataclass(frozen=True)
class Schedule:
    """The flights and the connections they make."""

    flights: list[PlannedFlight]
    airports: dict[str, list[int]]

    @cached_property
    def itineraries(self) -> dict[tuple[str, str], list[Itinerary]]:
        """Direct flights and sensible one-stop connections, by (origin, destination)."""
        found: dict[tuple[str, str], list[Itinerary]] = {}
        for first in self.flights:
            found.setdefault((first.origin, first.destination), []).append([(first, 0)])
            for second in self.flights:
                overnight = (first.departs + first.block) // 1440
                wait = second.departs + 1440 * overnight - first.departs - first.block
                if second.origin == first.destination and wait in CONNECTION_MIN and self._is_on_the_way(first, second):
                    ends = (first.origin, second.destination)
                    found.setdefault(ends, []).append([(first, 0), (second, overnight)])
        return found

    def _is_on_the_way(self, first: PlannedFlight, second: PlannedFlight) -> bool:
        start, stop, goal = (self.airports[code] for code in (first.origin, first.destination, second.destination))
        return start != goal and 2 * (_miles(start, stop) + _miles(stop, goal)) <= 3 * _miles(start, goal)


def main() -> None:
    """Rewrite the files of the seed."""
    generate_seed(SEED_FOLDER)


def generate_seed(folder: Path) -> None:
    """Write one CSV file per table of the seed into a folder."""
    names = json.loads((SEED_FOLDER / "names.json").read_text(encoding="utf-8"))
    airports = json.loads((SEED_FOLDER / "network.json").read_text(encoding="utf-8"))["airports"]
    rows: Rows = {str(table.__tablename__): [] for table in SEED_TABLES}
    schedule = _invent_schedule(Random("airline schedule"), airports)
    _add_flights(rows, schedule)
    _add_flight_days(rows, schedule, Random("airline operations"))
    _add_users(rows, names, Random("airline users"))
    _add_reservations(rows, schedule, names, Random("airline reservations"))
    for table in SEED_TABLES:
        with seed_file(folder, table).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, seed_columns(table), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[str(table.__tablename__)])


def _invent_schedule(random: Random, airports: dict[str, list[int]]) -> Schedule:
    far = [(a, b) for a in airports for b in airports if a < b and _miles(airports[a], airports[b]) >= 150]
    random.shuffle(far)
    pairs = [pair for code in airports for pair in [p for p in far if code in p][:3]]
    pairs = list(dict.fromkeys([*pairs, *far]))[:54]
    routes = [route for pair in pairs for route in (pair, pair[::-1])]
    routes = sorted(routes + random.choices(routes, k=300 - len(routes)))
    flights: list[PlannedFlight] = []
    for index, (origin, destination) in enumerate(routes):
        block = min(max(_half_hours(45 + _miles(airports[origin], airports[destination]) // 8), 60), 360)
        taken = {flight.departs for flight in flights if (flight.origin, flight.destination) == (origin, destination)}
        departs = random.choice([minute for minute in range(300, 1440, 30) if minute not in taken])
        flights.append(PlannedFlight(f"TG{index + 1:03}", origin, destination, departs, block))
    return Schedule(flights, airports)


def _add_flights(rows: Rows, schedule: Schedule) -> None:
    for position, flight in enumerate(schedule.flights):
        departure, arrival = flight.departure(DAYS[0]), flight.arrival(DAYS[0])
        rows["flights"].append(
            {
                "flight_number": flight.number,
                "position": position,
                "origin": flight.origin,
                "destination": flight.destination,
                "scheduled_departure_time_est": departure.strftime("%H:%M:%S"),
                "scheduled_arrival_time_est": arrival.strftime("%H:%M:%S")
                + ("+1" if arrival.date() > departure.date() else ""),
            }
        )


def _add_flight_days(rows: Rows, schedule: Schedule, random: Random) -> None:
    for flight in schedule.flights:
        for day in DAYS:
            record = _sold_day(flight, random) if day > NOW.date() else _operated_day(flight, day, random)
            rows["flight_days"].append({"flight_number": flight.number, "date": day.isoformat(), **record})


def _sold_day(flight: PlannedFlight, random: Random) -> Row:
    record: Row = {"status": "available"}
    for cabin in CABINS:
        record[f"{cabin}_seats"] = random.randint(0, 20)
        record[f"{cabin}_price_cents"] = _fare_cents(flight, cabin, random)
    return record


def _operated_day(flight: PlannedFlight, day: date, random: Random) -> Row:
    chance = random.randrange(100)
    late = random.randint(40, 205) if chance < 20 else 0
    departs = flight.departure(day) + timedelta(minutes=late or random.randint(-10, 25))
    arrives = flight.arrival(day) + timedelta(minutes=(late or 10) + random.randint(-25, 20))
    if chance >= 91:
        return {"status": "cancelled"}
    if departs > NOW:
        estimate = timedelta(minutes=late)
        return {
            "status": "delayed" if late else "on time",
            "estimated_departure_time_est": (flight.departure(day) + estimate).isoformat(),
            "estimated_arrival_time_est": (flight.arrival(day) + estimate).isoformat(),
        }
    kind = "estimated" if arrives > NOW else "actual"
    return {
        "status": "flying" if arrives > NOW else "landed",
        "actual_departure_time_est": departs.isoformat(),
        f"{kind}_arrival_time_est": arrives.isoformat(),
    }


def _add_users(rows: Rows, names: dict[str, Any], random: Random) -> None:
    numbers = random.sample(range(1000, 10000), 1000)
    payment_numbers = iter(random.sample(range(1_000_000, 10_000_000), 4000))
    for index in range(500):
        person = _invent_person(names, random)
        first, last = person.first_name.lower(), person.last_name.lower()
        user_id = f"{first}_{last}_{numbers[index]}"
        city, state, zip_start = random.choice(names["homes"])
        rows["users"].append(
            {
                **person._asdict(),
                "user_id": user_id,
                "address1": f"{random.randint(3, 998)} {random.choice(names['streets'])}",
                "address2": f"Apt {random.randint(1, 60)}" if random.random() < 0.6 else None,
                "city": city,
                "country": "USA",
                "state": state,
                "zip": f"{zip_start}{random.randint(1, 99):02}",
                "email": f"{first}.{last}{numbers[500 + index]}@example.com",
                "membership": random.choice(["regular", "silver", "gold"]),
            }
        )
        rows["payment_methods"] += _invent_payment_methods(user_id, payment_numbers, random)
        rows["saved_passengers"] += [
            {"user_id": user_id, "position": position, **_invent_person(names, random)._asdict()}
            for position in range(random.choice([1, 1, 2]))
        ]


def _invent_payment_methods(user_id: str, numbers: Iterator[int], random: Random) -> Iterator[Row]:
    # A certificate cannot have paid for a past trip here, so everybody owns something that can.
    sources = ["credit_card", "gift_card"][random.choice([0, 0, 1]) :][:1]
    sources += random.choices(["credit_card", "gift_card", "certificate"], k=random.choice([0, 1, 1, 2, 2, 3, 4]))
    random.shuffle(sources)
    for position, source in enumerate(sources):
        method: Row = {"user_id": user_id, "payment_id": f"{source}_{next(numbers)}", "position": position}
        if source == "credit_card":
            method |= {"brand": random.choice(["visa", "mastercard"]), "last_four": f"{random.randrange(10000):04}"}
        elif source == "gift_card":
            method["amount_cents"] = 100 * random.randint(0, 300)
        else:
            method["amount_cents"] = 100 * random.choice([100, 150, 250, 500])
        yield {**method, "source": source}


def _add_reservations(rows: Rows, schedule: Schedule, names: dict[str, Any], random: Random) -> None:
    customers = _customers(rows)
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


def _customers(rows: Rows) -> list[Customer]:
    payment_ids: dict[str, list[str]] = {}
    for row in rows["payment_methods"]:
        if row["source"] != "certificate":
            payment_ids.setdefault(row["user_id"], []).append(row["payment_id"])
    saved: dict[str, list[Person]] = {}
    for row in rows["saved_passengers"]:
        saved.setdefault(row["user_id"], []).append(Person(row["first_name"], row["last_name"], row["dob"]))
    return [
        Customer(
            user_id=row["user_id"],
            person=Person(row["first_name"], row["last_name"], row["dob"]),
            payment_ids=payment_ids[row["user_id"]],
            saved=saved[row["user_id"]],
        )
        for row in rows["users"]
    ]


def _add_reservation(
    rows: Rows, reservation_id: str, trip: Trip, customer: Customer, party: list[Person], random: Random
) -> None:
    cabin, is_insured = random.choice(CABINS), random.random() < 0.5
    key = {"reservation_id": reservation_id}
    per_person_cents = 3000 if is_insured else 0
    for position, (flight, day) in enumerate(trip.segments):
        price_cents = _fare_cents(flight, cabin, random)
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


def _invent_party(customer: Customer, names: dict[str, Any], random: Random) -> list[Person]:
    size = random.choice([1] * 9 + [2] * 7 + [3] * 3 + [4])
    party = [customer.person] if random.random() < 0.8 else []
    party += customer.saved[: random.randint(0, 2)]
    while len(party) < size:
        party.append(_invent_person(names, random))
    return party[:size]


def _invent_person(names: dict[str, Any], random: Random) -> Person:
    born = date(1950, 1, 1) + timedelta(days=random.randrange(50 * 365))
    return Person(random.choice(names["first_names"]), random.choice(names["last_names"]), born.isoformat())


def _invent_reservation_id(used: set[str], random: Random) -> str:
    while True:
        reservation_id = "".join(random.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=6))
        if reservation_id not in used and not reservation_id.isalpha() and not reservation_id.isdigit():
            used.add(reservation_id)
            return reservation_id


def _fare_cents(flight: PlannedFlight, cabin: str, random: Random) -> int:
    low, high = FARES[cabin]
    usual = low + (high - low) * flight.block // 360
    return 100 * ((2 * random.randint(low, high) + usual) // 3)


def _miles(start: list[int], goal: list[int]) -> int:
    return isqrt((start[0] - goal[0]) ** 2 + (start[1] - goal[1]) ** 2)


def _half_hours(minutes: int) -> int:
    return (minutes + 15) // 30 * 30


if __name__ == "__main__":
    main()
