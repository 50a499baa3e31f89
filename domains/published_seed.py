"""The records of a published world as a seed: one file for each collection, or one database file with all of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

from sqlmodel import SQLModel

from taugraph.domains.domain import Seed
from taugraph.domains.errors import DataError
from taugraph.domains.published import find_file, read_file, read_json_object

DATABASE_FILE = "db.json"
"""File in which the second generation keeps every collection."""

Contents = Mapping[str, tuple[Path, bytes]]
"""Collection -> the file it stands in, and its JSON text."""


def published_seed(
    folder: Path, collections: Sequence[str], schema: str, rows: Callable[[Contents], Iterator[SQLModel]]
) -> Seed:
    """Read a world's records as the rows every trial starts from.

    The files are read now and validated when the rows are asked for, so rows and hash are always of the same bytes.

    Args:
        folder: Folder of the data, of either generation.
        collections: Names of the collections, such as `users`.
        schema: Part of the content hash; it changes with whatever makes the same files yield other rows.
        rows: Validates the collections and yields their rows, parents before children.

    Raises:
        DataError: If a file or collection is missing; from the seed's `rows`, if a record breaks the schema.
    """
    database = folder / DATABASE_FILE
    contents = _from_one_file(database, collections) if database.is_file() else _from_files(folder, collections)
    digest = sha256(schema.encode())
    for _, content in contents.values():
        digest.update(sha256(content).digest())
    return Seed(content_hash=digest.hexdigest(), rows=partial(rows, contents))


def _from_files(folder: Path, collections: Sequence[str]) -> Contents:
    paths = {name: find_file(folder, f"{name}.json") for name in collections}
    return {name: (path, read_file(path)) for name, path in paths.items()}


def _from_one_file(path: Path, collections: Sequence[str]) -> Contents:
    document = read_json_object(path)
    if sorted(document) != sorted(collections):
        raise DataError(path, None, None, sorted(document), f"the collections {', '.join(sorted(collections))}")
    return {name: (path, json.dumps(document[name]).encode()) for name in collections}
