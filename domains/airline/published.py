"""The airline of tau-bench as rows: its three files of records, validated twice and changed only in their units.

Records keep their order in the files as positions, and dollars become cents. Records in the second version's clothes
are read as well: users that carry their id, a status of null, amounts with decimals, no second line of address.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field
from sqlmodel import SQLModel

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
from taugraph.domains.domain import Seed
from taugraph.domains.errors import DataError
from taugraph.domains.published import Cents, PublishedRecord, read_records
from taugraph.domains.published_seed import Contents, published_seed

SEED_SCHEMA = "airline-published-1"
"""Part of the content hash; it changes with whatever makes the same files yield other rows."""

COLLECTIONS = ("users", "flights", "reservations")
"""Collections of published records."""

_USERS, _FLIGHTS, _RESERVATIONS = COLLECTIONS

_Text = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
_Date = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
_TimeOfDay = Annotated[str, Field(pattern=r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\+1)?$")]
_Moment = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$")]


class _Name(PublishedRecord):
    first_name: _Text
    last_name: _Text


class _Person(_Name):
    dob: _Date


class _Address(PublishedRecord):
    address1: _Text
    address2: str | None = None
    city: _Text
    country: _Text
    state: _Text = Field(validation_alias=AliasChoices("state", "province"))
    zip: _Text


class _Card(PublishedRecord):
    source: Literal["credit_card"]
    brand: _Text
    last_four: _Text
    payment_id: _Text = Field(alias="id")


class _Balance(PublishedRecord):
    source: Literal["gift_card", "certificate"]
    amount_cents: Cents = Field(alias="amount")
    payment_id: _Text = Field(alias="id")


class _UserRecord(PublishedRecord):
    user_id: str | None = None
    name: _Name
    address: _Address
    email: _Text
    dob: _Date
    payment_methods: dict[str, Annotated[_Card | _Balance, Field(discriminator="source")]]
    saved_passengers: tuple[_Person, ...]
    membership: Literal["gold", "silver", "regular"]
    reservations: tuple[_Text, ...]


class _Seats(PublishedRecord):
    basic_economy: _Count
    economy: _Count
    business: _Count


class _Prices(PublishedRecord):
    basic_economy: Cents
    economy: Cents
    business: Cents


class _OpenDay(PublishedRecord):
    status: Literal["available"]
    available_seats: _Seats
    prices: _Prices


class _LandedDay(PublishedRecord):
    status: Literal["landed"]
    actual_departure_time_est: _Moment
    actual_arrival_time_est: _Moment


class _FlyingDay(PublishedRecord):
    status: Literal["flying"]
    actual_departure_time_est: _Moment
    estimated_arrival_time_est: _Moment


class _ComingDay(PublishedRecord):
    status: Literal["on time", "delayed"]
    estimated_departure_time_est: _Moment
    estimated_arrival_time_est: _Moment


class _CancelledDay(PublishedRecord):
    status: Literal["cancelled"]


_Day = _OpenDay | _LandedDay | _FlyingDay | _ComingDay | _CancelledDay


class _FlightRecord(PublishedRecord):
    flight_number: _Text
    origin: _Text
    destination: _Text
    scheduled_departure_time_est: _TimeOfDay
    scheduled_arrival_time_est: _TimeOfDay
    dates: dict[_Date, Annotated[_Day, Field(discriminator="status")]]


class _Segment(PublishedRecord):
    flight_number: _Text
    origin: _Text
    destination: _Text
    date: _Date
    price_cents: Cents = Field(alias="price")


class _Payment(PublishedRecord):
    payment_id: _Text
    amount_cents: Cents = Field(alias="amount")


class _ReservationRecord(PublishedRecord):
    reservation_id: _Text
    user_id: _Text
    origin: _Text
    destination: _Text
    flight_type: Literal["one_way", "round_trip"]
    cabin: Literal["basic_economy", "economy", "business"]
    flights: tuple[_Segment, ...]
    passengers: tuple[_Person, ...]
    payment_history: tuple[_Payment, ...]
    created_at: _Moment
    total_baggages: _Count
    nonfree_baggages: _Count
    insurance: Literal["yes", "no"]
    status: Literal["cancelled"] | None = None


def read_seed(folder: Path) -> Seed:
    """Read the published records as the rows every trial starts from.

    Args:
        folder: Folder of the data, of either generation.

    Raises:
        DataError: If a file is missing; from the seed's `rows`, if a file or record breaks the schema.
    """
    return published_seed(folder, COLLECTIONS, SEED_SCHEMA, _rows)


def rows_of(collection: str, key: str, document: Mapping[str, Any]) -> Iterator[SQLModel]:
    """Yield the rows of one published record.

    Args:
        collection: One of `COLLECTIONS`.
        key: The record's id.
        document: The record.

    Raises:
        pydantic.ValidationError: If it breaks the schema.
    """
    if collection == _USERS:
        return _user_rows({key: _UserRecord.model_validate(document)})
    if collection == _FLIGHTS:
        return _flight_rows({key: _FlightRecord.model_validate(document)})
    return _reservation_rows({key: _ReservationRecord.model_validate(document)})


def _rows(contents: Contents) -> Iterator[SQLModel]:
    # A row is validated after its record was: the record names file and field, the row obeys its table. Both together
    # take about a second and a half of CPU for the whole of tau-bench's airline, most of it in the rows.
    users = read_records(*contents[_USERS], _UserRecord, "user_id")
    flights = read_records(*contents[_FLIGHTS], _FlightRecord, "flight_number")
    reservations = read_records(*contents[_RESERVATIONS], _ReservationRecord, "reservation_id")
    _refuse_wrong_payment_ids(contents[_USERS][0], users)
    _refuse_unknown_users(contents[_RESERVATIONS][0], reservations, users)
    yield from _user_rows(users)
    yield from _flight_rows(flights)
    yield from _reservation_rows(reservations)


def _refuse_wrong_payment_ids(path: Path, users: Mapping[str, _UserRecord]) -> None:
    for user_id, user in users.items():
        for key, method in user.payment_methods.items():
            if method.payment_id != key:
                field = f"payment_methods.{key}.id"
                raise DataError(path, user_id, field, method.payment_id, f"{key!r}, the key it stands under")


def _refuse_unknown_users(
    path: Path, reservations: Mapping[str, _ReservationRecord], users: Mapping[str, _UserRecord]
) -> None:
    for key, reservation in reservations.items():
        if reservation.user_id not in users:
            raise DataError(path, key, "user_id", reservation.user_id, "the id of a user")


def _user_rows(users: Mapping[str, _UserRecord]) -> Iterator[SQLModel]:
    for key, user in users.items():
        own = user.model_dump(include={"email", "dob", "membership"})
        yield User.model_validate({**own, **user.name.model_dump(), **user.address.model_dump(), "user_id": key})
    for key, user in users.items():
        for position, method in enumerate(user.payment_methods.values()):
            yield PaymentMethod.model_validate({**method.model_dump(), "user_id": key, "position": position})
    for key, user in users.items():
        for position, person in enumerate(user.saved_passengers):
            yield SavedPassenger.model_validate({**person.model_dump(), "user_id": key, "position": position})
    for key, user in users.items():
        for position, listed in enumerate(user.reservations):
            yield UserReservation.model_validate({"user_id": key, "position": position, "reservation_id": listed})


def _flight_rows(flights: Mapping[str, _FlightRecord]) -> Iterator[SQLModel]:
    for position, flight in enumerate(flights.values()):
        yield Flight.model_validate({**flight.model_dump(exclude={"dates"}), "position": position})
    for key, flight in flights.items():
        for date, day in flight.dates.items():
            yield FlightDay.model_validate({**_day_columns(day), "flight_number": key, "date": date})


def _day_columns(day: _Day) -> dict[str, Any]:
    if not isinstance(day, _OpenDay):
        return day.model_dump()
    seats = {f"{cabin}_seats": getattr(day.available_seats, cabin) for cabin in CABINS}
    prices = {f"{cabin}_price_cents": getattr(day.prices, cabin) for cabin in CABINS}
    return {"status": day.status, **seats, **prices}


def _reservation_rows(reservations: Mapping[str, _ReservationRecord]) -> Iterator[SQLModel]:
    children = {"flights", "passengers", "payment_history"}
    for reservation in reservations.values():
        yield Reservation.model_validate(reservation.model_dump(exclude=children))
    for key, reservation in reservations.items():
        for position, segment in enumerate(reservation.flights):
            yield ReservationFlight.model_validate(_child(key, position, segment))
    for key, reservation in reservations.items():
        for position, person in enumerate(reservation.passengers):
            yield ReservationPassenger.model_validate(_child(key, position, person))
    for key, reservation in reservations.items():
        for position, payment in enumerate(reservation.payment_history):
            yield ReservationPayment.model_validate(_child(key, position, payment))


def _child(reservation_id: str, position: int, record: PublishedRecord) -> dict[str, Any]:
    return {**record.model_dump(), "reservation_id": reservation_id, "position": position}
