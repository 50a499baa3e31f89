"""The airline's own seed: one CSV file per table, read through the models and validated row by row.

The header of a file names the columns of its table; an empty cell is NULL. Nothing but the bytes of the files and the
columns of the tables decides the rows, so these two make the content hash. `generate_seed` writes the files.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from taugraph.domains.airline.models import TABLES, AirlineTable, Handoff
from taugraph.domains.domain import Seed
from taugraph.domains.errors import DataError

SEED_FOLDER = Path(__file__).with_name("seed")
"""Where the files lie."""

SEED_TABLES = tuple(table for table in TABLES if table is not Handoff)
"""Tables that have a file, parents before children; nobody has been handed over before the clock."""


def load_seed(folder: Path = SEED_FOLDER) -> Seed:
    """Return the seed of a folder; the rows are parsed when they are first asked for.

    Args:
        folder: Folder with one `<table>.csv` per table of `SEED_TABLES`.

    Raises:
        DataError: If a file is missing or is not UTF-8. `Seed.rows` raises it too, if a row breaks its table's schema.
    """
    digest = hashlib.sha256()
    contents = []
    for table in SEED_TABLES:
        path = seed_file(folder, table)
        content = _read(path)
        digest.update(f"{path.name}:{','.join(table.model_fields)}:{len(content)}\n".encode())
        digest.update(content)
        contents.append((table, path, content))

    def rows() -> Iterable[AirlineTable]:
        for table, path, content in contents:
            yield from _parse(table, path, content)

    return Seed(content_hash=digest.hexdigest(), rows=rows)


def seed_file(folder: Path, table: type[AirlineTable]) -> Path:
    """Return where a folder keeps the rows of a table."""
    return folder / f"{table.__tablename__}.csv"


def seed_columns(table: type[AirlineTable]) -> list[str]:
    """Return the columns in a table's file: all but `extra`, which only tool calls fill."""
    return [name for name in table.model_fields if name != "extra"]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(path, None, None, "no such file", "a CSV file of the airline's seed") from error


def _parse(table: type[AirlineTable], path: Path, content: bytes) -> Iterator[AirlineTable]:
    columns = seed_columns(table)
    for line, cells in _split(path, content):
        record = f"line {line}"
        if line == 1:
            if cells != columns:
                raise DataError(path, record, None, cells, f"the columns {', '.join(columns)}")
            continue
        if len(cells) != len(columns):
            raise DataError(path, record, None, cells, f"{len(columns)} cells")
        values = {column: cell or None for column, cell in zip(columns, cells, strict=True)}
        try:
            yield table.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise DataError(path, record, field, first["input"], first["msg"]) from error


def _split(path: Path, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield each record's cells with the number of its last line."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DataError(path, None, None, str(error), "UTF-8 text") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(path, f"line {reader.line_num}", None, str(error), "comma-separated values") from error
