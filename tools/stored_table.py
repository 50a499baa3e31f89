"""The SQL that reads, writes and watches one table, derived from its SQLAlchemy description."""

from dataclasses import dataclass

from sqlalchemy import Table, UniqueConstraint

TOUCHED = "taugraph_touched"
"""TEMP table in which the triggers note touched rows: `tbl`, and `key` as the JSON text of the key's values."""


@dataclass(frozen=True)
class StoredTable:
    """The statements for one table.

    Attributes:
        name: The table's name.
        columns: Columns that are stored, in order; computed ones are not.
        upsert: Writes one row, given `columns`.
        park: Frees the unique values of one row, given its key.
        delete: Removes one row, given its key.
        select: Reads `columns` of one row, given its key.
        triggers: Note the keys of inserted, updated and deleted rows in `TOUCHED`.
    """

    name: str
    columns: tuple[str, ...]
    upsert: str
    park: str
    delete: str
    select: str
    triggers: tuple[str, ...]

    @classmethod
    def of(cls, table: Table) -> "StoredTable":
        """Write the statements for a table."""
        columns = tuple(column.name for column in table.columns if column.computed is None)
        keys = tuple(column.name for column in table.primary_key.columns)
        name, listed = _quote(table.name), ", ".join(map(_quote, columns))
        where = " AND ".join(f"{_quote(key)} = ?" for key in keys)
        news = ", ".join(f"{_quote(column)} = excluded.{_quote(column)}" for column in columns)
        parked = ", ".join(f"{_quote(column)} = randomblob(16)" for column in _unique_columns(table))
        return cls(
            name=table.name,
            columns=columns,
            upsert=f"INSERT INTO {name} ({listed}) VALUES ({', '.join('?' * len(columns))}) "
            f"ON CONFLICT ({', '.join(map(_quote, keys))}) DO UPDATE SET {news}",
            park=f"UPDATE {name} SET {parked} WHERE {where}",
            delete=f"DELETE FROM {name} WHERE {where}",
            select=f"SELECT {listed} FROM {name} WHERE {where}",
            triggers=tuple(_trigger(table.name, keys, operation) for operation in ("INSERT", "UPDATE", "DELETE")),
        )


def _trigger(table: str, keys: tuple[str, ...], operation: str) -> str:
    sides = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}[operation]
    literal = table.replace("'", "''")
    listed = {side: ", ".join(f"{side}.{_quote(key)}" for key in keys) for side in sides}
    # Nothing here may conflict: a trigger's OR IGNORE gives way to the conflict clause of the tool's own statement.
    notes = " ".join(f"INSERT INTO {TOUCHED} VALUES ('{literal}', json_array({listed[side]}));" for side in sides)
    name = _quote(f"taugraph_{operation.lower()}_{table}")
    return f"CREATE TEMP TRIGGER {name} AFTER {operation} ON main.{_quote(table)} BEGIN {notes} END"


def _unique_columns(table: Table) -> list[str]:
    columns = {column for item in table.constraints if isinstance(item, UniqueConstraint) for column in item.columns}
    columns |= {column for index in table.indexes if index.unique for column in index.columns}
    return sorted(column.name for column in columns if not column.primary_key)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
