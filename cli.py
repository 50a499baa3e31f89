"""The command line. Results go to stdout, everything else to stderr.

Exit codes: 0 everything planned was scored, 1 something is missing, 2 something is wrong with what was asked for,
130 interrupted. Heavy imports stand inside the commands, so that `--help` answers at once.
"""

import io
import json
import logging
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from taugraph.experiments.replay import Replay
    from taugraph.experiments.run import Run
    from taugraph.experiments.settings import RunSettings
    from taugraph.experiments.store import Store

app = typer.Typer(
    help="Measure whether an agent can be trusted: the same task k times, counted only if every trial passes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Domain = Annotated[str | None, typer.Argument(help="Domain: a name such as airline, or package.module:attr.")]
Name = Annotated[str, typer.Argument(help="Name of the experiment.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="Results store: a file or database URL. Default: .taugraph/results.db.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Data = Annotated[Path | None, typer.Option(help="Folder with published files in place of the domain's own data.")]
Agent = Annotated[
    str | None, typer.Option(help="Agent under test: PROVIDER:MODEL, demo, demo:RATE, or a baseline such as noop.")
]
User = Annotated[str | None, typer.Option(help="Simulated user: demo, or PROVIDER:MODEL.")]
AgentOptions = Annotated[str | None, typer.Option(help="Options of the agent's model, a JSON object.")]
UserOptions = Annotated[str | None, typer.Option(help="Options of the user's model, a JSON object.")]
Trials = Annotated[
    int | None, typer.Option("--trials", "-k", help="Trials of every task: the k of pass^k. Default: 4.")
]
Tasks = Annotated[str | None, typer.Option(help="Task ids, separated by commas.")]
Split = Annotated[str | None, typer.Option(help="Split of the tasks; test where there is one.")]
Limit = Annotated[int | None, typer.Option(help="Take only the first so many tasks.")]
Concurrency = Annotated[int | None, typer.Option(help="Trials played at the same time. Default: 8.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the run. Default: 0.")]
NewName = Annotated[str | None, typer.Option("--name", help="Name of the new experiment; made up if unset.")]
Protocol = Annotated[str | None, typer.Option(help="Rules of conversation and scoring: strict or tau-bench.")]
MaxTurns = Annotated[int | None, typer.Option(help="User messages per trial at most.")]
MaxSteps = Annotated[int | None, typer.Option(help="Agent messages per trial at most.")]
MaxToolErrors = Annotated[int | None, typer.Option(help="Tool errors in a row at most.")]
TimeoutS = Annotated[float | None, typer.Option(help="Seconds one model call may take. Default: 120.")]
Attempts = Annotated[int | None, typer.Option(help="Attempts at one model call when the provider fails. Default: 4.")]


@app.command()
def run(  # noqa: PLR0913 - one parameter per option
    domain: Domain = None,
    agent: Agent = None,
    user: User = None,
    trials: Trials = None,
    tasks: Tasks = None,
    split: Split = None,
    limit: Limit = None,
    concurrency: Concurrency = None,
    seed: Seed = None,
    name: NewName = None,
    data: Data = None,
    protocol: Protocol = None,
    agent_options: AgentOptions = None,
    user_options: UserOptions = None,
    max_turns: MaxTurns = None,
    max_steps: MaxSteps = None,
    max_tool_errors: MaxToolErrors = None,
    timeout_s: TimeoutS = None,
    attempts: Attempts = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Play a domain's tasks k times each and report pass^k. Without options it plays a demonstration, no key needed."""
    given = {key: value for key, value in locals().items() if key not in ("name", "as_json")}
    with _errors_in_one_line():
        from taugraph.experiments.run import start_run  # noqa: PLC0415 - heavy

        settings = _settings(**given)
        with _open(settings.store) as results:
            _play(start_run(settings, results, name), settings.store, results, as_json=as_json)


@app.command()
def resume(  # noqa: PLR0913 - one parameter per option
    name: Name,
    concurrency: Concurrency = None,
    data: Data = None,
    agent_options: AgentOptions = None,
    user_options: UserOptions = None,
    timeout_s: TimeoutS = None,
    attempts: Attempts = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Play what is missing of an experiment, under the conditions it was started with."""
    given = {key: value for key, value in locals().items() if key not in ("name", "as_json", "store")}
    with _errors_in_one_line():
        from taugraph.experiments.run import resume_run  # noqa: PLC0415 - heavy

        location = _settings(store=store).store
        with _open(location, create=False) as results:
            if results.experiment(name).kind == "run" and not results.missing(name):
                _print_report(name, results, as_json=as_json)
                return
            _play(resume_run(name, results, **given), location, results, as_json=as_json)


@app.command()
def replay(  # noqa: PLR0913 - one parameter per option
    file: Annotated[Path, typer.Argument(help="Recorded conversations in tau-bench's results format.")],
    domain: Annotated[str | None, typer.Option(help="Domain they were recorded on.")] = None,
    data: Data = None,
    protocol: Annotated[str | None, typer.Option(help="Rules of scoring. Default: tau-bench.")] = None,
    concurrency: Concurrency = None,
    name: NewName = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Replay recorded conversations through our tools and scoring, and compare the rewards."""
    with _errors_in_one_line():
        from taugraph.experiments.replay import start_replay  # noqa: PLC0415 - heavy
        from taugraph.experiments.run import new_name  # noqa: PLC0415 - heavy

        settings = _settings(domain=domain, data=data, protocol=protocol, concurrency=concurrency, store=store)
        if "protocol" not in settings.model_fields_set:
            settings = settings.model_copy(update={"protocol": "tau-bench"})
        with _open(settings.store) as results:
            started = start_replay(file, settings, results, name or new_name(f"replay-{settings.domain}"))
            _play(started, settings.store, results, as_json=as_json)


@app.command()
def report(name: Name, store: StoreOption = None, as_json: Json = False) -> None:
    """Print what an experiment says: pass^k with intervals, how flaky, what failed."""
    with _errors_in_one_line(), _open(_settings(store=store).store, create=False) as results:
        _print_report(name, results, as_json=as_json)


@app.command()
def experiments(store: StoreOption = None, as_json: Json = False) -> None:
    """List the experiments of the store, newest first."""
    with _errors_in_one_line(), _open(_settings(store=store).store, create=False) as results:
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
        _print_rows(rows, as_json=as_json, empty="no experiments yet: play one with `taugraph run airline`")


@app.command()
def tasks(
    domain: Domain = None,
    data: Data = None,
    split: Split = None,
    as_json: Json = False,
) -> None:
    """List a domain's tasks."""
    with _errors_in_one_line():
        from taugraph.domains.domain import load_domain  # noqa: PLC0415 - heavy
        from taugraph.domains.errors import UnknownNameError  # noqa: PLC0415 - heavy

        settings = _settings(domain=domain, data=data, split=split)
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
        _print_rows(rows, as_json=as_json, empty="this domain has no tasks")


@app.command()
def check(
    domain: Domain = None,
    data: Data = None,
    split: Annotated[str | None, typer.Option(help="Check only the tasks of this split.")] = None,
    as_json: Json = False,
) -> None:
    """Check a domain's tasks: that they are sound, and that no agent which deserves nothing passes one."""
    with _errors_in_one_line():
        from taugraph.domains.domain import load_domain  # noqa: PLC0415 - heavy
        from taugraph.experiments.check import check_domain, render_check  # noqa: PLC0415 - heavy

        settings = _settings(domain=domain, data=data)
        found = check_domain(load_domain(settings.domain, settings.data), split)
        typer.echo(json.dumps(found.model_dump(mode="json"), indent=2) if as_json else render_check(found))
        raise typer.Exit(1 if found.faults else 0)


def main() -> None:
    """Run the command line."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal in ASCII has no sign for plus-minus
    app()


def _play(started: "Run | Replay", location: str, results: "Store", *, as_json: bool) -> None:
    """Play with a progress display, print the report, and end with the exit code that fits."""
    from taugraph.experiments.display import progress_of  # noqa: PLC0415 - heavy

    with progress_of(started.missing) as on_trial:
        ended_early = started.play(on_trial)
    agreement = started.agreement() if hasattr(started, "agreement") else None
    _print_report(started.name, results, as_json=as_json, agreement=agreement)
    still = started.missing if agreement is None else 0
    if ended_early and ended_early != "interrupted":
        _complain(ended_early)
    if still:
        typer.echo(f"trials missing: {still}; play them with: {_resume_command(started.name, location)}", err=True)
    raise typer.Exit(130 if ended_early == "interrupted" else 2 if ended_early else 1 if still else 0)


def _resume_command(name: str, location: str) -> str:
    """Return what to type to go on; a password in the store's address is left for the reader to fill in."""
    from taugraph.experiments.settings import DEFAULT_STORE, without_secrets  # noqa: PLC0415 - heavy

    words = ["taugraph", "resume", *(["--"] if name.startswith("-") else []), name]
    if location != DEFAULT_STORE:
        words[2:2] = ["--store", str(without_secrets(location))]
    return shlex.join(words)


def _complain(text: str) -> None:
    typer.echo(f"taugraph: {' '.join(text.split())}", err=True)


def _print_report(name: str, results: "Store", *, as_json: bool, agreement: Any = None) -> None:
    from taugraph.experiments.report_text import render_report  # noqa: PLC0415 - heavy
    from taugraph.experiments.run import report_on  # noqa: PLC0415 - heavy

    found = report_on(name, results)
    if as_json:
        document = found.model_dump(mode="json")
        if agreement is not None:
            document["agreement"] = agreement.model_dump(mode="json")
        typer.echo(json.dumps(document, indent=2, ensure_ascii=True))
        return
    typer.echo(render_report(found))
    if agreement is not None:
        typer.echo(f"\nrewards agree in {agreement.same}/{agreement.same + len(agreement.different)} trials")
        for row in agreement.different:
            place = f"task {row.task_id} trial {row.trial}"
            typer.echo(f"  {place}: recorded {row.recorded}, ours {row.ours}: {row.reason}")
    typer.echo(f"\nexperiment {name}")


def _print_rows(rows: list[dict[str, Any]], *, as_json: bool, empty: str) -> None:
    from taugraph.experiments.display import table_of  # noqa: PLC0415 - heavy

    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=True))
    else:
        typer.echo(table_of(rows) if rows else empty)


def _settings(**given: Any) -> "RunSettings":
    from taugraph.experiments.settings import load_settings  # noqa: PLC0415 - heavy

    return load_settings(**given)


@contextmanager
def _open(location: str, *, create: bool = True) -> Iterator["Store"]:
    from taugraph.domains.errors import StoreError  # noqa: PLC0415 - heavy
    from taugraph.experiments.store import open_store  # noqa: PLC0415 - heavy

    if not create and "://" not in location and not Path(location).exists():
        raise StoreError(f"no results store at {location!r}: play a run first, or name the store with --store")
    with open_store(location) as store:
        yield store


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """End with exit code 2 and one line for what the person who typed the command can mend."""
    from taugraph.domains.errors import TaugraphError  # noqa: PLC0415 - heavy

    try:
        yield
    except TaugraphError as error:
        _complain(str(error))
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
