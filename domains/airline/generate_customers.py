"""Invents the airline's customers: who they are, how they pay and whom they have flown with.

Every name is put together from `names.json`, so that nobody is anybody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any, NamedTuple

from taugraph.domains.changes import Row

Names = dict[str, Any]
"""What `names.json` holds: first names, last names, streets and homes."""


class Person(NamedTuple):
    """Somebody who flies."""

    first_name: str
    last_name: str
    dob: str


@dataclass(frozen=True)
class Customer:
    """Somebody with a profile, and what a booking takes from it."""

    user_id: str
    person: Person
    payment_ids: list[str]
    saved: list[Person]


def customer_rows(names: Names, random: Random) -> dict[str, list[Row]]:
    """Draw the rows of `users`, `payment_methods` and `saved_passengers`."""
    rows: dict[str, list[Row]] = {"users": [], "payment_methods": [], "saved_passengers": []}
    numbers = random.sample(range(1000, 10000), 1000)
    payment_numbers = iter(random.sample(range(1_000_000, 10_000_000), 4000))
    for index in range(500):
        person = invent_person(names, random)
        first, last = person.first_name.lower(), person.last_name.lower()
        user_id = f"{first}_{last}_{numbers[index]}"
        city, state, zip_start = random.choice(names["homes"])
        rows["users"].append(
            {
                **person._asdict(),
                "user_id": user_id,
                "address1": f"{random.randint(3, 998)} {random.choice(names['streets'])}",
                "address2": f"Apt {random.randint(1, 60)}" if random.random() < 0.6 else None,
                "city": city,
                "country": "USA",
                "state": state,
                "zip": f"{zip_start}{random.randint(1, 99):02}",
                "email": f"{first}.{last}{numbers[500 + index]}@example.com",
                "membership": random.choice(["regular", "silver", "gold"]),
            }
        )
        rows["payment_methods"] += _invent_payment_methods(user_id, payment_numbers, random)
        rows["saved_passengers"] += [
            {"user_id": user_id, "position": position, **invent_person(names, random)._asdict()}
            for position in range(random.choice([1, 1, 2]))
        ]
    return rows


def customers_of(rows: Mapping[str, Sequence[Row]]) -> list[Customer]:
    """Return the customers of those rows, in their order; certificates are no way to pay here."""
    payment_ids: dict[str, list[str]] = {}
    for row in rows["payment_methods"]:
        if row["source"] != "certificate":
            payment_ids.setdefault(row["user_id"], []).append(row["payment_id"])
    saved: dict[str, list[Person]] = {}
    for row in rows["saved_passengers"]:
        saved.setdefault(row["user_id"], []).append(Person(row["first_name"], row["last_name"], row["dob"]))
    return [
        Customer(
            user_id=row["user_id"],
            person=Person(row["first_name"], row["last_name"], row["dob"]),
            payment_ids=payment_ids[row["user_id"]],
            saved=saved[row["user_id"]],
        )
        for row in rows["users"]
    ]


def invent_person(names: Names, random: Random) -> Person:
    """Draw somebody."""
    born = date(1950, 1, 1) + timedelta(days=random.randrange(50 * 365))
    return Person(random.choice(names["first_names"]), random.choice(names["last_names"]), born.isoformat())


def _invent_payment_methods(user_id: str, numbers: Iterator[int], random: Random) -> Iterator[Row]:
    # A certificate cannot have paid for a past trip here, so everybody owns something that can.
    sources = ["credit_card", "gift_card"][random.choice([0, 0, 1]) :][:1]
    sources += random.choices(["credit_card", "gift_card", "certificate"], k=random.choice([0, 1, 1, 2, 2, 3, 4]))
    random.shuffle(sources)
    for position, source in enumerate(sources):
        method: Row = {"user_id": user_id, "payment_id": f"{source}_{next(numbers)}", "position": position}
        if source == "credit_card":
            method |= {"brand": random.choice(["visa", "mastercard"]), "last_four": f"{random.randrange(10000):04}"}
        elif source == "gift_card":
            method["amount_cents"] = 100 * random.randint(0, 300)
        else:
            method["amount_cents"] = 100 * random.choice([100, 150, 250, 500])
        yield {**method, "source": source}
