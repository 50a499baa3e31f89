"""The shop's records as the JSON documents that tools answer with."""

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session, col, select

from taugraph.domains.money import to_amount
from taugraph.domains.retail.dialects import RetailDialect
from taugraph.domains.retail.models import (
    Fulfillment,
    Order,
    OrderLine,
    OrderPayment,
    PaymentMethod,
    Product,
    User,
    UserOrder,
    Variant,
)

Document = dict[str, Any]
"""A JSON object."""

ADDRESS = ("address1", "address2", "city", "country", "state", "zip")
"""Keys of an address."""

_REQUEST_FIELDS = (
    "cancel_reason",
    "exchange_items",
    "exchange_new_items",
    "exchange_payment_method_id",
    "return_items",
    "return_payment_method_id",
)


def dialect_of(session: Session) -> RetailDialect:
    """Return the dialect of the world behind a session."""
    dialect: RetailDialect = session.info["dialect"]
    return dialect


def user_document(session: Session, user: User) -> Document:
    """Return a user's profile with payment methods and order ids."""
    wanted = select(UserOrder.order_id).where(UserOrder.user_id == user.user_id).order_by(col(UserOrder.position))
    methods = select(PaymentMethod).where(PaymentMethod.user_id == user.user_id).order_by(col(PaymentMethod.position))
    return {
        **({"user_id": user.user_id} if dialect_of(session).shows_user_id else {}),
        "name": {"first_name": user.first_name, "last_name": user.last_name},
        "address": {key: getattr(user, key) for key in ADDRESS},
        "email": user.email,
        "payment_methods": {method.payment_method_id: _method(method) for method in session.exec(methods)},
        "orders": list(session.exec(wanted)),
    }


def _method(method: PaymentMethod) -> Document:
    document: Document = {"source": method.source, "id": method.payment_method_id}
    if method.source == "gift_card":
        return document | {"balance": to_amount(method.balance_cents or 0)}
    if method.source == "credit_card":
        return document | {"brand": method.brand, "last_four": method.last_four}
    return document


def order_document(session: Session, order: Order) -> Document:
    """Return an order with its lines, parcels, payment history and requests."""
    parcels = select(Fulfillment).where(Fulfillment.order_id == order.order_id).order_by(col(Fulfillment.position))
    document: Document = {
        "order_id": order.order_id,
        "user_id": order.user_id,
        "address": {key: getattr(order, key) for key in ADDRESS},
        "items": [_line(line) for line in lines_of(session, order.order_id)],
        "fulfillments": [
            {"tracking_id": parcel.tracking_ids, "item_ids": parcel.item_ids} for parcel in session.exec(parcels)
        ],
        "status": order.status,
        "payment_history": [_payment(entry) for entry in payments_of(session, order.order_id)],
    }
    requests = {name: getattr(order, name) for name in _REQUEST_FIELDS}
    owed = order.exchange_price_difference_cents
    requests["exchange_price_difference"] = None if owed is None else to_amount(owed)
    shows_all = dialect_of(session).shows_unset_fields
    return document | {name: value for name, value in requests.items() if shows_all or value is not None}


def lines_of(session: Session, order_id: str) -> Sequence[OrderLine]:
    """Return an order's lines in order."""
    return session.exec(select(OrderLine).where(OrderLine.order_id == order_id).order_by(col(OrderLine.position))).all()


def payments_of(session: Session, order_id: str) -> Sequence[OrderPayment]:
    """Return an order's payment history in order."""
    return session.exec(
        select(OrderPayment).where(OrderPayment.order_id == order_id).order_by(col(OrderPayment.position))
    ).all()


def _line(line: OrderLine) -> Document:
    return {
        "name": line.name,
        "product_id": line.product_id,
        "item_id": line.item_id,
        "price": to_amount(line.price_cents),
        "options": line.options,
    }


def _payment(entry: OrderPayment) -> Document:
    return {
        "transaction_type": entry.transaction_type,
        "amount": to_amount(entry.amount_cents),
        "payment_method_id": entry.payment_method_id,
    }


def product_document(session: Session, product: Product) -> Document:
    """Return a product with all its variants."""
    wanted = select(Variant).where(Variant.product_id == product.product_id).order_by(col(Variant.position))
    return {
        "name": product.name,
        "product_id": product.product_id,
        "variants": {variant.item_id: variant_document(variant) for variant in session.exec(wanted)},
    }


def variant_document(variant: Variant) -> Document:
    """Return one variant."""
    return {
        "item_id": variant.item_id,
        "options": variant.options,
        "available": variant.available,
        "price": to_amount(variant.price_cents),
    }
