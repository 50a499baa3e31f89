"""Changing and cancelling an order that has not been shipped."""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeVar

from sqlmodel import Session

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.retail.models import OrderLine, OrderPayment, PaymentMethod, Variant
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.retail.documents import ADDRESS, Document, dialect_of, order_document, payments_of, user_document
from taugraph.tools.retail.lookups import check_counts, check_pairs, find_method, find_order, find_user

_A = TypeVar("_A")
_B = TypeVar("_B")

PENDING = "pending"
"""Status of an order that may still be changed."""

ITEMS_CHANGED = "pending (item modified)"
"""Status of an order whose items were changed, once and for all."""

CANCEL_REASONS = ("no longer needed", "ordered by mistake")
"""Reasons for which an order may be cancelled."""


@domain_tool(ToolKind.WRITE)
def cancel_pending_order(
    order_id: str, reason: Literal["no longer needed", "ordered by mistake"], session: DatabaseSession
) -> Document:
    """Cancel an order that has not been shipped and refund what was paid.

    Args:
        order_id: The order's id with its leading "#".
        reason: Why the customer cancels.
    """
    order = find_order(session, order_id)
    corrected = dialect_of(session).corrected
    if order.status != PENDING and not (corrected and order.status == ITEMS_CHANGED):
        raise ToolRefusal(f"order {order_id} is {order.status}, not pending")
    if reason not in CANCEL_REASONS:
        raise ToolRefusal(f"the reason must be one of {', '.join(CANCEL_REASONS)}")
    history = list(payments_of(session, order_id))
    for method_id, cents in _balances(history) if corrected else [_as_published(entry) for entry in history]:
        add_payment(session, order_id, "refund", cents, method_id)
        method = find_method(session, order.user_id, method_id)
        if method.source == "gift_card":
            method.balance_cents = (method.balance_cents or 0) + cents
    order.status = "cancelled"
    order.cancel_reason = reason
    session.flush()
    return order_document(session, order)


def _as_published(entry: OrderPayment) -> tuple[str, int]:
    """Return what the published versions refund for an entry: all of it, even for a refund."""
    return entry.payment_method_id, entry.amount_cents


def _balances(history: Sequence[OrderPayment]) -> list[tuple[str, int]]:
    """Return (method, cents) of what is to be paid back: what was paid in the end, to those who paid it.

    A refund that went to another method than the payment lowers what the payers get.
    """
    paid: dict[str, int] = {}
    for entry in history:
        sign = 1 if entry.transaction_type == "payment" else -1
        paid[entry.payment_method_id] = paid.get(entry.payment_method_id, 0) + sign * entry.amount_cents
    left = sum(paid.values())
    refunds = []
    for method_id, cents in paid.items():
        if (refund := min(cents, left)) > 0:
            refunds.append((method_id, refund))
            left -= refund
    return refunds


@domain_tool(ToolKind.WRITE)
def modify_pending_order_address(  # noqa: PLR0913 - the published tool has these parameters
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
    session: DatabaseSession,
) -> Document:
    """Change where an order that has not been shipped is delivered.

    Args:
        order_id: The order's id with its leading "#".
        address1: Street and number.
        address2: Suite or flat; may be empty.
        city: City.
        state: Two letters.
        country: Country.
        zip: Zip code.
    """
    order = find_order(session, order_id)
    allowed = (PENDING,) if dialect_of(session).item_change_locks_address else (PENDING, ITEMS_CHANGED)
    if order.status not in allowed:
        raise ToolRefusal(f"order {order_id} is {order.status}, not pending")
    values = (address1, address2, city, country, state, zip)
    for key, value in _paired(ADDRESS, values):
        setattr(order, key, value)
    session.flush()
    return order_document(session, order)


@domain_tool(ToolKind.WRITE)
def modify_user_address(  # noqa: PLR0913 - the published tool has these parameters
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
    session: DatabaseSession,
) -> Document:
    """Change the address in a customer's profile; orders keep theirs.

    Args:
        user_id: The customer's user id.
        address1: Street and number.
        address2: Suite or flat; may be empty.
        city: City.
        state: Two letters.
        country: Country.
        zip: Zip code.
    """
    user = find_user(session, user_id)
    values = (address1, address2, city, country, state, zip)
    for key, value in _paired(ADDRESS, values):
        setattr(user, key, value)
    session.flush()
    return user_document(session, user)


@domain_tool(ToolKind.WRITE)
def modify_pending_order_payment(order_id: str, payment_method_id: str, session: DatabaseSession) -> Document:
    """Move the payment of an order that has not been shipped to another payment method.

    Args:
        order_id: The order's id with its leading "#".
        payment_method_id: Id of another payment method in the customer's profile.
    """
    order = find_order(session, order_id)
    if order.status not in (PENDING, ITEMS_CHANGED) or (
        dialect_of(session).item_change_locks_address and order.status != PENDING
    ):
        raise ToolRefusal(f"order {order_id} is {order.status}, not pending")
    method = find_method(session, order.user_id, payment_method_id)
    history = payments_of(session, order_id)
    if len(history) != 1 or history[0].transaction_type != "payment":
        raise ToolRefusal(f"order {order_id} was not paid in one payment")
    first = history[0]
    if first.payment_method_id == payment_method_id:
        raise ToolRefusal(f"order {order_id} is already paid with {payment_method_id}")
    pay_or_refund(method, first.amount_cents)
    add_payment(session, order_id, "payment", first.amount_cents, payment_method_id)
    add_payment(session, order_id, "refund", first.amount_cents, first.payment_method_id)
    pay_or_refund(find_method(session, order.user_id, first.payment_method_id), -first.amount_cents)
    session.flush()
    return order_document(session, order)


@domain_tool(ToolKind.WRITE)
def modify_pending_order_items(
    order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str, session: DatabaseSession
) -> Document:
    """Replace items of an order that has not been shipped by other variants of the same products; possible once.

    Args:
        order_id: The order's id with its leading "#".
        item_ids: Items to replace; one that is to be replaced twice stands twice.
        new_item_ids: The new items, in the same order as the old ones.
        payment_method_id: Payment method in the customer's profile that pays, or gets back, the difference.
    """
    order = find_order(session, order_id)
    dialect = dialect_of(session)
    if order.status != PENDING:
        raise ToolRefusal(f"order {order_id} is {order.status}, not pending")
    if dialect.corrected and not item_ids:
        raise ToolRefusal("name at least one item")
    lines = check_counts(session, order_id, item_ids)
    if not dialect.accepts_same_item and any(old == new for old, new in zip(item_ids, new_item_ids, strict=False)):
        raise ToolRefusal("an item cannot be replaced by itself")
    variants = check_pairs(session, lines, item_ids, new_item_ids)
    difference = _difference(lines, item_ids, variants)
    pay_or_refund(find_method(session, order.user_id, payment_method_id), difference)
    kind = "payment" if difference > 0 else "refund"
    if difference or not dialect.corrected:
        add_payment(session, order_id, kind, abs(difference), payment_method_id)
    _replace_lines(session, lines, item_ids, variants)
    order.status = ITEMS_CHANGED
    session.flush()
    return order_document(session, order)


def _paired(first: Sequence[_A], second: Sequence[_B]) -> Iterator[tuple[_A, _B]]:
    """Pair two sequences of equal length; some parameters here hide the built-in `zip`."""
    return zip(first, second, strict=True)


def _difference(lines: Sequence[OrderLine], item_ids: Sequence[str], variants: Sequence[Variant]) -> int:
    """Return what the new items cost more than the old ones, in cents."""
    prices = {line.item_id: line.price_cents for line in reversed(lines)}
    return sum(variant.price_cents - prices[item_id] for item_id, variant in _paired(item_ids, variants))


def _replace_lines(
    session: Session, lines: Sequence[OrderLine], item_ids: Sequence[str], variants: Sequence[Variant]
) -> None:
    """Replace the first line that has each old item; ours never takes a line that was just replaced."""
    dialect = dialect_of(session)
    left = list(lines)
    for item_id, variant in _paired(item_ids, variants):
        line = next(line for line in left if line.item_id == item_id)
        if dialect.corrected:
            left.remove(line)
        shown = variants[-1] if dialect.last_pair_decides else variant
        line.item_id, line.price_cents, line.options = variant.item_id, shown.price_cents, dict(shown.options)


def pay_or_refund(method: PaymentMethod, cents: int) -> None:
    """Take an amount from a gift card, or give a negative one back; other methods are settled elsewhere.

    Raises:
        ToolRefusal: If the gift card's balance is too low.
    """
    if method.source != "gift_card":
        return
    balance = method.balance_cents or 0
    if balance < cents:
        raise ToolRefusal(f"gift card {method.payment_method_id} has not enough balance")
    method.balance_cents = balance - cents


def add_payment(session: Session, order_id: str, kind: str, cents: int, payment_method_id: str) -> None:
    """Append an entry to an order's payment history."""
    session.flush()
    session.add(
        OrderPayment(
            order_id=order_id,
            position=len(payments_of(session, order_id)),
            transaction_type=kind,
            amount_cents=cents,
            payment_method_id=payment_method_id,
        )
    )
    session.flush()
