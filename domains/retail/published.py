"""The shop of tau-bench as rows: its three files of records, validated twice and changed only in their units.

Records keep their order in the files as positions, and dollars become cents. Records of the second version are read as
well: users that carry their id, and orders that show unset requests as null.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field
from sqlmodel import SQLModel

from taugraph.domains.domain import Seed
from taugraph.domains.errors import DataError
from taugraph.domains.published import Cents, PublishedRecord, read_records
from taugraph.domains.published_seed import Contents, published_seed
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

SEED_SCHEMA = "retail-published-1"
"""Part of the content hash; it changes with whatever makes the same files yield other rows."""

COLLECTIONS = ("users", "products", "orders")
"""Collections of published records."""

_USERS, _PRODUCTS, _ORDERS = COLLECTIONS

_Text = Annotated[str, Field(min_length=1)]
_Flag = Annotated[bool, Field(strict=True)]


class _Name(PublishedRecord):
    first_name: _Text
    last_name: _Text


class _Address(PublishedRecord):
    address1: _Text
    address2: str
    city: _Text
    country: _Text
    state: _Text = Field(validation_alias=AliasChoices("state", "province"))
    zip: _Text


class _Card(PublishedRecord):
    source: Literal["credit_card"]
    brand: _Text
    last_four: _Text
    payment_method_id: _Text = Field(alias="id")


class _GiftCard(PublishedRecord):
    source: Literal["gift_card"]
    balance_cents: Cents = Field(alias="balance")
    payment_method_id: _Text = Field(alias="id")


class _Paypal(PublishedRecord):
    source: Literal["paypal"]
    payment_method_id: _Text = Field(alias="id")


class _UserRecord(PublishedRecord):
    user_id: str | None = None
    name: _Name
    address: _Address
    email: _Text
    payment_methods: dict[str, Annotated[_Card | _GiftCard | _Paypal, Field(discriminator="source")]]
    orders: tuple[_Text, ...]


class _Variant(PublishedRecord):
    item_id: _Text
    options: dict[_Text, str]
    available: _Flag
    price_cents: Cents = Field(alias="price")


class _ProductRecord(PublishedRecord):
    name: _Text
    product_id: _Text
    variants: dict[str, _Variant]


class _Line(PublishedRecord):
    name: _Text
    product_id: _Text
    item_id: _Text
    price_cents: Cents = Field(alias="price")
    options: dict[_Text, str]


class _Parcel(PublishedRecord):
    tracking_id: tuple[_Text, ...]
    item_ids: tuple[_Text, ...]


class _Payment(PublishedRecord):
    transaction_type: Literal["payment", "refund"]
    amount_cents: Cents = Field(alias="amount")
    payment_method_id: _Text


class _OrderRecord(PublishedRecord):
    order_id: _Text
    user_id: _Text
    address: _Address
    items: tuple[_Line, ...]
    fulfillments: tuple[_Parcel, ...]
    status: _Text
    payment_history: tuple[_Payment, ...]
    cancel_reason: str | None = None
    exchange_items: list[str] | None = None
    exchange_new_items: list[str] | None = None
    exchange_payment_method_id: str | None = None
    exchange_price_difference_cents: Cents | None = Field(default=None, alias="exchange_price_difference")
    return_items: list[str] | None = None
    return_payment_method_id: str | None = None


def read_seed(folder: Path) -> Seed:
    """Read the published records as the rows every trial starts from.

    Args:
        folder: Folder of the data, of either generation.

    Raises:
        DataError: If a file is missing; from the seed's `rows`, if a file or record breaks the schema.
    """
    return published_seed(folder, COLLECTIONS, SEED_SCHEMA, _rows)


def rows_of(collection: str, key: str, document: Mapping[str, Any]) -> Iterator[SQLModel]:
    """Yield the rows of one published record.

    Args:
        collection: One of `COLLECTIONS`.
        key: The record's id.
        document: The record.

    Raises:
        pydantic.ValidationError: If it breaks the schema.
    """
    if collection == _USERS:
        return _user_rows({key: _UserRecord.model_validate(document)})
    if collection == _PRODUCTS:
        return _product_rows({key: _ProductRecord.model_validate(document)})
    return _order_rows({key: _OrderRecord.model_validate(document)})


def _rows(contents: Contents) -> Iterator[SQLModel]:
    users = read_records(*contents[_USERS], _UserRecord, "user_id")
    products = read_records(*contents[_PRODUCTS], _ProductRecord, "product_id")
    orders = read_records(*contents[_ORDERS], _OrderRecord, "order_id")
    _refuse_wrong_ids(contents, users, products)
    for key, order in orders.items():
        if order.user_id not in users:
            raise DataError(contents[_ORDERS][0], key, "user_id", order.user_id, "the id of a user")
    yield from _user_rows(users)
    yield from _product_rows(products)
    yield from _order_rows(orders)


def _refuse_wrong_ids(
    contents: Contents,
    users: Mapping[str, _UserRecord],
    products: Mapping[str, _ProductRecord],
) -> None:
    """Check that nested records stand under their own ids, and that no item belongs to two products."""
    for user_id, user in users.items():
        for key, method in user.payment_methods.items():
            if method.payment_method_id != key:
                wanted = f"{key!r}, the key it stands under"
                raise DataError(
                    contents[_USERS][0], user_id, f"payment_methods.{key}.id", method.payment_method_id, wanted
                )
    seen: set[str] = set()
    for product_id, product in products.items():
        for key, variant in product.variants.items():
            if variant.item_id != key or key in seen:
                wanted = f"{key!r}, the key it stands under, in one product only"
                field = f"variants.{key}.item_id"
                raise DataError(contents[_PRODUCTS][0], product_id, field, variant.item_id, wanted)
            seen.add(key)


def _user_rows(users: Mapping[str, _UserRecord]) -> Iterator[SQLModel]:
    for position, (key, user) in enumerate(users.items()):
        own = {"user_id": key, "position": position, "email": user.email}
        yield User.model_validate({**own, **user.name.model_dump(), **user.address.model_dump()})
    for key, user in users.items():
        for position, method in enumerate(user.payment_methods.values()):
            yield PaymentMethod.model_validate({**method.model_dump(), "user_id": key, "position": position})
    for key, user in users.items():
        for position, listed in enumerate(user.orders):
            yield UserOrder.model_validate({"user_id": key, "position": position, "order_id": listed})


def _product_rows(products: Mapping[str, _ProductRecord]) -> Iterator[SQLModel]:
    for product in products.values():
        yield Product.model_validate(product.model_dump(include={"product_id", "name"}))
    for key, product in products.items():
        for position, variant in enumerate(product.variants.values()):
            yield Variant.model_validate({**variant.model_dump(), "product_id": key, "position": position})


def _order_rows(orders: Mapping[str, _OrderRecord]) -> Iterator[SQLModel]:
    children = {"address", "items", "fulfillments", "payment_history"}
    for order in orders.values():
        yield Order.model_validate({**order.model_dump(exclude=children), **order.address.model_dump()})
    for key, order in orders.items():
        for position, line in enumerate(order.items):
            yield OrderLine.model_validate(_child(key, position, line.model_dump()))
    for key, order in orders.items():
        for position, parcel in enumerate(order.fulfillments):
            columns = {"tracking_ids": list(parcel.tracking_id), "item_ids": list(parcel.item_ids)}
            yield Fulfillment.model_validate(_child(key, position, columns))
    for key, order in orders.items():
        for position, payment in enumerate(order.payment_history):
            yield OrderPayment.model_validate(_child(key, position, payment.model_dump()))


def _child(order_id: str, position: int, columns: dict[str, Any]) -> dict[str, Any]:
    return {**columns, "order_id": order_id, "position": position}
