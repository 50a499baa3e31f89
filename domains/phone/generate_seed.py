"""Invents the carrier's seed: customers, lines, bills and phones that work, the same bytes on every machine.

What is wrong in a conversation is the task's own data. Run it with `python -m taugraph.domains.phone.generate_seed`.
"""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from taugraph.domains.airline.seed import SEED_FOLDER as AIRLINE_SEED_FOLDER
from taugraph.domains.changes import Row
from taugraph.domains.phone.models import APN
from taugraph.domains.phone.seed import SEED_FOLDER, SEED_TABLES
from taugraph.domains.seed_files import write_seed_files

_CUSTOMERS = 60
_PREFIXES = ("202", "312", "415", "617", "713", "808")
_CITIES = ("Tampa", "Duluth", "Reno", "Savannah", "Boise", "Albany", "Tucson", "Mobile")
_MODELS = ("Kestrel 8", "Kestrel 9 Pro", "Nimbus Mini", "Nimbus Plus", "Pebble S")
_WIFI = ("Attic", "Blue Door", "Flat 4", "Porch", "The Nest")
_PERMISSIONS = (
    ("Messages", "sms"),
    ("Messages", "storage"),
    ("Maps", "location"),
    ("Maps", "mobile_data"),
    ("Photos", "storage"),
    ("Photos", "mobile_data"),
)
_BILLED = (("2025-01", "2025-02-10"), ("2025-02", "2025-03-10"), ("2025-03", "2025-04-10"))


def main() -> None:
    """Rewrite the files of the seed."""
    generate_seed(SEED_FOLDER)


def generate_seed(folder: Path) -> None:
    """Write one CSV file per table of the seed into a folder."""
    names = json.loads((AIRLINE_SEED_FOLDER / "names.json").read_text(encoding="utf-8"))
    plans = json.loads((SEED_FOLDER / "plans.json").read_text(encoding="utf-8"))
    rows: dict[str, list[Row]] = {str(table.__tablename__): [] for table in SEED_TABLES}
    rows["plans"] = [{**plan, "position": position} for position, plan in enumerate(plans)]
    random = Random("phone carrier")
    numbers = _numbers(random)
    for customer in _customers(names, numbers, random):
        rows["customers"].append(customer)
        (count,) = random.choices([1, 2], weights=[75, 25])
        for position in range(count):
            for table, row in _line(customer["customer_id"], position, plans, numbers, random):
                rows[table].append(row)
    write_seed_files(folder, SEED_TABLES, rows)


def _numbers(random: Random) -> dict[str, Iterator[Any]]:
    """Return what identifies things, each drawn without a repeat."""
    ids = iter(random.sample(range(10_000, 100_000), 2_000))
    phones = [f"{prefix}-555-{number:04}" for prefix in _PREFIXES for number in range(100, 200)]
    return {"id": ids, "phone": iter(random.sample(phones, 2 * _CUSTOMERS))}


def _customers(names: dict[str, Any], numbers: dict[str, Iterator[Any]], random: Random) -> Iterator[Row]:
    people = [(first, last) for first in names["first_names"] for last in names["last_names"]]
    for position, (first, last) in enumerate(random.sample(people, _CUSTOMERS)):
        born = date(1948, 1, 1) + timedelta(days=random.randrange(20_000))
        yield {
            "customer_id": f"C{next(numbers['id'])}",
            "position": position,
            "first_name": first,
            "last_name": last,
            "birth_date": born.isoformat(),
            "email": f"{first}.{last}{random.randint(10, 99)}@example.com".lower(),
            "city": random.choice(_CITIES),
        }


def _line(
    customer_id: str, position: int, plans: list[Row], numbers: dict[str, Iterator[Any]], random: Random
) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a line with its card, bills and phone, by table."""
    plan = random.choice(plans)
    line_id, iccid = f"L{next(numbers['id'])}", f"8901{random.randrange(10**14, 10**15)}"
    version = random.randint(1, 4)
    yield (
        "lines",
        {
            "line_id": line_id,
            "customer_id": customer_id,
            "position": position,
            "plan_id": plan["plan_id"],
            "phone_number": next(numbers["phone"]),
            "status": "active",
            "roaming": False,
            "used_mb": random.randrange(150, (plan["data_mb"] or 60_000) * 4 // 5, 10),
            "extra_mb": 0,
            "profile_version": version,
            "renews_on": f"2025-{random.choice(['03-2', '04-0'])}{random.randint(1, 9)}",
        },
    )
    yield "sims", {"iccid": iccid, "line_id": line_id, "puk": str(random.randrange(10**7, 10**8))}
    for number, (month, due) in enumerate(_BILLED):
        amount = plan["price_cents"] + random.choice([0, 0, 0, 185, 340, 475])
        bill = {"bill_id": f"B{next(numbers['id'])}", "line_id": line_id, "position": number, "month": month}
        status = "open" if number == len(_BILLED) - 1 else "paid"
        yield "bills", {**bill, "amount_cents": amount, "due_on": due, "status": status}
    yield from _phone(iccid, version, next(numbers["id"]), random)


def _phone(iccid: str, version: int, number: int, random: Random) -> Iterator[tuple[str, Row]]:
    """Yield a phone on which all is well, and what its apps may do."""
    device_id = f"D{number}"
    yield (
        "devices",
        {
            "device_id": device_id,
            "iccid": iccid,
            "model": random.choice(_MODELS),
            "in_hand": False,
            "abroad": False,
            "airplane_mode": False,
            "mobile_data": True,
            "data_roaming": False,
            "network_mode": "5g",
            "apn": APN,
            "sim_seated": True,
            "sim_state": "ready",
            "puk_attempts_left": 3,
            "wifi": False,
            "wifi_network": random.choice([None, *_WIFI]),
            "vpn": False,
            "data_saver": False,
            "update_pending": False,
            "profile_version": version,
        },
    )
    for app, permission in _PERMISSIONS:
        yield "app_permissions", {"device_id": device_id, "app": app, "permission": permission, "granted": True}


if __name__ == "__main__":
    main()
