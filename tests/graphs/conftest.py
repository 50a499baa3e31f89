"""What the tests of this folder share: `acting`, and stages that are closed when a test ends."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from taugraph.graphs.stage import Stage

sys.path.insert(0, str(Path(__file__).parent))

from acting import AIRLINE, ScriptedAgent, ScriptedUser, rules


@pytest.fixture
def set_stage() -> Iterator[Callable[..., Stage]]:
    """Return a function that sets a stage for an agent's and a user's lines, under `strict` unless told otherwise."""
    stages: list[Stage] = []

    def build(agent: Any, user: Any, protocol: str = "strict", **limits: int) -> Stage:
        stage = Stage(
            domain=AIRLINE,
            agent=ScriptedAgent(*agent) if isinstance(agent, list) else agent,
            user=ScriptedUser(*user) if isinstance(user, list) else user,
            protocol=rules(protocol, **limits),
        )
        stages.append(stage)
        return stage

    yield build
    for stage in stages:
        stage.close()
