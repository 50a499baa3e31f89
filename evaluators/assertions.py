"""Statements about a conversation that only a judge can decide: listed with every trial, decided by no code here."""

from collections.abc import Sequence

from taugraph.domains.trial import Score

KEY = "assertions_hold"
"""Name of this evaluator's score."""


def assertions_hold(assertions: Sequence[str]) -> Score:
    """Return the score of statements that nobody has judged: `None`, never 1.0.

    Args:
        assertions: The statements; without any, the component is not applicable.
    """
    return Score(key=KEY, value=None, evidence=[{"assertion": text, "verdict": None} for text in assertions])
