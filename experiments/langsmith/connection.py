"""The connection to LangSmith: one client, errors in our words, and nothing sent unless it was asked for."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlparse

from langsmith import Client
from langsmith.utils import LangSmithConflictError, LangSmithError, get_env_var

from taugraph.domains.errors import ConfigurationError, TaugraphError


class LangSmithFailedError(TaugraphError):
    """LangSmith refused, failed or could not be reached; nothing that was computed is lost."""


class Connection:
    """A client that sends at once and keeps what went wrong."""

    def __init__(self) -> None:
        """Connect as the environment says: `LANGSMITH_ENDPOINT`, `LANGSMITH_API_KEY`, `LANGSMITH_WORKSPACE_ID`.

        Raises:
            ConfigurationError: If the hosted service is meant and there is no key.
        """
        self._errors: list[Exception] = []
        check_key()
        # Sampling is for traces of production: here a run that is left out would be missing from an experiment.
        os.environ.pop("LANGSMITH_TRACING_SAMPLING_RATE", None)
        # It logs every failure with its traceback; here each is raised, and said once.
        logging.getLogger("langsmith.client").setLevel(logging.CRITICAL)
        self.client = Client(auto_batch_tracing=False, tracing_error_callback=self._errors.append)

    def send_runs(self, runs: list[dict[str, Any]]) -> None:
        """Send whole runs, all of one trace.

        Raises:
            LangSmithFailedError: If they were not taken.
        """
        self._errors.clear()
        with langsmith_errors("send a trace"):
            self.client.multipart_ingest(create=runs)
        if self._errors and not isinstance(self._errors[-1], LangSmithConflictError):  # a conflict: it is there already
            raise LangSmithFailedError(f"cannot send a trace: {_in_words(self._errors[-1])}")

    def close(self) -> None:
        """Close the client."""
        self.client.close()


def check_key() -> None:
    """Refuse to go on without a key where the hosted service is meant.

    Raises:
        ConfigurationError: If there is none.
    """
    endpoint = get_env_var("ENDPOINT", default="https://api.smith.langchain.com") or ""
    hosted = (urlparse(endpoint).hostname or "").endswith("langchain.com")
    if hosted and not get_env_var("API_KEY"):
        raise ConfigurationError(
            "LangSmith needs a key: set LANGSMITH_API_KEY, or LANGSMITH_ENDPOINT to a server of your own; "
            "without --langsmith everything stays on this machine"
        )


@contextmanager
def langsmith_errors(doing: str) -> Iterator[None]:
    """Turn whatever the client raises into an error that says what was being done.

    Raises:
        LangSmithFailedError: If the client raises.
    """
    try:
        yield
    except (LangSmithError, OSError, ValueError) as error:
        raise LangSmithFailedError(
            f"cannot {doing} at LangSmith: {_in_words(error)}; look at LANGSMITH_ENDPOINT and LANGSMITH_API_KEY, "
            f"then run the command again: it goes on where it stopped"
        ) from error


def _in_words(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]}..."
