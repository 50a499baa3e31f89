"""What a task changes before it begins: whose phone is in hand, and what is wrong with it or its line."""

from collections.abc import Mapping

from pydantic import JsonValue
from sqlmodel import Session

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.phone.models import TABLES

_TABLES = {str(table.__tablename__): table for table in TABLES}


def change(session: Session, data: Mapping[str, Mapping[str, JsonValue]]) -> None:
    """Set fields of rows.

    Args:
        session: The database as it stands.
        data: Table -> key of the row, its parts joined by `/` -> fields that differ.

    Raises:
        ToolRefusal: If there is no such table, row or field.
        ValidationError: If a changed row breaks its schema.
    """
    for name, rows in data.items():
        if name not in _TABLES:
            raise ToolRefusal(f"there is no table {name!r}; known are {', '.join(sorted(_TABLES))}")
        for key, fields in rows.items():
            _change_row(session, name, key, fields)


def _change_row(session: Session, name: str, key: str, fields: JsonValue) -> None:
    table = _TABLES[name]
    row = session.get(table, tuple(key.split("/")))
    if row is None:
        raise ToolRefusal(f"table {name!r} has no row {key!r}")
    if not isinstance(fields, dict) or not fields.keys() <= table.model_fields.keys():
        raise ToolRefusal(f"row {key!r} of {name!r} takes {', '.join(table.model_fields)}, got {fields!r}")
    changed = table.model_validate({**row.model_dump(), **fields})
    for field in fields:
        setattr(row, field, getattr(changed, field))
    session.flush()
