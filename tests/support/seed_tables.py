"""The files of a domain's own seed as they are, cell by cell, and what can be wrong with any of them."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sqlmodel import SQLModel

from taugraph.domains.seed_files import seed_file

Row = dict[str, str]
Tables = dict[str, list[Row]]


def read_tables(folder: Path, models: Iterable[type[SQLModel]]) -> Tables:
    found: Tables = {}
    for model in models:
        with seed_file(folder, model).open(encoding="utf-8", newline="") as file:
            found[str(model.__tablename__)] = list(csv.DictReader(file))
    return found


def grouped(rows: Iterable[Row], column: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found


def repeated(rows: Iterable[Row], columns: Sequence[str]) -> list[tuple[str, ...]]:
    counts = Counter(tuple(row[column] for column in columns) for row in rows)
    return [values for values, count in counts.items() if count > 1]


def repeated_keys(tables: Tables, models: Iterable[type[SQLModel]]) -> list[tuple[str, ...]]:
    return [
        (str(model.__tablename__), *values)
        for model in models
        for values in repeated(tables[str(model.__tablename__)], [column.name for column in _table(model).primary_key])
    ]


def dangling_keys(tables: Tables, models: Iterable[type[SQLModel]]) -> list[tuple[str, str, str]]:
    return [
        (str(model.__tablename__), key.parent.name, row[key.parent.name])
        for model in models
        for key in _table(model).foreign_keys
        for known in [{row[key.column.name] for row in tables[key.column.table.name]}]
        for row in tables[str(model.__tablename__)]
        if row[key.parent.name] not in known
    ]


def positions_have_a_gap(rows: Iterable[Row], owner: str | None) -> bool:
    places: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        places[row[owner] if owner else ""].append(int(row["position"]))
    return any(group != list(range(len(group))) for group in places.values())


def _table(model: type[SQLModel]) -> Any:
    return model.__table__  # type: ignore[attr-defined] # SQLAlchemy sets it when it maps the class
