"""The command that compares two experiments: `compare`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.options import Json, StoreOption
from taugraph.cli.output import errors_in_one_line, opened, read_store

if TYPE_CHECKING:
    from taugraph.experiments.comparing import Side

_HELP = "an experiment of the store, or langsmith:EXPERIMENT."


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help=f"What to compare with: {_HELP}")],
    second: Annotated[str, typer.Argument(help=f"What is new: {_HELP}")],
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Compare two experiments: pass^1..k side by side, the tasks that changed, what differs in the configuration."""
    with errors_in_one_line():
        from taugraph.experiments.comparing import compare as compare_sides  # noqa: PLC0415 - heavy
        from taugraph.experiments.comparing_text import render_comparison  # noqa: PLC0415 - heavy

        location = read_store(store)
        found = compare_sides(_side(first, location), _side(second, location))
        typer.echo(json.dumps(found.model_dump(mode="json"), indent=2) if as_json else render_comparison(found))


def _side(name: str, location: str) -> "Side":
    from taugraph.experiments.comparing import REMOTE, local_side  # noqa: PLC0415 - heavy

    if not name.startswith(REMOTE):
        with opened(location, create=False) as results:
            return local_side(name, results)
    from taugraph.experiments.langsmith.connection import Connection  # noqa: PLC0415 - heavy
    from taugraph.experiments.langsmith.reading import remote_side  # noqa: PLC0415 - heavy

    return remote_side(Connection(), name.removeprefix(REMOTE))
