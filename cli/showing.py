"""Commands that show what is there: `report`, `experiments`, `tasks`."""

from typing import Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.options import Data, Domain, Json, Name, StoreOption
from taugraph.cli.output import errors_in_one_line, opened, print_report, print_rows, read_settings, read_store


@app.command()
def report(name: Name, store: StoreOption = None, as_json: Json = False) -> None:
    """Print what an experiment says: pass^k with intervals, how flaky, what failed."""
    with errors_in_one_line(), opened(read_store(store), create=False) as results:
        print_report(name, results, as_json=as_json)


@app.command()
def experiments(store: StoreOption = None, as_json: Json = False) -> None:
    """List the experiments of the store, newest first."""
    with errors_in_one_line(), opened(read_store(store), create=False) as results:
        rows = [
            {
                "experiment": summary.experiment.name,
                "counts": {name: getattr(summary, name) for name in ("passed", "failed", "unscored", "planned")},
                "privileged": summary.experiment.privileged,
                "domain": summary.experiment.domain,
                "agent": summary.experiment.configuration.get("agent"),
                "kind": summary.experiment.kind,
                "created_at": summary.experiment.created_at.isoformat(timespec="seconds"),
            }
            for summary in results.experiments()
        ]
        print_rows(rows, as_json=as_json, empty="no experiments yet: play one with `taugraph run airline`")


@app.command()
def tasks(
    domain: Domain = None,
    data: Data = None,
    split: Annotated[str | None, typer.Option(help="List only the tasks of this split.")] = None,
    as_json: Json = False,
) -> None:
    """List a domain's tasks."""
    given = {"domain": domain, "data": data, "split": split}
    with errors_in_one_line(given):
        from taugraph.domains.domain import load_domain  # noqa: PLC0415 - heavy
        from taugraph.domains.errors import UnknownNameError  # noqa: PLC0415 - heavy

        settings = read_settings(**given)
        found = load_domain(settings.domain, settings.data)
        if settings.split is not None and settings.split not in found.splits():
            raise UnknownNameError("split", settings.split, found.splits())
        rows = [
            {
                "task": task.id,
                "splits": ",".join(task.splits),
                "gold_calls": len(task.gold),
                "claims": len(task.claims),
                "tags": ",".join(task.tags),
                "scenario": task.scenario.opening or task.scenario.instructions,
            }
            for task in found.tasks
            if settings.split is None or settings.split in task.splits
        ]
        print_rows(rows, as_json=as_json, empty="this domain has no tasks")
