"""Looking records up by their keys, with refusals that say what was not found."""

from collections import Counter
from collections.abc import Sequence

from sqlmodel import Session

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.retail.models import Order, OrderLine, PaymentMethod, User, Variant
from taugraph.tools.lookups import find_record
from taugraph.tools.retail.documents import lines_of


def find_user(session: Session, user_id: str) -> User:
    """Return the user of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, User, (user_id,), f"there is no user {user_id!r}")


def find_order(session: Session, order_id: str) -> Order:
    """Return the order of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, Order, (order_id,), f"there is no order {order_id!r}; an order id begins with '#W'")


def find_method(session: Session, user_id: str, payment_method_id: str) -> PaymentMethod:
    """Return one of a user's means of payment.

    Raises:
        ToolRefusal: If the user has none of that id.
    """
    refusal = f"user {user_id} has no payment method {payment_method_id!r}"
    return find_record(session, PaymentMethod, (user_id, payment_method_id), refusal)


def check_counts(session: Session, order_id: str, item_ids: Sequence[str]) -> Sequence[OrderLine]:
    """Check that every item is named no more often than the order has it, and return the order's lines.

    Raises:
        ToolRefusal: If one is.
    """
    lines = lines_of(session, order_id)
    owned = Counter(line.item_id for line in lines)
    for item_id, count in Counter(item_ids).items():
        if count > owned[item_id]:
            raise ToolRefusal(f"order {order_id} has item {item_id!r} {owned[item_id]} times, not {count}")
    return lines


def find_replacement(session: Session, line: OrderLine, item_id: str) -> Variant:
    """Return the variant that is to replace a line.

    Raises:
        ToolRefusal: If it belongs to another product or cannot be had.
    """
    variant = session.get(Variant, item_id) if isinstance(item_id, str) else None
    if variant is None or variant.product_id != line.product_id:
        raise ToolRefusal(f"{item_id!r} is no variant of product {line.product_id} ({line.name})")
    if not variant.available:
        raise ToolRefusal(f"item {item_id} is not available")
    return variant


def check_pairs(session: Session, lines: Sequence[OrderLine], old: Sequence[str], new: Sequence[str]) -> list[Variant]:
    """Check that old and new items pair up, and return the new variants in the order of the pairs.

    Raises:
        ToolRefusal: If the numbers differ or a new item cannot replace its old one.
    """
    if len(old) != len(new):
        raise ToolRefusal(f"{len(old)} items and {len(new)} new items do not pair up")
    by_item = {line.item_id: line for line in reversed(lines)}
    return [find_replacement(session, by_item[item_id], other) for item_id, other in zip(old, new, strict=True)]
