"""Compensation."""

from sqlmodel import Session

from taugraph.domains.airline.models import PaymentMethod
from taugraph.domains.errors import ToolRefusal
from taugraph.domains.money import to_amount, to_cents
from taugraph.tools.airline.documents import dialect_of, payment_methods
from taugraph.tools.airline.lookups import find_user
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool

_FIXED_IDS = ("certificate_3221322", "certificate_3221323", "certificate_3221324")


@domain_tool(ToolKind.WRITE)
def send_certificate(user_id: str, amount: float, session: DatabaseSession) -> str:
    """Add a travel certificate to a customer's profile.

    Args:
        user_id: The customer's user id.
        amount: Value in dollars.
    """
    find_user(session, user_id)
    cents = to_cents(amount)
    if dialect_of(session).corrected and cents <= 0:
        raise ToolRefusal("the amount must be positive")
    methods = payment_methods(session, user_id)
    payment_id = _new_id(session, user_id, cents)
    session.add(
        PaymentMethod(
            user_id=user_id,
            payment_id=payment_id,
            position=methods[-1].position + 1 if methods else 0,
            source="certificate",
            amount_cents=cents,
        )
    )
    session.flush()
    return f"{payment_id} over {to_amount(cents)} dollars was added to the profile of {user_id}."


def _new_id(session: Session, user_id: str, cents: int) -> str:
    """Choose the id: a published one in call order, or one that tells the value and is free."""
    if dialect_of(session).fixed_ids:
        candidates = list(_FIXED_IDS)
    else:
        candidates = [f"certificate_{cents:07d}_{number}" for number in range(1, 1_000)]
    for candidate in candidates:
        if session.get(PaymentMethod, (user_id, candidate)) is None:
            return candidate
    raise ToolRefusal(f"no further certificate can be added for user {user_id}")
