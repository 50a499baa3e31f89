"""A real LangGraph server for tests: `langgraph dev` in a folder of its own, on a free port of 127.0.0.1."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

_PATIENCE_S = 120.0
_QUIET = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
    "PYTHONUNBUFFERED": "1",
}


def find_langgraph() -> str | None:
    """Return the command of langgraph-cli; `None` if it is not installed beside this Python or on the path."""
    beside = Path(sys.executable).with_name("langgraph")
    return str(beside) if beside.is_file() else shutil.which("langgraph")


@dataclass(frozen=True)
class Serving:
    """A server that runs.

    Attributes:
        url: Its address.
        process: The process, leader of a group of its own.
    """

    url: str
    process: "subprocess.Popen[bytes]"

    def kill(self) -> None:
        """End it at once, as a crash would, if it has not ended yet."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def langgraph_server(folder: Path, command: str) -> Iterator[str]:
    """Serve the folder's `langgraph.json`, and yield the server's address.

    Raises:
        RuntimeError: If it does not answer in time.
    """
    with served(folder, command) as serving:
        yield serving.url


@contextmanager
def served(folder: Path, command: str) -> Iterator[Serving]:
    """Serve the folder's `langgraph.json`, and yield the server, which may be killed.

    Raises:
        RuntimeError: If it does not answer in time.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [command, "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    words += ["--n-jobs-per-worker", "4"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            words, cwd=folder, env={**os.environ, **_QUIET}, stdout=log, stderr=log, start_new_session=True
        )
        serving = Serving(f"http://127.0.0.1:{port}", process)
        try:
            _wait_for(serving.url, process, folder / "server.log")
            yield serving
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                serving.kill()


def _wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/ok", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError(f"the LangGraph server at {url} did not start: {log.read_text(errors='replace')[-2000:]}")
