"""The shop's tables: natural keys, money in integer cents, ordered children by an explicit position."""

from typing import Any, ClassVar

from sqlalchemy import JSON, Column
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel


class RetailTable(SQLModel, registry=registry()):
    """A table of the shop, in metadata of its own so that other domains may use the same table names."""


def _json_column(*, nullable: bool = True) -> Any:
    return Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=nullable))


class User(RetailTable, table=True):
    """A customer's profile."""

    __tablename__: ClassVar[str] = "users"

    user_id: str = Field(primary_key=True)
    """`first_last_1234`."""
    position: int
    """Place in the register, from 0; look-ups by name answer with the first."""
    first_name: str
    """Given name."""
    last_name: str
    """Family name."""
    email: str = Field(index=True)
    """Unique."""
    address1: str
    """Street and number."""
    address2: str
    """Suite or flat; may be empty."""
    city: str
    """City."""
    state: str
    """Two letters."""
    country: str
    """Country."""
    zip: str
    """Five digits."""


class PaymentMethod(RetailTable, table=True):
    """A means of payment in a user's profile."""

    __tablename__: ClassVar[str] = "payment_methods"

    user_id: str = Field(primary_key=True, foreign_key="users.user_id")
    """Owner."""
    payment_method_id: str = Field(primary_key=True)
    """`credit_card_...`, `gift_card_...` or `paypal_...`."""
    position: int
    """Place in the profile, from 0."""
    source: str
    """`credit_card`, `gift_card` or `paypal`."""
    balance_cents: int | None = None
    """Balance of a gift card; `None` for anything else."""
    brand: str | None = None
    """`visa` or `mastercard`; `None` unless a credit card."""
    last_four: str | None = None
    """Last four digits; `None` unless a credit card."""


class Product(RetailTable, table=True):
    """A kind of thing that is sold, in several variants."""

    __tablename__: ClassVar[str] = "products"

    product_id: str = Field(primary_key=True)
    """Ten digits."""
    name: str
    """Unique."""


class Variant(RetailTable, table=True):
    """One purchasable form of a product."""

    __tablename__: ClassVar[str] = "variants"

    item_id: str = Field(primary_key=True)
    """Ten digits, unique over all products."""
    product_id: str = Field(foreign_key="products.product_id", index=True)
    """Product it belongs to."""
    position: int
    """Place among the product's variants, from 0."""
    options: dict[str, Any] = _json_column(nullable=False)
    """Option name -> value; no two variants of a product agree in all."""
    available: bool
    """Whether it can be had at present."""
    price_cents: int
    """Price today."""


class Order(RetailTable, table=True):
    """A purchase."""

    __tablename__: ClassVar[str] = "orders"

    order_id: str = Field(primary_key=True)
    """`#W` and seven digits."""
    user_id: str = Field(foreign_key="users.user_id", index=True)
    """Buyer."""
    status: str
    """`pending`, `pending (item modified)`, `processed`, `delivered`, `cancelled`, `return requested`, ..."""
    address1: str
    """Street and number of delivery."""
    address2: str
    """Suite or flat; may be empty."""
    city: str
    """City of delivery."""
    state: str
    """Two letters."""
    country: str
    """Country of delivery."""
    zip: str
    """Five digits."""
    cancel_reason: str | None = None
    """Why it was cancelled; `None` unless cancelled through a tool."""
    exchange_items: list[str] | None = _json_column()
    """Item ids to be exchanged; `None` without an exchange request."""
    exchange_new_items: list[str] | None = _json_column()
    """Item ids wanted instead; `None` without an exchange request."""
    exchange_payment_method_id: str | None = None
    """Who pays or gets the difference; `None` without an exchange request."""
    exchange_price_difference_cents: int | None = None
    """Signed, positive where the customer owes; `None` without an exchange request."""
    return_items: list[str] | None = _json_column()
    """Item ids to be returned; `None` without a return request."""
    return_payment_method_id: str | None = None
    """Who gets the refund; `None` without a return request."""


class UserOrder(RetailTable, table=True):
    """One entry of the list of orders in a user's profile."""

    __tablename__: ClassVar[str] = "user_orders"

    user_id: str = Field(primary_key=True, foreign_key="users.user_id")
    """Owner."""
    position: int = Field(primary_key=True)
    """Place in the list, from 0."""
    order_id: str
    """Order that is listed."""


class OrderLine(RetailTable, table=True):
    """One item of an order."""

    __tablename__: ClassVar[str] = "order_lines"

    order_id: str = Field(primary_key=True, foreign_key="orders.order_id")
    """Order."""
    position: int = Field(primary_key=True)
    """Place in the order, from 0."""
    product_id: str
    """Product."""
    item_id: str
    """Variant."""
    name: str
    """Product's name as it was bought."""
    price_cents: int
    """Price as it was bought."""
    options: dict[str, Any] = _json_column(nullable=False)
    """Option name -> value as it was bought."""


class Fulfillment(RetailTable, table=True):
    """A parcel of an order."""

    __tablename__: ClassVar[str] = "fulfillments"

    order_id: str = Field(primary_key=True, foreign_key="orders.order_id")
    """Order."""
    position: int = Field(primary_key=True)
    """Place among the order's parcels, from 0."""
    tracking_ids: list[str] = _json_column(nullable=False)
    """Tracking numbers."""
    item_ids: list[str] = _json_column(nullable=False)
    """Variants inside."""


class OrderPayment(RetailTable, table=True):
    """An entry of an order's payment history."""

    __tablename__: ClassVar[str] = "order_payments"

    order_id: str = Field(primary_key=True, foreign_key="orders.order_id")
    """Order."""
    position: int = Field(primary_key=True)
    """Place in the history, from 0."""
    transaction_type: str
    """`payment` or `refund`."""
    amount_cents: int
    """Amount, never negative."""
    payment_method_id: str
    """Means of payment of the buyer."""


class Handoff(RetailTable, table=True):
    """A conversation that was handed over to a human agent."""

    __tablename__: ClassVar[str] = "handoffs"

    position: int = Field(primary_key=True)
    """Order of the handoffs, from 0."""
    summary: str
    """What the agent told its human colleague; free wording, never compared."""


TABLES: tuple[type[RetailTable], ...] = (
    User,
    PaymentMethod,
    Product,
    Variant,
    Order,
    UserOrder,
    OrderLine,
    Fulfillment,
    OrderPayment,
    Handoff,
)
"""Every table, parents before children."""
