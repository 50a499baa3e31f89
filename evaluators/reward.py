"""The reward of a finished trial: the product of what its protocol gates on.

Every component is computed however the trial ended, so that a report can say what was right about it. A trial that ran
into a limit or an error has reward 0. A trial that infrastructure broke has no reward at all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import RowComparison
from taugraph.domains.protocol import Protocol
from taugraph.domains.task import Component, Task
from taugraph.domains.trial import Score, Termination
from taugraph.evaluators.assertions import assertions_hold
from taugraph.evaluators.calls import Made, gold_calls_were_made
from taugraph.evaluators.claims import claims_were_not_said, claims_were_said
from taugraph.evaluators.database import database_matches_a_goal
from taugraph.evaluators.trajectory import call_scores

SCORED_ENDS = frozenset({Termination.USER_STOP, Termination.TRANSFER})
"""Ends of a conversation after which a trial can pass."""


@dataclass(frozen=True)
class Played:
    """What a finished trial leaves to judge.

    Attributes:
        changes: Its net changes.
        delivered: Texts that went to the user, in order.
        made: Calls of the agent that were not refused, in order.
    """

    changes: NetChanges
    delivered: Sequence[str] = ()
    made: Sequence[Made] = ()


def score_trial(
    task: Task, goals: Sequence[NetChanges], played: Played, protocol: Protocol, comparison: RowComparison
) -> list[Score]:
    """Return the deterministic evaluators' scores of a trial.

    Args:
        task: The task that was played.
        goals: Net changes of its gold calls, and of every alternative that is accepted as well.
        played: What the trial left.
        protocol: Rules of the scoring; tau-bench's forbid nothing to be said.
        comparison: How the domain's rows are compared.
    """
    database = database_matches_a_goal(played.changes, goals, comparison)
    if not task.has_goal:
        database = Score(key=database.key, value=None)
    claims = claims_were_said(task.claims, played.delivered, by_substring=protocol.claims_by_substring)
    trajectory = Component.TRAJECTORY in task.basis
    forbidden = claims_were_not_said(() if protocol.claims_by_substring else task.must_not_say, played.delivered)
    return [
        database.model_copy(update={"gates": Component.DATABASE in task.basis}),
        claims.model_copy(update={"gates": Component.CLAIMS in task.basis}),
        forbidden.model_copy(update={"gates": Component.CLAIMS in task.basis}),
        *_published_components(task, played.made),
        *(score.model_copy(update={"gates": trajectory}) for score in call_scores(task.calls, played.made)),
    ]


def _published_components(task: Task, made: Sequence[Made]) -> list[Score]:
    """Return the scores of components that only published tasks rest on, so that none passes in silence."""
    scores = []
    if Component.ACTIONS in task.basis:
        scores.append(gold_calls_were_made(task.gold, made))
    if Component.ASSERTIONS in task.basis:
        scores.append(assertions_hold(task.assertions))
    return scores


def reward_of(scores: Sequence[Score], termination: Termination) -> float | None:
    """Return the product of the gating scores in [0, 1]; `None` for a trial without a score.

    A score of `None` has no criterion and does not count; a trial that no criterion judged has no score either.
    """
    if termination is Termination.INFRASTRUCTURE:
        return None
    if termination not in SCORED_ENDS:
        return 0.0
    values = [score.value for score in scores if score.value is not None and score.gates]
    return math.prod(values) if values else None
