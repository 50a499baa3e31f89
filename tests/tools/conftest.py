"""Executors on our own airline, one per dialect, kept for all tests: a trial leaves no trace in them."""

from collections.abc import Iterator

import pytest
from support.airline import Trial, World

from taugraph.domains.airline.dialects import DIALECTS
from taugraph.tools.airline import domain
from taugraph.tools.executor import Executor


def executor_in(dialect: str) -> Iterator[Executor]:
    executor = Executor(domain.in_dialect(DIALECTS[dialect]))
    yield executor
    executor.close()


@pytest.fixture(scope="session")
def airline() -> Iterator[Executor]:
    yield from executor_in("taugraph")


@pytest.fixture(scope="session")
def published() -> Iterator[Executor]:
    yield from executor_in("tau-bench")


@pytest.fixture(scope="session")
def successor() -> Iterator[Executor]:
    yield from executor_in("tau2")


@pytest.fixture(params=list(DIALECTS))
def any_dialect(
    request: pytest.FixtureRequest, airline: Executor, published: Executor, successor: Executor
) -> Executor:
    return {"taugraph": airline, "tau-bench": published, "tau2": successor}[request.param]


@pytest.fixture(scope="session")
def world(airline: Executor) -> World:
    return World(airline)


@pytest.fixture
def trial(airline: Executor) -> Trial:
    return Trial(airline, {})


@pytest.fixture
def v1(published: Executor) -> Trial:
    return Trial(published, {})


@pytest.fixture
def v2(successor: Executor) -> Trial:
    return Trial(successor, {})
