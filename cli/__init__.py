"""The command line. Results go to stdout, everything else to stderr.

Exit codes: 0 everything planned was scored, 1 something is missing, 2 something is wrong with what was asked for,
130 interrupted. Heavy imports stand inside the commands, so that `--help` answers at once.
"""

import io
import logging
import sys

from taugraph.cli import checking as _checking
from taugraph.cli import comparing as _comparing
from taugraph.cli import langsmith as _langsmith
from taugraph.cli import playing as _playing
from taugraph.cli import showing as _showing
from taugraph.cli import starting as _starting
from taugraph.cli import studio as _studio
from taugraph.cli import users as _users
from taugraph.cli.app import app

__all__ = ["app", "main"]

_COMMANDS = (_studio, _starting, _playing, _showing, _checking, _langsmith, _users, _comparing)
"""Modules whose commands joined `app` when they were imported."""


def main() -> None:
    """Run the command line."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal in ASCII has no sign for plus-minus
    app()
