"""What a person watches while trials are played, and plain tables."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from taugraph.domains.trial import Trial

_LEAST_ROOM = 24
"""Columns that the last column of a table gets however narrow the terminal is."""


@contextmanager
def progress_of(total: int, *, is_quiet: bool = False) -> Iterator[Callable[[Trial], None]]:
    """Show the progress of so many trials on stderr, and yield what to tell each finished one to.

    Nothing is shown where stderr is no terminal, or where a person needs it for something else (`is_quiet`).
    """
    console = Console(stderr=True)
    counts: Counter[str] = Counter()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=is_quiet
        or not sys.stderr.isatty(),  # not `console.is_terminal`: FORCE_COLOR makes that true of a log file
        transient=True,
    ) as progress:
        row = progress.add_task("playing", total=total)

        def on_trial(trial: Trial) -> None:
            counts[trial.outcome] += 1
            words = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "unscored"))
            progress.update(row, advance=1, description=words)

        yield on_trial


def table_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows of equal keys as a plain table; only the last column is cut where the terminal ends."""
    lines = [[name.replace("_", " ") for name in rows[0]], *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    room = max(Console().width - sum(widths[:-1]) - 2 * len(widths[:-1]), _LEAST_ROOM)
    widths[-1] = min(widths[-1], room)
    return "\n".join("  ".join(map(_fitted, line, widths)).rstrip() for line in lines)


def _fitted(text: str, width: int) -> str:
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{number} {name}" for name, number in value.items())
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else " ".join(str(value).split())
