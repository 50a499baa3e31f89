"""Commands that play trials: `run`, `resume`, `replay`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taugraph.cli.app import app
from taugraph.cli.options import (
    Agent,
    AgentOptions,
    AgentTimeoutS,
    Attempts,
    Concurrency,
    Data,
    Domain,
    Examples,
    ExperimentPrefix,
    Json,
    KeepThreads,
    LangSmith,
    Limit,
    MaxSteps,
    MaxToolErrors,
    MaxTurns,
    Name,
    NewName,
    Personas,
    Protocol,
    Seed,
    Server,
    Split,
    StoreOption,
    Strategy,
    Tasks,
    TimeoutS,
    Trials,
    User,
    UserOptions,
    UserStrategy,
)
from taugraph.cli.output import errors_in_one_line, opened, play, print_report, read_settings, read_store, show_tools

if TYPE_CHECKING:
    from taugraph.experiments.langsmith.publishing import Publisher
    from taugraph.experiments.store import Store


_NOT_SETTINGS = ("name", "as_json", "langsmith", "experiment_prefix")
"""Options of a command that are no settings of the run."""


@app.command()
def run(  # noqa: PLR0913 - one parameter per option
    domain: Domain = None,
    agent: Agent = None,
    strategy: Strategy = None,
    examples: Examples = None,
    user: User = None,
    user_strategy: UserStrategy = None,
    personas: Personas = None,
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
    agent_timeout_s: AgentTimeoutS = None,
    attempts: Attempts = None,
    server: Server = None,
    keep_threads: KeepThreads = None,
    langsmith: LangSmith = False,
    experiment_prefix: ExperimentPrefix = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Play a domain's tasks k times each and report pass^k. Without options it plays a demonstration, no key needed."""
    given = {key: value for key, value in locals().items() if key not in _NOT_SETTINGS}
    with errors_in_one_line(given):
        from taugraph.experiments.run import start_run  # noqa: PLC0415 - heavy

        settings = read_settings(**given)
        with opened(settings.store) as results:
            if langsmith:
                _check_key()
            started = start_run(settings, results, name)
            started.on_ready = show_tools
            publisher = _publisher(started.name, results, experiment_prefix) if langsmith else None
            play(started, settings.store, results, as_json=as_json, publisher=publisher)


@app.command()
def resume(  # noqa: PLR0913 - one parameter per option
    name: Name,
    concurrency: Concurrency = None,
    data: Data = None,
    agent_options: AgentOptions = None,
    user_options: UserOptions = None,
    timeout_s: TimeoutS = None,
    attempts: Attempts = None,
    server: Server = None,
    keep_threads: KeepThreads = None,
    langsmith: LangSmith = False,
    experiment_prefix: ExperimentPrefix = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Play what is missing of an experiment, under the conditions it was started with."""
    given = {key: value for key, value in locals().items() if key not in (*_NOT_SETTINGS, "store")}
    with errors_in_one_line():
        from taugraph.experiments.run import resume_run  # noqa: PLC0415 - heavy

        location = read_store(store)
        with opened(location, create=False) as results:
            if results.experiment(name).kind == "run" and not results.missing(name) and not langsmith:
                print_report(name, results, as_json=as_json)
                return
            started = resume_run(name, results, **given)
            publisher = _publisher(name, results, experiment_prefix) if langsmith else None
            play(started, location, results, as_json=as_json, publisher=publisher)


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
    given = {"domain": domain, "data": data, "protocol": protocol, "concurrency": concurrency, "store": store}
    with errors_in_one_line(given):
        from taugraph.experiments.replay import start_replay  # noqa: PLC0415 - heavy
        from taugraph.experiments.run import new_name  # noqa: PLC0415 - heavy

        settings = read_settings(**given)
        if "protocol" not in settings.model_fields_set:
            settings = settings.model_copy(update={"protocol": "tau-bench"})
        with opened(settings.store) as results:
            started = start_replay(file, settings, results, name or new_name(f"replay-{settings.domain}"))
            play(started, settings.store, results, as_json=as_json)


def _check_key() -> None:
    """Refuse to begin what could not be sent."""
    from taugraph.experiments.langsmith.connection import check_key  # noqa: PLC0415 - heavy

    check_key()


def _publisher(name: str, results: "Store", prefix: str | None) -> "Publisher":
    """Return what sends the trials to LangSmith, those first that are in the store and were not sent."""
    from taugraph.experiments.langsmith.opening import open_publisher  # noqa: PLC0415 - heavy

    publisher = open_publisher(name, results, prefix)
    publisher.send_stored()
    return publisher
