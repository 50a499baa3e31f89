"""Looking records up by their keys, with refusals that say what was not found."""

from sqlmodel import Session

from taugraph.domains.airline.models import Flight, FlightDay, PaymentMethod, Reservation, User
from taugraph.domains.errors import ToolRefusal
from taugraph.tools.lookups import find_record


def find_user(session: Session, user_id: str) -> User:
    """Return the user of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, User, (user_id,), f"there is no user {user_id!r}")


def find_reservation(session: Session, reservation_id: str) -> Reservation:
    """Return the reservation of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, Reservation, (reservation_id,), f"there is no reservation {reservation_id!r}")


def find_flight(session: Session, flight_number: str) -> Flight:
    """Return the flight of that number.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, Flight, (flight_number,), f"there is no flight {flight_number!r}")


def find_day(session: Session, flight_number: str, date: str) -> FlightDay:
    """Return a flight's record of one date.

    Raises:
        ToolRefusal: If the flight has none for that date.
    """
    return find_record(session, FlightDay, (flight_number, date), f"flight {flight_number} has no date {date!r}")


def find_method(session: Session, user_id: str, payment_id: str) -> PaymentMethod:
    """Return one of a user's means of payment.

    Raises:
        ToolRefusal: If the user has none of that id.
    """
    refusal = f"user {user_id} has no payment method {payment_id!r}"
    return find_record(session, PaymentMethod, (user_id, payment_id), refusal)


def charge(method: PaymentMethod, amount_cents: int) -> None:
    """Take an amount from a method that pays for a change; a negative amount goes back to it.

    Raises:
        ToolRefusal: If it is a certificate, or a gift card whose balance is too low.
    """
    if method.source == "certificate":
        raise ToolRefusal("a certificate cannot be used to change a reservation")
    if method.source == "gift_card":
        balance = method.amount_cents or 0
        if balance < amount_cents:
            raise ToolRefusal(f"gift card {method.payment_id} has not enough balance")
        method.amount_cents = balance - amount_cents
