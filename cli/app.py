"""The application that the commands join."""

from typing import Any

import typer
from typer.core import TyperGroup


class _InOrder(TyperGroup):
    """Lists the commands in the order in which people need them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names: those that are named here first, then any other."""
        first = ["init", "run", "resume", "replay", "report", "experiments", "tasks", "check", "users"]
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
