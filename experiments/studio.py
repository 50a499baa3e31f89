"""Recorded trials in LangGraph Studio: their histories rebuilt, a server started, a thread registered for each."""

import asyncio
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

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.domains.trial import Trial
from taugraph.experiments.settings import RunSettings, restored
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
    domain = in_personas(load_domain(settings.domain, settings.data), settings.personas)
    checkpoints.parent.mkdir(parents=True, exist_ok=True)

    async def work() -> list[OpenedTrial]:
        async with AsyncSqliteSaver.from_conn_string(str(checkpoints)) as saver:
            opened = []
            for trial in trials:
                found = await rebuild(trial, domain, settings.context().rules(), saver, experiment=experiment.name)
                opened.append(OpenedTrial(found.thread_id, trial, found.differs))
            return opened

    return asyncio.run(work())


def settings_of(experiment: Experiment) -> RunSettings:
    """Return the settings that an experiment was played with."""
    left_out = ("identity", "floors")
    return restored({key: value for key, value in experiment.configuration.items() if key not in left_out})


@contextmanager
def serving(store: str, checkpoints: Path, port: int | None) -> Iterator[str]:
    """Start LangGraph's server on this machine, and yield its address; it ends with the block.

    Raises:
        ConfigurationError: If langgraph-cli is missing, or the server does not come up.
    """
    command = _command()
    chosen = port or _free_port()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    shipped = json.loads(_configuration())
    (_FOLDER / "langgraph.json").write_text(json.dumps({**shipped, "dependencies": ["."]}, indent=2), encoding="utf-8")
    location = store if "://" in store else str(Path(store).absolute())
    environment = {
        **os.environ,
        "TAUGRAPH_STORE": location,
        "TAUGRAPH_CHECKPOINTS": str(checkpoints.absolute()),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
    }
    words = [command, "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(chosen)]
    with (_FOLDER / "server.log").open("wb") as log:
        process = subprocess.Popen(words, cwd=_FOLDER, env=environment, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{chosen}"
            _wait_for(url, process)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


async def register(url: str, experiment: Experiment, opened: Sequence[OpenedTrial], graph: str) -> None:
    """Tell the server of the threads, so that it shows them."""
    from langgraph_sdk import get_client  # noqa: PLC0415 - only where a server runs

    async with get_client(url=url) as client:
        for one in opened:
            metadata: dict[str, Any] = {
                "experiment": experiment.name,
                "task_id": one.trial.task_id,
                "trial": one.trial.trial,
                "outcome": one.trial.outcome,
            }
            await client.threads.create(
                thread_id=one.thread_id, graph_id=graph, metadata=metadata, if_exists="do_nothing"
            )


def graph_of(experiment: Experiment) -> str:
    """Return the name of the graph that serves an experiment's domain."""
    served = json.loads(_configuration())["graphs"]
    return experiment.domain if experiment.domain in served else "simulation"


def _configuration() -> str:
    return (Path(__file__).parents[1] / "langgraph.json").read_text(encoding="utf-8")


def _command() -> str:
    beside = Path(sys.executable).with_name("langgraph")
    found = str(beside) if beside.is_file() else shutil.which("langgraph")
    if found is None:
        raise _missing("langgraph-cli is not installed")
    return found


def _missing(reason: object) -> ConfigurationError:
    return ConfigurationError(f"Studio needs a package that is missing ({reason}): pip install 'taugraph[studio]'")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
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
    tail = (_FOLDER / "server.log").read_text(encoding="utf-8", errors="replace")[-500:]
    ending = " ".join(tail.split())
    raise ConfigurationError(f"LangGraph's server did not come up at {url}; its log ends with: {ending}")
