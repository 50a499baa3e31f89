"""Scores as LangSmith feedback: one piece per evaluator and trial, and pass^k of the whole experiment."""

import json
from collections.abc import Iterator
from typing import Any

from taugraph.domains.trial import Trial
from taugraph.experiments.report import Report

Feedback = dict[str, Any]
"""Arguments of `Client.create_feedback` but for its place: `key`, `score`, `value`, `comment`."""

_LONGEST_COMMENT = 2_000


def feedback_of(trial: Trial) -> Iterator[Feedback]:
    """Yield the feedback of a scored trial: reward, every evaluator, how it ended, and what it took."""
    yield {"key": "reward", "score": trial.reward}
    for score in trial.scores:
        comment = (
            "not applicable: the task has no criterion for it" if score.value is None else _evidence(score.evidence)
        )
        yield {"key": score.key, "score": score.value, "comment": comment}
    yield {"key": "termination", "value": trial.termination.value}
    for actor, usage in trial.usage.items():
        tokens = usage.input_tokens + usage.output_tokens
        uncounted = f"{usage.uncounted_calls} of them reported no usage" if usage.uncounted_calls else None
        comment = ", ".join(filter(None, (f"{usage.calls} model calls", uncounted)))
        yield {"key": f"{actor}_tokens", "score": tokens, "comment": comment}
    yield {"key": "duration_s", "score": round(trial.duration_s, 3)}


def summary_of(report: Report) -> Iterator[Feedback]:
    """Yield what holds for the whole experiment: pass^1..k with intervals, and how much of the plan was scored."""
    counts = report.counts
    scored = counts.passed + counts.failed
    for k, rate in report.pass_hat_k.items():
        if rate.value is None:
            continue
        interval = f"95 % {rate.low:.3f} to {rate.high:.3f}, " if rate.low is not None and rate.high is not None else ""
        yield {"key": f"pass^{k}", "score": rate.value, "comment": f"{interval}{rate.used} of {report.tasks} tasks"}
    share = scored / counts.planned if counts.planned else None
    yield {"key": "coverage", "score": share, "comment": f"{scored} of {counts.planned} trials have a score"}


def _evidence(evidence: list[dict[str, Any]]) -> str | None:
    if not evidence:
        return None
    text = json.dumps(evidence, ensure_ascii=False)
    return text if len(text) <= _LONGEST_COMMENT else f"{text[:_LONGEST_COMMENT]}... (cut)"
