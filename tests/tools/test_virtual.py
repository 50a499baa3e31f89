"""Whatever way a tool writes, the changes say exactly what became of each row, and the seed stays the seed."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from sqlalchemy import JSON, Column, Computed, Connection, Integer, String, delete, insert, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.orm import registry
from sqlmodel import Field, Relationship, Session, SQLModel, select

from taugraph.domains.changes import NetChanges, iterate_changes, row_key
from taugraph.domains.domain import Domain, Seed
from taugraph.domains.errors import ConfigurationError
from taugraph.tools.virtual import UnkeptWorkError, VirtualDatabase

Work = Callable[[Session], Any]


class StoreTable(SQLModel, registry=registry()):
    pass


class Shelf(StoreTable, table=True):
    id: int = Field(primary_key=True)
    label: str = Field(unique=True)
    boxes: list["Box"] = Relationship(back_populates="shelf", cascade_delete=True)


class Box(StoreTable, table=True):
    shelf_id: int = Field(primary_key=True, foreign_key="shelf.id", ondelete="CASCADE")
    name: str = Field(primary_key=True)
    count: int = 0
    shelf: Shelf = Relationship(back_populates="boxes")


class Fact(StoreTable, table=True):
    __tablename__: ClassVar[str] = 'odd "table\'s" name'

    key: str = Field(primary_key=True)
    document: Any = Field(default=None, sa_column=Column(JSON))
    flag: bool | None = None
    moment: datetime | None = None
    number: float | None = None
    cost: Decimal | None = Field(default=None, max_digits=12, decimal_places=2)
    price: int | None = None
    twice: int | None = Field(default=None, sa_column=Column(Integer, Computed("price * 2")))
    order: str | None = Field(default=None, sa_column=Column("order by", String))


SHELVES = [Shelf(id=1, label="left"), Shelf(id=2, label="right"), Shelf(id=3, label="empty")]
BOXES = [(1, "nails", 5), (1, "screws", 7), (2, "nails", 9)]
ODD = 'odd "table\'s" name'


def seed_rows() -> Iterator[SQLModel]:
    yield from (Shelf(id=shelf.id, label=shelf.label) for shelf in SHELVES)
    yield from (Box(shelf_id=shelf, name=name, count=count) for shelf, name, count in BOXES)
    yield Fact(key="plain", number=0.1, flag=True, price=3, order="first")


STORE = Domain(
    name="store",
    tables=(Shelf, Box, Fact),
    seed=Seed("store-1", seed_rows),
    policy="",
    agent_tools=(),
    tasks=(),
    now=datetime(2024, 1, 1),
)


@pytest.fixture(scope="module")
def opened() -> Iterator[VirtualDatabase]:
    database = VirtualDatabase(STORE)
    yield database
    database.close()


@pytest.fixture
def store(opened: VirtualDatabase) -> Iterator[VirtualDatabase]:
    """After each test, the seed must be the seed: no trial leaks into the next."""
    yield opened
    assert opened.run({}, rows) == (
        [(1, "left"), (2, "right"), (3, "empty"), *BOXES, ("plain", 0.1)],
        {},
    )


def rows(session: Session) -> list[Any]:
    shelves = session.exec(select(Shelf.id, Shelf.label).order_by("id")).all()
    boxes = session.exec(select(Box.shelf_id, Box.name, Box.count).order_by("shelf_id", "name")).all()
    return [*map(tuple, shelves), *map(tuple, boxes), *map(tuple, session.exec(select(Fact.key, Fact.number)))]


def changed(store: VirtualDatabase, *works: Work, start: NetChanges | None = None) -> NetChanges:
    """Return the changes after some transactions, each of which starts from the JSON text of those before."""
    changes: NetChanges = start or {}
    for work in works:
        _, after = store.run(changes, work)
        changes = json.loads(json.dumps(after, allow_nan=False))
        assert changes == after
    return changes


def sql(statement: str, *values: Any) -> Work:
    return lambda session: session.connection().exec_driver_sql(statement, values)


def core(statement: Any) -> Work:
    return lambda session: session.execute(statement)


def add(row: Callable[[], SQLModel]) -> Work:
    return lambda session: session.add(row())


def box(shelf: int, name: str, count: int) -> dict[str, Any]:
    return {"shelf_id": shelf, "name": name, "count": count}


NEW = {"box": {'[3,"hooks"]': [None, box(3, "hooks", 1)]}}
MORE = {"box": {'[1,"nails"]': [box(1, "nails", 5), box(1, "nails", 6)]}}
GONE = {"box": {'[1,"nails"]': [box(1, "nails", 5), None]}}
MOVED = {"box": {'[1,"nails"]': [box(1, "nails", 5), None], '[3,"nails"]': [None, box(3, "nails", 5)]}}
EMPTIED = {"box": {row_key(line[:2]): [box(*line), None] for line in BOXES}}


def set_by_orm(session: Session) -> None:
    session.get_one(Box, (1, "nails")).count = 6


def move_by_orm(session: Session) -> None:
    session.get_one(Box, (1, "nails")).shelf_id = 3


def upsert_by_core(shelf: int, name: str, count: int) -> Work:
    statement = upsert(Box).values(shelf_id=shelf, name=name, count=count)
    return core(statement.on_conflict_do_update(index_elements=["shelf_id", "name"], set_={"count": count}))


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param(add(lambda: Box(shelf_id=3, name="hooks", count=1)), NEW, id="orm-insert"),
        pytest.param(set_by_orm, MORE, id="orm-update"),
        pytest.param(lambda session: session.delete(session.get_one(Box, (1, "nails"))), GONE, id="orm-delete"),
        pytest.param(move_by_orm, MOVED, id="orm-new-key"),
        pytest.param(lambda session: session.merge(Box(**box(1, "nails", 6))), MORE, id="orm-merge"),
        pytest.param(lambda session: session.bulk_insert_mappings(Box, [box(3, "hooks", 1)]), NEW, id="bulk-insert"),
        pytest.param(lambda session: session.bulk_update_mappings(Box, [box(1, "nails", 6)]), MORE, id="bulk-update"),
        pytest.param(core(insert(Box).values(**box(3, "hooks", 1))), NEW, id="core-insert"),
        pytest.param(core(update(Box).where(Box.count == 5).values(count=Box.count + 1)), MORE, id="core-update"),
        pytest.param(core(delete(Box).where(Box.count == 5)), GONE, id="core-delete"),
        pytest.param(core(delete(Box)), EMPTIED, id="core-delete-all"),
        pytest.param(upsert_by_core(1, "nails", 6), MORE, id="core-upsert-old"),
        pytest.param(upsert_by_core(3, "hooks", 1), NEW, id="core-upsert-new"),
        pytest.param(sql("INSERT INTO box VALUES (3, 'hooks', 1)"), NEW, id="sql-insert"),
        pytest.param(sql("REPLACE INTO box VALUES (1, 'nails', 6)"), MORE, id="sql-replace"),
        pytest.param(sql("UPDATE box SET count = 6 WHERE count = 5"), MORE, id="sql-update"),
        pytest.param(sql("UPDATE box SET shelf_id = 3 WHERE count = 5"), MOVED, id="sql-new-key"),
        pytest.param(sql("DELETE FROM box"), EMPTIED, id="sql-delete-all"),
        pytest.param(
            sql("INSERT INTO box VALUES (1, 'nails', 6) ON CONFLICT DO UPDATE SET count = excluded.count"),
            MORE,
            id="sql-upsert",
        ),
    ],
)
def test_every_way_to_write_is_seen(store: VirtualDatabase, work: Work, expected: NetChanges) -> None:
    changes = changed(store, work)
    assert changes == expected
    assert changed(store, lambda session: None, start=changes) == expected, "a call that does nothing changes nothing"


def test_a_row_that_a_replace_pushes_out_is_seen(store: VirtualDatabase) -> None:
    assert changed(store, sql("REPLACE INTO shelf VALUES (3, 'right')"))["shelf"] == {
        "[2]": [{"id": 2, "label": "right"}, None],
        "[3]": [{"id": 3, "label": "empty"}, {"id": 3, "label": "right"}],
    }


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda session: session.delete(session.get_one(Shelf, 1)), id="orm"),
        pytest.param(core(delete(Shelf).where(Shelf.id == 1)), id="core"),
        pytest.param(sql("DELETE FROM shelf WHERE id = 1"), id="sql"),
    ],
)
def test_rows_that_a_deletion_takes_along_are_seen(store: VirtualDatabase, work: Work) -> None:
    changes = changed(store, work)
    assert {table: sorted(found) for table, found in changes.items()} == {
        "box": ['[1,"nails"]', '[1,"screws"]'],
        "shelf": ["[1]"],
    }
    assert changed(store, sql("UPDATE box SET count = 1 WHERE shelf_id = 1"), start=changes) == changes


def test_a_changed_parent_keeps_its_children_in_the_next_call(store: VirtualDatabase) -> None:
    changes = changed(store, sql("UPDATE shelf SET label = 'top' WHERE id = 1"))
    assert len(store.read(changes, lambda session: session.get_one(Shelf, 1).boxes)) == 2
    assert changed(store, lambda session: None, start=changes) == changes


def test_unique_values_may_move_from_row_to_row(store: VirtualDatabase) -> None:
    moved = changed(
        store,
        sql("UPDATE shelf SET label = 'new' WHERE id = 2"),
        sql("UPDATE shelf SET label = 'right' WHERE id = 1"),
    )
    assert changed(store, lambda session: None, start=moved) == moved
    swapped = changed(store, sql("UPDATE shelf SET label = 'left' WHERE id = 2"), start=moved)
    assert [after and after["label"] for *_, after in iterate_changes(swapped)] == ["right", "left"]
    assert changed(store, sql("UPDATE shelf SET label = label"), start=swapped) == swapped


def test_commits_and_savepoints_end_with_the_transaction(store: VirtualDatabase) -> None:
    def work(session: Session) -> str:
        session.add(Box(shelf_id=3, name="hooks", count=0))
        session.commit()
        with session.begin_nested():
            session.get_one(Box, (3, "hooks")).count = 1
            inner = session.begin_nested()
            session.get_one(Box, (1, "nails")).count = 99
            session.flush()
            inner.rollback()
        session.get_one(Box, (2, "nails")).count = 99
        session.flush()
        session.connection()
        return "done"

    def undone(session: Session) -> None:
        session.delete(session.get_one(Box, (1, "nails")))
        session.flush()
        session.rollback()

    _, changes = store.run({}, work)
    assert changes == {"box": NEW["box"] | {'[2,"nails"]': [box(2, "nails", 9), box(2, "nails", 99)]}}
    assert changed(store, undone) == {}


def test_a_committed_row_can_still_be_read(store: VirtualDatabase) -> None:
    def work(session: Session) -> Shelf:
        shelf = session.get_one(Shelf, 1)
        shelf.label = "top"
        session.commit()
        return shelf

    assert store.run({}, work)[0].model_dump() == {"id": 1, "label": "top"}


@pytest.mark.parametrize(
    "statements",
    [
        ["COMMIT"],
        ["ROLLBACK"],
        ["COMMIT", "BEGIN"],
        ["ROLLBACK", "BEGIN"],
        ["COMMIT", "BEGIN", "ROLLBACK", "BEGIN"],
        ["COMMIT", "BEGIN", "DELETE FROM shelf", "COMMIT"],
    ],
    ids="-".join,
)
@pytest.mark.parametrize("fails", [False, True])
def test_ending_the_transaction_by_hand_loses_everything(
    store: VirtualDatabase, statements: list[str], fails: bool
) -> None:
    def work(session: Session) -> None:
        session.add(Shelf(id=9, label="leak"))
        session.flush()
        for statement in statements:
            session.connection().exec_driver_sql(statement)
        if fails:
            raise ValueError("and then it failed")

    start = changed(store, set_by_orm)
    with pytest.raises(UnkeptWorkError, match="ended the database transaction by hand"):
        store.run(start, work)
    assert changed(store, lambda session: None, start=start) == MORE


@pytest.mark.parametrize("method", [Connection.commit, Connection.rollback])
def test_ending_the_transaction_on_the_connection_loses_everything(
    store: VirtualDatabase, method: Callable[[Connection], None]
) -> None:
    def work(session: Session) -> None:
        session.add(Shelf(id=9, label="leak"))
        session.flush()
        method(session.connection())

    with pytest.raises(UnkeptWorkError, match="by hand"):
        store.run({}, work)


def test_a_failed_work_leaves_nothing_behind(store: VirtualDatabase) -> None:
    def work(session: Session) -> None:
        session.execute(delete(Box))
        session.commit()
        raise LookupError("late")

    start: NetChanges = json.loads(json.dumps(MORE))
    with pytest.raises(LookupError, match="late"):
        store.run(start, work)
    assert start == MORE


def test_a_row_back_at_its_first_value_is_no_change(store: VirtualDatabase) -> None:
    there = [set_by_orm, sql("DELETE FROM box WHERE shelf_id = 2"), sql("INSERT INTO shelf VALUES (4, 'x')")]
    back = [
        sql("UPDATE box SET count = 5 WHERE name = 'nails' AND shelf_id = 1"),
        sql("INSERT INTO box VALUES (2, 'nails', 9)"),
        sql("DELETE FROM shelf WHERE id = 4"),
    ]
    assert len(list(iterate_changes(changed(store, *there)))) == 3
    assert changed(store, *there, *back) == {}


def test_the_first_value_is_that_of_the_seed_however_often_a_row_changes(store: VirtualDatabase) -> None:
    steps = [sql(f"UPDATE box SET count = {count} WHERE count = {count - 1}") for count in (6,)]
    assert changed(store, *steps, sql("UPDATE box SET count = 60 WHERE count = 6")) == {
        "box": {'[1,"nails"]': [box(1, "nails", 5), box(1, "nails", 60)]}
    }


@pytest.mark.parametrize(
    "key", ["", "O'Brien", 'say "x"', "\\", "zoë ☃ 😀", "a\tb\nc", "[1]", "null", " ", "nul\x00inside", "%s", "?"]
)
def test_any_text_can_be_a_key(store: VirtualDatabase, key: str) -> None:
    found = changed(store, add(lambda: Fact(key=key)), sql(f"UPDATE {quoted(ODD)} SET number = 2 WHERE key = ?", key))
    assert list(found[ODD]) == [row_key([key])]
    assert changed(store, sql(f"DELETE FROM {quoted(ODD)} WHERE key = ?", key), start=found) == {}


@pytest.mark.parametrize("key", [0, -1, 2**53 + 1, 2**63 - 1, -(2**63)])
def test_any_integer_can_be_a_key(store: VirtualDatabase, key: int) -> None:
    changes = changed(store, add(lambda: Shelf(id=key, label="new")), lambda session: None)
    assert changes == {"shelf": {f"[{key}]": [None, {"id": key, "label": "new"}]}}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("document", {"a": [1, 2.5, None, True, {"ü": "\x00"}]}),
        ("document", []),
        ("document", "text"),
        ("document", None),
        ("flag", False),
        ("flag", None),
        ("moment", datetime(2024, 5, 15, 15, 0, 0, 123456, UTC)),
        ("number", 0.1 + 0.2),
        ("number", 5e-324),
        ("number", 1.7976931348623157e308),
        ("number", 2.0**60 + 1),
        ("number", 1 / 3),
        ("cost", Decimal("0.10")),
        ("cost", Decimal("1234567890.12")),
        ("price", 2**53 + 1),
        ("price", -(2**63)),
        ("order", "lone quote ' and \x00"),
    ],
)
def test_every_value_survives_the_changes(store: VirtualDatabase, field: str, value: Any) -> None:
    changes = changed(store, add(lambda: Fact(key="new", **{field: value})), sql("UPDATE shelf SET label = label"))
    read = store.read(changes, lambda session: getattr(session.get_one(Fact, "new"), field))
    assert (read, type(read)) == (value, type(value))


def test_a_computed_column_follows_the_others(store: VirtualDatabase) -> None:
    changes = changed(store, sql(f"UPDATE {quoted(ODD)} SET price = 21"), lambda session: None)
    assert store.read(changes, lambda session: session.get_one(Fact, "plain").twice) == 42


@pytest.mark.parametrize("value", ["x'00ff'", "9e999", "-9e999"])
def test_a_value_that_json_lacks_is_refused(store: VirtualDatabase, value: str) -> None:
    with pytest.raises(UnkeptWorkError, match=r"number cannot hold .*: it is not JSON"):
        store.run({}, sql(f"UPDATE {quoted(ODD)} SET number = {value}"))


def test_an_error_while_the_changes_are_applied_is_not_the_works(store: VirtualDatabase) -> None:
    with pytest.raises(KeyError, match="other_table"):
        store.run({"other_table": {"[1]": [None, {"id": 1}]}}, lambda session: None)


def test_a_session_knows_the_clock_and_the_dialect(store: VirtualDatabase) -> None:
    assert store.read({}, lambda session: dict(session.info)) == {"now": STORE.now, "dialect": STORE.dialect}


def test_what_is_only_read_changes_nothing(store: VirtualDatabase) -> None:
    assert store.read({}, lambda session: session.execute(delete(Box)).rowcount) == 3


def test_two_open_transactions_do_not_see_each_other(store: VirtualDatabase) -> None:
    def outer(session: Session) -> tuple[list[Any], NetChanges]:
        session.execute(update(Shelf).where(Shelf.id == 1).values(label="outer"))
        return store.run({}, lambda inner: rows(inner)[:3])

    (seen, inner_changes), changes = store.run({}, outer)
    assert seen == [(1, "left"), (2, "right"), (3, "empty")]
    assert inner_changes == {}
    assert changes["shelf"]["[1]"][1] == {"id": 1, "label": "outer"}


def column(*kinds: Any, **options: Any) -> Any:
    return Field(default=None, sa_column=Column(*kinds, **options))


class JsonKey(StoreTable, table=True):
    id: Any = column(JSON, primary_key=True)


class FloatKey(StoreTable, table=True):
    id: float = Field(primary_key=True)


class NullKey(StoreTable, table=True):
    id: str = column(String, primary_key=True, nullable=True)


class Photo(StoreTable, table=True):
    id: str = Field(primary_key=True)
    image: bytes


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (JsonKey, "key column jsonkey.id must be text or an integer"),
        (FloatKey, "key column floatkey.id must be text or an integer"),
        (NullKey, "key column nullkey.id must be text or an integer, never NULL"),
        (Photo, "column photo.image holds bytes; store text or numbers"),
    ],
)
def test_a_table_that_cannot_be_kept_is_refused(odd: type[SQLModel], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        VirtualDatabase(Domain("odd", (odd,), Seed("1", list), "", (), (), STORE.now))


def test_a_class_that_is_no_table_is_refused() -> None:
    class Plain(SQLModel):
        id: int

    with pytest.raises(ConfigurationError, match=r"Plain is no table: write class Plain\(\.\.\., table=True\)"):
        VirtualDatabase(Domain("odd", (Plain,), Seed("1", list), "", (), (), STORE.now))
