"""LangGraph's development server on this machine, serving the graphs, the recorded trials and the results.

It runs in a folder of its own, where it may keep what it likes, and traces nothing, whatever the environment says.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taugraph.domains.errors import ConfigurationError

CHECKPOINTS = "TAUGRAPH_CHECKPOINTS"
"""Environment variable that names the file with the step histories of recorded trials."""

DEFAULT_CHECKPOINTS = ".taugraph/checkpoints.db"
"""The file unless told otherwise."""

FOLDER = Path(".taugraph/studio")
"""Where the server keeps its configuration, its log and its threads."""

_HOST = "127.0.0.1"
_PATIENCE_S = 120.0
_SHUTDOWN_S = 15.0
_QUIET = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
    "LANGSMITH_TRACING_V2": "false",
    "LANGCHAIN_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}


@dataclass(frozen=True)
class StudioServer:
    """A server that is up.

    Attributes:
        url: Its address.
        process: Its process.
        log: File with what it says.
    """

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def wait(self) -> None:
        """Wait until it ends, which by itself it should not.

        Raises:
            ConfigurationError: When it has ended.
        """
        code = self.process.wait()
        raise ConfigurationError(f"LangGraph's server ended with code {code}; {_ending(self.log)}")


@contextmanager
def serving(store: str, checkpoints: Path, port: int | None) -> Iterator[StudioServer]:
    """Start LangGraph's server on this machine, and yield it when it answers; it ends with the block.

    Args:
        store: Results store that it serves.
        checkpoints: File with the histories of recorded trials.
        port: Its port; `None` for a free one.

    Raises:
        ConfigurationError: If langgraph-cli is missing, the port is taken, or the server does not come up.
    """
    command, chosen = _command(), _free_port(port)
    FOLDER.mkdir(parents=True, exist_ok=True)
    # References to modules are looked up from the working directory, which is not the server's own.
    configuration = {**shipped_configuration(), "dependencies": [str(Path.cwd())]}
    (FOLDER / "langgraph.json").write_text(json.dumps(configuration, indent=2), encoding="utf-8")
    environment = {
        **os.environ,
        **_QUIET,
        "TAUGRAPH_STORE": store if "://" in store else str(Path(store).expanduser().absolute()),
        CHECKPOINTS: str(checkpoints.absolute()),
    }
    words = [command, "dev", "--no-browser", "--no-reload", "--host", _HOST, "--port", str(chosen)]
    log_file = FOLDER / "server.log"
    with log_file.open("wb") as log:
        process = subprocess.Popen(words, cwd=FOLDER, env=environment, stdout=log, stderr=log)
        server = StudioServer(f"http://{_HOST}:{chosen}", process, log_file)
        try:
            _wait_for(server)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(_SHUTDOWN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def checkpoints_file() -> Path:
    """Return the file with the step histories of recorded trials."""
    return Path(os.environ.get(CHECKPOINTS) or DEFAULT_CHECKPOINTS)


def shipped_configuration() -> dict[str, Any]:
    """Return the `langgraph.json` that comes with the package; it names modules, so it works from any folder."""
    text = (Path(__file__).parents[1] / "langgraph.json").read_text(encoding="utf-8")
    configuration: dict[str, Any] = json.loads(text)
    return configuration


def missing_package(reason: object) -> ConfigurationError:
    """Return the error for a package that Studio needs and that is not installed."""
    return ConfigurationError(f"Studio needs a package that is missing ({reason}): pip install 'taugraph[studio]'")


def _command() -> str:
    beside = Path(sys.executable).with_name("langgraph")
    found = str(beside) if beside.is_file() else shutil.which("langgraph")
    if found is None:
        raise missing_package("langgraph-cli is not installed")
    return found


def _free_port(wanted: int | None) -> int:
    """Return a port that is free: langgraph would take another one without a word."""
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind((_HOST, wanted or 0))
        except (OSError, OverflowError) as error:
            raise ConfigurationError(f"cannot use --port {wanted}: {error}; choose another, or leave it out") from error
        port: int = free.getsockname()[1]
        return port


def _wait_for(server: StudioServer) -> None:
    import httpx  # noqa: PLC0415 - only where a server runs

    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            if httpx.get(f"{server.url}/ok", timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise ConfigurationError(f"LangGraph's server did not come up at {server.url}; {_ending(server.log)}")


def _ending(log: Path) -> str:
    words = " ".join(log.read_text(encoding="utf-8", errors="replace")[-500:].split())
    return f"its log, {log}, ends with: {words or 'nothing'}"
