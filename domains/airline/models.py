"""The airline's tables: natural keys, money in integer cents, ordered children by an explicit position.

Times of a schedule are `HH:MM:SS` in EST, with `+1` where the flight lands the next day; moments are
`YYYY-MM-DDTHH:MM:SS` in EST; dates are `YYYY-MM-DD`. They are text because the tools compare and return them as text.
"""

from typing import Any, ClassVar

from sqlalchemy import JSON, Column
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

CABINS = ("basic_economy", "economy", "business")
"""Cabins from the cheapest to the dearest."""


class AirlineTable(SQLModel, registry=registry()):
    """A table of the airline, in metadata of its own so that other domains may use the same table names."""


def _extra_column() -> Any:
    return Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=True))


class User(AirlineTable, table=True):
    """A customer's profile."""

    __tablename__: ClassVar[str] = "users"

    user_id: str = Field(primary_key=True)
    """`first_last_1234`."""
    first_name: str
    """Given name."""
    last_name: str
    """Family name."""
    address1: str
    """Street and number."""
    address2: str | None = None
    """Suite or flat; `None` where there is none."""
    city: str
    """City of residence."""
    country: str
    """Country of residence."""
    state: str
    """Two letters."""
    zip: str
    """Five digits."""
    email: str
    """Unique."""
    dob: str
    """Date of birth."""
    membership: str
    """`regular`, `silver` or `gold`."""


class PaymentMethod(AirlineTable, table=True):
    """A means of payment in a user's profile."""

    __tablename__: ClassVar[str] = "payment_methods"

    user_id: str = Field(primary_key=True, foreign_key="users.user_id")
    """Owner."""
    payment_id: str = Field(primary_key=True)
    """`credit_card_...`, `gift_card_...` or `certificate_...`."""
    position: int
    """Place in the profile, from 0."""
    source: str
    """`credit_card`, `gift_card` or `certificate`."""
    amount_cents: int | None = None
    """Balance of a gift card or value of a certificate; `None` for a credit card."""
    brand: str | None = None
    """`visa` or `mastercard`; `None` unless a credit card."""
    last_four: str | None = None
    """Last four digits; `None` unless a credit card."""


class SavedPassenger(AirlineTable, table=True):
    """A travel companion kept in a user's profile."""

    __tablename__: ClassVar[str] = "saved_passengers"

    user_id: str = Field(primary_key=True, foreign_key="users.user_id")
    """Owner."""
    position: int = Field(primary_key=True)
    """Place in the profile, from 0."""
    first_name: str
    """Given name."""
    last_name: str
    """Family name."""
    dob: str
    """Date of birth."""


class UserReservation(AirlineTable, table=True):
    """One entry of the list of reservations in a user's profile."""

    __tablename__: ClassVar[str] = "user_reservations"

    user_id: str = Field(primary_key=True, foreign_key="users.user_id")
    """Owner."""
    position: int = Field(primary_key=True)
    """Place in the list, from 0."""
    reservation_id: str
    """Reservation that is listed."""


class Flight(AirlineTable, table=True):
    """A flight of the schedule, flown every day."""

    __tablename__: ClassVar[str] = "flights"

    flight_number: str = Field(primary_key=True)
    """Two or three letters and three digits."""
    position: int
    """Place in the schedule, from 0; searches answer in this order."""
    origin: str = Field(index=True)
    """IATA code."""
    destination: str = Field(index=True)
    """IATA code."""
    scheduled_departure_time_est: str
    """Time of day."""
    scheduled_arrival_time_est: str
    """Time of day, with `+1` where it is the next day."""


class FlightDay(AirlineTable, table=True):
    """A flight on one date."""

    __tablename__: ClassVar[str] = "flight_days"

    flight_number: str = Field(primary_key=True, foreign_key="flights.flight_number")
    """Flight."""
    date: str = Field(primary_key=True)
    """Day of departure."""
    status: str
    """`available`, `on time`, `delayed`, `flying`, `landed` or `cancelled`."""
    basic_economy_seats: int | None = None
    """Free seats; `None` unless available."""
    economy_seats: int | None = None
    """Free seats; `None` unless available."""
    business_seats: int | None = None
    """Free seats; `None` unless available."""
    basic_economy_price_cents: int | None = None
    """Price per person; `None` unless available."""
    economy_price_cents: int | None = None
    """Price per person; `None` unless available."""
    business_price_cents: int | None = None
    """Price per person; `None` unless available."""
    estimated_departure_time_est: str | None = None
    """Moment; `None` unless on time or delayed."""
    estimated_arrival_time_est: str | None = None
    """Moment; `None` unless on time, delayed or flying."""
    actual_departure_time_est: str | None = None
    """Moment; `None` unless flying or landed."""
    actual_arrival_time_est: str | None = None
    """Moment; `None` unless landed."""


class Reservation(AirlineTable, table=True):
    """A booking of one user for a party of passengers."""

    __tablename__: ClassVar[str] = "reservations"

    reservation_id: str = Field(primary_key=True)
    """Six capital letters and digits."""
    user_id: str = Field(foreign_key="users.user_id")
    """Who booked."""
    origin: str
    """IATA code of the trip's start."""
    destination: str
    """IATA code of the trip's goal."""
    flight_type: str
    """`one_way` or `round_trip`."""
    cabin: str
    """One of `CABINS`, for every segment."""
    created_at: str
    """Moment of booking."""
    total_baggages: int
    """Checked bags of the party."""
    nonfree_baggages: int
    """Bags among them that were paid for."""
    insurance: str
    """`yes` or `no`."""
    status: str | None = None
    """`cancelled`; `None` while it stands."""


class ReservationFlight(AirlineTable, table=True):
    """A segment of a reservation."""

    __tablename__: ClassVar[str] = "reservation_flights"

    reservation_id: str = Field(primary_key=True, foreign_key="reservations.reservation_id")
    """Reservation."""
    position: int = Field(primary_key=True)
    """Place in the trip, from 0."""
    flight_number: str
    """Flight."""
    date: str
    """Day of departure."""
    origin: str
    """IATA code."""
    destination: str
    """IATA code."""
    price_cents: int
    """Price per person as it was booked."""
    extra: dict[str, Any] | None = _extra_column()
    """Further keys that came with the call, where the dialect keeps them."""


class ReservationPassenger(AirlineTable, table=True):
    """A traveller of a reservation."""

    __tablename__: ClassVar[str] = "reservation_passengers"

    reservation_id: str = Field(primary_key=True, foreign_key="reservations.reservation_id")
    """Reservation."""
    position: int = Field(primary_key=True)
    """Place in the party, from 0."""
    first_name: str | None = None
    """Given name; `None` only where the dialect accepts a passenger without one."""
    last_name: str | None = None
    """Family name; as above."""
    dob: str | None = None
    """Date of birth; as above."""
    extra: dict[str, Any] | None = _extra_column()
    """Further keys that came with the call, where the dialect keeps them."""


class ReservationPayment(AirlineTable, table=True):
    """An entry of a reservation's payment history: paid is positive, refunded negative."""

    __tablename__: ClassVar[str] = "reservation_payments"

    reservation_id: str = Field(primary_key=True, foreign_key="reservations.reservation_id")
    """Reservation."""
    position: int = Field(primary_key=True)
    """Place in the history, from 0."""
    payment_id: str
    """Means of payment in the user's profile at that time."""
    amount_cents: int
    """Amount, signed."""
    extra: dict[str, Any] | None = _extra_column()
    """Further keys that came with the call, where the dialect keeps them."""


class Handoff(AirlineTable, table=True):
    """A conversation that was handed over to a human agent."""

    __tablename__: ClassVar[str] = "handoffs"

    position: int = Field(primary_key=True)
    """Order of the handoffs, from 0."""
    summary: str
    """What the agent told its human colleague; free wording, never compared."""


TABLES: tuple[type[AirlineTable], ...] = (
    User,
    PaymentMethod,
    SavedPassenger,
    UserReservation,
    Flight,
    FlightDay,
    Reservation,
    ReservationFlight,
    ReservationPassenger,
    ReservationPayment,
    Handoff,
)
"""Every table, parents before children."""
