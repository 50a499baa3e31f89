"""The database under the results store: any that SQLAlchemy has a URL for, an SQLite file unless told otherwise.

Whatever a trial holds becomes JSON that every database takes, and whatever a database raises becomes a `StoreError`.
"""

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python
from sqlalchemy import Engine, event, inspect, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import QueuePool
from sqlalchemy.schema import CreateTable
from sqlmodel import Session, create_engine

from taugraph.domains.errors import StoreError
from taugraph.experiments.tables import SCHEMA_VERSION, StoreTable, TaugraphStore

BUSY_TIMEOUT_S = 30
"""How long a writer waits for the others."""

SETUP_ATTEMPTS = 8
"""Tries at creating the tables while other processes do the same."""


def build_engine(location: str | Path) -> Engine:
    """Return an engine for a path or database URL; a file's folder is created.

    Raises:
        ValueError: If it is no database URL.
        OSError: If the folder cannot be created.
        SQLAlchemyError: If no installed driver serves the URL.
        ImportError: If its driver is not installed.
    """
    if "://" not in str(location):
        path = Path(location).expanduser().absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        url = URL.create("sqlite", database=str(path))
    else:
        try:
            url = make_url(str(location))
        except ArgumentError:
            raise ValueError("it is not a database URL") from None  # SQLAlchemy before 2.1 repeats it, password and all
        if url.drivername in {"postgres", "postgresql"}:
            url = url.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {"json_serializer": _to_json, "hide_parameters": True}
    if url.get_backend_name() != "sqlite":
        return create_engine(url, **options, pool_pre_ping=True)
    if url.database in {None, "", ":memory:"}:
        options |= {"pool_size": 1, "max_overflow": 0}
    sqlite_options = {"check_same_thread": False, "timeout": BUSY_TIMEOUT_S}
    engine = create_engine(url, **options, poolclass=QueuePool, connect_args=sqlite_options)
    event.listen(engine, "connect", _set_pragmas)
    return engine


def prepare_tables(engine: Engine) -> None:
    """Create the tables that are missing, also while other processes do the same.

    Raises:
        StoreError: If the database holds tables of another program or version.
    """
    for attempt in range(SETUP_ATTEMPTS):
        try:
            with Session(engine) as session, session.begin():
                _create_tables(session)
            return
        except SQLAlchemyError as error:
            lost_a_race = isinstance(error, IntegrityError) or "locked" in str(error) or "already exists" in str(error)
            if not lost_a_race or attempt + 1 == SETUP_ATTEMPTS:
                raise
            time.sleep(0.05 * 2**attempt)


@contextmanager
def store_errors(
    doing: str, *, conflict: str | None = None, advice: str = "make the store usable, then run again"
) -> Iterator[None]:
    """Turn whatever a database raises into a `StoreError` that says what was being done and what to do next."""
    try:
        yield
    except (SQLAlchemyError, ValueError, OverflowError, RuntimeError, OSError, ImportError) as error:
        if conflict and isinstance(error, IntegrityError):
            raise StoreError(conflict) from error
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise StoreError(f"cannot {doing}: {reason:.500}; {advice}") from error


def _to_json(value: Any) -> str:
    """Return ASCII JSON that every database takes: NUL and lone surrogates as escapes, NaN and infinities as text."""
    return json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return _finite(to_jsonable_python(value, bytes_mode="base64", fallback=repr))


def _set_pragmas(connection: Any, _: object) -> None:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise


def _create_tables(session: Session) -> None:
    connection = session.connection()
    own = StoreTable.metadata.tables
    present = own.keys() & set(inspect(connection).get_table_names())
    meta = own["taugraphstore"]
    if present and meta.name not in present:
        raise StoreError(
            f"the database has tables of another program: {', '.join(sorted(present))}; give another database"
        )
    connection.execute(CreateTable(meta, if_not_exists=True))
    version = session.get(TaugraphStore, "schema_version")
    if version and version.value != str(SCHEMA_VERSION):
        raise StoreError(
            f"the store has schema version {version.value} and this taugraph reads version {SCHEMA_VERSION}: "
            "open it with the taugraph that wrote it, or give another store"
        )
    for table in StoreTable.metadata.sorted_tables:
        if table.name not in present:
            connection.execute(CreateTable(table, if_not_exists=True))
    if version is None:
        session.add(TaugraphStore(key="schema_version", value=str(SCHEMA_VERSION)))
    else:  # writes nothing new, but fails now rather than after the first conversation if nothing can be written
        session.exec(update(TaugraphStore).values(value=TaugraphStore.value))
