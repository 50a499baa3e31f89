"""Looking a record up by its key, with a refusal that says what was not found."""

from typing import TypeVar

from sqlmodel import Session, SQLModel

from taugraph.domains.errors import ToolRefusal

_RowT = TypeVar("_RowT", bound=SQLModel)


def find_record(session: Session, model: type[_RowT], key: tuple[object, ...], refusal: str) -> _RowT:
    """Return the record of that key.

    Args:
        session: The database as it stands.
        model: Table with keys of text.
        key: Values of the key, as the caller sent them.
        refusal: What to say if there is no such record.

    Raises:
        ToolRefusal: If there is none, or a value of the key is no text.
    """
    found = session.get(model, key) if all(isinstance(part, str) for part in key) else None
    if found is None:
        raise ToolRefusal(refusal)
    return found
