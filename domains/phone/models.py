"""The carrier's tables and its customers' phones: natural keys, money in integer cents, order by explicit positions.

The carrier's side is what the agent can reach. The phones are in the same database, and only their holder reaches them.
"""

from typing import ClassVar

from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel


class PhoneTable(SQLModel, registry=registry()):
    """A table of the carrier or of the phones, in metadata of its own."""


class Customer(PhoneTable, table=True):
    """Somebody with a contract."""

    __tablename__: ClassVar[str] = "customers"

    customer_id: str = Field(primary_key=True)
    """`C` and five digits."""
    position: int
    """Place in the register, from 0; look-ups by name answer with the first."""
    first_name: str
    """Given name."""
    last_name: str
    """Family name."""
    birth_date: str
    """`YYYY-MM-DD`; with the name or a number it proves who is asking."""
    email: str
    """Unique."""
    city: str
    """City."""


class Plan(PhoneTable, table=True):
    """What a line may do, at what price."""

    __tablename__: ClassVar[str] = "plans"

    plan_id: str = Field(primary_key=True)
    """A word such as `harbor`."""
    position: int
    """Place in the list of plans, from 0, cheapest first."""
    name: str
    """What customers call it."""
    price_cents: int
    """Price of a month."""
    data_mb: int | None = None
    """Mobile data of a month, 1000 to the gigabyte; `None` without limit."""
    fastest: str
    """Fastest network: `4g` or `5g`."""
    refuel_cents: int
    """Price of a further gigabyte."""
    roaming_cents: int
    """Price of switching roaming on, each time."""


class Line(PhoneTable, table=True):
    """A phone number under contract."""

    __tablename__: ClassVar[str] = "lines"

    line_id: str = Field(primary_key=True)
    """`L` and five digits."""
    customer_id: str = Field(foreign_key="customers.customer_id", index=True)
    """Who holds the contract."""
    position: int
    """Place among the customer's lines, from 0."""
    plan_id: str = Field(foreign_key="plans.plan_id")
    """Plan it is on."""
    phone_number: str = Field(index=True)
    """`202-555-0142`, unique."""
    status: str
    """`active` or `suspended`."""
    suspended_for: str | None = None
    """`unpaid_bill`, `lost`, `stolen`, `travel`, `fraud_review` or `contract_ended`; `None` while active."""
    roaming: bool
    """Whether it works abroad, as far as the carrier is concerned."""
    used_mb: int
    """Mobile data used this month."""
    extra_mb: int
    """Mobile data refuelled this month, on top of the plan's."""
    profile_version: int
    """Network profile that the carrier holds, from 1; 0 where it is broken. A phone with another one is not let in."""
    renews_on: str
    """`YYYY-MM-DD`, when the month ends and usage starts at 0."""


class Charge(PhoneTable, table=True):
    """Something that goes on a line's next bill."""

    __tablename__: ClassVar[str] = "charges"

    line_id: str = Field(primary_key=True, foreign_key="lines.line_id")
    """Line that is charged."""
    position: int = Field(primary_key=True)
    """Place among the line's charges, from 0."""
    kind: str
    """`refuel` or `roaming`."""
    amount_cents: int
    """Amount."""


class Sim(PhoneTable, table=True):
    """The card that joins a phone to a line."""

    __tablename__: ClassVar[str] = "sims"

    iccid: str = Field(primary_key=True)
    """19 digits."""
    line_id: str = Field(foreign_key="lines.line_id", index=True)
    """Line it gives access to."""
    puk: str
    """Eight digits that open it after its PIN was wrong too often."""


class Bill(PhoneTable, table=True):
    """A month's bill of a line."""

    __tablename__: ClassVar[str] = "bills"

    bill_id: str = Field(primary_key=True)
    """`B` and five digits."""
    line_id: str = Field(foreign_key="lines.line_id", index=True)
    """Line it is for."""
    position: int
    """Place among the line's bills, from 0, oldest first."""
    month: str
    """`YYYY-MM`."""
    amount_cents: int
    """What is to be paid."""
    due_on: str
    """`YYYY-MM-DD`."""
    status: str
    """`open`, `overdue`, `requested` or `paid`."""


class Device(PhoneTable, table=True):
    """A phone with its settings."""

    __tablename__: ClassVar[str] = "devices"

    device_id: str = Field(primary_key=True)
    """`D` and five digits."""
    iccid: str = Field(foreign_key="sims.iccid")
    """Card that belongs in it."""
    model: str
    """What it is called."""
    in_hand: bool
    """Whether it is the phone of the conversation's customer, which the customer's own tools work on."""
    abroad: bool
    """Whether it is outside the country."""
    airplane_mode: bool
    """Whether every radio but wifi is off."""
    mobile_data: bool
    """Whether data may go over the mobile network."""
    data_roaming: bool
    """Whether they may abroad."""
    network_mode: str
    """Fastest network it looks for: `2g`, `3g`, `4g` or `5g`."""
    apn: str
    """Access point for mobile data and picture messages."""
    sim_seated: bool
    """Whether the card makes contact."""
    sim_state: str
    """`ready`, `puk` where it waits for its PUK, or `blocked` for good."""
    puk_attempts_left: int
    """Wrong PUKs until the card is blocked."""
    wifi: bool
    """Whether wifi is on."""
    wifi_network: str | None = None
    """Wifi in reach that it knows; `None` for none."""
    vpn: bool
    """Whether traffic goes through a VPN."""
    data_saver: bool
    """Whether it holds back mobile data."""
    update_pending: bool
    """Whether a software update waits for a restart; until then the phone does without 5G."""
    profile_version: int
    """Network profile it fetched when it last started."""


class AppPermission(PhoneTable, table=True):
    """Something an app on a phone may or may not do."""

    __tablename__: ClassVar[str] = "app_permissions"

    device_id: str = Field(primary_key=True, foreign_key="devices.device_id")
    """Phone."""
    app: str = Field(primary_key=True)
    """`Messages`, `Maps` or `Photos`."""
    permission: str = Field(primary_key=True)
    """`sms`, `storage`, `location` or `mobile_data`."""
    granted: bool
    """Whether it may."""


class Handoff(PhoneTable, table=True):
    """A conversation that was handed over to a human agent."""

    __tablename__: ClassVar[str] = "handoffs"

    position: int = Field(primary_key=True)
    """Order of the handoffs, from 0."""
    summary: str
    """What the agent told its human colleague; free wording, never compared."""


TABLES: tuple[type[PhoneTable], ...] = (
    Customer,
    Plan,
    Line,
    Charge,
    Sim,
    Bill,
    Device,
    AppPermission,
    Handoff,
)
"""Every table, parents before children."""

APN = "net.larkline"
"""The carrier's access point."""

NETWORKS = ("2g", "3g", "4g", "5g")
"""Networks, slowest first."""
