"""Invents the shop's customers: who they are, where they live and how they pay.

Every name is put together from a list, so that nobody is anybody. Some share their full name, but then no zip code.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from taugraph.domains.changes import Row

Names = dict[str, Any]
"""First names, last names, streets and homes, each home a city, a state and the first digits of its zip codes."""

_USERS = 500


def people_rows(names: Names, random: Random) -> dict[str, list[Row]]:
    """Draw the rows of `users` and `payment_methods`."""
    rows: dict[str, list[Row]] = {"users": [], "payment_methods": []}
    numbers = random.sample(range(1000, 10000), 2 * _USERS)
    payment_numbers = iter(random.sample(range(1_000_000, 10_000_000), 4 * _USERS))
    known: set[tuple[str, str, str]] = set()
    for position in range(_USERS):
        first, last, address = _invent_person(names, known, random)
        user_id = f"{first}_{last}_{numbers[position]}".lower()
        email = f"{first}.{last}{numbers[_USERS + position]}@example.com".lower()
        own = {"user_id": user_id, "position": position, "first_name": first, "last_name": last, "email": email}
        rows["users"].append(own | address)
        rows["payment_methods"] += _invent_payment_methods(user_id, payment_numbers, random)
    return rows


def invent_address(names: Names, random: Random) -> Row:
    """Draw an address, as the columns that users and orders have for it."""
    city, state, zip_start = random.choice(names["homes"])
    return {
        "address1": f"{random.randint(3, 998)} {random.choice(names['streets'])}",
        "address2": f"{random.choice(['Apt', 'Floor', 'Unit'])} {random.randint(1, 40)}",
        "city": city,
        "state": state,
        "country": "USA",
        "zip": f"{zip_start}{random.randint(1, 99):02}",
    }


def _invent_person(names: Names, known: set[tuple[str, str, str]], random: Random) -> tuple[str, str, Row]:
    """Return a first name, a last name and an address that together are found only once, and note them as known."""
    while True:
        first, last = random.choice(names["first_names"]), random.choice(names["last_names"])
        address = invent_address(names, random)
        if (key := (first, last, address["zip"])) not in known:
            known.add(key)
            return first, last, address


def _invent_payment_methods(user_id: str, numbers: Iterator[int], random: Random) -> Iterator[Row]:
    """Yield one to four methods: at most one gift card, one PayPal account and two credit cards."""
    (count,) = random.choices([1, 2, 3, 4], weights=[55, 32, 10, 3])
    sources = ["credit_card", "gift_card", "paypal"]
    random.shuffle(sources)
    if count == len(sources) + 1 or random.random() < 0.15:
        sources.insert(1, "credit_card")
    for position, source in enumerate(sources[:count]):
        method: Row = {
            "user_id": user_id,
            "payment_method_id": f"{source}_{next(numbers)}",
            "position": position,
            "source": source,
        }
        if source == "credit_card":
            method |= {"brand": random.choice(["visa", "mastercard"]), "last_four": f"{random.randrange(10000):04}"}
        elif source == "gift_card":
            method["balance_cents"] = 100 * random.randint(0, 200) + random.choice([0, 0, random.randrange(100)])
        yield method
