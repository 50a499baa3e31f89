"""The seed as one serialized SQLite database, built once per content and kept in the user's cache folder.

The cache is only a saving of time: a folder that cannot be written, or a damaged file, costs a rebuild and nothing
else.
"""

import os
import re
import sqlite3
import tempfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path
from sqlalchemy import JSON, Float, LargeBinary, Numeric, Table, insert
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import Session, SQLModel, create_engine

from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError

_CHECKSUM_BYTES = 32


def table_of(model: type[SQLModel]) -> Table:
    """Return the table behind a SQLModel class.

    Raises:
        ConfigurationError: If the class is no table, or the table cannot be kept as plain JSON rows with natural keys.
    """
    table = getattr(model, "__table__", None)
    if not isinstance(table, Table):
        raise ConfigurationError(f"{model.__name__} is no table: write class {model.__name__}(..., table=True)")
    for column in table.primary_key.columns:
        if column.nullable or isinstance(column.type, Float | Numeric | JSON):
            raise ConfigurationError(f"key column {table.name}.{column.name} must be text or an integer, never NULL")
    for column in table.columns:
        if isinstance(column.type, LargeBinary):
            raise ConfigurationError(f"column {table.name}.{column.name} holds bytes; store text or numbers")
    return table


def seed_image(domain: Domain) -> bytes:
    """Return the domain's seed as the bytes of a SQLite database."""
    path = cache_folder() / f"{re.sub(r'[^a-z0-9]+', '-', domain.name.lower())[:40]}-{_digest(domain)}.seed"
    try:
        kept = path.read_bytes()
    except OSError:
        kept = b""
    image = kept[_CHECKSUM_BYTES:]
    if not image or kept[:_CHECKSUM_BYTES] != sha256(image).digest():
        image = _build(domain)
        keep_file(path, sha256(image).digest() + image)
    return image


def cache_folder() -> Path:
    """Return the folder for what is costly to work out again."""
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


def _build(domain: Domain) -> bytes:
    with closing(sqlite3.connect(":memory:")) as raw:
        engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        for model in domain.tables:
            table_of(model).create(engine)
        rows: dict[type[SQLModel], list[dict[str, object]]] = {}
        for row in domain.seed.rows():
            rows.setdefault(type(row), []).append(row.model_dump())
        with Session(engine) as session:
            for model, values in rows.items():
                session.execute(insert(model), values)
            session.commit()
        raw.execute("PRAGMA user_version = 1")  # a database without a table has no page to serialize
        image = raw.serialize()
        engine.dispose()
        return image


def keep_file(path: Path, content: bytes) -> None:
    """Write under another name and rename, so that several processes starting cold never read half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
    except OSError:
        return
