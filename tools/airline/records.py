"""The airline's published records, as far as a task may change them before it begins."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import JsonValue
from sqlmodel import Session, SQLModel

from taugraph.domains.airline.models import (
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
from taugraph.domains.airline.published import rows_of
from taugraph.tools.airline.documents import flight_document, reservation_document, user_document
from taugraph.tools.records import Collection, change_records


def _collection(
    name: str, key: str, document: Callable[[Session, Any], dict[str, Any]], parts: Sequence[type[SQLModel]]
) -> Collection:
    return Collection(parts[-1], dict.fromkeys(parts, key), document, partial(rows_of, name))


COLLECTIONS = {
    "users": _collection("users", "user_id", user_document, (PaymentMethod, SavedPassenger, UserReservation, User)),
    "flights": _collection("flights", "flight_number", flight_document, (FlightDay, Flight)),
    "reservations": _collection(
        "reservations",
        "reservation_id",
        reservation_document,
        (ReservationFlight, ReservationPassenger, ReservationPayment, Reservation),
    ),
}
"""Collection by the name it has in the published data."""


def change(session: Session, data: Mapping[str, Mapping[str, JsonValue]]) -> None:
    """Merge a task's own data into the records of a session; see `taugraph.tools.records.change_records`."""
    change_records(session, COLLECTIONS, data)
