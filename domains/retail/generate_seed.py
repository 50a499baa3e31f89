"""Invents the shop's seed: customers, catalogue and orders, the same bytes on every machine.

Each part draws from a random generator of its own, so that a change of one leaves the others as they are. Run it with
`python -m taugraph.domains.retail.generate_seed`.
"""

import json
from pathlib import Path
from random import Random

from taugraph.domains.airline.seed import SEED_FOLDER as AIRLINE_SEED_FOLDER
from taugraph.domains.retail.generate_catalogue import catalogue_rows
from taugraph.domains.retail.generate_orders import order_rows
from taugraph.domains.retail.generate_people import people_rows
from taugraph.domains.retail.seed import SEED_FOLDER, SEED_TABLES
from taugraph.domains.seed_files import write_seed_files


def main() -> None:
    """Rewrite the files of the seed."""
    generate_seed(SEED_FOLDER)


def generate_seed(folder: Path) -> None:
    """Write one CSV file per table of the seed into a folder."""
    names = json.loads((AIRLINE_SEED_FOLDER / "names.json").read_text(encoding="utf-8"))
    range_of_goods = json.loads((SEED_FOLDER / "catalogue.json").read_text(encoding="utf-8"))
    people = people_rows(names, Random("retail people"))
    goods = catalogue_rows(range_of_goods, Random("retail catalogue"))
    orders = order_rows(people, goods, names, Random("retail orders"))
    write_seed_files(folder, SEED_TABLES, {**people, **goods, **orders})


if __name__ == "__main__":
    main()
