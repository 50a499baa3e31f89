"""A report as people read it: plain lines of at most 80 columns, printable whatever the names in it are."""

import textwrap
from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

from taugraph.domains.trial import Termination
from taugraph.experiments.report import Report, TrialFailure, printable

WIDTH = 80
"""Columns of the text at most."""

_NAME_WIDTH = 30
_SHOWN_TASKS = 10
_ALL_K_UP_TO = 8
_DASH = "\N{EN DASH}"


def render_report(report: Report) -> str:
    """Return the report as plain lines of at most 80 columns, without a final newline."""
    lines = textwrap.wrap(report.note, WIDTH) if report.note else []
    lines += [*_head(report), *_rate_table(report), *_spread(report), *_failing_tasks(report)]
    return "\n".join(_clip(line, WIDTH) for line in lines)


def _clip(text: str, width: int) -> str:
    text = printable(text)
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def _wrap(*parts: str) -> Iterator[str]:
    """Join parts by dots into as few lines as hold them."""
    line = parts[0]
    for part in parts[1:]:
        longer = f"{line} · {part}"
        if cell_len(longer) > WIDTH:
            yield line
            longer = part
        line = longer
    yield line


def _number(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "—"
    text = f"{round(value, digits) + 0.0:.{digits}f}"  # adding 0.0 turns -0.0 into 0.0
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _head(report: Report) -> Iterator[str]:
    counts = report.counts
    scored = counts.passed + counts.failed
    domain, agent, user = (_clip(name, _NAME_WIDTH) for name in (report.domain, report.agent, report.user))
    untried = counts.planned - scored - counts.unscored
    return _wrap(
        domain,
        f"agent {agent} vs user {user}",
        f"{report.tasks} tasks x {report.trials}",
        f"{scored}/{counts.planned} valid",
        f"{counts.unscored} infra",
        *([f"{untried} not tried"] if untried else []),
    )


def _rate_table(report: Report) -> Iterator[str]:
    """Return a line per k; of a long plan the first ones, the powers of two and the last."""
    shown = [k for k in report.pass_hat_k if k <= _ALL_K_UP_TO or k & (k - 1) == 0 or k == report.trials]
    name_width = len(f"pass^{report.trials}")
    starred = max((k for k in shown if report.rerun[k].modelled), default=0)
    yield f"{'':{name_width}}{'est':>7}    95% (new tasks)   re-run ±   used"
    for k in shown:
        rate, rerun = report.pass_hat_k[k], report.rerun[k]
        interval = _interval(rate.low, rate.high)
        noise = _number(rerun.half_width) + "*" * rerun.modelled
        used = f"{rate.used}/{report.tasks}"
        line = f"{f'pass^{k}':{name_width}}{_number(rate.value):>7}    {interval:<15}    {noise:<6}  {used:>6}"
        yield line + "   (* beta-binomial)" * (k == starred)


def _interval(low: float | None, high: float | None) -> str:
    return "—" if low is None or high is None else f"{_number(low)} {_DASH} {_number(high)}"


def _spread(report: Report) -> Iterator[str]:
    repeated = [task for task in report.tasks_table if task.scored > 1]
    flaky = sum(0 < task.passed < task.scored for task in repeated)
    yield from _wrap(
        f"flaky {flaky}/{len(repeated)}" if repeated else "flaky —",
        f"disagreement {_number(report.pairwise_disagreement)}",
        f"ICC {_number(report.icc, 2)}",
        f"pass@{report.trials} {_number(report.pass_at_k[report.trials].value)}",
    )
    if report.floors:
        floors = (f"{reference} {_number(rate)}" for reference, rate in report.floors.items())
        yield from _wrap("floor: pass^1 of agents that do nothing", *floors)
    if bounds := report.infrastructure_bounds:
        ends = (f"pass^{k} {_interval(bounds[k].as_failure, bounds[k].as_pass)}" for k in sorted({1, report.trials}))
        yield from _wrap("if all infra failed or passed", *ends)
    if report.terminations.keys() - {Termination.USER_STOP.value}:
        yield from _wrap("ended", *(f"{name} {count}" for name, count in report.terminations.items()))


def _failing_tasks(report: Report) -> Iterator[str]:
    first: dict[str, TrialFailure] = {}
    for failure in report.failures:
        first.setdefault(failure.task_id, failure)
    failing = [task for task in report.tasks_table if task.task_id in first]
    failing.sort(key=lambda task: task.passed / task.scored)
    shown = [(_clip(task.task_id, _NAME_WIDTH), task) for task in failing[:_SHOWN_TASKS]]
    width = max((cell_len(name) for name, _ in shown), default=0)
    for name, task in shown:
        failure = first[task.task_id]
        reason = failure.reasons[0]
        if failure.termination is not Termination.USER_STOP and not reason.startswith(failure.termination):
            reason = f"{failure.termination}, {reason}"
        yield f"{set_cell_size(name, width)} {task.passed}/{task.scored}  {reason}"
    if more := len(failing) - len(shown):
        yield f"and {more} more failing {'task' if more == 1 else 'tasks'}"
