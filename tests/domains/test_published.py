"""Published tau-bench data is read as it is, in both layouts, and whatever breaks its schema is refused by name."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError
from sqlmodel import SQLModel
from support.published import FLIGHTS, RESERVATIONS, USERS, Edit, refusal, setting, without, write_json

from taugraph.domains.airline.models import (
    TABLES,
    Flight,
    FlightDay,
    PaymentMethod,
    Reservation,
    ReservationFlight,
    ReservationPassenger,
    ReservationPayment,
    SavedPassenger,
    User,
    UserReservation,
)
from taugraph.domains.airline.published import read_seed
from taugraph.domains.errors import DataError
from taugraph.domains.published import (
    dollars_to_cents,
    find_file,
    read_file,
    read_json_object,
    read_policy,
    read_tau_bench_tasks,
)

RowT = TypeVar("RowT", bound=SQLModel)


def rows_of(folder: Path, table: type[RowT]) -> list[RowT]:
    return [row for row in read_seed(folder).rows() if isinstance(row, table)]


def read_all_rows(folder: Path) -> list[SQLModel]:
    return list(read_seed(folder).rows())


def test_both_layouts_hold_the_same_rows_policy_and_tasks(flat: Path, checkout: Path) -> None:
    assert read_all_rows(flat) == read_all_rows(checkout)
    assert read_seed(flat).content_hash == read_seed(checkout).content_hash
    assert read_policy(flat) == read_policy(checkout) == "# Policy\n"
    assert read_tau_bench_tasks(flat) == read_tau_bench_tasks(checkout)


@pytest.mark.parametrize("read", [read_seed, read_policy, read_tau_bench_tasks])
def test_an_empty_or_missing_folder_is_refused(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(DataError, match="an empty folder"):
        read(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        read(tmp_path / "nowhere")


def test_a_file_in_both_places_is_refused(flat: Path) -> None:
    write_json(flat / "data" / "users.json", USERS)
    with pytest.raises(DataError, match=r"users.json and data/users.json.*one of them"):
        find_file(flat, "users.json")


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a readable file"):
        read_file(tmp_path)


def test_an_empty_policy_is_refused(flat: Path) -> None:
    (flat / "wiki.md").write_text(" \n")
    with pytest.raises(DataError, match=r"wiki.md.*the policy's text"):
        read_policy(flat)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b'{"a": 1\n "b": 2}', ["record line 2 column 2", "JSON"]),
        (b"[1]", ["an object"]),
        (b'{"a": "\xff"}', ["record byte 7", "UTF-8"]),
        (b"[" * 100_000, ["recursion", "JSON"]),
        (b'{"a": 1, "b": 2, "a": 3}', ["record a:", "'a' again", "each key once"]),
        (b'{"a": {"b": 1, "b": 1}, "a": 3}', ["record a:", "'a' again", "each key once"]),
        (b'{"a": [{}, {"b": {"c": 1, "c": 1}}]}', ["record a, field 1.b.c", "'c' again", "each key once"]),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, content: bytes, parts: list[str]) -> None:
    (tmp_path / "users.json").write_bytes(content)
    with pytest.raises(DataError, match=refusal(["users.json", *parts])):
        read_json_object(tmp_path / "users.json")


def test_rows_come_parents_first_and_ordered_children_know_their_place(flat: Path) -> None:
    order = [TABLES.index(type(row)) for row in read_all_rows(flat)]
    assert order == sorted(order)
    assert [(m.position, m.payment_id, m.amount_cents, m.last_four) for m in rows_of(flat, PaymentMethod)] == [
        (0, "gift_card_1", 12000, None),
        (1, "credit_card_2", None, "0042"),
        (2, "certificate_3", 10000, None),
    ]
    assert [(r.position, r.reservation_id) for r in rows_of(flat, UserReservation)] == [(0, "RRRRR2"), (1, "RRRRR1")]
    assert [(f.position, f.flight_number) for f in rows_of(flat, Flight)] == [(0, "XX002"), (1, "XX001")]
    assert [(p.amount_cents, p.position) for p in rows_of(flat, ReservationPayment)][:2] == [(20900, 0), (-900, 1)]
    assert [s.price_cents for s in rows_of(flat, ReservationFlight)][:2] == [11000, 9900]
    assert [p.dob for p in rows_of(flat, ReservationPassenger)] == ["1980-02-03", "1980-02-03"]
    assert [p.first_name for p in rows_of(flat, SavedPassenger)] == ["Bo"]
    assert [r.status for r in rows_of(flat, Reservation)] == [None, "cancelled"]


def test_a_day_has_seats_and_prices_only_while_it_can_be_booked(flat: Path) -> None:
    landed, delayed, open_day, cancelled, flying = rows_of(flat, FlightDay)
    assert (landed.actual_arrival_time_est, landed.economy_seats) == ("2024-05-15T01:20:00", None)
    assert (delayed.estimated_departure_time_est, delayed.actual_departure_time_est) == ("2024-05-15T23:05:00", None)
    assert (open_day.basic_economy_seats, open_day.business_seats, open_day.business_price_cents) == (0, 9, 20500)
    assert (cancelled.status, cancelled.economy_price_cents) == ("cancelled", None)
    assert (flying.actual_departure_time_est, flying.actual_arrival_time_est) == ("2024-05-15T14:05:00", None)


def test_records_in_the_second_versions_clothes_give_the_same_rows(flat: Path) -> None:
    before = read_all_rows(flat)
    users, reservations, flights = deepcopy(USERS), deepcopy(RESERVATIONS), deepcopy(FLIGHTS)
    user = users["ada_moss_1000"]
    user["user_id"] = "ada_moss_1000"
    user["address"]["province"] = user["address"].pop("state")
    user["payment_methods"]["gift_card_1"]["amount"] = 120.0
    reservations["RRRRR1"]["status"] = None
    reservations["RRRRR1"]["payment_history"][0]["amount"] = 209.00
    write_json(flat / "users.json", users)
    write_json(flat / "flights.json", flights)
    write_json(flat / "reservations.json", reservations)
    assert read_all_rows(flat) == before


@pytest.mark.parametrize("edit", [without("address2"), setting("address2", None)])
def test_the_second_line_of_an_address_may_be_missing(flat: Path, edit: Edit) -> None:
    users = deepcopy(USERS)
    edit(users["ada_moss_1000"]["address"])
    write_json(flat / "users.json", users)
    assert [user.address2 for user in rows_of(flat, User)] == [None]


def test_the_hash_changes_with_any_byte_of_any_file(flat: Path) -> None:
    hashes = {read_seed(flat).content_hash}
    for name in ("users.json", "flights.json", "reservations.json"):
        (flat / name).write_text((flat / name).read_text() + "\n")
        hashes.add(read_seed(flat).content_hash)
    assert len(hashes) == 4


def test_rows_are_of_the_bytes_that_were_hashed(flat: Path) -> None:
    seed = read_seed(flat)
    before = list(seed.rows())
    (flat / "users.json").write_text("{}")
    assert list(seed.rows()) == before


ADA, DAY = "users/ada_moss_1000", "flights/XX002/dates/2024-05-16"
TRIP, GIFT = "reservations/RRRRR2", f"{ADA}/payment_methods/gift_card_1"
MISSING, UNKNOWN = "got 'no such key', wanted this key", "wanted no key of this name"
OTHER_KEY, NO_MONEY = "the key it stands under", "wanted an amount in dollars with at most two decimals"


@pytest.mark.parametrize(
    ("place", "edit", "field", "rest"),
    [
        (ADA, without("email"), "email", MISSING),
        (ADA, setting("age", 3), "age", UNKNOWN),
        (ADA, setting("user_id", "bo"), "user_id", f"got 'bo', wanted 'ada_moss_1000', {OTHER_KEY}"),
        (ADA, setting("membership", "tin"), "membership", "got 'tin', wanted 'gold'"),
        (ADA, setting("dob", "3 May"), "dob", "got '3 May', wanted match pattern"),
        (f"{ADA}/name", without("last_name"), "name.last_name", MISSING),
        (f"{ADA}/address", without("state"), "address.state", MISSING),
        (f"{ADA}/address", setting("province", "NV"), "address.province", UNKNOWN),
        (GIFT, setting("id", "x"), "payment_methods.gift_card_1.id", f"got 'x', wanted 'gift_card_1', {OTHER_KEY}"),
        (GIFT, setting("amount", 1.005), "payment_methods.gift_card_1.amount", f"got 1.005, {NO_MONEY}"),
        (GIFT, setting("brand", "visa"), "payment_methods.gift_card_1.brand", UNKNOWN),
        (GIFT, setting("source", "cash"), "payment_methods.gift_card_1.source", "got 'cash', wanted 'credit_card'"),
        (GIFT, without("source"), "payment_methods.gift_card_1.source", MISSING),
        (f"{ADA}/saved_passengers/0", setting("dob", 5), "saved_passengers.0.dob", "got 5, wanted a valid string"),
        ("flights/XX001", setting("flight_number", "X"), "flight_number", f"got 'X', wanted 'XX001', {OTHER_KEY}"),
        ("flights/XX001", without("dates"), "dates", MISSING),
        ("flights/XX001", setting("scheduled_arrival_time_est", "7"), "scheduled_arrival_time_est", "got '7', wanted"),
        (
            "flights/XX001/dates",
            setting("16 May", {"status": "cancelled"}),
            "dates.16 May",
            "got '16 May', wanted match",
        ),
        ("flights/XX001/dates", setting("2024-05-16", None), "dates.2024-05-16", "got None, wanted an object"),
        (DAY, without("prices"), "dates.2024-05-16.prices", MISSING),
        (DAY, setting("status", "gone"), "dates.2024-05-16.status", "got 'gone', wanted 'available'"),
        (
            f"{DAY}/available_seats",
            setting("economy", 1.0),
            "dates.*.available_seats.economy",
            "got 1.0, wanted a valid",
        ),
        (f"{DAY}/available_seats", setting("economy", -1), "dates.*.available_seats.economy", "got -1, wanted greater"),
        (f"{DAY}/prices", setting("first", 900), "dates.2024-05-16.prices.first", f"got 900, {UNKNOWN}"),
        (f"{DAY}/prices", setting("economy", "110"), "dates.2024-05-16.prices.economy", f"got '110', {NO_MONEY}"),
        (TRIP, setting("reservation_id", "R"), "reservation_id", f"got 'R', wanted 'RRRRR2', {OTHER_KEY}"),
        (TRIP, setting("user_id", "nobody"), "user_id", "got 'nobody', wanted the id of a user"),
        (TRIP, setting("status", "open"), "status", "got 'open', wanted 'cancelled'"),
        (TRIP, setting("cabin", "first"), "cabin", "got 'first', wanted 'basic_economy'"),
        (TRIP, setting("total_baggages", True), "total_baggages", "got True, wanted a valid integer"),
        (f"{TRIP}/flights/1", without("price"), "flights.1.price", MISSING),
        (f"{TRIP}/flights/1", setting("seat", "1A"), "flights.1.seat", UNKNOWN),
        (f"{TRIP}/payment_history/0", setting("amount", True), "payment_history.0.amount", f"got True, {NO_MONEY}"),
    ],
)
def test_a_record_that_breaks_the_schema_is_refused_by_file_record_and_field(
    flat: Path, place: str, edit: Edit, field: str, rest: str
) -> None:
    name, record, *keys = place.split("/")
    records = json.loads((flat / f"{name}.json").read_text())
    target = records[record]
    for key in keys:
        target = target[int(key) if isinstance(target, list) else key]
    edit(target)
    write_json(flat / f"{name}.json", records)
    seed = read_seed(flat)
    with pytest.raises(DataError, match=f"{name}.json, record {record}, field {field}: .*{rest}"):
        list(seed.rows())


def test_a_record_that_is_no_object_is_refused(flat: Path) -> None:
    write_json(flat / "users.json", {**USERS, "bo": []})
    seed = read_seed(flat)
    with pytest.raises(DataError, match=r"users.json, record bo: got \[\], wanted an object"):
        list(seed.rows())


@given(st.integers(min_value=-2_000_000_000, max_value=2_000_000_000))
def test_any_amount_with_two_decimals_becomes_exactly_its_cents(cents: int) -> None:
    sign, (whole, rest) = "-" if cents < 0 else "", divmod(abs(cents), 100)
    assert dollars_to_cents(json.loads(f"{sign}{whole}.{rest:02}")) == cents


@given(st.integers(min_value=-20_000_000, max_value=20_000_000))
def test_any_whole_amount_becomes_exactly_its_cents(dollars: int) -> None:
    assert dollars_to_cents(dollars) == dollars_to_cents(float(dollars)) == dollars * 100


@pytest.mark.parametrize("amount", [True, None, "5", [5], 0.001, 4.759999999999991, 2**31, -1e300, float("nan")])
def test_what_is_no_amount_of_dollars_and_cents_is_refused(amount: object) -> None:
    with pytest.raises(PydanticCustomError, match="an amount in dollars with at most two decimals"):
        dollars_to_cents(amount)
