"""Whether the policy was followed: what the rules reported while the trial was played, as scores.

All rules are reported. Only those that a task names gate its reward.
"""

from collections.abc import Sequence
from typing import Any

from taugraph.domains.rules import PolicyRule
from taugraph.domains.task import Component, Task
from taugraph.domains.trial import Score


def policy_scores(
    task: Task, violations: Sequence[dict[str, Any]], rules: Sequence[PolicyRule], errors: Sequence[str] = ()
) -> list[Score]:
    """Return both scores of a trial.

    Args:
        task: The task that was played.
        violations: What was broken, as `Violation` in JSON.
        rules: The domain's rules.
        errors: What rules failed with; a policy that was not wholly checked is not known to be followed.
    """
    return [policy_was_followed(violations, rules, errors), required_rules_were_kept(violations, task)]


def policy_was_followed(
    violations: Sequence[dict[str, Any]], rules: Sequence[PolicyRule], errors: Sequence[str] = ()
) -> Score:
    """Judge all rules of the domain; never gates.

    Returns:
        1.0 if no rule was broken, 0.0 if one was, `None` if the domain has none or one could not be checked.
    """
    undecided = not rules or (errors and not violations)
    value = None if undecided else float(not violations)
    return Score(key="policy_was_followed", value=value, evidence=list(violations), gates=False)


def required_rules_were_kept(violations: Sequence[dict[str, Any]], task: Task) -> Score:
    """Judge the rules that the task names; gates where its reward rests on the policy.

    Returns:
        1.0 if none of them was broken, 0.0 if one was, `None` if the task names none.
    """
    broken = [violation for violation in violations if violation["rule"] in task.rules]
    value = float(not broken) if task.rules else None
    gates = Component.POLICY in task.basis
    return Score(key="required_rules_were_kept", value=value, evidence=broken, gates=gates)
