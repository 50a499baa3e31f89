"""The published tau-bench data themselves, where they are at hand."""

import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import SQLModel

from taugraph.domains.airline.models import (
    Flight,
    FlightDay,
    PaymentMethod,
    Reservation,
    ReservationFlight,
    ReservationPassenger,
    ReservationPayment,
    User,
    UserReservation,
)
from taugraph.domains.airline.published import read_seed
from taugraph.domains.published import read_tau_bench_tasks

SHARED = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench"))
needs_tau_bench = pytest.mark.skipif(
    not (SHARED / "airline").is_dir(), reason=f"no tau-bench data at {SHARED}: set TAUGRAPH_TAU_BENCH_DIR"
)


@pytest.fixture(scope="module")
def published_rows() -> list[SQLModel]:
    return list(read_seed(SHARED / "airline").rows())


def shared_records(name: str) -> dict[str, Any]:
    records: dict[str, Any] = json.loads((SHARED / "airline" / f"{name}.json").read_bytes())
    return records


@needs_tau_bench
def test_tau_benchs_airline_is_read_whole(published_rows: list[SQLModel]) -> None:
    counts = Counter(type(row) for row in published_rows)
    assert (counts[User], counts[Flight], counts[FlightDay], counts[Reservation]) == (500, 300, 9000, 2000)


@needs_tau_bench
def test_tau_benchs_sums_of_money_are_kept(published_rows: list[SQLModel]) -> None:
    users, flights, reservations = (shared_records(name) for name in ("users", "flights", "reservations"))
    balances = sum(m.get("amount", 0) for user in users.values() for m in user["payment_methods"].values())
    prices = sum(sum(day.get("prices", {}).values()) for flight in flights.values() for day in flight["dates"].values())
    segments = sum(s["price"] for r in reservations.values() for s in r["flights"])
    paid = sum(p["amount"] for r in reservations.values() for p in r["payment_history"])
    assert 100 * balances == sum(row.amount_cents or 0 for row in published_rows if isinstance(row, PaymentMethod))
    assert 100 * segments == sum(row.price_cents for row in published_rows if isinstance(row, ReservationFlight))
    assert 100 * paid == sum(row.amount_cents for row in published_rows if isinstance(row, ReservationPayment))
    assert 100 * prices == sum(
        (row.basic_economy_price_cents or 0) + (row.economy_price_cents or 0) + (row.business_price_cents or 0)
        for row in published_rows
        if isinstance(row, FlightDay)
    )


@needs_tau_bench
def test_tau_benchs_reservations_can_be_put_together_again(published_rows: list[SQLModel]) -> None:
    rebuilt = {
        row.reservation_id: row.model_dump(exclude={"status"}) for row in published_rows if type(row) is Reservation
    }
    for record in rebuilt.values():
        record.update(flights=[], passengers=[], payment_history=[])
    lists: dict[type[SQLModel], str] = {
        ReservationFlight: "flights",
        ReservationPassenger: "passengers",
        ReservationPayment: "payment_history",
    }
    for row in published_rows:
        if type(row) in lists:
            fields = row.model_dump(exclude={"position", "extra"})
            children = rebuilt[fields.pop("reservation_id")][lists[type(row)]]
            children.append({key.removesuffix("_cents"): v / 100 if "cents" in key else v for key, v in fields.items()})
    assert rebuilt == shared_records("reservations")


@needs_tau_bench
def test_tau_benchs_users_can_be_put_together_again(published_rows: list[SQLModel]) -> None:
    rows_by_user: defaultdict[str, list[SQLModel]] = defaultdict(list)
    for row in published_rows:
        if isinstance(row, User | PaymentMethod | UserReservation):
            rows_by_user[row.user_id].append(row)
    for user_id, record in shared_records("users").items():
        mine = rows_by_user[user_id]
        user = next(row for row in mine if isinstance(row, User))
        assert {**record["name"], **record["address"]} == user.model_dump(
            exclude={"user_id", "email", "dob", "membership"}
        )
        assert [record[key] for key in ("email", "dob", "membership")] == [user.email, user.dob, user.membership]
        assert list(record["payment_methods"]) == [row.payment_id for row in mine if isinstance(row, PaymentMethod)]
        assert record["reservations"] == [row.reservation_id for row in mine if isinstance(row, UserReservation)]


@needs_tau_bench
def test_tau_benchs_airline_tasks_keep_their_numbers_and_calls() -> None:
    tasks = read_tau_bench_tasks(SHARED / "airline")
    raw = json.loads((SHARED / "airline" / "tasks_test.json").read_bytes())
    assert [task.id for task in tasks] == [str(index) for index in range(50)]
    assert [[call.arguments for call in task.gold] for task in tasks] == [
        [action["kwargs"] for action in task["actions"]] for task in raw
    ]
    assert [[claim.value for claim in task.claims] for task in tasks] == [task["outputs"] for task in raw]


@needs_tau_bench
def test_tau_benchs_retail_tasks_are_read_by_the_same_reader() -> None:
    tasks = read_tau_bench_tasks(SHARED / "retail")
    assert Counter(task.splits for task in tasks) == {("test",): 115, ("dev",): 20}
