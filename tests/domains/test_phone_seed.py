"""The carrier's own data: the generator and the seed it wrote agree with each other, and everything in it works."""

import random
import re
from pathlib import Path

import pytest
from support.seed_tables import (
    Tables,
    dangling_keys,
    grouped,
    positions_have_a_gap,
    read_tables,
    repeated,
    repeated_keys,
)

from taugraph.domains.phone import seed
from taugraph.domains.phone.generate_seed import generate_seed
from taugraph.domains.phone.models import APN


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(seed.SEED_FOLDER, seed.SEED_TABLES)


def test_generating_again_writes_the_same_bytes_and_leaves_the_global_generator_alone(tmp_path: Path) -> None:
    state = random.getstate()
    generate_seed(tmp_path)
    assert random.getstate() == state
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in seed.SEED_FOLDER.glob("*.csv")}


def test_there_are_sixty_customers_with_one_or_two_lines_each(tables: Tables) -> None:
    lines = grouped(tables["lines"], "customer_id")
    assert len(tables["customers"]) == len(lines) == 60
    assert {len(group) for group in lines.values()} == {1, 2}
    assert len(tables["lines"]) == len(tables["sims"]) == len(tables["devices"]) == len(tables["bills"]) / 3


def test_keys_are_unique_and_lead_somewhere(tables: Tables) -> None:
    assert repeated_keys(tables, seed.SEED_TABLES) == []
    assert dangling_keys(tables, seed.SEED_TABLES) == []
    assert repeated(tables["lines"], ["phone_number"]) == repeated(tables["customers"], ["email"]) == []
    assert repeated(tables["customers"], ["first_name", "last_name"]) == []


@pytest.mark.parametrize(
    ("table", "owner"), [("customers", None), ("plans", None), ("lines", "customer_id"), ("bills", "line_id")]
)
def test_positions_count_from_0(table: str, owner: str | None, tables: Tables) -> None:
    assert not positions_have_a_gap(tables[table], owner)


def test_nobody_is_anybody(tables: Tables) -> None:
    assert all(row["email"].endswith("@example.com") for row in tables["customers"])
    assert all(re.fullmatch(r"\d{3}-555-01\d\d", row["phone_number"]) for row in tables["lines"])


def test_every_phone_works_and_nobody_owes_anything_that_is_due(tables: Tables) -> None:
    lines = {row["line_id"]: row for row in tables["lines"]}
    sims = {row["iccid"]: lines[row["line_id"]] for row in tables["sims"]}
    for device in tables["devices"]:
        assert device["profile_version"] == sims[device["iccid"]]["profile_version"] != "0"
        assert (device["apn"], device["sim_state"], device["in_hand"]) == (APN, "ready", "false")
    assert {row["status"] for row in lines.values()} == {"active"}
    assert all((row["status"] == "open") == (row["due_on"] > "2025-03-18") for row in tables["bills"])
    assert {row["granted"] for row in tables["app_permissions"]} == {"true"}


def test_dearer_plans_give_more(tables: Tables) -> None:
    prices = [int(row["price_cents"]) for row in tables["plans"]]
    data = [int(row["data_mb"] or 10**9) for row in tables["plans"]]
    refuels = [int(row["refuel_cents"]) for row in tables["plans"]]
    assert prices == sorted(prices)
    assert data == sorted(data)
    assert refuels == sorted(refuels, reverse=True)
