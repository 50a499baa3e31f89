"""The shop's policy as rules that a tool call keeps or breaks; `policy.md` says the same in words."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sqlmodel import Session, col, select

from taugraph.domains.consent import Proposal, consent_rule
from taugraph.domains.retail.handoffs import HANDOFF
from taugraph.domains.retail.models import Order, OrderPayment, PaymentMethod, User
from taugraph.domains.rules import Moment, PolicyRule, find_row, one_customer_rule

FINDERS = ("find_user_id_by_email", "find_user_id_by_name_zip")
"""Tools that identify a customer."""

_PENDING = ("pending", "pending (item modified)")
_STATUSES = {
    "cancel_pending_order": _PENDING,
    "modify_pending_order_address": _PENDING,
    "modify_pending_order_payment": _PENDING,
    "modify_pending_order_items": _PENDING,
    "return_delivered_order_items": ("delivered",),
    "exchange_delivered_order_items": ("delivered",),
}

_REASONS = {
    "no longer needed": re.compile(
        r"no longer|n't (?:\w+ )?(?:need|want)|\bnot (?:\w+ )?(?:need|want)|no need|changed my mind|any ?more",
        re.IGNORECASE,
    ),
    "ordered by mistake": re.compile(
        r"mistake|accident|\bwrong(?:ly)?\b|in error|by error|n't mean|unintention|\btwice\b|duplicate", re.IGNORECASE
    ),
}


def customer_of(session: Session, arguments: Mapping[str, Any]) -> str | None:
    """Return the customer whose profile or order a call is about; `None` if it is about none that exists."""
    if (user := find_row(session, User, arguments.get("user_id"))) is not None:
        return user.user_id
    order = find_row(session, Order, arguments.get("order_id"))
    return order.user_id if order else None


def customer_is_authenticated(moment: Moment) -> Iterable[str]:
    """Want the customer found by email, or name and zip code, before a profile or order is touched."""
    customer = customer_of(moment.session, moment.arguments)
    if customer is None:
        return
    found = [event.text.strip() for event in moment.calls(*FINDERS)]
    if not found:
        yield f"{moment.name} touches the data of {customer} before the customer was identified"
    elif customer not in found and (moment.changes_database or "user_id" in moment.arguments):
        yield f"{moment.name} touches the data of {customer}, but who was identified is {found[-1]}"


def status_allows_change(moment: Moment) -> Iterable[str]:
    """Want an order changed only in a status that allows it."""
    allowed = _STATUSES.get(moment.name)
    order = moment.find(Order, "order_id") if allowed else None
    if allowed and order is not None and order.status not in allowed:
        yield f"{moment.name} was called for {order.order_id}, which is {order.status!r}"


def items_change_once(moment: Moment) -> Iterable[str]:
    """Want all items of a pending order changed in a single call."""
    order = moment.find(Order, "order_id") if moment.name == "modify_pending_order_items" else None
    if order is not None and order.status == "pending (item modified)":
        yield f"the items of {order.order_id} were to be changed a second time"


def cancel_reason_is_the_customers(moment: Moment) -> Iterable[str]:
    """Want the reason that the customer gave, where the words tell one from the other."""
    reason = moment.arguments.get("reason") if moment.name == "cancel_pending_order" else None
    if not isinstance(reason, str) or reason not in _REASONS or moment.customer_said(_REASONS[reason]):
        return
    for other, pattern in _REASONS.items():
        if other != reason and moment.customer_said(pattern):
            yield f"the order was cancelled as {reason!r}, but what the customer said is {other!r}"


def refund_goes_to_payer_or_gift_card(moment: Moment) -> Iterable[str]:
    """Want the refund of a return to go to the original payment method, or to a gift card of the customer."""
    order = moment.find(Order, "order_id") if moment.name == "return_delivered_order_items" else None
    chosen = moment.arguments.get("payment_method_id")
    if order is None or not isinstance(chosen, str):
        return
    method = moment.session.get(PaymentMethod, (order.user_id, chosen))
    if (method is None or method.source != "gift_card") and chosen != _payer(moment.session, order):
        yield f"the refund of {order.order_id} was sent to {chosen}, which neither paid for it nor is a gift card"


def payment_moves_to_another_method(moment: Moment) -> Iterable[str]:
    """Want a pending order paid by another method than before, and only an order that was paid once."""
    order = moment.find(Order, "order_id") if moment.name == "modify_pending_order_payment" else None
    if order is not None and moment.arguments.get("payment_method_id") == _payer(moment.session, order):
        yield f"{order.order_id} was moved to {_payer(moment.session, order)}, which pays for it already"


def _payer(session: Session, order: Order) -> str | None:
    """Return the method that an order was paid with originally."""
    wanted = select(OrderPayment.payment_method_id).where(OrderPayment.order_id == order.order_id)
    return session.exec(wanted.order_by(col(OrderPayment.position)).limit(1)).first()


_ITEMS = r"exchang|replac|swap|chang|modif|switch|updat"
_PROPOSALS = {
    "cancel_pending_order": Proposal(r"cancel"),
    "modify_pending_order_address": Proposal(r"address|deliver|ship", ("address1", "zip")),
    "modify_pending_order_payment": Proposal(r"payment|\bpay|card|charg"),
    "modify_pending_order_items": Proposal(_ITEMS),
    "modify_user_address": Proposal(r"address", ("address1", "zip")),
    "return_delivered_order_items": Proposal(r"return|refund"),
    "exchange_delivered_order_items": Proposal(_ITEMS),
}

RULES = (
    consent_rule(_PROPOSALS, Order),
    one_customer_rule(customer_of, record_argument="order_id"),
    PolicyRule(
        "customer_authenticated_before_private_data",
        "The customer is found by email, or by name and zip code, before a profile or order is read or written.",
        customer_is_authenticated,
    ),
    PolicyRule(
        "status_allows_change",
        "Orders are cancelled and modified while pending, returned and exchanged once delivered.",
        status_allows_change,
    ),
    PolicyRule("items_change_once", "All items of a pending order are changed in a single call.", items_change_once),
    PolicyRule(
        "cancel_reason_is_the_customers",
        "An order is cancelled for the reason that the customer gave.",
        cancel_reason_is_the_customers,
    ),
    PolicyRule(
        "refund_goes_to_payer_or_gift_card",
        "A return is refunded to the original payment method or to a gift card of the customer.",
        refund_goes_to_payer_or_gift_card,
    ),
    PolicyRule(
        "payment_moves_to_another_method",
        "A pending order moves to a payment method other than the one that pays for it.",
        payment_moves_to_another_method,
    ),
    HANDOFF,
)
"""Every rule of the shop."""
