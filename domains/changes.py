"""What a trial changed in its domain database, as plain JSON.

`NetChanges` maps table -> key -> `[before, after]`. A key is the JSON text of the primary-key values in column order;
`before` is the row of the seed and `after` the row now, each an object of column values, or `None` where the row does
not exist. A row that came back to its first value is not a change and never stands here.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

Row = dict[str, Any]
"""Column name -> stored value: text, integer, float or `None`."""

RowChange = list[Row | None]
"""`[before, after]`; `None` stands for no row."""

NetChanges = dict[str, dict[str, RowChange]]
"""Table name -> key text -> row change."""


def row_key(values: Sequence[Any]) -> str:
    """Return the key text of one row's primary-key values, in column order."""
    return json.dumps(list(values), separators=(",", ":"), ensure_ascii=False)


def iterate_changes(changes: NetChanges) -> Iterator[tuple[str, str, Row | None, Row | None]]:
    """Yield (table, key, before, after) of every change, sorted by table and key."""
    for table in sorted(changes):
        for key in sorted(changes[table]):
            before, after = changes[table][key]
            yield table, key, before, after
