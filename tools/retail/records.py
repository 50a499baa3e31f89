"""The shop's published records, as far as a task may change them before it begins."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import JsonValue
from sqlmodel import Session, SQLModel

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
from taugraph.domains.retail.published import rows_of
from taugraph.tools.records import Collection, change_records
from taugraph.tools.retail.documents import order_document, product_document, user_document


def _collection(
    name: str, key: str, document: Callable[[Session, Any], dict[str, Any]], parts: Sequence[type[SQLModel]]
) -> Collection:
    return Collection(parts[-1], dict.fromkeys(parts, key), document, partial(rows_of, name))


COLLECTIONS = {
    "users": _collection("users", "user_id", user_document, (PaymentMethod, UserOrder, User)),
    "products": _collection("products", "product_id", product_document, (Variant, Product)),
    "orders": _collection("orders", "order_id", order_document, (OrderLine, Fulfillment, OrderPayment, Order)),
}
"""Collection by the name it has in the published data."""


def change(session: Session, data: Mapping[str, Mapping[str, JsonValue]]) -> None:
    """Merge a task's own data into the records of a session; see `taugraph.tools.records.change_records`."""
    change_records(session, COLLECTIONS, data)
