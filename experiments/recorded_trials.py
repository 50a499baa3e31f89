"""Where the step histories of recorded trials are kept, for LangGraph's server to open."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

CHECKPOINTS = "TAUGRAPH_CHECKPOINTS"
"""Environment variable that names the file."""

DEFAULT_CHECKPOINTS = ".taugraph/checkpoints.db"
"""The file unless told otherwise."""


@asynccontextmanager
async def checkpointer() -> AsyncIterator[AsyncSqliteSaver]:
    """Open the file, which is created if it is missing."""
    path = Path(os.environ.get(CHECKPOINTS) or DEFAULT_CHECKPOINTS)
    path.parent.mkdir(parents=True, exist_ok=True)
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await saver.setup()
        yield saver
