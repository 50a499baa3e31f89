"""Published shops are read as they are: invented ones with a fault are refused by name, tau-bench's is read whole."""

import json
import os
from collections import Counter, defaultdict
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlmodel import SQLModel
from support.published import Edit, Json, setting, without, write_json

from taugraph.domains.errors import DataError
from taugraph.domains.retail.dialects import TAU_BENCH
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
from taugraph.domains.retail.published import read_seed
from taugraph.domains.retail.seed import load_seed
from taugraph.tools.retail import read_data

RETAIL = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench")) / "retail"
needs_tau_bench = pytest.mark.skipif(
    not RETAIL.is_dir(), reason=f"no tau-bench data at {RETAIL}: set TAUGRAPH_TAU_BENCH_DIR"
)

RowT = TypeVar("RowT", bound=SQLModel)

ADDRESS: Json = {
    "address1": "1 Fern Lane",
    "address2": "",
    "city": "Reno",
    "country": "USA",
    "state": "NV",
    "zip": "89501",
}
USERS: Json = {
    "ada_moss_1000": {
        "name": {"first_name": "Ada", "last_name": "Moss"},
        "address": ADDRESS,
        "email": "ada.moss@example.com",
        "payment_methods": {
            "paypal_1": {"source": "paypal", "id": "paypal_1"},
            "gift_card_2": {"source": "gift_card", "balance": 12.5, "id": "gift_card_2"},
            "credit_card_3": {"source": "credit_card", "brand": "visa", "last_four": "0042", "id": "credit_card_3"},
        },
        "orders": ["#W2", "#W1"],
    }
}
PRODUCTS: Json = {
    "p2": {
        "name": "Kite",
        "product_id": "p2",
        "variants": {
            "i2": {"item_id": "i2", "options": {"tail": "long"}, "available": False, "price": 20},
            "i1": {"item_id": "i1", "options": {"tail": "short"}, "available": True, "price": 19.99},
        },
    },
    "p1": {"name": "Drum", "product_id": "p1", "variants": {}},
}
KITE: Json = {"name": "Kite", "product_id": "p2", "item_id": "i1", "price": 19.99, "options": {"tail": "short"}}
ORDER: Json = {
    "order_id": "#W1",
    "user_id": "ada_moss_1000",
    "address": ADDRESS,
    "items": [KITE, KITE],
    "fulfillments": [{"tracking_id": ["77"], "item_ids": ["i1", "i1"]}],
    "status": "delivered",
    "payment_history": [{"transaction_type": "payment", "amount": 39.98, "payment_method_id": "paypal_1"}],
}
ORDERS: Json = {"#W1": ORDER, "#W2": {**ORDER, "order_id": "#W2"}}
UNSET: Json = dict.fromkeys(
    (
        "cancel_reason", "exchange_items", "exchange_new_items", "exchange_payment_method_id",
        "exchange_price_difference", "return_items", "return_payment_method_id",
    )
)  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for name, records in (("users", USERS), ("products", PRODUCTS), ("orders", ORDERS)):
        write_json(tmp_path / f"{name}.json", records)
    return tmp_path


def rows_of(folder: Path, table: type[RowT]) -> list[RowT]:
    return [row for row in read_seed(folder).rows() if isinstance(row, table)]


def test_records_keep_their_order_as_positions_and_dollars_become_cents(shop: Path) -> None:
    methods = rows_of(shop, PaymentMethod)
    assert [(row.position, row.payment_method_id, row.balance_cents) for row in methods] == [
        (0, "paypal_1", None),
        (1, "gift_card_2", 1250),
        (2, "credit_card_3", None),
    ]
    assert [row.product_id for row in rows_of(shop, Product)] == ["p2", "p1"]
    assert [(row.position, row.item_id, row.available, row.price_cents) for row in rows_of(shop, Variant)] == [
        (0, "i2", False, 2000),
        (1, "i1", True, 1999),
    ]
    assert [(row.position, row.order_id) for row in rows_of(shop, UserOrder)] == [(0, "#W2"), (1, "#W1")]


def test_an_order_is_taken_apart_into_lines_parcels_and_payments(shop: Path) -> None:
    lines = [row for row in rows_of(shop, OrderLine) if row.order_id == "#W1"]
    assert [(row.position, row.item_id, row.options) for row in lines] == [
        (0, "i1", {"tail": "short"}),
        (1, "i1", {"tail": "short"}),
    ]
    assert (rows_of(shop, Fulfillment)[0].tracking_ids, rows_of(shop, Fulfillment)[0].item_ids) == (["77"], ["i1"] * 2)
    assert [(row.transaction_type, row.amount_cents) for row in rows_of(shop, OrderPayment)] == [("payment", 3998)] * 2


def test_the_second_line_of_an_address_may_be_empty(shop: Path) -> None:
    assert [user.address2 for user in rows_of(shop, User)] == [""]


def test_requests_of_an_order_are_kept(shop: Path) -> None:
    asked = {"exchange_items": ["i1"], "exchange_new_items": ["i2"], "exchange_payment_method_id": "paypal_1"}
    write_json(shop / "orders.json", {"#W1": {**ORDER, **asked, "exchange_price_difference": -0.01}})
    (order,) = rows_of(shop, Order)
    assert order.model_dump(include=set(asked)) == asked
    assert order.exchange_price_difference_cents == -1


def test_records_in_the_second_versions_clothes_give_the_same_rows(shop: Path) -> None:
    before = list(read_seed(shop).rows())
    users = deepcopy(USERS)
    users["ada_moss_1000"]["user_id"] = "ada_moss_1000"
    users["ada_moss_1000"]["address"]["province"] = users["ada_moss_1000"]["address"].pop("state")
    write_json(shop / "users.json", users)
    write_json(shop / "orders.json", {key: {**order, **UNSET} for key, order in ORDERS.items()})
    assert list(read_seed(shop).rows()) == before


def test_the_hash_changes_with_any_byte_of_any_file(shop: Path) -> None:
    hashes = {read_seed(shop).content_hash}
    for name in ("users.json", "products.json", "orders.json"):
        (shop / name).write_text((shop / name).read_text() + "\n")
        hashes.add(read_seed(shop).content_hash)
    assert len(hashes) == 4


def test_rows_are_of_the_bytes_that_were_hashed(shop: Path) -> None:
    seed = read_seed(shop)
    before = list(seed.rows())
    (shop / "users.json").write_text("{}")
    assert list(seed.rows()) == before


@pytest.mark.parametrize("name", ["users.json", "products.json", "orders.json"])
def test_a_missing_file_is_named(shop: Path, name: str) -> None:
    (shop / name).unlink()
    with pytest.raises(DataError, match=rf"got 'only .*', wanted {name} or data/{name}"):
        read_seed(shop)


ADA, KITES, FIRST = "users ada_moss_1000", "products p2", "orders #W1"
ITEM = f"{KITES} variants i1"
GIFT, PAYPAL = f"{ADA} payment_methods gift_card_2", f"{ADA} payment_methods paypal_1"
MISSING, UNKNOWN = "got 'no such key', wanted this key", "wanted no key of this name"
NO_MONEY, OTHER_KEY = "wanted an amount in dollars with at most two decimals", "the key it stands under"


@pytest.mark.parametrize(
    ("place", "edit", "field", "rest"),
    [
        (ADA, without("email"), "email", MISSING),
        (ADA, setting("dob", "1990-01-01"), "dob", UNKNOWN),
        (ADA, setting("user_id", "bo"), "user_id", f"got 'bo', wanted 'ada_moss_1000', {OTHER_KEY}"),
        (ADA, setting("orders", "#W1"), "orders", "got '#W1', wanted a list"),
        (f"{ADA} name", setting("last_name", ""), "name.last_name", "got '', wanted"),
        (f"{ADA} address", without("address2"), "address.address2", MISSING),
        (f"{ADA} address", setting("zip", 89501), "address.zip", "got 89501, wanted a valid string"),
        (GIFT, setting("balance", 0.005), "payment_methods.gift_card_2.balance", f"got 0.005, {NO_MONEY}"),
        (GIFT, without("balance"), "payment_methods.gift_card_2.balance", MISSING),
        (PAYPAL, setting("balance", 5), "payment_methods.paypal_1.balance", UNKNOWN),
        (PAYPAL, setting("source", "cash"), "payment_methods.paypal_1.source", "got 'cash', wanted 'credit_card'"),
        (PAYPAL, setting("id", "x"), "payment_methods.paypal_1.id", f"got 'x', wanted 'paypal_1', {OTHER_KEY}"),
        (KITES, setting("product_id", "p9"), "product_id", f"got 'p9', wanted 'p2', {OTHER_KEY}"),
        (KITES, setting("variants", []), "variants", r"got \[\], wanted an object"),
        (
            f"{KITES} variants i1",
            setting("item_id", "i9"),
            "variants.i1.item_id",
            f"got 'i9', wanted 'i1', {OTHER_KEY}",
        ),
        (ITEM, setting("available", 1), "variants.i1.available", "got 1, wanted a valid boolean"),
        (ITEM, setting("price", "20"), "variants.i1.price", f"got '20', {NO_MONEY}"),
        (
            f"{ITEM} options",
            setting("tail", 3),
            "variants.i1.options.tail",
            "got 3, wanted a valid string",
        ),
        (FIRST, setting("order_id", "#W9"), "order_id", f"got '#W9', wanted '#W1', {OTHER_KEY}"),
        (FIRST, setting("user_id", "nobody"), "user_id", "got 'nobody', wanted the id of a user"),
        (FIRST, without("status"), "status", MISSING),
        (FIRST, setting("gift_wrap", True), "gift_wrap", UNKNOWN),
        (FIRST, setting("return_items", "i1"), "return_items", "got 'i1', wanted"),
        (f"{FIRST} items 1", without("price"), "items.1.price", MISSING),
        (f"{FIRST} fulfillments 0", setting("item_ids", [7]), "fulfillments.0.item_ids.0", "got 7, wanted"),
        (
            f"{FIRST} payment_history 0",
            setting("transaction_type", "gift"),
            "payment_history.0.transaction_type",
            "got 'gift', wanted 'payment' or 'refund'",
        ),
        (f"{FIRST} payment_history 0", setting("amount", True), "payment_history.0.amount", f"got True, {NO_MONEY}"),
    ],
)
def test_a_record_that_breaks_the_schema_is_refused_by_file_record_and_field(
    shop: Path, place: str, edit: Edit, field: str, rest: str
) -> None:
    name, record, *keys = place.split()
    records = json.loads((shop / f"{name}.json").read_text())
    target = records[record]
    for key in keys:
        target = target[int(key) if isinstance(target, list) else key]
    edit(target)
    write_json(shop / f"{name}.json", records)
    seed = read_seed(shop)
    with pytest.raises(DataError, match=f"{name}.json, record {record}, field {field}: .*{rest}") as caught:
        list(seed.rows())
    assert (caught.value.record, caught.value.field) == (record, field)


def test_an_item_of_two_products_is_refused(shop: Path) -> None:
    products = deepcopy(PRODUCTS)
    products["p1"]["variants"]["i1"] = products["p2"]["variants"]["i1"]
    write_json(shop / "products.json", products)
    seed = read_seed(shop)
    with pytest.raises(DataError, match=r"products.json, record p1, field variants.i1.item_id: .*in one product only"):
        list(seed.rows())


@pytest.fixture(scope="module")
def published_rows() -> list[SQLModel]:
    return list(read_seed(RETAIL).rows())


def shared_records(name: str) -> dict[str, Any]:
    records: dict[str, Any] = json.loads((RETAIL / f"{name}.json").read_bytes())
    return records


def cents(dollars: float) -> int:
    return round(dollars * 100)


@needs_tau_bench
def test_tau_benchs_shop_is_read_whole(published_rows: list[SQLModel]) -> None:
    counts = Counter(type(row) for row in published_rows)
    assert (counts[User], counts[Product], counts[Variant]) == (500, 50, 591)
    assert (counts[Order], counts[UserOrder], counts[OrderLine]) == (1000, 1000, 2978)
    assert counts[Fulfillment] == sum(len(order["fulfillments"]) for order in shared_records("orders").values())
    statuses = Counter(row.status for row in published_rows if isinstance(row, Order))
    assert statuses == {"pending": 423, "delivered": 373, "processed": 102, "cancelled": 102}


@needs_tau_bench
def test_tau_benchs_sums_of_money_are_kept(published_rows: list[SQLModel]) -> None:
    users, products, orders = (shared_records(name).values() for name in ("users", "products", "orders"))
    wanted = {
        PaymentMethod: sum(cents(m.get("balance", 0)) for user in users for m in user["payment_methods"].values()),
        Variant: sum(cents(item["price"]) for product in products for item in product["variants"].values()),
        OrderLine: sum(cents(line["price"]) for order in orders for line in order["items"]),
        OrderPayment: sum(cents(entry["amount"]) for order in orders for entry in order["payment_history"]),
    }
    got: Counter[type[SQLModel]] = Counter()
    for row in published_rows:
        match row:
            case PaymentMethod():
                got[PaymentMethod] += row.balance_cents or 0
            case Variant() | OrderLine():
                got[type(row)] += row.price_cents
            case OrderPayment():
                got[OrderPayment] += row.amount_cents
    assert got == wanted


@needs_tau_bench
def test_tau_benchs_payments_are_the_sums_of_the_lines(published_rows: list[SQLModel]) -> None:
    bought: Counter[str] = Counter()
    paid: defaultdict[str, set[int]] = defaultdict(set)
    for row in published_rows:
        if isinstance(row, OrderLine):
            bought[row.order_id] += row.price_cents
        elif isinstance(row, OrderPayment):
            paid[row.order_id].add(row.amount_cents)
    assert paid == {order_id: {total} for order_id, total in bought.items()}


@needs_tau_bench
def test_tau_benchs_shop_is_a_domain_in_its_own_dialect_with_its_own_policy_and_tasks() -> None:
    shop = read_data(RETAIL)
    assert (shop.name, shop.source, shop.dialect) == ("retail", "retail", TAU_BENCH)
    assert shop.policy == (RETAIL / "wiki.md").read_text(encoding="utf-8")
    assert Counter(task.splits for task in shop.tasks) == {("test",): 115, ("dev",): 20}


@needs_tau_bench
def test_our_own_seed_repeats_no_id_and_no_product_of_tau_benchs(published_rows: list[SQLModel]) -> None:
    def keys(rows: list[SQLModel]) -> set[tuple[str, str]]:
        names = ("user_id", "email", "payment_method_id", "product_id", "item_id", "order_id")
        found = {(name, getattr(row, name)) for row in rows for name in names if hasattr(row, name)}
        found |= {("product", row.name) for row in rows if isinstance(row, Product)}
        return found | {("tracking", text) for row in rows if isinstance(row, Fulfillment) for text in row.tracking_ids}

    assert not keys(published_rows) & keys(list(load_seed().rows()))
