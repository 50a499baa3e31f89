"""Lines of at most 80 columns, printable whatever the names in them are."""

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

from taugraph.experiments.reasons import printable

WIDTH = 80
"""Columns of a line at most."""

_DASH = "\N{EN DASH}"


def clip(text: str, width: int) -> str:
    """Return a text that is printable and at most so many columns wide."""
    text = printable(text)
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def wrap(*parts: str) -> Iterator[str]:
    """Join parts by dots into as few lines as hold them."""
    line = parts[0]
    for part in parts[1:]:
        longer = f"{line} · {part}"
        if cell_len(longer) > WIDTH:
            yield line
            longer = part
        line = longer
    yield line


def number(value: float | None, digits: int = 3) -> str:
    """Return a number without its leading zero; a dash for `None`."""
    if value is None:
        return "—"
    text = f"{round(value, digits) + 0.0:.{digits}f}"  # adding 0.0 turns -0.0 into 0.0
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def interval(low: float | None, high: float | None) -> str:
    """Return both ends of an interval; a dash where there is none."""
    return "—" if low is None or high is None else f"{number(low)} {_DASH} {number(high)}"


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"
