"""Looking records up by their keys, with refusals that say what was not found."""

from sqlmodel import Session

from taugraph.domains.airline.models import Flight, FlightDay, PaymentMethod, Reservation, User
from taugraph.domains.errors import ToolRefusal


def find_user(session: Session, user_id: str) -> User:
    """Return the user of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    if not isinstance(user_id, str) or (user := session.get(User, user_id)) is None:
        raise ToolRefusal(f"there is no user {user_id!r}")
    return user


def find_reservation(session: Session, reservation_id: str) -> Reservation:
    """Return the reservation of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    if not isinstance(reservation_id, str) or (found := session.get(Reservation, reservation_id)) is None:
        raise ToolRefusal(f"there is no reservation {reservation_id!r}")
    return found


def find_flight(session: Session, flight_number: str) -> Flight:
    """Return the flight of that number.

    Raises:
        ToolRefusal: If there is none.
    """
    if not isinstance(flight_number, str) or (flight := session.get(Flight, flight_number)) is None:
        raise ToolRefusal(f"there is no flight {flight_number!r}")
    return flight


def find_day(session: Session, flight_number: str, date: str) -> FlightDay:
    """Return a flight's record of one date.

    Raises:
        ToolRefusal: If the flight has none for that date.
    """
    if not isinstance(date, str) or (day := session.get(FlightDay, (flight_number, date))) is None:
        raise ToolRefusal(f"flight {flight_number} has no date {date!r}")
    return day


def find_method(session: Session, user_id: str, payment_id: str) -> PaymentMethod:
    """Return one of a user's means of payment.

    Raises:
        ToolRefusal: If the user has none of that id.
    """
    if not isinstance(payment_id, str) or (found := session.get(PaymentMethod, (user_id, payment_id))) is None:
        raise ToolRefusal(f"user {user_id} has no payment method {payment_id!r}")
    return found


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
