"""Recorded trials in LangGraph Studio: their histories rebuilt, a server started, a thread registered for each."""

import asyncio
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.domains.trial import Trial
from taugraph.experiments.settings import HIDDEN, RunSettings, restored
from taugraph.experiments.store import Experiment, Store
from taugraph.graphs.casting import in_personas

MOST_TRIALS = 50
"""Trials that are opened unless one is named."""

STUDIO = "https://smith.langchain.com/studio/?baseUrl="
"""LangGraph's own page; it needs a browser with a login, the trials stay on this machine."""

_PATIENCE_S = 120.0
_FOLDER = Path(".taugraph/studio")


@dataclass(frozen=True)
class OpenedTrial:
    """A trial that can be opened.

    Attributes:
        thread_id: Its thread.
        trial: The trial.
        differs: In what its rebuilt end differs from the stored one.
    """

    thread_id: str
    trial: Trial
    differs: tuple[str, ...]


def trials_to_open(store: Store, name: str, place: str | None) -> list[Trial]:
    """Return the trials of an experiment, failed ones first, or the one at `TASK/TRIAL`.

    Raises:
        UnknownNameError: If there is no such experiment or trial.
    """
    experiment = store.experiment(name)
    if place is None:
        found = [trial for task_id in experiment.task_ids for trial in store.trials(name, task_id)]
        return sorted(found, key=lambda trial: trial.outcome != "failed")[:MOST_TRIALS]
    task_id, _, number = place.rpartition("/")
    known = [f"{row.task_id}/{row.trial}" for row in store.counts(name)]
    if place not in known:
        raise UnknownNameError("scored trial", place, known)
    return [trial for trial in store.trials(name, task_id) if str(trial.trial) == number]


def rebuild_trials(experiment: Experiment, trials: Sequence[Trial], checkpoints: Path) -> list[OpenedTrial]:
    """Rebuild the step histories of trials in a file of checkpoints.

    Raises:
        ConfigurationError: If the package that keeps checkpoints is missing.
        DataError: If the domain cannot be read.
    """
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _missing(error) from error
    from taugraph.experiments.rebuild import rebuild  # noqa: PLC0415 - only where a trial is opened

    settings = settings_of(experiment)
    rules = settings.context().rules()
    domain = in_personas(load_domain(settings.domain, settings.data), settings.personas)
    checkpoints.parent.mkdir(parents=True, exist_ok=True)

    async def work() -> list[OpenedTrial]:
        async with AsyncSqliteSaver.from_conn_string(str(checkpoints)) as saver:
            opened = []
            for trial in trials:
                found = await rebuild(trial, domain, rules, saver, experiment=experiment.name)
                opened.append(OpenedTrial(found.thread_id, trial, found.differs))
            return opened

    return asyncio.run(work())


def settings_of(experiment: Experiment) -> RunSettings:
    """Return the settings that an experiment was played with, without its secrets: nothing is asked of a model here.

    Raises:
        ConfigurationError: If they no longer fit.
    """
    left_out = ("identity", "floors")
    return restored({key: _shown(value) for key, value in experiment.configuration.items() if key not in left_out})


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items() if item != HIDDEN}
    return value


def context_of(experiment: Experiment) -> dict[str, Any]:
    """Return what a fork of the experiment's trials is played with, with paths that hold in any folder.

    Keys of models are left out; the server has those of its environment.

    Raises:
        ConfigurationError: If the settings no longer fit.
    """
    context = settings_of(experiment).context().model_dump(mode="json")
    for name in ("domain", "data", "agent", "examples", "user"):
        context[name] = _absolute(context[name])
    context["personas"] = [_absolute(name) for name in context["personas"]]
    return context


def _absolute(reference: str | None) -> str | None:
    """Return a reference with the file or folder that it begins with, if it does, as an absolute path."""
    kind, scripted, rest = (reference or "").rpartition("scripted:")
    place = rest.partition("#")[0] if "#" in rest else rest
    if place.endswith(".py") or ".py:" in place:
        place = place[: place.index(".py") + len(".py")]
    if kind or not place or "://" in place or not ("." in place or "/" in place) or not Path(place).exists():
        return reference
    return f"{scripted}{Path(place).absolute()}{rest[len(place) :]}"


def find_command() -> str:
    """Return the command that starts LangGraph's server.

    Raises:
        ConfigurationError: If langgraph-cli is not installed, or not with its server.
    """
    beside = Path(sys.executable).with_name("langgraph")
    found = str(beside) if beside.is_file() else shutil.which("langgraph")
    if found is None:
        raise _missing("langgraph-cli is not installed")
    for package in ("langgraph_api", "langgraph_sdk"):
        if importlib.util.find_spec(package) is None:
            raise _missing(f"{package} is not installed")
    return found


@dataclass(frozen=True)
class Serving:
    """A server that runs.

    Attributes:
        url: Its address.
        process: Its process.
    """

    url: str
    process: "subprocess.Popen[bytes]"

    def wait(self) -> None:
        """Wait until it ends.

        Raises:
            ConfigurationError: Once it has, because nobody asked it to.
        """
        code = self.process.wait()
        raise ConfigurationError(f"LangGraph's server ended with exit code {code}; {_log_ending()}")


@contextmanager
def serving(store: str, checkpoints: Path, port: int | None) -> Iterator[Serving]:
    """Start LangGraph's server on this machine, and yield it; it ends with the block.

    Raises:
        ConfigurationError: If langgraph-cli is missing, the port is taken, or the server does not come up.
    """
    command, chosen = find_command(), _find_port(port)
    _FOLDER.mkdir(parents=True, exist_ok=True)
    # The server's own files stay in the folder, and modules are found where the command was given.
    served = {**json.loads(_configuration()), "dependencies": [str(Path.cwd())]}
    (_FOLDER / "langgraph.json").write_text(json.dumps(served, indent=2), encoding="utf-8")
    environment = {
        **os.environ,
        "TAUGRAPH_STORE": store if "://" in store else str(Path(store).absolute()),
        "TAUGRAPH_CHECKPOINTS": str(checkpoints.absolute()),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
    }
    words = [command, "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(chosen)]
    words += ["--n-jobs-per-worker", "4"]
    with (_FOLDER / "server.log").open("wb") as log:
        process = subprocess.Popen(words, cwd=_FOLDER, env=environment, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{chosen}"
            _wait_for(url, process)
            yield Serving(url, process)
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def register(url: str, experiment: Experiment, opened: Sequence[OpenedTrial], graph: str) -> str:
    """Tell the server of the threads, so that it shows them, and of the experiment's settings, to play on with.

    Returns:
        Id of the assistant that has these settings, named like the experiment.

    Raises:
        ConfigurationError: If the settings no longer fit.
    """
    from langgraph_sdk import get_client  # noqa: PLC0415 - only where a server runs

    assistant = str(uuid5(NAMESPACE_URL, f"taugraph/{experiment.name}"))
    context: Any = context_of(experiment)
    async with get_client(url=url) as client:
        known = {"assistant_id": assistant, "name": experiment.name, "context": context}
        await client.assistants.create(graph, **known, if_exists="do_nothing")
        for one in opened:
            metadata: dict[str, Any] = {
                "experiment": experiment.name,
                "task_id": one.trial.task_id,
                "trial": one.trial.trial,
                "outcome": one.trial.outcome,
                "assistant_id": assistant,
            }
            await client.threads.create(
                thread_id=one.thread_id, graph_id=graph, metadata=metadata, if_exists="do_nothing"
            )
    return assistant


def graph_of(experiment: Experiment) -> str:
    """Return the name of the graph that serves an experiment's domain."""
    served = json.loads(_configuration())["graphs"]
    return experiment.domain if experiment.domain in served else "simulation"


def _configuration() -> str:
    return (Path(__file__).parents[1] / "langgraph.json").read_text(encoding="utf-8")


def _missing(reason: object) -> ConfigurationError:
    return ConfigurationError(f"Studio needs a package that is missing ({reason}): pip install 'taugraph[studio]'")


def _find_port(wanted: int | None) -> int:
    """Return a free port. `langgraph dev` would silently take another, and its neighbour would answer for it.

    Raises:
        ConfigurationError: If the wanted one is taken.
    """
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind(("127.0.0.1", wanted or 0))
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigurationError(f"cannot serve at port {wanted}: {reason}; give another --port") from error
        port: int = free.getsockname()[1]
        return port


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    import httpx  # noqa: PLC0415 - only where a server runs

    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/ok", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise ConfigurationError(f"LangGraph's server did not come up at {url}; {_log_ending()}")


def _log_ending() -> str:
    log = _FOLDER / "server.log"
    return f"{log} ends with: {' '.join(log.read_text(encoding='utf-8', errors='replace')[-500:].split())}"
