"""Keeping traces at home: LangChain sends them by itself wherever the environment has a key and says so."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from langsmith import tracing_context

_P = ParamSpec("_P")
_T = TypeVar("_T")


def untraced(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a function run without sending any trace, whatever the environment says."""

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with tracing_context(enabled=False):
            return function(*args, **kwargs)

    return run
