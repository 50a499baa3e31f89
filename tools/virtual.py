"""The virtual database: a trial's database is the seed plus the net row changes that its state holds.

A process keeps a few in-memory SQLite copies of the seed. A transaction takes one, applies a trial's changes, lends a
`Session`, reads back every row that was touched *in whatever way* (ORM, Core or raw SQL: TEMP triggers note the keys),
and always rolls back. So a copy is the seed again before the next trial may take it, and no trial ever sees another's.
"""

import json
import math
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, LifoQueue
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from taugraph.domains.changes import NetChanges, Row, row_key
from taugraph.domains.domain import Domain
from taugraph.domains.errors import TaugraphError
from taugraph.tools.seed_image import seed_image, table_of
from taugraph.tools.stored_table import TOUCHED, StoredTable

_MARK = ("", "[]")
_T = TypeVar("_T")


class UnkeptWorkError(TaugraphError):
    """A tool did what the virtual database cannot keep; everything it wrote is lost."""


class VirtualDatabase:
    """The seed of one domain, and transactions on it. Safe to use from several threads."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._tables = {model.name: model for model in (StoredTable.of(table_of(model)) for model in domain.tables)}
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
            UnkeptWorkError: If the work ended the harness's transaction by hand, or wrote a value that JSON lacks.
            Exception: Whatever the work raises; nothing it wrote remains.
        """
        copy = self._take()
        try:
            result, touched = self._inside(copy, changes, work)
            return result, copy.net_changes(changes, touched)
        except Exception as error:
            if copy.spoiled:
                raise _escaped() from error
            raise
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
        # Rows that a tool commits and returns must still be readable, hence no expiry.
        with (
            copy.transaction(),
            Session(copy.connection, join_transaction_mode="create_savepoint", expire_on_commit=False) as session,
        ):
            copy.apply(changes)
            session.info.update(dialect=self._domain.dialect, now=self._domain.now)
            result = work(session)
            session.flush()
            touched = copy.touched()
        if copy.spoiled:
            raise _escaped()
        return result, touched

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


def _escaped() -> UnkeptWorkError:
    return UnkeptWorkError("the tool ended the database transaction by hand; it must use its session only")


@dataclass(frozen=True)
class _Touched:
    """A row that the work may have changed, as it stood at the end of the work."""

    table: str
    key: list[Any]
    after: Row | None


class _SeedCopy:
    """One in-memory copy of the seed, used by one transaction at a time."""

    def __init__(self, image: bytes, tables: dict[str, StoredTable]) -> None:
        self.raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.raw.deserialize(image)
        self.raw.execute("PRAGMA foreign_keys = ON")  # or ON DELETE CASCADE would do nothing
        self.raw.execute("PRAGMA recursive_triggers = ON")  # or REPLACE would drop conflicting rows unseen
        self.raw.execute(f"CREATE TEMP TABLE {TOUCHED} (tbl TEXT, key TEXT)")
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

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open the one transaction and always roll it back; a copy on which that did not work is spoiled.

        An uncommitted mark tells: it is gone if someone rolled back meanwhile, and outlives the rollback if someone
        committed.
        """
        outer = self.connection.begin()
        self.raw.execute("PRAGMA defer_foreign_keys = ON")  # the rows of a trial are applied in any order
        self.raw.execute(f"INSERT INTO temp.{TOUCHED} VALUES (?, ?)", _MARK)
        try:
            yield
        finally:
            self.spoiled = not self._is_marked()
            if self.raw.in_transaction:
                outer.rollback()
            self.spoiled = self.spoiled or self.raw.in_transaction or self._is_marked()

    def _is_marked(self) -> bool:
        return self.raw.execute(f"SELECT 1 FROM temp.{TOUCHED} WHERE (tbl, key) = (?, ?)", _MARK).fetchone() is not None

    def apply(self, changes: NetChanges) -> None:
        """Bring the seed to a trial's present state, inside the open transaction.

        A row that another row's seed value still blocks, as where a unique value moved on, waits for the next round;
        where values went round in a circle, they are parked first. Replacing rows would cascade to their children.
        """
        waiting: list[tuple[StoredTable, str, Row]] = []
        for name, rows in changes.items():
            table = self._tables[name]
            for key, (_, after) in rows.items():
                if after is None:
                    self.raw.execute(table.delete, json.loads(key))
                else:
                    waiting.append((table, key, after))
        while waiting:
            blocked = [(table, key, row) for table, key, row in waiting if not self._upsert(table, row)]
            if len(blocked) == len(waiting):
                for table, key, _ in blocked:
                    self.raw.execute(table.park, json.loads(key))
                for table, _, row in blocked:
                    self.raw.execute(table.upsert, [row[column] for column in table.columns])
                return
            waiting = blocked

    def _upsert(self, table: StoredTable, row: Row) -> bool:
        try:
            self.raw.execute(table.upsert, [row[column] for column in table.columns])
        except sqlite3.IntegrityError:
            return False
        return True

    def touched(self) -> list[_Touched]:
        """Read every row that was touched since the transaction began, sorted by table and key.

        Raises:
            UnkeptWorkError: If a row holds a value that JSON lacks.
        """
        keys = sorted(set(self.raw.execute(f"SELECT tbl, key FROM temp.{TOUCHED}").fetchall()) - {_MARK})
        found = [_Touched(name, key := json.loads(text), self._row(name, key)) for name, text in keys]
        for row in found:
            for column, value in (row.after or {}).items():
                if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
                    raise UnkeptWorkError(f"{row.table}.{column} cannot hold {value!r}: it is not JSON")
        return found

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
