"""The seed as one serialized SQLite database, built once per content and kept in the user's cache folder.

The cache is only a saving of time: a folder that cannot be written, or a damaged file, costs a rebuild and nothing
else.
"""

import os
import sqlite3
import tempfile
from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path
from sqlalchemy import JSON, Float, LargeBinary, Numeric, Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import SQLModel, create_engine

from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError


def table_of(model: type[SQLModel]) -> Table:
    """Return the table behind a SQLModel class.

    Raises:
        ConfigurationError: If the class is no table, or the table cannot be kept as plain JSON rows with natural keys.
    """
    table = getattr(model, "__table__", None)
    if not isinstance(table, Table):
        raise ConfigurationError(f"{model.__name__} is no table: write class {model.__name__}(..., table=True)")
    for column in table.primary_key.columns:
        if isinstance(column.type, Float | Numeric | JSON):
            raise ConfigurationError(f"key column {table.name}.{column.name} must be text or an integer")
    for column in table.columns:
        if isinstance(column.type, LargeBinary):
            raise ConfigurationError(f"column {table.name}.{column.name} holds bytes; store text or numbers")
    return table


def seed_image(domain: Domain) -> bytes:
    """Return the domain's seed as the bytes of a SQLite database."""
    path = _cache_folder() / f"{domain.name}-{_digest(domain)}.sqlite"
    try:
        image = path.read_bytes()
    except OSError:
        image = b""
    if _is_whole(image):
        return image
    image = _build(domain)
    _keep(path, image)
    return image


def _cache_folder() -> Path:
    chosen = os.environ.get("TAUGRAPH_CACHE")
    return Path(chosen) if chosen else user_cache_path("taugraph") / "seeds"


def _digest(domain: Domain) -> str:
    """Cover the rows and the statements that create their tables."""
    digest = sha256(domain.seed.content_hash.encode())
    for model in domain.tables:
        table = table_of(model)
        digest.update(str(CreateTable(table).compile(dialect=sqlite.dialect())).encode())
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            digest.update(str(CreateIndex(index).compile(dialect=sqlite.dialect())).encode())
    return digest.hexdigest()[:24]


def _is_whole(image: bytes) -> bool:
    if not image:
        return False
    with _Connection() as raw:
        try:
            raw.deserialize(image)
            return bool(raw.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except sqlite3.DatabaseError:
            return False


class _Connection:
    """An in-memory connection that is closed at the end, which `sqlite3.Connection` as a context manager is not."""

    def __enter__(self) -> sqlite3.Connection:
        self._raw = sqlite3.connect(":memory:")
        return self._raw

    def __exit__(self, *_: object) -> None:
        self._raw.close()


def _build(domain: Domain) -> bytes:
    with _Connection() as raw:
        engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        metadata = table_of(domain.tables[0]).metadata
        metadata.create_all(engine, tables=[table_of(model) for model in domain.tables])
        rows: dict[type[SQLModel], list[dict[str, object]]] = {}
        for row in domain.seed.rows():
            rows.setdefault(type(row), []).append(row.model_dump())
        with engine.begin() as connection:
            for model, values in rows.items():
                connection.execute(table_of(model).insert(), values)
        image = raw.serialize()
        engine.dispose()
        return image


def _keep(path: Path, image: bytes) -> None:
    """Write under another name and rename, so that several processes starting cold never read half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            file.write(image)
        Path(name).replace(path)
    except OSError:
        return
