"""Facts that tests of the airline's tools need, looked up in the seed so that no test depends on its wording."""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlmodel import Session, col, select

from taugraph.domains.airline.models import (
    Flight,
    FlightDay,
    PaymentMethod,
    Reservation,
    ReservationFlight,
    ReservationPassenger,
    ReservationPayment,
    User,
)
from taugraph.domains.changes import NetChanges
from taugraph.tools.executor import Answer, Executor

Arguments = dict[str, Any]
DAY = "2024-05-20"
NEXT_DAY = "2024-05-21"
ANNA = {"first_name": "Anna", "last_name": "Ek", "dob": "1990-01-02"}
BERT = {"first_name": "Bert", "last_name": "Ek", "dob": "1991-01-02"}


@dataclass
class Trial:
    """One trial on an executor: makes calls and keeps the changes."""

    executor: Executor
    changes: NetChanges

    def call(self, name: str, arguments: Arguments) -> Answer:
        """Make a call, whatever comes of it."""
        answer = self.executor.execute(name, arguments, self.changes)
        self.changes = answer.changes
        return answer

    def do(self, name: str, arguments: Arguments) -> Any:
        """Make a call that must succeed and return what it answers."""
        answer = self.call(name, arguments)
        assert not answer.is_error, answer.text
        try:
            return json.loads(answer.text)
        except ValueError:
            return answer.text

    def refuse(self, name: str, arguments: Arguments) -> str:
        """Make a call that must be refused and leave nothing behind, and return why."""
        before = json.dumps(self.changes)
        answer = self.call(name, arguments)
        assert answer.is_error, answer.text
        assert json.dumps(self.changes) == before
        return answer.text

    def row(self, model: Any, key: Any) -> Any:
        """Return a row as it stands in the trial."""
        return self.executor.database.read(self.changes, lambda session: session.get(model, key))

    def seats(self, flight: str, date: str, cabin: str) -> int:
        """Return the free seats of a cabin."""
        return int(getattr(self.row(FlightDay, (flight, date)), f"{cabin}_seats"))

    def balance(self, user: str, method: str) -> int:
        """Return the cents on a gift card or certificate."""
        return int(self.row(PaymentMethod, (user, method)).amount_cents)

    def rows(self, table: str) -> list[Any]:
        """Return what became of each changed row of a table: the row now, or None."""
        return [after for _, after in self.changes.get(table, {}).values()]


@dataclass(frozen=True)
class Trip:
    """A flight there on `DAY` and one back on `NEXT_DAY`, both bookable with seats to spare."""

    there: str
    back: str
    origin: str
    destination: str
    there_cents: int
    back_cents: int

    @property
    def segment(self) -> Arguments:
        return {"flight_number": self.there, "date": DAY}

    @property
    def way_back(self) -> Arguments:
        return {"flight_number": self.back, "date": NEXT_DAY}


@dataclass(frozen=True)
class Customer:
    """A customer with a credit card, a gift card and a certificate."""

    user_id: str
    card: str
    gift: str
    gift_cents: int
    certificate: str
    certificate_cents: int


@dataclass(frozen=True)
class Booking:
    """A standing one-way reservation in economy with one flight, which can still be booked."""

    reservation_id: str
    owner: Customer
    flight: str
    date: str
    price_cents: int
    party: int
    payment_id: str
    origin: str
    destination: str


class World:
    """The seed, asked for what a test needs."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @cached_property
    def trips(self) -> list[Trip]:
        return self._executor.database.read({}, _trips)

    @cached_property
    def customers(self) -> list[Customer]:
        return self._executor.database.read({}, _customers)

    @cached_property
    def bookings(self) -> list[Booking]:
        return self._executor.database.read({}, lambda session: _bookings(session, self.customers))

    @cached_property
    def overnight(self) -> tuple[Flight, Flight]:
        """A flight that lands the next day, and one that leaves for a third place after that."""
        return self._executor.database.read({}, _overnight)

    @property
    def trip(self) -> Trip:
        return self.trips[0]

    @property
    def customer(self) -> Customer:
        return self.customers[0]

    @property
    def booking(self) -> Booking:
        return self.bookings[0]

    def order(self, **changes: Any) -> Arguments:
        """Return a right call of `book_reservation`: one way for two in economy, on the credit card."""
        trip, customer = self.trip, self.customer
        return {
            "user_id": customer.user_id,
            "origin": trip.origin,
            "destination": trip.destination,
            "flight_type": "one_way",
            "cabin": "economy",
            "flights": [trip.segment],
            "passengers": [ANNA, BERT],
            "payment_methods": [{"payment_id": customer.card, "amount": 2 * trip.there_cents / 100}],
            "total_baggages": 0,
            "nonfree_baggages": 0,
            "insurance": "no",
        } | changes


def rich(customer: Customer, trial: Trial) -> Customer:
    """Give the customer's gift card plenty of money in a trial's changes."""
    key = json.dumps([customer.user_id, customer.gift], separators=(",", ":"))
    before = trial.row(PaymentMethod, (customer.user_id, customer.gift)).model_dump()
    trial.changes.setdefault("payment_methods", {})[key] = [before, before | {"amount_cents": 5_000_00}]
    return replace(customer, gift_cents=5_000_00)


def _open_days(session: Session, date: str) -> dict[tuple[str, str], tuple[Flight, FlightDay]]:
    found = session.exec(
        select(Flight, FlightDay)
        .join(FlightDay, col(FlightDay.flight_number) == col(Flight.flight_number))
        .where(FlightDay.date == date, FlightDay.status == "available")
        .where(col(FlightDay.economy_seats) >= 4, col(FlightDay.business_seats) >= 4)
        .order_by(col(Flight.position))
    )
    days: dict[tuple[str, str], tuple[Flight, FlightDay]] = {}
    for flight, day in found:
        days.setdefault((flight.origin, flight.destination), (flight, day))
    return days


def _trips(session: Session) -> list[Trip]:
    back = _open_days(session, NEXT_DAY)
    return [
        Trip(
            flight.flight_number,
            back[destination, origin][0].flight_number,
            origin,
            destination,
            day.economy_price_cents or 0,
            back[destination, origin][1].economy_price_cents or 0,
        )
        for (origin, destination), (flight, day) in _open_days(session, DAY).items()
        if (destination, origin) in back
    ]


def _overnight(session: Session) -> tuple[Flight, Flight]:
    late = select(Flight).where(col(Flight.scheduled_arrival_time_est).endswith("+1")).order_by(col(Flight.position))
    for first in session.exec(late).all():
        onward = select(Flight).where(Flight.origin == first.destination, Flight.destination != first.origin)
        lands = first.scheduled_arrival_time_est.removesuffix("+1")
        for second in session.exec(onward.where(col(Flight.scheduled_departure_time_est) > lands)).all():
            days = [
                session.get(FlightDay, (flight.flight_number, date))
                for flight, date in ((first, DAY), (second, NEXT_DAY), (second, DAY))
            ]
            if all(day is not None and day.status == "available" for day in days):
                return first, second
    raise LookupError("the seed has no overnight connection")


def _customers(session: Session) -> list[Customer]:
    owned: dict[str, dict[str, PaymentMethod]] = {}
    for method in session.exec(select(PaymentMethod).order_by(col(PaymentMethod.user_id))):
        owned.setdefault(method.user_id, {})[method.source] = method
    return [
        Customer(
            user_id,
            methods["credit_card"].payment_id,
            methods["gift_card"].payment_id,
            methods["gift_card"].amount_cents or 0,
            methods["certificate"].payment_id,
            methods["certificate"].amount_cents or 0,
        )
        for user_id, methods in owned.items()
        if len(methods) == 3 and session.get(User, user_id)
    ]


def _bookings(session: Session, customers: list[Customer]) -> list[Booking]:
    owners = {customer.user_id: customer for customer in customers}
    found = []
    wanted = select(Reservation).where(Reservation.flight_type == "one_way", Reservation.cabin == "economy")
    for reservation in session.exec(wanted.order_by(col(Reservation.reservation_id))).all():
        key = reservation.reservation_id
        flights = session.exec(select(ReservationFlight).where(ReservationFlight.reservation_id == key)).all()
        party = session.exec(select(ReservationPassenger).where(ReservationPassenger.reservation_id == key)).all()
        payments = session.exec(select(ReservationPayment).where(ReservationPayment.reservation_id == key)).all()
        day = session.get(FlightDay, (flights[0].flight_number, flights[0].date))
        if (
            reservation.user_id in owners
            and (reservation.status, reservation.nonfree_baggages) == (None, 0)
            and len(flights) == len(payments) == 1
            and day is not None
            and day.status == "available"
            and (day.business_seats or 0) >= len(party)
        ):
            segment = flights[0]
            found.append(
                Booking(
                    key,
                    owners[reservation.user_id],
                    segment.flight_number,
                    segment.date,
                    segment.price_cents,
                    len(party),
                    payments[0].payment_id,
                    segment.origin,
                    segment.destination,
                )
            )
    return found
