"""Invents the airline's schedule: which flights there are, and what became of each on every day of the month.

Only integers are computed with. Before the clock a day was flown or cancelled, after it seats are sold.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from math import isqrt
from random import Random

from taugraph.domains.airline.models import CABINS
from taugraph.domains.changes import Row

NOW = datetime(2024, 5, 15, 15)
"""The domain's clock."""
DAYS = [date(2024, 5, day) for day in range(1, 31)]
"""Days on which every flight flies."""
FARES = {"basic_economy": (50, 99), "economy": (100, 199), "business": (200, 500)}
"""Cheapest and dearest price of a segment in whole dollars, by cabin."""
CONNECTION_MIN = range(60, 301)
"""Minutes that may lie between two segments of one direction."""


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


def invent_schedule(random: Random, airports: dict[str, list[int]]) -> Schedule:
    """Draw 300 flights on 108 routes between the airports, given by their place on the map in miles."""
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


def flight_rows(schedule: Schedule) -> Iterator[Row]:
    """Return the rows of `flights`."""
    for position, flight in enumerate(schedule.flights):
        departure, arrival = flight.departure(DAYS[0]), flight.arrival(DAYS[0])
        yield {
            "flight_number": flight.number,
            "position": position,
            "origin": flight.origin,
            "destination": flight.destination,
            "scheduled_departure_time_est": departure.strftime("%H:%M:%S"),
            "scheduled_arrival_time_est": arrival.strftime("%H:%M:%S")
            + ("+1" if arrival.date() > departure.date() else ""),
        }


def flight_day_rows(schedule: Schedule, random: Random) -> Iterator[Row]:
    """Draw the rows of `flight_days`."""
    for flight in schedule.flights:
        for day in DAYS:
            record = _sold_day(flight, random) if day > NOW.date() else _operated_day(flight, day, random)
            yield {"flight_number": flight.number, "date": day.isoformat(), **record}


def fare_cents(flight: PlannedFlight, cabin: str, random: Random) -> int:
    """Draw the price of a segment: somewhere in the cabin's range, dearer the longer the flight."""
    low, high = FARES[cabin]
    usual = low + (high - low) * flight.block // 360
    return 100 * ((2 * random.randint(low, high) + usual) // 3)


def _sold_day(flight: PlannedFlight, random: Random) -> Row:
    record: Row = {"status": "available"}
    for cabin in CABINS:
        record[f"{cabin}_seats"] = random.randint(0, 20)
        record[f"{cabin}_price_cents"] = fare_cents(flight, cabin, random)
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


def _miles(start: list[int], goal: list[int]) -> int:
    return isqrt((start[0] - goal[0]) ** 2 + (start[1] - goal[1]) ** 2)


def _half_hours(minutes: int) -> int:
    return (minutes + 15) // 30 * 30
