"""What the tests of this folder share: `acting`, and stages on one executor."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from taugraph.graphs.stage import Stage
from taugraph.tools.executor import Executor

sys.path.insert(0, str(Path(__file__).parent))

from acting import AIRLINE, ScriptedAgent, ScriptedUser, rules


@pytest.fixture(scope="session")
def executor() -> Iterator[Executor]:
    """Run the calls of all stages, so that they share their copies of the seed as the trials of a run do."""
    shared = Executor(AIRLINE)
    yield shared
    shared.close()


@pytest.fixture
def set_stage(executor: Executor) -> Callable[..., Stage]:
    """Return a function that sets a stage for an agent's and a user's lines, under `strict` unless told otherwise."""

    def build(agent: Any, user: Any, protocol: str = "strict", **limits: int) -> Stage:
        stage = Stage(
            domain=AIRLINE,
            agent=ScriptedAgent(*agent) if isinstance(agent, list) else agent,
            user=ScriptedUser(*user) if isinstance(user, list) else user,
            protocol=rules(protocol, **limits),
        )
        stage.executor = executor
        return stage

    return build
