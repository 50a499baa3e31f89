"""The command that opens recorded trials in LangGraph Studio: `studio`."""

import asyncio
import os
import signal
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    place: Annotated[str | None, typer.Argument(help="One of its trials, as TASK/TRIAL.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the server; a free one if unset.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print where Studio is.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Stop the server again at once.")] = False,
    store: StoreOption = None,
) -> None:
    """Open recorded trials in LangGraph Studio, with every step, to look at, play on or fork."""
    with errors_in_one_line():
        from taugraph.experiments import studio as rooms  # noqa: PLC0415 - heavy

        location, checkpoints = read_store(store), Path(os.environ.get("TAUGRAPH_CHECKPOINTS") or DEFAULT_CHECKPOINTS)
        rooms.find_command()  # before trials are rebuilt for nothing
        experiment, found = _rebuilt(name, place, location, checkpoints) if name else (None, [])
        # The server is a process of its own, and must not outlive this one.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with rooms.serving(location, checkpoints, port) as server:
            typer.echo(f"Studio: {rooms.STUDIO}{server.url}")
            typer.echo(f"API:    {server.url}/docs")
            if experiment is not None:
                graph = rooms.graph_of(experiment)
                assistant = asyncio.run(rooms.register(server.url, experiment, found, graph))
                typer.echo(f"Assistant {experiment.name} ({assistant}) plays on with the experiment's settings")
            for one in found:
                told = f" (differs: {'; '.join(one.differs)})" if one.differs else ""
                typer.echo(f"{one.thread_id}  {one.trial.outcome:7} {one.trial.task_id}/{one.trial.trial}{told}")
            if no_wait:
                return
            if not no_browser and sys.stdout.isatty():
                webbrowser.open(f"{rooms.STUDIO}{server.url}")
            typer.echo("Ctrl-C stops the server", err=True)
            server.wait()


def _rebuilt(name: str, place: str | None, location: str, checkpoints: Path) -> "tuple[Experiment, list[OpenedTrial]]":
    from taugraph.experiments.studio import rebuild_trials, trials_to_open  # noqa: PLC0415 - heavy

    with opened(location, create=False) as results:
        experiment, trials = results.experiment(name), trials_to_open(results, name, place)
    return experiment, rebuild_trials(experiment, trials, checkpoints)
