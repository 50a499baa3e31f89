"""One claim about a finished trial per module, and the statistics over many: pure functions.

The names exported here are the evaluators in LangSmith's form, for `langsmith.aevaluate` on a dataset of one's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taugraph.evaluators.langsmith import (
        claims_were_not_said,
        claims_were_said,
        database_matches_goal,
        pass_hat_k_summary,
        task_was_solved,
    )

__all__ = ["claims_were_not_said", "claims_were_said", "database_matches_goal", "pass_hat_k_summary", "task_was_solved"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("taugraph.evaluators.langsmith"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
