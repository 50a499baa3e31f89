"""A domain's own seed: one CSV file per table, read through the models and validated row by row.

The header of a file names the columns of its table, an empty cell is NULL, and a cell of a JSON column holds JSON text.
Nothing but the bytes of the files and the columns of the tables decides the rows, so these two make the content hash.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import JSON, Table
from sqlmodel import SQLModel

from taugraph.domains.changes import Row
from taugraph.domains.domain import Seed
from taugraph.domains.errors import DataError


def read_seed_files(folder: Path, tables: Sequence[type[SQLModel]]) -> Seed:
    """Return the seed of a folder; the rows are parsed when they are first asked for.

    Args:
        folder: Folder with one `<table>.csv` per table.
        tables: The tables, parents before children.

    Raises:
        DataError: If a file is missing. `Seed.rows` raises it too, if a file is not UTF-8 or a row breaks its table's
            schema.
    """
    digest = hashlib.sha256()
    contents = []
    for table in tables:
        path = seed_file(folder, table)
        content = _read(path)
        digest.update(f"{path.name}:{','.join(table.model_fields)}:{len(content)}\n".encode())
        digest.update(content)
        contents.append((table, path, content))

    def rows() -> Iterable[SQLModel]:
        for table, path, content in contents:
            yield from _parse(table, path, content)

    return Seed(content_hash=digest.hexdigest(), rows=rows)


def write_seed_files(folder: Path, tables: Sequence[type[SQLModel]], rows: Mapping[str, Iterable[Row]]) -> None:
    """Write the files of a seed, the same bytes on every machine.

    Args:
        folder: Where they go.
        tables: Tables that get a file.
        rows: Table name -> rows; a column that a row leaves out is NULL.
    """
    for table in tables:
        documents = _json_columns(table)
        with seed_file(folder, table).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, seed_columns(table), lineterminator="\n")
            writer.writeheader()
            for row in rows[str(table.__tablename__)]:
                writer.writerow({name: _cell(value, name in documents) for name, value in row.items()})


def seed_file(folder: Path, table: type[SQLModel]) -> Path:
    """Return where a folder keeps the rows of a table."""
    return folder / f"{table.__tablename__}.csv"


def seed_columns(table: type[SQLModel]) -> list[str]:
    """Return the columns in a table's file: all but `extra`, which only tool calls fill."""
    return [name for name in table.model_fields if name != "extra"]


def _cell(value: object, is_document: bool) -> object:
    if value is None:
        return ""
    if is_document or isinstance(value, bool):
        return json.dumps(value, ensure_ascii=False)
    return value


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(path, None, None, "no such file", "a CSV file of the domain's seed") from error


def _parse(table: type[SQLModel], path: Path, content: bytes) -> Iterator[SQLModel]:
    columns, documents = seed_columns(table), _json_columns(table)
    for line, cells in _split(path, content):
        record = f"line {line}"
        if line == 1:
            if cells != columns:
                raise DataError(path, record, None, cells, f"the columns {', '.join(columns)}")
            continue
        if len(cells) != len(columns):
            raise DataError(path, record, None, cells, f"{len(columns)} cells")
        values: dict[str, Any] = {column: cell or None for column, cell in zip(columns, cells, strict=True)}
        for column in documents:
            values[column] = _parse_document(path, record, column, values[column])
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


def _json_columns(table: type[SQLModel]) -> list[str]:
    mapped: Table = table.__table__  # type: ignore[attr-defined] # SQLAlchemy sets it when it maps the class
    return [name for name in seed_columns(table) if isinstance(mapped.columns[name].type, JSON)]


def _parse_document(path: Path, record: str, field: str, cell: str | None) -> Any:
    if cell is None:
        return None
    try:
        return json.loads(cell)
    except ValueError as error:
        raise DataError(path, record, field, cell, "JSON") from error
