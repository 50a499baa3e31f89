"""What a person watches while trials are played, and plain tables."""

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from taugraph.domains.trial import Trial


@contextmanager
def progress_of(total: int) -> Iterator[Callable[[Trial], None]]:
    """Show the progress of so many trials on stderr, and yield what to tell each finished one to.

    Nothing is shown where stderr is no terminal.
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
        disable=not console.is_terminal,
        transient=True,
    ) as progress:
        row = progress.add_task("playing", total=total)

        def on_trial(trial: Trial) -> None:
            counts[trial.outcome] += 1
            words = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "unscored"))
            progress.update(row, advance=1, description=words)

        yield on_trial


def table_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows of equal keys as a plain table as wide as the terminal."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in rows[0]:
        table.add_column(name.replace("_", " "), overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console = Console(file=io.StringIO(), width=max(Console().width, 80), color_system=None, highlight=False)
    console.print(table)
    text = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO from above
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{number} {name}" for name, number in value.items())
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else " ".join(str(value).split()).replace("[", "\\[")
