"""A small airline in tau-bench's published form, with its tasks as JSON and as Python, and ways to spoil it."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Edit = Callable[[Json], None]

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


def without(key: str) -> Edit:
    return lambda record: record.pop(key)


def setting(key: str, value: object) -> Edit:
    return lambda record: record.update({key: value})


def refusal(pattern_parts: Iterable[str]) -> str:
    return ".*".join(pattern_parts)
