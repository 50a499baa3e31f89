"""The virtual database: a trial's database is the seed plus the net row changes that its state holds.

A process keeps a few in-memory SQLite copies of the seed. A transaction takes one, applies a trial's changes, lends a
`Session`, reads back every row that was touched *in whatever way* (ORM, Core or raw SQL: TEMP triggers note the keys),
and always rolls back. So a copy is the seed again before the next trial may take it, and no trial ever sees another's.
"""

import json
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, LifoQueue
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table, create_engine, event
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from taugraph.domains.changes import NetChanges, Row, row_key
from taugraph.domains.domain import Domain
from taugraph.domains.errors import TaugraphError
from taugraph.tools.seed_image import seed_image, table_of

_TOUCHED = "taugraph_touched"
_T = TypeVar("_T")


class TransactionEscapedError(TaugraphError):
    """A tool ended the transaction that belongs to the harness; what it did is lost."""


class VirtualDatabase:
    """The seed of one domain, and transactions on it. Safe to use from several threads."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._tables = {model.name: model for model in (_StoredTable.of(table_of(model)) for model in domain.tables)}
        self._idle: LifoQueue[_SeedCopy] = LifoQueue()
        self._image: bytes | None = None
        self._image_lock = threading.Lock()

    def run(self, changes: NetChanges, work: Callable[[Session], _T]) -> tuple[_T, NetChanges]:
        """Do some work on a trial's database and return its result with the trial's new net changes.

        Args:
            changes: The trial's net changes so far; left as they are.
            work: Gets a session whose `info` holds the domain's `dialect` and `now`. It may flush and commit; both end
                with the transaction.

        Raises:
            TransactionEscapedError: If the work ended the harness's transaction by hand.
            Exception: Whatever the work raises; nothing it wrote remains.
        """
        copy = self._take()
        try:
            result, touched = self._inside(copy, changes, work)
            return result, copy.net_changes(changes, touched)
        finally:
            self._give_back(copy)

    def read(self, changes: NetChanges, work: Callable[[Session], _T]) -> _T:
        """Do some work on a trial's database and forget whatever it wrote."""
        return self.run(changes, work)[0]

    def close(self) -> None:
        """Release the idle copies."""
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _inside(
        self, copy: "_SeedCopy", changes: NetChanges, work: Callable[[Session], _T]
    ) -> tuple[_T, list["_Touched"]]:
        outer = copy.connection.begin()
        try:
            copy.apply(changes)
            with Session(copy.connection, join_transaction_mode="create_savepoint") as session:
                session.info.update(dialect=self._domain.dialect, now=self._domain.now)
                result = work(session)
                session.flush()
                if not copy.raw.in_transaction:
                    raise TransactionEscapedError("a tool ended the database transaction; it must use its session only")
                return result, copy.touched()
        finally:
            if copy.raw.in_transaction:
                outer.rollback()
            else:
                copy.spoiled = True

    def _take(self) -> "_SeedCopy":
        try:
            return self._idle.get_nowait()
        except Empty:
            return _SeedCopy(self._seed_image(), self._tables)

    def _give_back(self, copy: "_SeedCopy") -> None:
        if copy.spoiled:
            copy.close()
        else:
            self._idle.put(copy)

    def _seed_image(self) -> bytes:
        with self._image_lock:
            if self._image is None:
                self._image = seed_image(self._domain)
            return self._image


@dataclass(frozen=True)
class _Touched:
    """A row that the work may have changed, as it stood at the end of the work."""

    table: str
    key: list[Any]
    after: Row | None


@dataclass(frozen=True)
class _StoredTable:
    """The statements for one table, written once."""

    name: str
    columns: tuple[str, ...]
    upsert: str
    delete: str
    select: str
    triggers: tuple[str, ...]

    @classmethod
    def of(cls, table: Table) -> "_StoredTable":
        columns = tuple(column.name for column in table.columns)
        keys = tuple(column.name for column in table.primary_key.columns)
        name, listed = _quote(table.name), ", ".join(map(_quote, columns))
        where = " AND ".join(f"{_quote(key)} = ?" for key in keys)
        return cls(
            name=table.name,
            columns=columns,
            upsert=f"INSERT OR REPLACE INTO {name} ({listed}) VALUES ({', '.join('?' * len(columns))})",
            delete=f"DELETE FROM {name} WHERE {where}",
            select=f"SELECT {listed} FROM {name} WHERE {where}",
            triggers=tuple(_trigger(table.name, keys, operation) for operation in ("INSERT", "UPDATE", "DELETE")),
        )


class _SeedCopy:
    """One in-memory copy of the seed, used by one transaction at a time."""

    def __init__(self, image: bytes, tables: dict[str, _StoredTable]) -> None:
        self.raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.raw.deserialize(image)
        self.raw.execute("PRAGMA recursive_triggers = ON")  # or REPLACE would drop conflicting rows unseen
        self.raw.execute(f"CREATE TEMP TABLE {_TOUCHED} (tbl TEXT, key TEXT, PRIMARY KEY (tbl, key)) WITHOUT ROWID")
        for table in tables.values():
            for trigger in table.triggers:
                self.raw.execute(trigger)
        self._tables = tables
        self._engine = _engine_on(self.raw)
        self.connection: Connection = self._engine.connect()
        self.spoiled = False

    def close(self) -> None:
        """Release the copy's memory."""
        self.connection.close()
        self._engine.dispose()
        self.raw.close()

    def apply(self, changes: NetChanges) -> None:
        """Bring the seed to a trial's present state, inside the open transaction."""
        for name, rows in changes.items():
            table = self._tables[name]
            for key, (_, after) in rows.items():
                if after is None:
                    self.raw.execute(table.delete, json.loads(key))
                else:
                    self.raw.execute(table.upsert, [after[column] for column in table.columns])

    def touched(self) -> list[_Touched]:
        """Read every row that was touched since the transaction began, sorted by table and key."""
        keys = sorted(self.raw.execute(f"SELECT tbl, key FROM temp.{_TOUCHED}").fetchall())
        return [_Touched(name, key := json.loads(text), self._row(name, key)) for name, text in keys]

    def net_changes(self, earlier: NetChanges, touched: list[_Touched]) -> NetChanges:
        """Compare the touched rows with the seed, after the rollback."""
        result: NetChanges = {}
        for row in touched:
            text = row_key(row.key)
            known = earlier.get(row.table, {}).get(text)
            before = known[0] if known else self._row(row.table, row.key)
            if before != row.after:
                result.setdefault(row.table, {})[text] = [before, row.after]
        return result

    def _row(self, name: str, key: list[Any]) -> Row | None:
        table = self._tables[name]
        found = self.raw.execute(table.select, key).fetchone()
        return None if found is None else dict(zip(table.columns, found, strict=True))


def _engine_on(raw: sqlite3.Connection) -> Engine:
    """Put SQLAlchemy on a connection that leaves every BEGIN to us.

    Source: https://docs.sqlalchemy.org/en/20/dialects/sqlite.html#serializable-isolation-savepoints-transactional-ddl
    """
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _trigger(table: str, keys: tuple[str, ...], operation: str) -> str:
    sides = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}[operation]
    literal = table.replace("'", "''")
    listed = {side: ", ".join(f"{side}.{_quote(key)}" for key in keys) for side in sides}
    notes = " ".join(
        f"INSERT OR IGNORE INTO {_TOUCHED} VALUES ('{literal}', json_array({listed[side]}));" for side in sides
    )
    name = _quote(f"taugraph_{operation.lower()}_{table}")
    return f"CREATE TEMP TRIGGER {name} AFTER {operation} ON main.{_quote(table)} BEGIN {notes} END"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
