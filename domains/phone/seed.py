"""The carrier's own seed, in the form of `taugraph.domains.seed_files`; `generate_seed` writes the files."""

from pathlib import Path

from taugraph.domains.domain import Seed
from taugraph.domains.phone.models import TABLES, Charge, Handoff
from taugraph.domains.seed_files import read_seed_files

SEED_FOLDER = Path(__file__).with_name("seed")
"""Where the files lie."""

SEED_TABLES = tuple(table for table in TABLES if table not in (Charge, Handoff))
"""Tables that have a file, parents before children; the others are empty when the month begins."""


def load_seed(folder: Path = SEED_FOLDER) -> Seed:
    """Return the seed of a folder; the rows are parsed when they are first asked for.

    Args:
        folder: Folder with one `<table>.csv` per table of `SEED_TABLES`.

    Raises:
        DataError: If a file is missing. `Seed.rows` raises it too, if a file is not UTF-8 or a row breaks its schema.
    """
    return read_seed_files(folder, SEED_TABLES)
