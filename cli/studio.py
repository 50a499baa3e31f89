"""The command that opens recorded trials in LangGraph Studio: `studio`."""

import asyncio
import signal
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taugraph.cli.app import app
from taugraph.cli.options import StoreOption
from taugraph.cli.output import errors_in_one_line, opened, read_store

if TYPE_CHECKING:
    from taugraph.experiments.store import Experiment
    from taugraph.experiments.studio import OpenedTrial


@app.command()
def studio(
    name: Annotated[str | None, typer.Argument(help="Experiment whose trials are opened; unset for none.")] = None,
    place: Annotated[
        str | None, typer.Argument(help="One of its trials, as TASK/TRIAL; unset for 50 at most, failed first.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port of the server; a free one if unset.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
    store: StoreOption = None,
) -> None:
    """Open recorded trials in LangGraph Studio, with every step, to look at, play on or fork."""
    with errors_in_one_line(), _ended_by_sigterm():
        from taugraph.experiments.studio import STUDIO, register  # noqa: PLC0415 - heavy
        from taugraph.experiments.studio_server import checkpoints_file, serving  # noqa: PLC0415 - heavy

        location, checkpoints = read_store(store), checkpoints_file()
        experiment, found = _rebuilt(name, place, location, checkpoints) if name else (None, [])
        with serving(location, checkpoints, port) as server:
            played_by = asyncio.run(register(server.url, experiment, found)) if experiment is not None else None
            typer.echo(f"Studio: {STUDIO}{server.url}")
            typer.echo(f"API:    {server.url}/docs")
            _show(found, played_by)
            typer.echo("Ctrl-C stops the server", err=True)
            if not no_browser:
                webbrowser.open(f"{STUDIO}{server.url}")
            server.wait()


def _rebuilt(name: str, place: str | None, location: str, checkpoints: Path) -> "tuple[Experiment, list[OpenedTrial]]":
    from taugraph.experiments.studio import MOST_TRIALS, rebuild_trials, trials_to_open  # noqa: PLC0415 - heavy

    with opened(location, create=False) as results:
        experiment, trials = results.experiment(name), trials_to_open(results, name, place)
    if place is None and len(trials) == MOST_TRIALS:
        typer.echo(f"opening the first {MOST_TRIALS} trials, failed ones first; name another as TASK/TRIAL", err=True)
    return experiment, rebuild_trials(experiment, trials, checkpoints)


def _show(found: "list[OpenedTrial]", played_by: str | None) -> None:
    if played_by is not None:
        typer.echo(f"Assistant: {played_by}")
    for one in found:
        told = f" (differs: {'; '.join(one.differs)})" if one.differs else ""
        place = f"{one.trial.task_id}/{one.trial.trial}"
        typer.echo(f"{one.thread_id or '-':36}  {one.trial.outcome:8} {place}{told}")


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let a polite request to end stop the server too, as Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
