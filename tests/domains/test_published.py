"""Published tau-bench data is read as it is, in both layouts, and whatever breaks its schema is refused by name."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError
from sqlmodel import SQLModel

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
from taugraph.domains.task import ClaimKind

SHARED = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench"))
needs_tau_bench = pytest.mark.skipif(
    not (SHARED / "airline").is_dir(), reason=f"no tau-bench data at {SHARED}: set TAUGRAPH_TAU_BENCH_DIR"
)

Json = dict[str, Any]
Edit = Callable[[Json], None]
RowT = TypeVar("RowT", bound=SQLModel)

USERS: Json = {
    "ada_moss_1000": {
        "name": {"first_name": "Ada", "last_name": "Moss"},
        "address": {
            "address1": "1 Fern Lane",
            "address2": "Suite 2",
            "city": "Reno",
            "country": "USA",
            "state": "NV",
            "zip": "89501",
        },
        "email": "ada.moss@example.com",
        "dob": "1980-02-03",
        "payment_methods": {
            "gift_card_1": {"source": "gift_card", "amount": 120, "id": "gift_card_1"},
            "credit_card_2": {"source": "credit_card", "brand": "visa", "last_four": "0042", "id": "credit_card_2"},
            "certificate_3": {"source": "certificate", "amount": 100, "id": "certificate_3"},
        },
        "saved_passengers": [{"first_name": "Bo", "last_name": "Moss", "dob": "2001-01-01"}],
        "membership": "gold",
        "reservations": ["RRRRR2", "RRRRR1"],
    }
}
FLIGHTS: Json = {
    "XX002": {
        "flight_number": "XX002",
        "origin": "RNO",
        "destination": "BOI",
        "scheduled_departure_time_est": "22:00:00",
        "scheduled_arrival_time_est": "01:30:00+1",
        "dates": {
            "2024-05-14": {
                "status": "landed",
                "actual_departure_time_est": "2024-05-14T22:05:00",
                "actual_arrival_time_est": "2024-05-15T01:20:00",
            },
            "2024-05-15": {
                "status": "delayed",
                "estimated_departure_time_est": "2024-05-15T23:05:00",
                "estimated_arrival_time_est": "2024-05-16T02:20:00",
            },
            "2024-05-16": {
                "status": "available",
                "available_seats": {"basic_economy": 0, "economy": 4, "business": 9},
                "prices": {"basic_economy": 51, "economy": 110, "business": 205},
            },
        },
    },
    "XX001": {
        "flight_number": "XX001",
        "origin": "BOI",
        "destination": "RNO",
        "scheduled_departure_time_est": "06:00:00",
        "scheduled_arrival_time_est": "07:00:00",
        "dates": {
            "2024-05-14": {"status": "cancelled"},
            "2024-05-15": {
                "status": "flying",
                "actual_departure_time_est": "2024-05-15T14:05:00",
                "estimated_arrival_time_est": "2024-05-15T15:20:00",
            },
        },
    },
}
RESERVATION: Json = {
    "reservation_id": "RRRRR1",
    "user_id": "ada_moss_1000",
    "origin": "RNO",
    "destination": "BOI",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [
        {"origin": "RNO", "destination": "BOI", "flight_number": "XX002", "date": "2024-05-16", "price": 110},
        {"origin": "BOI", "destination": "RNO", "flight_number": "XX001", "date": "2024-05-17", "price": 99},
    ],
    "passengers": [{"first_name": "Ada", "last_name": "Moss", "dob": "1980-02-03"}],
    "payment_history": [
        {"payment_id": "gift_card_1", "amount": 209},
        {"payment_id": "gift_card_1", "amount": -9},
    ],
    "created_at": "2024-05-10T08:00:00",
    "total_baggages": 1,
    "nonfree_baggages": 0,
    "insurance": "no",
}
RESERVATIONS: Json = {
    "RRRRR1": RESERVATION,
    "RRRRR2": {**RESERVATION, "reservation_id": "RRRRR2", "status": "cancelled"},
}
TASKS: list[Json] = [
    {
        "user_id": "ada_moss_1000",
        "instruction": " Cancel RRRRR1, then credit 5 dollars.\n",
        "actions": [
            {"name": "cancel_reservation", "kwargs": {"reservation_id": "RRRRR1"}},
            {"name": "credit", "kwargs": {"amount": -5, "share": 0.5, "notes": [None, True, {"to": ["x", "y"]}]}},
        ],
        "outputs": ["1,200", "yes"],
    },
    {"user_id": "ada_moss_1000", "instruction": "Say nothing.", "actions": [], "outputs": []},
]
MODULE = '''"""Tasks."""
from tau_bench.types import Action, Task

SPLIT = "test"
TASKS = [
    Task(
        annotator="0",
        user_id="ada_moss_1000",
        instruction=" Cancel RRRRR1, "
        "then credit 5 dollars.\\n",
        actions=[
            Action(name="cancel_reservation", kwargs={"reservation_id": "RRRRR1"}),
            Action(name="credit", kwargs={"amount": -5, "share": 0.5, "notes": (None, True, {"to": ("x", "y")})}),
        ],
        outputs=["1,200", "yes"],
    ),
    Task(user_id="ada_moss_1000", instruction="Say nothing.", actions=[], outputs=[]),
]
'''


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_records(folder: Path) -> None:
    for name, value in (("users", USERS), ("flights", FLIGHTS), ("reservations", RESERVATIONS)):
        write_json(folder / f"{name}.json", value)


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    write_records(tmp_path)
    write_json(tmp_path / "tasks_test.json", TASKS)
    (tmp_path / "wiki.md").write_text("# Policy\n")
    return tmp_path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    write_records(folder / "data")
    (folder / "tasks_test.py").write_text(MODULE)
    (folder / "wiki.md").write_text("# Policy\n")
    return folder


def rows_of(folder: Path, table: type[RowT]) -> list[RowT]:
    return [row for row in read_seed(folder).rows() if isinstance(row, table)]


def read_all_rows(folder: Path) -> list[SQLModel]:
    return list(read_seed(folder).rows())


def refusal(pattern_parts: Iterable[str]) -> str:
    return ".*".join(pattern_parts)


def test_both_layouts_hold_the_same_rows_policy_and_tasks(flat: Path, checkout: Path) -> None:
    assert read_all_rows(flat) == read_all_rows(checkout)
    assert read_seed(flat).content_hash == read_seed(checkout).content_hash
    assert read_policy(flat) == read_policy(checkout) == "# Policy\n"
    assert read_tau_bench_tasks(flat) == read_tau_bench_tasks(checkout)


def test_a_task_keeps_instruction_actions_and_outputs_as_they_are(flat: Path) -> None:
    first, second = read_tau_bench_tasks(flat)
    assert (first.id, first.splits, first.tags) == ("0", ("test",), ())
    assert first.scenario.instructions == TASKS[0]["instruction"]
    assert [{"name": call.name, "kwargs": call.arguments} for call in first.gold] == TASKS[0]["actions"]
    assert [(claim.value, claim.kind) for claim in first.claims] == [
        ("1,200", ClaimKind.SUBSTRING),
        ("yes", ClaimKind.SUBSTRING),
    ]
    assert (second.id, second.gold, second.claims) == ("1", (), ())


def test_only_the_test_split_has_bare_numbers_for_ids(flat: Path, checkout: Path) -> None:
    write_json(flat / "tasks_train.json", TASKS)
    write_json(flat / "tasks_dev.json", TASKS[:1])
    (checkout / "tasks_train.py").write_text(MODULE)
    assert [task.id for task in read_tau_bench_tasks(flat)] == ["0", "1", "dev-0", "train-0", "train-1"]
    assert [(task.id, task.splits) for task in read_tau_bench_tasks(checkout)][2:] == [
        ("train-0", ("train",)),
        ("train-1", ("train",)),
    ]


def test_an_older_tasks_py_is_ignored_beside_a_split_of_its_own_name(checkout: Path) -> None:
    (checkout / "tasks.py").write_text("tasks = [{'user_id': 'older'}]")
    assert len(read_tau_bench_tasks(checkout)) == 2


def test_a_tasks_py_that_stands_alone_is_the_test_split(checkout: Path) -> None:
    (checkout / "tasks_test.py").rename(checkout / "tasks.py")
    assert [(task.id, task.splits) for task in read_tau_bench_tasks(checkout)] == [("0", ("test",)), ("1", ("test",))]


def test_a_module_of_tasks_is_never_executed(checkout: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    effect = f"open({str(witness)!r}, 'w').close()\nraise RuntimeError('executed')\n"
    (checkout / "tasks_test.py").write_text(f"{effect}{MODULE}{effect}")
    assert len(read_tau_bench_tasks(checkout)) == 2
    assert not witness.exists()


def test_a_list_with_a_declared_type_is_read(checkout: Path) -> None:
    (checkout / "tasks_test.py").write_text(MODULE.replace("TASKS =", "TASKS: list[Task] ="))
    assert len(read_tau_bench_tasks(checkout)) == 2


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('"ada_moss_1000",\n', "find(),\n", ["record 0 .line 8", "field user_id", r"find\(\)", "literal"]),
        ('"then credit', 'f"then {x}', ["record 0 .line 9", "field instruction", "literal"]),
        ('annotator="0"', 'annotator="0" + "1"', ["record 0 .line 7", "field annotator", "'0' . '1'", "literal"]),
        ('annotator="0"', 'annotator=Action(name="x")', ["record 0 .line 7", "field annotator", "literal"]),
        ('"yes"', "b'yes'", ["record 0 .line 15", "field outputs.1", "literal"]),
        ("-5", "-True", ["record 0 .line 13", "field actions.1.kwargs.amount", "-True", "literal"]),
        ("-5", "-(-5)", ["record 0 .line 13", "field actions.1.kwargs.amount", "literal"]),
        ("-5", "1e999", ["record 0 .line 6", "field actions.1.kwargs.amount", "got inf", "finite number"]),
        ('{"to":', '{**more, "to":', ["record 0 .line 13", "kwargs.notes.2", "more", "keys that are text"]),
        ('{"to":', '{1: 2, "to":', ["record 0 .line 13", "kwargs.notes.2", "got '1'", "keys that are text"]),
        ('"share": 0.5', '"amount": 6', ["record 0 .line 13", "kwargs.amount", "'amount' again", "each key once"]),
        ('annotator="0"', 'outputs=["x"]', ["record 0 .line 15", "field outputs", "'outputs' again", "each key once"]),
        ('annotator="0"', "**more", ["record 0 .line 7", r"\*\*more", "keywords one by one"]),
        ("Task(user_id=", 'Task("x", user_id=', ["record 1 .line 17", "Task", "with keywords only"]),
        ('Action(name="credit"', 'Task(name="credit"', ["record 0 .line 13", "actions.1", r"Action\(...\) with"]),
        ("    Task(user_id", "    *more, Task(user_id", ["record 1 .line 17", "more", r"Task\(...\) with keywords"]),
        ("annotator=", "author=", ["record 0 .line 6", "field author", "no key of this name"]),
        ("TASKS = [", "TASKS = OTHERS = [", ["2 lists of Task", "one list of Task"]),
        ("TASKS = [", "def tasks(): return [", ["0 lists of Task", "one list of Task"]),
        ('SPLIT = "test"', "tasks = (", ["record line 4 column", "Python"]),
        ('SPLIT = "test"', "\0", ["null bytes", "Python"]),
        ('"test"', "+".join("1" * 100_000), ["recursion", "Python that can be parsed"]),
        ('"test"', "-" * 100_000 + "1", ["Python that can be parsed"]),
    ],
)
def test_a_module_that_is_more_than_literals_is_refused_with_its_line(
    checkout: Path, old: str, new: str, parts: list[str]
) -> None:
    assert MODULE.count(old) == 1
    (checkout / "tasks_test.py").write_text(MODULE.replace(old, new))
    with pytest.raises(DataError, match=refusal(["tasks_test.py", *parts])):
        read_tau_bench_tasks(checkout)


@pytest.mark.parametrize("use", ["TASKS += OTHERS", "TASKS.append(OTHER)", "TASKS = TASKS[:1]", "del TASKS[0]"])
def test_a_module_that_changes_its_list_is_refused(checkout: Path, use: str) -> None:
    (checkout / "tasks_test.py").write_text(f"{MODULE}{use}\n")
    with pytest.raises(DataError, match=r"tasks_test.py, record line 19.*TASKS used again.*complete where it is"):
        read_tau_bench_tasks(checkout)


def without(key: str) -> Edit:
    return lambda record: record.pop(key)


def setting(key: str, value: object) -> Edit:
    return lambda record: record.update({key: value})


@pytest.mark.parametrize(
    ("edit", "parts"),
    [
        (without("instruction"), ["record 1, field instruction", "no such key", "this key"]),
        (without("outputs"), ["record 1, field outputs", "no such key", "this key"]),
        (setting("instruction", " \n"), ["record 1, field instruction", r"' \\n'", "text that is not empty"]),
        (setting("instruction", 7), ["record 1, field instruction", "got 7", "a valid string"]),
        (setting("user_id", ""), ["record 1, field user_id", "text that is not empty"]),
        (setting("reward", 1), ["record 1, field reward", "got 1", "no key of this name"]),
        (setting("actions", {}), ["record 1, field actions", "a list"]),
        (setting("actions", [{"name": "x"}]), ["record 1, field actions.0.kwargs", "no such key"]),
        (setting("actions", ["x"]), ["record 1, field actions.0", "got 'x'", "an object"]),
        (setting("actions", [{"name": "x", "kwargs": []}]), ["record 1, field actions.0.kwargs", "an object"]),
        (
            setting("actions", [{"name": "x", "kwargs": {"a": [float("nan")]}}]),
            ["record 1, field actions.0.kwargs.a.0,?:", "got nan", "a finite number"],
        ),
        (setting("outputs", ["a", 12]), ["record 1, field outputs.1", "got 12", "a valid string"]),
        (setting("outputs", [""]), ["record 1, field outputs.0", "text that is not empty"]),
    ],
)
def test_a_task_that_breaks_the_schema_is_refused(flat: Path, edit: Edit, parts: list[str]) -> None:
    tasks = deepcopy(TASKS)
    edit(tasks[1])
    write_json(flat / "tasks_test.json", tasks)
    with pytest.raises(DataError, match=refusal(["tasks_test.json", *parts])):
        read_tau_bench_tasks(flat)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{}", ["a list of tasks"]),
        ("[]", ["an empty list", "at least one task"]),
        ('["x"]', ["record 0", "got 'x'", "an object"]),
        ('[{"user_id": "a", "user_id": "b"}]', ["record 0, field user_id", "again", "each key once"]),
        ("[\n1,]", ["record line 2 column 3", "JSON"]),
    ],
)
def test_a_file_that_is_no_list_of_tasks_is_refused(flat: Path, text: str, parts: list[str]) -> None:
    (flat / "tasks_test.json").write_text(text)
    with pytest.raises(DataError, match=refusal(["tasks_test.json", *parts])):
        read_tau_bench_tasks(flat)


def test_a_folder_without_tasks_is_refused_by_what_it_holds(flat: Path) -> None:
    (flat / "tasks_test.json").unlink()
    with pytest.raises(DataError, match=r"only flights.json, reservations.json.*tasks_<split>.py"):
        read_tau_bench_tasks(flat)


def test_one_split_in_two_files_is_refused(flat: Path) -> None:
    (flat / "tasks_test.py").write_text(MODULE)
    with pytest.raises(DataError, match=r"tasks_test.json and tasks_test.py.*one file for each split"):
        read_tau_bench_tasks(flat)


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
        (TRIP, setting("user_id", "nobody"), "user_id", "got 'nobody', wanted the id of a user in users.json"),
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


@pytest.fixture(scope="module")
def published_rows() -> list[SQLModel]:
    return read_all_rows(SHARED / "airline")


def shared_records(name: str) -> Json:
    records: Json = json.loads((SHARED / "airline" / f"{name}.json").read_bytes())
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
