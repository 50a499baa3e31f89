"""The command that looks for bad tasks: `check`."""

import json
from typing import Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.options import Data, Domain, Json
from taugraph.cli.output import errors_in_one_line, read_settings


@app.command()
def check(
    domain: Domain = None,
    data: Data = None,
    split: Annotated[str | None, typer.Option(help="Check only the tasks of this split.")] = None,
    as_json: Json = False,
) -> None:
    """Check a domain's tasks: that they are sound, and that no agent which deserves nothing passes one."""
    given = {"domain": domain, "data": data}
    with errors_in_one_line(given):
        from taugraph.domains.domain import load_domain  # noqa: PLC0415 - heavy
        from taugraph.experiments.check import check_domain, render_check  # noqa: PLC0415 - heavy

        settings = read_settings(**given)
        found = check_domain(load_domain(settings.domain, settings.data), split)
        typer.echo(json.dumps(found.model_dump(mode="json"), indent=2) if as_json else render_check(found))
        raise typer.Exit(1 if found.faults else 0)
