"""The commands about simulated users: `users compare`."""

import json
from typing import Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.options import Json, StoreOption
from taugraph.cli.output import errors_in_one_line, opened, read_store

users = typer.Typer(help="Look at the simulated users.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(users, name="users")


@users.callback()
def _users() -> None:
    """Look at the simulated users."""


@users.command()
def compare(
    first: Annotated[str, typer.Argument(help="Experiment with one user.")],
    second: Annotated[str, typer.Argument(help="Experiment with the other, all else the same.")],
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Compare two simulated users: their faults, their turns, and what they do to pass^k."""
    with errors_in_one_line(), opened(read_store(store), create=False) as results:
        from taugraph.experiments.users import compare_users  # noqa: PLC0415 - heavy
        from taugraph.experiments.users_text import render_users  # noqa: PLC0415 - heavy

        found = compare_users(first, second, results)
        typer.echo(json.dumps(found.model_dump(mode="json"), indent=2) if as_json else render_users(found))
