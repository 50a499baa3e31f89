"""What commands print, and how they end: results on stdout, all else on stderr, one line for what can be mended."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from taugraph.domains.errors import TaugraphError
    from taugraph.domains.trial import Trial
    from taugraph.experiments.langsmith.publishing import Published, Publisher
    from taugraph.experiments.replay import Replay
    from taugraph.experiments.run import Run
    from taugraph.experiments.settings import RunSettings
    from taugraph.experiments.store import Store
    from taugraph.graphs.agents.tool_match import ToolMatch


def play(
    started: "Run | Replay", location: str, results: "Store", *, as_json: bool, publisher: "Publisher | None" = None
) -> None:
    """Play with a progress display, print the report, and end with the exit code that fits.

    Args:
        started: What is to be played.
        location: Where the store is, for the command to go on with.
        results: The store.
        as_json: Whether the report is JSON.
        publisher: Sends the trials to LangSmith meanwhile; `None` to send nothing.
    """
    from taugraph.experiments.display import progress_of  # noqa: PLC0415 - heavy

    with progress_of(started.missing, is_quiet=getattr(started, "is_interactive", False)) as on_trial:
        ended_early = started.play(on_trial if publisher is None else both(publisher, on_trial))
    agreement = started.agreement() if hasattr(started, "agreement") else None
    print_report(started.name, results, as_json=as_json, agreement=agreement)
    if publisher is not None:
        from taugraph.experiments.run import report_on  # noqa: PLC0415 - heavy

        typer.echo(published_in_words(publisher.finish(report_on(started.name, results)), started.name), err=True)
    still = started.missing if agreement is None else 0
    if ended_early and ended_early != "interrupted":
        complain(ended_early)
    if still:
        typer.echo(f"trials missing: {still}; play them with: {resume_command(started.name, location)}", err=True)
    raise typer.Exit(130 if ended_early == "interrupted" else 2 if ended_early else 1 if still else 0)


def both(first: "Callable[[Trial], None]", second: "Callable[[Trial], None]") -> "Callable[[Trial], None]":
    """Return what tells both of every trial."""

    def tell(trial: "Trial") -> None:
        first(trial)
        second(trial)

    return tell


def resume_command(name: str, location: str) -> str:
    """Return what to type to go on; a password in the store's address is left for the reader to fill in."""
    from taugraph.experiments.settings import DEFAULT_STORE, without_secrets  # noqa: PLC0415 - heavy

    words = ["taugraph", "resume", *(["--"] if name.startswith("-") else []), name]
    if location != DEFAULT_STORE:
        words[2:2] = ["--store", str(without_secrets(location))]
    return shlex.join(words)


def show_tools(match: "ToolMatch | None") -> None:
    """Say how the agent's tools compare with the domain's, where they can be seen."""
    from taugraph.graphs.agents.tool_match import render_match  # noqa: PLC0415 - heavy

    if match is not None:
        typer.echo(render_match(match), err=True)


def complain(text: str) -> None:
    """Say what is wrong, in one line."""
    typer.echo(f"taugraph: {' '.join(text.split())}", err=True)


def print_report(name: str, results: "Store", *, as_json: bool, agreement: Any = None) -> None:
    """Print an experiment's report, with the agreement of a replay."""
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


def print_rows(rows: list[dict[str, Any]], *, as_json: bool, empty: str) -> None:
    """Print rows as a table, or what to say where there are none."""
    from taugraph.experiments.display import table_of  # noqa: PLC0415 - heavy

    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=True))
    else:
        typer.echo(table_of(rows) if rows else empty)


def read_store(given: str | None) -> str:
    """Return where the store is, whatever else is wrong with the settings."""
    from taugraph.experiments.settings import find_store  # noqa: PLC0415 - heavy

    return find_store(given)


def read_settings(**given: Any) -> "RunSettings":
    """Join the given settings with the environment and `taugraph.toml`."""
    from taugraph.experiments.settings import load_settings  # noqa: PLC0415 - heavy

    return load_settings(**given)


@contextmanager
def opened(location: str, *, create: bool = True) -> Iterator["Store"]:
    """Open the results store, which has to exist unless it may be created."""
    from taugraph.domains.errors import StoreError  # noqa: PLC0415 - heavy
    from taugraph.experiments.store import open_store  # noqa: PLC0415 - heavy

    if not create and "://" not in location and not Path(location).exists():
        raise StoreError(f"no results store at {location!r}: play a run first, or name the store with --store")
    with open_store(location) as store:
        yield store


@contextmanager
def errors_in_one_line(given: "Mapping[str, Any] | None" = None) -> Iterator[None]:
    """End with exit code 2 and one line for what the person who typed the command can mend.

    Args:
        given: The settings that could be typed, to tell them from those that stand elsewhere; `None` where the
            environment and `taugraph.toml` do not matter.
    """
    from taugraph.domains.errors import TaugraphError  # noqa: PLC0415 - heavy

    try:
        yield
    except TaugraphError as error:
        complain(str(error) if given is None else _worded(error, given))
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _worded(error: "TaugraphError", given: "Mapping[str, Any]") -> str:
    from taugraph.experiments.setting_places import word_by_place  # noqa: PLC0415 - only where it went wrong

    return word_by_place(error, given)


def published_in_words(published: "Published", name: str) -> str:
    """Return what a push came to, as lines."""
    total = published.sent + published.before + published.failed
    lines = [f"LangSmith experiment {published.experiment}: {published.sent + published.before} of {total} trials sent"]
    if published.url:
        lines.append(published.url)
    if published.failed:
        lines.append(
            f"{published.failed} could not be sent, but are safe in the store: `taugraph push {name}` sends them"
        )
    if published.reason:
        lines.append(f"last reason: {published.reason}")
    return "\n".join(lines)
