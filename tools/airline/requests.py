"""The nested objects that callers send, and how each dialect reads them."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlmodel import Session

from taugraph.domains.errors import ToolRefusal
from taugraph.tools.airline.documents import dialect_of


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Segment(_Request):
    """A flight on one date."""

    flight_number: str
    """The flight's number."""
    date: str
    """Day of departure, as "YYYY-MM-DD"."""


class Passenger(_Request):
    """A traveller."""

    first_name: str
    """Given name."""
    last_name: str
    """Family name."""
    dob: str
    """Date of birth, as "YYYY-MM-DD"."""


class Payment(_Request):
    """One part of a payment."""

    payment_id: str
    """Id of a payment method in the customer's profile."""
    amount: float = Field(allow_inf_nan=False)
    """Dollars paid with it."""


class _WholeDollars(Payment):
    amount: int
    """Dollars; fractions are refused."""


def read_segments(session: Session, segments: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the segments as the dialect stores them."""
    return _read(session, Segment, segments)


def read_passengers(session: Session, passengers: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the passengers as the dialect stores them."""
    return _read(session, Passenger, passengers)


def read_payments(session: Session, payments: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the payments as the dialect stores them."""
    return _read(session, Payment if dialect_of(session).corrected else _WholeDollars, payments)


def _read(session: Session, kind: type[_Request], values: Sequence[Any]) -> list[dict[str, Any]]:
    if not isinstance(values, list | tuple):
        raise ToolRefusal(f"wanted a list of objects, got {type(values).__name__}")
    if dialect_of(session).keeps_nested_objects:
        return [_as_sent(value) for value in values]
    return [
        (value if type(value) is kind else kind.model_validate(value, extra="ignore")).model_dump() for value in values
    ]


def _as_sent(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ToolRefusal(f"wanted an object, got {type(value).__name__}")
    return dict(value)


def extra_keys(value: dict[str, Any], stored: Sequence[str]) -> dict[str, Any] | None:
    """Return what a nested object carries beyond the stored keys; `None` for nothing."""
    return {key: value[key] for key in sorted(value) if key not in stored} or None
