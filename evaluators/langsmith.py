"""The evaluators in LangSmith's form, for `langsmith.aevaluate` on a dataset of one's own and for existing experiments.

They read `outputs` (what the target returned) and `reference_outputs` (what the example holds):

    outputs            messages      the conversation, as LangChain messages or dictionaries of role and content
                       changes       net row changes of the database, or `database`: table -> rows
                       reward        in [0, 1], where a target scores itself
    reference_outputs  changes       the accepted net changes, one or a list of them, or `database`
                       claims        what must have been said: {"value": "12.50", "kind": "money"}, or plain text
                       must_not_say  what must not have been said

A run that raised is 0, never skipped; a criterion that the example lacks gives no score.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, convert_to_messages, messages_from_dict

from taugraph.domains.domain import RowComparison
from taugraph.domains.task import Claim, ClaimKind
from taugraph.domains.trial import Score
from taugraph.evaluators.claims import claims_were_not_said as _not_said
from taugraph.evaluators.claims import claims_were_said as _said
from taugraph.evaluators.database import database_matches_a_goal
from taugraph.evaluators.reliability import TaskCount, pass_hat_k

Feedback = dict[str, Any]
"""`key`, `score` in [0, 1] or `None`, and `comment`."""

_PASSED = 1.0 - 1e-6


def database_matches_goal(outputs: Mapping[str, Any] | None, reference_outputs: Mapping[str, Any] | None) -> Feedback:
    """Tell whether the database ended as one of the accepted ends, row by row and typed."""
    wanted, got = _accepted(reference_outputs), _changes(outputs)
    if wanted is None:
        return _none("database_matches_goal", "the example holds neither `changes` nor `database`")
    if got is None:
        return _missing("database_matches_goal", "changes` or `database")
    return _feedback(database_matches_a_goal(got, wanted, RowComparison()))


def claims_were_said(outputs: Mapping[str, Any] | None, reference_outputs: Mapping[str, Any] | None) -> Feedback:
    """Tell whether the user was told all that had to be told; text beside a tool call was never delivered."""
    claims = _claims(reference_outputs, "claims")
    if not claims:
        return _none("claims_were_said", "the example holds no `claims`")
    delivered = _delivered(outputs)
    return _missing("claims_were_said", "messages") if delivered is None else _feedback(_said(claims, delivered))


def claims_were_not_said(outputs: Mapping[str, Any] | None, reference_outputs: Mapping[str, Any] | None) -> Feedback:
    """Tell whether the user was told nothing that must not be said."""
    claims = _claims(reference_outputs, "must_not_say")
    if not claims:
        return _none("claims_were_not_said", "the example holds no `must_not_say`")
    delivered = _delivered(outputs)
    return (
        _missing("claims_were_not_said", "messages") if delivered is None else _feedback(_not_said(claims, delivered))
    )


def task_was_solved(outputs: Mapping[str, Any] | None, reference_outputs: Mapping[str, Any] | None) -> Feedback:
    """Return the reward that the target says, or else the product of the evaluators that have a criterion."""
    if outputs and isinstance(outputs.get("reward"), int | float):
        return {"key": "reward", "score": float(outputs["reward"]), "comment": None}
    parts = [
        evaluator(outputs, reference_outputs)["score"]
        for evaluator in (database_matches_goal, claims_were_said, claims_were_not_said)
    ]
    known = [part for part in parts if part is not None]
    if not known:
        return _none("reward", "the example holds nothing to judge by")
    return {"key": "reward", "score": float(all(part >= _PASSED for part in known)), "comment": None}


def pass_hat_k_summary(runs: Sequence[Any], examples: Sequence[Any]) -> dict[str, list[Feedback]]:
    """Estimate pass^1..k of an experiment with repetitions; use it as a summary evaluator.

    A run passes if `task_was_solved` gives its outputs 1; a run that raised has failed. k goes up to the fewest
    repetitions that an example has.

    Args:
        runs: Runs of the experiment, in any order.
        examples: The example of each run, aligned.
    """
    passes: dict[Any, list[bool]] = defaultdict(list)
    for run, example in zip(runs, examples, strict=True):
        passes[example.id].append(_has_passed(run, example))
    if not passes:
        return {"results": []}
    counts = [TaskCount(str(name), len(each), sum(each)) for name, each in passes.items()]
    most = min(len(each) for each in passes.values())
    results = []
    for k in range(1, most + 1):
        estimate = pass_hat_k(counts, k)
        interval = "" if estimate.low is None else f"95 % {estimate.low:.3f} to {estimate.high:.3f}, "
        results.append({"key": f"pass^{k}", "score": estimate.value, "comment": f"{interval}{len(counts)} tasks"})
    return {"results": results}


def _has_passed(run: Any, example: Any) -> bool:
    if run.error:
        return False
    score = task_was_solved(run.outputs, example.outputs)["score"]
    return score is not None and score >= _PASSED


def _accepted(reference: Mapping[str, Any] | None) -> list[Any] | None:
    found = _changes(reference)
    if found is None:
        return None
    return found if isinstance(found, list) else [found]


def _changes(document: Mapping[str, Any] | None) -> Any:
    """Return net changes; a whole database counts as rows that were not there before."""
    if not document:
        return None
    if document.get("changes") is not None:
        return document["changes"]
    database = document.get("database")
    if database is None:
        return None
    return {
        table: {f'["{number}"]': [None, row] for number, row in enumerate(_in_order(rows))}
        for table, rows in database.items()
    }


def _in_order(rows: Mapping[str, Any] | Iterable[Any]) -> list[Any]:
    found = list(rows.values()) if isinstance(rows, Mapping) else list(rows)
    return sorted(found, key=lambda row: sorted((str(name), str(value)) for name, value in row.items()))


def _claims(reference: Mapping[str, Any] | None, name: str) -> list[Claim]:
    listed = (reference or {}).get(name) or []
    return [
        Claim(value=one, kind=ClaimKind.TEXT) if isinstance(one, str) else Claim.model_validate(one) for one in listed
    ]


def _delivered(outputs: Mapping[str, Any] | None) -> list[str] | None:
    if not outputs or outputs.get("messages") is None:
        return None
    listed = list(outputs["messages"])
    if listed and isinstance(listed[0], dict) and "data" in listed[0]:
        messages = messages_from_dict(listed)
    else:
        messages = convert_to_messages(listed)
    return [message.text for message in messages if isinstance(message, AIMessage) and not message.tool_calls]


def _feedback(score: Score) -> Feedback:
    return {"key": score.key, "score": score.value, "comment": str(score.evidence)[:2_000] if score.evidence else None}


def _none(key: str, why: str) -> Feedback:
    return {"key": key, "score": None, "comment": f"not applicable: {why}"}


def _missing(key: str, name: str) -> Feedback:
    """Score a run that returned nothing to judge, because it raised for instance."""
    return {"key": key, "score": 0.0, "comment": f"the outputs hold no `{name}`"}
