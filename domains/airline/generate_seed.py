"""Invents the airline's seed: customers, schedule and bookings, the same bytes on every machine.

Each part draws from a random generator of its own, so that a change of one leaves the others as they are. Run it with
`python -m taugraph.domains.airline.generate_seed`.
"""

import csv
import json
from pathlib import Path
from random import Random

from taugraph.domains.airline.generate_customers import customer_rows, customers_of
from taugraph.domains.airline.generate_reservations import reservation_rows
from taugraph.domains.airline.generate_schedule import flight_day_rows, flight_rows, invent_schedule
from taugraph.domains.airline.seed import SEED_FOLDER, SEED_TABLES, seed_columns, seed_file


def main() -> None:
    """Rewrite the files of the seed."""
    generate_seed(SEED_FOLDER)


def generate_seed(folder: Path) -> None:
    """Write one CSV file per table of the seed into a folder."""
    names = json.loads((SEED_FOLDER / "names.json").read_text(encoding="utf-8"))
    airports = json.loads((SEED_FOLDER / "network.json").read_text(encoding="utf-8"))["airports"]
    schedule = invent_schedule(Random("airline schedule"), airports)
    people = customer_rows(names, Random("airline users"))
    rows = {
        "flights": list(flight_rows(schedule)),
        "flight_days": list(flight_day_rows(schedule, Random("airline operations"))),
        **people,
        **reservation_rows(schedule, customers_of(people), names, Random("airline reservations")),
    }
    for table in SEED_TABLES:
        with seed_file(folder, table).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, seed_columns(table), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[str(table.__tablename__)])


if __name__ == "__main__":
    main()
