"""Changing published records before a trial begins: documents in, rows out.

A task of the second generation may say how its records differ from the data. Each named record is taken as the document
the tools show, the task's fields are merged into it, and its rows are written anew.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from sqlalchemy import delete
from sqlmodel import Session, SQLModel

from taugraph.domains.errors import ToolRefusal


@dataclass(frozen=True)
class Collection:
    """One kind of published record.

    Attributes:
        model: Table whose key is the record's id.
        parts: Tables of the record with their column that holds its id, children first, `model` last.
        document: Shows a record as the published data hold it.
        rows: Makes a record's rows from its id and document.
    """

    model: type[SQLModel]
    parts: Mapping[type[SQLModel], str]
    document: Callable[[Session, Any], dict[str, Any]]
    rows: Callable[[str, Mapping[str, Any]], Iterable[SQLModel]]


def change_records(
    session: Session, collections: Mapping[str, Collection], data: Mapping[str, Mapping[str, JsonValue]]
) -> None:
    """Merge a task's own data into the records of a session.

    Args:
        session: The database as it stands.
        collections: Collection by name.
        data: Collection -> record id -> fields that differ.

    Raises:
        ToolRefusal: If there is no such collection.
        ValidationError: If a merged record breaks its schema.
    """
    for name, records in data.items():
        if name not in collections:
            raise ToolRefusal(f"there is no collection {name!r}; known are {', '.join(sorted(collections))}")
        for key, fields in records.items():
            _change_record(session, collections[name], key, fields)


def _change_record(session: Session, collection: Collection, key: str, fields: JsonValue) -> None:
    found = session.get(collection.model, key)
    before = collection.document(session, found) if found is not None else {}
    place = getattr(found, "position", None)
    rows = list(collection.rows(key, _merged(before, fields)))
    for part, column in collection.parts.items():
        session.execute(delete(part).where(getattr(part, column) == key))
    session.expunge_all()
    for row in rows:
        if isinstance(row, collection.model) and place is not None:
            row.position = place
        session.add(row)
        session.flush()


def _merged(before: Any, fields: Any) -> Any:
    """Merge objects key by key; anything else is replaced."""
    if not isinstance(before, dict) or not isinstance(fields, dict):
        return fields
    return before | {name: _merged(before.get(name), value) for name, value in fields.items()}
