"""The airline's own data: the generator, the seed it wrote, the policy and the tasks agree with each other."""

import random
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
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

from taugraph.domains.airline import seed
from taugraph.domains.airline.dialects import TAUGRAPH
from taugraph.domains.airline.generate_schedule import FARES, NOW
from taugraph.domains.airline.generate_seed import generate_seed
from taugraph.domains.airline.models import CABINS
from taugraph.domains.errors import DataError
from taugraph.domains.task import Task, load_tasks

FOLDER = Path(seed.__file__).parent
POLICY = (FOLDER / "policy.md").read_text(encoding="utf-8")
TASKS = load_tasks(FOLDER / "tasks.jsonl")
WRITES = {
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "transfer_to_human_agents",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(seed.SEED_FOLDER, seed.SEED_TABLES)


@pytest.fixture(scope="module")
def days(tables: Tables) -> dict[tuple[str, str], Row]:
    return {(row["flight_number"], row["date"]): row for row in tables["flight_days"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(seed.SEED_FOLDER, tmp_path / "seed"))


def moment(date: str, time: str) -> datetime:
    clock, _, later = time.partition("+")
    return datetime.fromisoformat(f"{date}T{clock}") + timedelta(days=int(later or 0))


def named(value: JsonValue, keys: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield every (key, value) of some keys, at any depth of a gold call's arguments."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in keys:
                yield key, item
            yield from named(item, keys)
    elif isinstance(value, list):
        for item in value:
            yield from named(item, keys)


def test_generating_again_writes_the_same_bytes_and_leaves_the_global_generator_alone(tmp_path: Path) -> None:
    state = random.getstate()
    generate_seed(tmp_path)
    assert random.getstate() == state
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in seed.SEED_FOLDER.glob("*.csv")}
    assert sum(map(len, written.values())) < 2_000_000


def test_the_seed_has_the_scale_of_the_published_one(tables: Tables) -> None:
    sizes = {name: len(rows) for name, rows in tables.items()}
    assert sizes["users"] == 500
    assert sizes["flights"] == 300
    assert sizes["flight_days"] == 300 * 30
    assert sizes["reservations"] == sizes["user_reservations"] == sizes["reservation_payments"] == 2000
    assert len({row["origin"] for row in tables["flights"]}) == 20
    assert {row["status"] for row in tables["flight_days"]} == {
        "available", "cancelled", "delayed", "flying", "landed", "on time",
    }  # fmt: skip


def test_rows_come_validated_in_the_order_of_the_tables(tables: Tables) -> None:
    rows = list(seed.load_seed().rows())
    assert [(kind, len(list(group))) for kind, group in groupby(rows, type)] == [
        (table, len(tables[str(table.__tablename__)])) for table in seed.SEED_TABLES
    ]


def test_no_key_occurs_twice(tables: Tables) -> None:
    assert not repeated_keys(tables, seed.SEED_TABLES)
    for name, column in (("payment_methods", "payment_id"), ("users", "email")):
        assert not repeated(tables[name], [column])


def test_every_foreign_key_leads_somewhere(tables: Tables) -> None:
    assert not dangling_keys(tables, seed.SEED_TABLES)


def test_users_list_exactly_the_reservations_that_are_theirs(tables: Tables) -> None:
    listed = {(row["user_id"], row["reservation_id"]) for row in tables["user_reservations"]}
    assert listed == {(row["user_id"], row["reservation_id"]) for row in tables["reservations"]}


def test_positions_count_from_zero_without_a_gap(tables: Tables) -> None:
    owners = {"flights": None, "payment_methods": "user_id", "saved_passengers": "user_id"} | {
        name: "user_id" if name == "user_reservations" else "reservation_id"
        for name in ("user_reservations", "reservation_flights", "reservation_passengers", "reservation_payments")
    }
    assert not [name for name, owner in owners.items() if positions_have_a_gap(tables[name], owner)]


def test_every_user_lives_at_example_com_and_some_share_a_name(tables: Tables) -> None:
    for user in tables["users"]:
        assert user["email"].endswith("@example.com")
        name = f"{user['first_name']}_{user['last_name']}".lower()
        assert re.fullmatch(rf"{name}_\d{{4}}", user["user_id"])
    assert repeated(tables["users"], ["first_name", "last_name"])


def test_each_trip_was_paid_once_from_a_method_of_its_owner(tables: Tables) -> None:
    owned = {(row["user_id"], row["payment_id"]) for row in tables["payment_methods"]}
    flights = grouped(tables["reservation_flights"], "reservation_id")
    passengers = grouped(tables["reservation_passengers"], "reservation_id")
    payments = grouped(tables["reservation_payments"], "reservation_id")
    for reservation in tables["reservations"]:
        key = reservation["reservation_id"]
        per_person = sum(int(row["price_cents"]) for row in flights[key])
        per_person += 3000 if reservation["insurance"] == "yes" else 0
        (payment,) = payments[key]
        assert int(payment["amount_cents"]) == per_person * len(passengers[key]) > 0
        assert (reservation["user_id"], payment["payment_id"]) in owned
        assert not payment["payment_id"].startswith("certificate")


def test_segments_chain_in_space_and_time_and_round_trips_come_home(
    tables: Tables, days: dict[tuple[str, str], Row]
) -> None:
    schedule = {row["flight_number"]: row for row in tables["flights"]}
    flights = grouped(tables["reservation_flights"], "reservation_id")
    for reservation in tables["reservations"]:
        segments = flights[reservation["reservation_id"]]
        stops = [segments[0]["origin"], *(segment["destination"] for segment in segments)]
        goal = reservation["origin" if reservation["flight_type"] == "round_trip" else "destination"]
        assert (stops[0], stops[-1]) == (reservation["origin"], goal)
        assert reservation["destination"] in stops[1:]
        assert reservation["origin"] != reservation["destination"]
        times = [datetime.fromisoformat(reservation["created_at"])]
        for segment in segments:
            flight = schedule[segment["flight_number"]]
            assert (segment["flight_number"], segment["date"]) in days
            assert (segment["origin"], segment["destination"]) == (flight["origin"], flight["destination"])
            times.append(moment(segment["date"], flight["scheduled_departure_time_est"]))
            times.append(moment(segment["date"], flight["scheduled_arrival_time_est"]))
        assert all(segment["origin"] == before["destination"] for before, segment in pairwise(segments))
        assert times == sorted(times)
        assert times[0] < NOW


def test_prices_lie_in_the_range_of_their_cabin(tables: Tables) -> None:
    cabins = {row["reservation_id"]: row["cabin"] for row in tables["reservations"]}
    prices = [(cabins[row["reservation_id"]], row["price_cents"]) for row in tables["reservation_flights"]]
    prices += [
        (cabin, row[f"{cabin}_price_cents"])
        for row in tables["flight_days"]
        if row["status"] == "available"
        for cabin in CABINS
    ]
    for cabin, price in prices:
        cheapest, dearest = FARES[cabin]
        assert cheapest * 100 <= int(price) <= dearest * 100
        assert int(price) % 100 == 0


def test_the_status_of_a_day_fits_the_clock_and_decides_which_fields_it_has(tables: Tables) -> None:
    fields = {
        "available": {f"{cabin}_{name}" for cabin in CABINS for name in ("seats", "price_cents")},
        "cancelled": set(),
        "delayed": {"estimated_departure_time_est", "estimated_arrival_time_est"},
        "flying": {"actual_departure_time_est", "estimated_arrival_time_est"},
        "landed": {"actual_departure_time_est", "actual_arrival_time_est"},
        "on time": {"estimated_departure_time_est", "estimated_arrival_time_est"},
    }
    now = NOW.isoformat()
    for row in tables["flight_days"]:
        given = {name for name, value in row.items() if value} - {"flight_number", "date", "status"}
        assert given == fields[row["status"]]
        assert (row["status"] == "available") == (row["date"] > now[:10])
        assert (row["status"] in ("on time", "delayed")) == (row["estimated_departure_time_est"] >= now[:10])
        assert not row["estimated_arrival_time_est"] or row["estimated_arrival_time_est"] > now
        assert row["actual_departure_time_est"] <= now
        assert row["actual_arrival_time_est"] <= now


def test_the_policy_names_every_tool_of_the_dialect_and_no_other() -> None:
    assert TAUGRAPH.tools is not None
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", POLICY)) == TAUGRAPH.tools - {"calculate"}
    assert "`calculate`" in POLICY


def test_the_content_hash_follows_the_bytes_of_the_files(folder: Path) -> None:
    before = seed.load_seed(folder).content_hash
    assert before == seed.load_seed().content_hash
    users = folder / "users.csv"
    users.write_text(users.read_text(encoding="utf-8").replace("Boise", "Bozeman", 1), encoding="utf-8")
    assert seed.load_seed(folder).content_hash != before


@pytest.mark.parametrize(
    ("file", "line", "text", "message"),
    [
        (
            "users.csv",
            2,
            "a_b_1,A,B,1 C Row,,D,USA,NY,12201,,1990-01-01,gold",
            r"users\.csv, record line 2, field email",
        ),
        ("users.csv", 2, "a_b_1,A,B", r"users\.csv, record line 2: got .*, wanted 12 cells"),
        ("users.csv", 2, '"a"b', r"users\.csv, record line 2: got .*, wanted comma-separated values"),
        ("users.csv", 1, "id,name", r"users\.csv, record line 1: got .*, wanted the columns user_id"),
        (
            "payment_methods.csv",
            3,
            "a_b_1,x,first,gift_card,,,",
            r"payment_methods\.csv, record line 3, field position",
        ),
    ],
)
def test_a_row_that_breaks_its_schema_is_named(folder: Path, file: str, line: int, text: str, message: str) -> None:
    lines = (folder / file).read_text(encoding="utf-8").splitlines()
    lines[line - 1] = text
    (folder / file).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(seed.load_seed(folder).rows())


def test_a_file_that_is_not_utf8_is_named(folder: Path) -> None:
    (folder / "users.csv").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"users\.csv: got .*, wanted UTF-8 text"):
        list(seed.load_seed(folder).rows())


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "flights.csv").unlink()
    with pytest.raises(DataError, match=r"flights\.csv: got 'no such file'"):
        seed.load_seed(folder)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_task_opens_ends_and_cannot_be_passed_by_silence(task: Task) -> None:
    writes = [call for call in task.gold if call.name in WRITES]
    assert task.scenario.opening
    assert task.scenario.exit_when
    assert writes or task.claims
    assert f"writes:{len(writes)}" in task.tags
    assert TAUGRAPH.tools is not None
    assert {call.name for call in task.gold} <= TAUGRAPH.tools


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_everything_a_gold_call_names_exists_and_belongs_to_the_customer(
    task: Task, tables: Tables, days: dict[tuple[str, str], Row]
) -> None:
    known: dict[str, set[str]] = {
        "origin": {row["origin"] for row in tables["flights"]},
        "destination": {row["origin"] for row in tables["flights"]},
        "date": {date for _, date in days},
    }
    first = task.gold[0]
    assert first.name == "get_user_details"
    user_id = first.arguments["user_id"]
    assert user_id in {row["user_id"] for row in tables["users"]}
    for key, table in (
        ("user_id", "users"), ("reservation_id", "reservations"), ("payment_id", "payment_methods"),
    ):  # fmt: skip
        known[key] = {row[key] for row in tables[table] if row["user_id"] == user_id}
    for call in task.gold:
        for key, value in named(call.arguments, set(known)):
            assert value in known[key], (call.name, key)
        for _, flights in named(call.arguments, {"flights"}):
            assert all(days[flight["flight_number"], flight["date"]]["status"] == "available" for flight in flights)
