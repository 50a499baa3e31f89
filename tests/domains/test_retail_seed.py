"""The shop's own data: the generator, the seed it wrote and the policy agree with each other."""

import json
import random
import re
import shutil
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
from support.seed_tables import (
    Row,
    Tables,
    dangling_keys,
    grouped,
    positions_have_a_gap,
    read_tables,
    repeated,
    repeated_keys,
)

from taugraph.domains.airline import seed as airline_seed
from taugraph.domains.errors import DataError
from taugraph.domains.retail import seed
from taugraph.domains.retail.dialects import TAUGRAPH
from taugraph.domains.retail.generate_seed import generate_seed
from taugraph.tools.retail import domain

ADDRESS = ("address1", "address2", "city", "state", "country", "zip")


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(seed.SEED_FOLDER, seed.SEED_TABLES)


@pytest.fixture(scope="module")
def lines(tables: Tables) -> dict[str, list[Row]]:
    return grouped(tables["order_lines"], "order_id")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(seed.SEED_FOLDER, tmp_path / "seed"))


def test_generating_again_writes_the_same_bytes_and_leaves_the_global_generator_alone(tmp_path: Path) -> None:
    state = random.getstate()
    generate_seed(tmp_path)
    assert random.getstate() == state
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in seed.SEED_FOLDER.glob("*.csv")}
    assert sum(map(len, written.values())) < 2_000_000


def test_the_seed_has_the_scale_of_the_published_one(tables: Tables) -> None:
    sizes = {name: len(rows) for name, rows in tables.items()}
    assert (sizes["users"], sizes["products"]) == (500, 50)
    assert sizes["orders"] == sizes["user_orders"] == 1000
    assert set(Counter(row["product_id"] for row in tables["variants"]).values()) <= set(range(5, 21))
    assert set(Counter(row["order_id"] for row in tables["order_lines"]).values()) == {1, 2, 3, 4, 5}


def test_statuses_and_availability_are_mixed_as_in_the_published_one(tables: Tables) -> None:
    shares = Counter(row["status"] for row in tables["orders"])
    wanted = {"pending": 420, "delivered": 370, "processed": 100, "cancelled": 100}
    assert shares.keys() == wanted.keys()
    assert all(abs(shares[status] - count) <= 40 for status, count in wanted.items())
    available = sum(row["available"] == "true" for row in tables["variants"])
    assert 0.58 <= available / len(tables["variants"]) <= 0.70


def test_rows_come_validated_in_the_order_of_the_tables(tables: Tables) -> None:
    rows = list(seed.load_seed().rows())
    assert [(kind, len(list(group))) for kind, group in groupby(rows, type)] == [
        (table, len(tables[str(table.__tablename__)])) for table in seed.SEED_TABLES
    ]


def test_columns_of_json_are_read_as_what_they_hold(tables: Tables) -> None:
    rows = [row.model_dump() for row in seed.load_seed().rows()]
    assert {type(row["options"]) for row in rows if "options" in row} == {dict}
    assert {type(row[name]) for row in rows if "tracking_ids" in row for name in ("tracking_ids", "item_ids")} == {list}
    assert {row["return_items"] for row in rows if "return_items" in row} == {None}


def test_no_key_occurs_twice(tables: Tables) -> None:
    assert not repeated_keys(tables, seed.SEED_TABLES)
    for name, column in (("payment_methods", "payment_method_id"), ("users", "email"), ("products", "name")):
        assert not repeated(tables[name], [column])
    assert not {row["item_id"] for row in tables["variants"]} & {row["product_id"] for row in tables["products"]}


def test_every_reference_leads_somewhere(tables: Tables) -> None:
    assert not dangling_keys(tables, seed.SEED_TABLES)
    items = {(row["product_id"], row["item_id"]) for row in tables["variants"]}
    assert {(row["product_id"], row["item_id"]) for row in tables["order_lines"]} <= items


def test_users_list_exactly_the_orders_that_are_theirs(tables: Tables) -> None:
    listed = {(row["user_id"], row["order_id"]) for row in tables["user_orders"]}
    assert listed == {(row["user_id"], row["order_id"]) for row in tables["orders"]}


def test_positions_count_from_zero_without_a_gap(tables: Tables) -> None:
    owners = {"users": None, "payment_methods": "user_id", "user_orders": "user_id", "variants": "product_id"}
    owners |= dict.fromkeys(("order_lines", "fulfillments", "order_payments"), "order_id")
    assert not [name for name, owner in owners.items() if positions_have_a_gap(tables[name], owner)]


def test_ids_have_the_published_form(tables: Tables) -> None:
    assert all(re.fullmatch(r"#W\d{7}", row["order_id"]) for row in tables["orders"])
    assert all(re.fullmatch(r"\d{10}", row["product_id"]) for row in tables["products"])
    assert all(re.fullmatch(r"\d{10}", row["item_id"]) for row in tables["variants"])
    for method in tables["payment_methods"]:
        assert re.fullmatch(rf"{method['source']}_\d{{7}}", method["payment_method_id"])


def test_every_user_is_found_by_email_at_example_com_or_by_name_and_zip(tables: Tables) -> None:
    for user in tables["users"]:
        name = f"{user['first_name']}_{user['last_name']}".lower()
        assert re.fullmatch(rf"{name}_\d{{4}}", user["user_id"])
        assert re.fullmatch(rf"{name.replace('_', '.')}\d{{4}}@example\.com", user["email"])
        assert re.fullmatch(r"\d{5}", user["zip"])
    assert repeated(tables["users"], ["first_name", "last_name"])
    assert not repeated(tables["users"], ["first_name", "last_name", "zip"])


def test_the_shops_customers_are_not_the_airlines(tables: Tables) -> None:
    others = read_tables(airline_seed.SEED_FOLDER, airline_seed.SEED_TABLES)
    for column in ("user_id", "email"):
        assert not {row[column] for row in tables["users"]} & {row[column] for row in others["users"]}


def test_a_method_has_what_its_source_needs_and_nobody_has_too_many(tables: Tables) -> None:
    fields = {"credit_card": {"brand", "last_four"}, "gift_card": {"balance_cents"}, "paypal": set()}
    most = {"credit_card": 2, "gift_card": 1, "paypal": 1}
    for methods in grouped(tables["payment_methods"], "user_id").values():
        assert Counter(method["source"] for method in methods) <= Counter(most)
        for method in methods:
            given = {name for name in ("brand", "last_four", "balance_cents") if method[name]}
            assert given == fields[method["source"]]
    balances = [int(row["balance_cents"]) for row in tables["payment_methods"] if row["balance_cents"]]
    assert min(balances) >= 0
    assert {balance % 100 == 0 for balance in balances} == {True, False}
    assert grouped(tables["payment_methods"], "user_id").keys() == {row["user_id"] for row in tables["users"]}


def test_variants_of_a_product_share_option_names_and_never_all_values(tables: Tables) -> None:
    for variants in grouped(tables["variants"], "product_id").values():
        options = [json.loads(row["options"]) for row in variants]
        assert len({tuple(values) for values in options}) == 1
        assert len({tuple(values.values()) for values in options}) == len(variants)
        assert 2 <= len(options[0]) <= 5
        assert all(len({values[name] for values in options}) <= 6 for name in options[0])


def test_prices_lie_around_those_of_the_product(tables: Tables) -> None:
    goods = json.loads((seed.SEED_FOLDER / "catalogue.json").read_text(encoding="utf-8"))
    around = {kind["name"]: kind["base_cents"] for kind in goods}
    names = {row["product_id"]: row["name"] for row in tables["products"]}
    assert list(around) == list(names.values())
    for row in tables["variants"]:
        assert int(row["price_cents"]) == pytest.approx(around[names[row["product_id"]]], rel=0.1505)
    assert sum(int(row["price_cents"]) % 100 > 0 for row in tables["variants"]) > 500


def test_a_line_is_what_the_catalogue_sells(tables: Tables) -> None:
    names = {row["product_id"]: row["name"] for row in tables["products"]}
    variants = {row["item_id"]: row for row in tables["variants"]}
    for line in tables["order_lines"]:
        variant = variants[line["item_id"]]
        assert (line["price_cents"], line["options"]) == (variant["price_cents"], variant["options"])
        assert line["name"] == names[line["product_id"]]


def test_some_orders_have_an_item_twice_or_two_items_of_a_product(lines: dict[str, list[Row]]) -> None:
    assert sum(bool(repeated(order, ["item_id"])) for order in lines.values()) >= 3
    assert sum(bool(repeated(order, ["product_id"])) for order in lines.values()) >= 50


def test_each_order_was_paid_once_and_a_cancelled_one_paid_back(tables: Tables, lines: dict[str, list[Row]]) -> None:
    owned = {(row["user_id"], row["payment_method_id"]) for row in tables["payment_methods"]}
    payments = grouped(tables["order_payments"], "order_id")
    for order in tables["orders"]:
        history = payments[order["order_id"]]
        total = sum(int(line["price_cents"]) for line in lines[order["order_id"]])
        kinds = ["payment", "refund"] if order["status"] == "cancelled" else ["payment"]
        assert [entry["transaction_type"] for entry in history] == kinds
        assert {int(entry["amount_cents"]) for entry in history} == {total}
        assert len({entry["payment_method_id"] for entry in history}) == 1
        assert (order["user_id"], history[0]["payment_method_id"]) in owned
        assert bool(order["cancel_reason"]) == (order["status"] == "cancelled")


def test_every_order_but_a_pending_one_is_in_a_parcel(tables: Tables, lines: dict[str, list[Row]]) -> None:
    parcels = grouped(tables["fulfillments"], "order_id")
    assert parcels.keys() == {order["order_id"] for order in tables["orders"] if order["status"] != "pending"}
    for order_id, (parcel,) in parcels.items():
        assert json.loads(parcel["item_ids"]) == [line["item_id"] for line in lines[order_id]]
        assert re.fullmatch(r'\["\d{12}"\]', parcel["tracking_ids"])


def test_most_orders_go_to_the_address_of_the_profile(tables: Tables) -> None:
    homes = {user["user_id"]: [user[column] for column in ADDRESS] for user in tables["users"]}
    at_home = sum(homes[order["user_id"]] == [order[column] for column in ADDRESS] for order in tables["orders"])
    assert 750 <= at_home <= 850


def test_the_policy_names_every_tool_of_the_dialect_and_no_other() -> None:
    assert TAUGRAPH.tools is not None
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", domain.policy)) == TAUGRAPH.tools - {"calculate"}
    assert "`calculate`" in domain.policy
    assert {tool.name for tool in domain.agent_tools} >= TAUGRAPH.tools


def test_the_content_hash_follows_the_bytes_of_the_files(folder: Path) -> None:
    before = seed.load_seed(folder).content_hash
    assert before == domain.seed.content_hash
    users = folder / "users.csv"
    users.write_text(users.read_text(encoding="utf-8").replace("Boise", "Bozeman", 1), encoding="utf-8")
    assert seed.load_seed(folder).content_hash != before


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("users.csv", "a_b_1,0,A,B,,1 C Row,Unit 1,D,NY,USA,12201", "field email: got None, wanted"),
        ("users.csv", "a_b_1,first,A,B,a@example.com,1 C Row,Unit 1,D,NY,USA,12201", "field position: got 'first'"),
        ("users.csv", "a_b_1,A,B", "got .*, wanted 11 cells"),
        ("users.csv", '"a"b', "got .*, wanted comma-separated values"),
        ("variants.csv", '1,2,0,"{""size"": }",true,100', "field options: got '{\"size\": }', wanted JSON"),
        ("variants.csv", "1,2,0,[],true,100", r"field options: got \[\], wanted"),
        ("variants.csv", "1,2,0,,true,100", "field options: got None, wanted"),
        ("variants.csv", "1,2,0,{},perhaps,100", "field available: got 'perhaps', wanted"),
        ("variants.csv", "1,2,0,{},true,1.5", "field price_cents: got '1.5', wanted"),
        ("fulfillments.csv", "#W1,0,[],[7]", "field item_ids.0: got 7, wanted"),
    ],
)
def test_a_row_that_breaks_its_schema_is_named(folder: Path, file: str, text: str, message: str) -> None:
    lines = (folder / file).read_text(encoding="utf-8").splitlines()
    lines[1] = text
    (folder / file).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=rf"{file}, record line 2(, |: ){message}") as caught:
        list(seed.load_seed(folder).rows())
    assert (caught.value.file, caught.value.record) == (folder / file, "line 2")


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "products.csv").unlink()
    with pytest.raises(DataError, match=r"products\.csv: got 'no such file'"):
        seed.load_seed(folder)
