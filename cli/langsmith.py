"""Commands that talk to LangSmith: `push`, and `dataset push` and `pull`. Nothing else ever sends anything."""

import json
from pathlib import Path
from typing import Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.options import Data, Domain, ExperimentPrefix, Json, Name, StoreOption
from taugraph.cli.output import errors_in_one_line, opened, published_in_words, read_settings, read_store

dataset = typer.Typer(help="Keep tasks as a LangSmith dataset.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(dataset, name="dataset")

DatasetName = Annotated[str | None, typer.Option("--dataset", help="Name of the dataset. Default: taugraph/DOMAIN.")]


@app.command()
def push(
    name: Name, experiment_prefix: ExperimentPrefix = None, store: StoreOption = None, as_json: Json = False
) -> None:
    """Send a finished experiment to LangSmith, traces and scores; what was sent before is not sent again."""
    with errors_in_one_line(), opened(read_store(store), create=False) as results:
        from taugraph.experiments.display import progress_of  # noqa: PLC0415 - heavy
        from taugraph.experiments.langsmith.opening import open_publisher  # noqa: PLC0415 - heavy
        from taugraph.experiments.run import report_on  # noqa: PLC0415 - heavy

        publisher = open_publisher(name, results, experiment_prefix)
        with progress_of(len(results.counts(name))) as on_trial:
            publisher.send_stored(on_trial)
            published = publisher.finish(report_on(name, results))
        if as_json:
            typer.echo(json.dumps(published.model_dump(mode="json"), indent=2))
        else:
            typer.echo(published_in_words(published, name))
        raise typer.Exit(1 if published.failed or published.reason else 0)


@dataset.command("push")
def push_tasks(domain: Domain = None, data: Data = None, name: DatasetName = None, as_json: Json = False) -> None:
    """Make a LangSmith dataset hold a domain's tasks; pushing twice changes nothing."""
    with errors_in_one_line():
        from taugraph.domains.domain import load_domain  # noqa: PLC0415 - heavy
        from taugraph.experiments.langsmith.connection import Connection  # noqa: PLC0415 - heavy
        from taugraph.experiments.langsmith.datasets import push_dataset  # noqa: PLC0415 - heavy

        settings = read_settings(domain=domain, data=data)
        pushed = push_dataset(Connection(), load_domain(settings.domain, settings.data), name=name)
        if as_json:
            typer.echo(json.dumps(pushed.model_dump(mode="json"), indent=2))
            return
        typer.echo(
            f"dataset {pushed.dataset}: {len(pushed.added)} added, {len(pushed.changed)} changed, {pushed.same} same"
        )
        for task_id in pushed.changed:
            typer.echo(f"  changed: {task_id}")
        if pushed.elsewhere:
            typer.echo(f"  left alone, of no task here: {', '.join(pushed.elsewhere[:10])}")


@dataset.command("pull")
def pull_tasks(
    name: Annotated[str, typer.Argument(help="Name of the dataset, such as taugraph/airline.")],
    out: Annotated[Path, typer.Option(help="File of JSON lines to write.")] = Path("tasks.jsonl"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the tasks of a LangSmith dataset to a file."""
    with errors_in_one_line():
        from taugraph.domains.errors import ConfigurationError  # noqa: PLC0415 - heavy
        from taugraph.experiments.langsmith.connection import Connection  # noqa: PLC0415 - heavy
        from taugraph.experiments.langsmith.datasets import pull_dataset, write_tasks  # noqa: PLC0415 - heavy

        if out.exists() and not force:
            raise ConfigurationError(f"{out} exists; give another --out, or --force to overwrite it")
        tasks = pull_dataset(Connection(), name)
        write_tasks(tasks, out)
        typer.echo(f"{len(tasks)} tasks of {name} written to {out}")
