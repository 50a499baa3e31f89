"""The task linter: a suite of tasks is only as good as the worst agent that passes it.

Each check takes the suite and yields what it finds. A suite is clean when no finding is a fault.
"""

from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict
from rich.cells import cell_len, set_cell_size

from taugraph.domains.domain import Domain
from taugraph.domains.errors import UnknownNameError
from taugraph.domains.task import Task
from taugraph.experiments import check_claims, check_devices, check_tasks, check_views, check_world
from taugraph.experiments.check_suite import Finding, Suite, fault, note, open_suite
from taugraph.experiments.reasons import printable
from taugraph.experiments.untraced import untraced
from taugraph.graphs.agents.baselines import BASELINES, ORACLE
from taugraph.tools.definition import ToolKind

Check = Callable[[Suite], Iterator[Finding]]
"""One question to a suite."""


class CheckReport(BaseModel):
    """What the checks found."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    domain: str
    """Name of the domain."""
    tasks: int
    """Tasks looked at."""
    findings: tuple[Finding, ...]
    """Faults first, in the order of the checks."""
    baselines: dict[str, int]
    """Tasks that each baseline passes."""
    faults: int
    """Findings that are faults."""


@untraced
def check_domain(domain: Domain, split: str | None = None) -> CheckReport:
    """Check a domain's tasks.

    Args:
        domain: The domain.
        split: Look only at the tasks of this split; `None` for all.

    Raises:
        UnknownNameError: If there is no such split.
        ConfigurationError: If a table cannot be kept as rows.
    """
    if split is not None and split not in domain.splits():
        raise UnknownNameError("split", split, domain.splits())
    suite = open_suite(domain, split)
    findings = [finding for check in CHECKS for finding in check(suite)]
    findings.sort(key=lambda finding: finding.severity)
    return CheckReport(
        domain=domain.name,
        tasks=len(suite.tasks),
        findings=tuple(findings),
        baselines={
            reference: len(suite.passed(reference)) for reference in suite.trials if _can_play(reference, suite)
        },
        faults=sum(finding.severity == "fault" for finding in findings),
    )


def _can_play(reference: str, suite: Suite) -> bool:
    """Tell whether a baseline says anything: the oracle cannot play tasks that do not say how they are solved."""
    return reference != ORACLE or any(task.has_solution for task in suite.tasks)


def render_check(report: CheckReport) -> str:
    """Return the report as plain text: a table of the findings and what the baselines pass."""
    rows = [(row.severity, row.task_id or "(suite)", row.check, row.message) for row in report.findings]
    widths = [max(map(cell_len, column), default=0) for column in list(zip(*rows, strict=True))[:3]]
    lines = ["  ".join([*map(set_cell_size, row, widths), printable(row[3])]).rstrip() for row in rows]
    passed = ", ".join(f"{reference} {count}/{report.tasks}" for reference, count in report.baselines.items())
    notes = len(report.findings) - report.faults
    summary = f"{report.domain}: {report.tasks} tasks, faults {report.faults}, notes {notes}"
    return "\n".join([*lines, *([""] if lines else []), summary, f"passed by baselines: {passed}"])


def oracle_passes(suite: Suite) -> Iterator[Finding]:
    """The agent that plays the answers passes every task."""
    tasks = {task.id: task for task in suite.tasks}
    for trial in suite.trials[ORACLE]:
        if trial.outcome != "passed" and tasks[trial.task_id].has_solution:
            failed = [f"{score.key} {score.evidence}" for score in trial.scores if score.gates and score.value == 0]
            reason = trial.failure.message if trial.failure else "; ".join(failed) or trial.termination.value
            yield fault(
                tasks[trial.task_id], "oracle", f"the oracle does not pass ({trial.termination}): {reason:.200}"
            )


def baselines_fail(suite: Suite) -> Iterator[Finding]:
    """No agent that deserves nothing passes a task; a handoff may be all that a task wants."""
    tasks = {task.id: task for task in suite.tasks}
    for reference in BASELINES:
        for task_id in dict.fromkeys(suite.passed(reference)):
            task = tasks[task_id]
            if reference == "transfer" and not task.claims and _wants_a_handoff_only(suite, task):
                yield note(task, reference, "the agent that hands over at once passes: a handoff is all it wants")
            else:
                yield fault(task, reference, f"the baseline {reference!r} passes: {_ADVICE[reference]}")


_ADVICE = {
    "noop": "give it a gold write, a required call or a claim",
    "transfer": "add a claim, or something to do before the handoff",
    "yes": "give it a gold write, a required call or a claim",
    "recite": "ask for what no single record says, or forbid saying what reciting gives away",
}


def _wants_a_handoff_only(suite: Suite, task: Task) -> bool:
    """Tell whether one of the solutions hands over and changes nothing else."""
    writing = [
        [step.kind for step in steps if step.kind in (ToolKind.WRITE, ToolKind.HANDOFF)]
        for steps in suite.solutions[task.id]
    ]
    return [ToolKind.HANDOFF] in writing


CHECKS: tuple[Check, ...] = (
    check_tasks.schema,
    check_tasks.duplicates,
    check_world.gold_runs,
    check_world.gold_keeps_policy,
    oracle_passes,
    baselines_fail,
    check_world.ids,
    check_world.owners,
    check_world.dates,
    check_world.amounts,
    check_world.seed_text,
    check_claims.reachable_claims,
    check_tasks.told_claims,
    check_tasks.components,
    check_tasks.handoffs,
    check_devices.own_tools,
    check_devices.both_act,
    check_views.policy_tools,
    check_views.hidden_fields,
)
"""Every check, in the order in which its findings are shown."""
