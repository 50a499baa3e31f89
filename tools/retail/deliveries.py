"""Returning or exchanging items of a delivered order: requests that are noted, while no money moves yet."""

from taugraph.domains.errors import ToolRefusal
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.retail.documents import Document, dialect_of, order_document, payments_of
from taugraph.tools.retail.lookups import check_counts, check_pairs, find_method, find_order


@domain_tool(ToolKind.WRITE)
def return_delivered_order_items(
    order_id: str, item_ids: list[str], payment_method_id: str, session: DatabaseSession
) -> Document:
    """Request the return of items of a delivered order.

    Args:
        order_id: The order's id with its leading "#".
        item_ids: Items to return; one that is to be returned twice stands twice.
        payment_method_id: Who gets the refund: the order's original payment method, or a gift card of the customer.
    """
    order = find_order(session, order_id)
    if order.status != "delivered":
        raise ToolRefusal(f"order {order_id} is {order.status}, not delivered")
    method = find_method(session, order.user_id, payment_method_id)
    history = payments_of(session, order_id)
    if method.source != "gift_card" and (not history or history[0].payment_method_id != payment_method_id):
        raise ToolRefusal("the refund must go to the original payment method or to a gift card")
    if dialect_of(session).corrected and not item_ids:
        raise ToolRefusal("name at least one item")
    check_counts(session, order_id, item_ids)
    order.status = "return requested"
    order.return_items = sorted(item_ids)
    order.return_payment_method_id = payment_method_id
    session.flush()
    return order_document(session, order)


@domain_tool(ToolKind.WRITE)
def exchange_delivered_order_items(
    order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str, session: DatabaseSession
) -> Document:
    """Request the exchange of items of a delivered order for other variants of the same products.

    Args:
        order_id: The order's id with its leading "#".
        item_ids: Items to exchange; one that is to be exchanged twice stands twice.
        new_item_ids: The new items, in the same order as the old ones.
        payment_method_id: Payment method in the customer's profile that pays, or gets back, the difference.
    """
    order = find_order(session, order_id)
    dialect = dialect_of(session)
    if order.status != "delivered":
        raise ToolRefusal(f"order {order_id} is {order.status}, not delivered")
    if dialect.corrected and not item_ids:
        raise ToolRefusal("name at least one item")
    lines = check_counts(session, order_id, item_ids)
    variants = check_pairs(session, lines, item_ids, new_item_ids)
    if dialect.corrected and any(old == new for old, new in zip(item_ids, new_item_ids, strict=True)):
        raise ToolRefusal("an item cannot be exchanged for itself")
    prices = {line.item_id: line.price_cents for line in reversed(lines)}
    old_prices = [prices[item_id] for item_id in item_ids]
    difference = sum(variant.price_cents for variant in variants) - sum(old_prices)
    method = find_method(session, order.user_id, payment_method_id)
    if method.source == "gift_card" and (method.balance_cents or 0) < difference:
        raise ToolRefusal(f"gift card {payment_method_id} has not enough balance")
    order.status = "exchange requested"
    if dialect.corrected:
        pairs = sorted(zip(item_ids, new_item_ids, strict=True))
        order.exchange_items = [old for old, _ in pairs]
        order.exchange_new_items = [new for _, new in pairs]
    else:
        order.exchange_items, order.exchange_new_items = sorted(item_ids), sorted(new_item_ids)
    order.exchange_payment_method_id = payment_method_id
    order.exchange_price_difference_cents = difference
    session.flush()
    return order_document(session, order)
