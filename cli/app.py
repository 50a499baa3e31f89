"""The application that the commands join."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup


class _InOrder(TyperGroup):
    """Lists the commands in the order in which people need them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names: those that are named here first, then any other."""
        first = ["init", "run", "resume", "replay", "report", "compare", "experiments", "tasks", "check"]
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: first.index(name) if name in first else len(first))


app = typer.Typer(
    cls=_InOrder,
    help="Measure whether an agent can be trusted: the same task k times, counted only if every trial passes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from taugraph import __version__  # noqa: PLC0415 - only where it is asked for

        typer.echo(f"taugraph {__version__}")
        raise typer.Exit


@app.callback()
def _taugraph(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Measure whether an agent can be trusted: the same task k times, counted only if every trial passes."""
