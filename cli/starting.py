"""The command that writes a starter: `init`."""

from pathlib import Path
from typing import Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.output import errors_in_one_line


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder of your agent.")] = Path(),
    agent: Annotated[
        str | None, typer.Option(help="Your agent: FILE.py:attr, module:attr, langgraph.json#name, or URL#assistant.")
    ] = None,
) -> None:
    """Write a starter next to your agent: taugraph.toml and a folder with a policy and one task."""
    with errors_in_one_line():
        from taugraph.experiments.starting import write_starter  # noqa: PLC0415 - heavy

        started = write_starter(folder, agent)
        for path in started.written:
            typer.echo(f"written: {path}")
        for path in started.left:
            typer.echo(f"left as it is: {path}")
        if started.agent is None:
            typer.echo('no agent was found: name yours in taugraph.toml, such as agent = "./agent.py:graph"')
        go = "" if folder == Path() else f"cd {folder} && "
        typer.echo(f"describe your tasks in {folder / 'evals' / 'tasks.yaml'}, then: {go}taugraph run")
