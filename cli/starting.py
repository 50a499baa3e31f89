"""The command that writes a starter: `init`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.output import errors_in_one_line

if TYPE_CHECKING:
    from taugraph.experiments.starting import Started


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
        typer.echo(_about_agent(started, folder / "taugraph.toml"))
        go = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
        typer.echo(f"describe your tasks in {folder / 'evals' / 'tasks.yaml'}, then: {go}taugraph run")


def _about_agent(started: "Started", configuration: Path) -> str:
    """Say which agent the configuration names, and what else it could be."""
    if configuration in started.left:
        return f"the agent is the one that {configuration} names"
    if started.agent is None:
        return f"no agent was found: name yours in {configuration}"
    others = f"; there are also {', '.join(started.others)}" if started.others else ""
    return f"agent: {started.agent}{others}"
