"""A report as people read it: plain lines of at most 80 columns, printable whatever the names in it are."""

import textwrap
from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

from taugraph.domains.trial import Termination
from taugraph.experiments.lines import WIDTH, clip, interval, number, percent, wrap
from taugraph.experiments.reasons import printable
from taugraph.experiments.report import Report, TrialFailure

_NAME_WIDTH = 30
_SHOWN_TASKS = 10
_ALL_K_UP_TO = 8
_CUT = "reasons are cut; --json has more of them"


def render_report(report: Report) -> str:
    """Return the report as plain lines of at most 80 columns, without a final newline."""
    lines = textwrap.wrap(report.note, WIDTH) if report.note else []
    lines += [*_head(report), *_rate_table(report), *_spread(report)]
    lines += [*_user_faults(report), *_personas(report)]
    reasons = [*_outages(report), *_failing_tasks(report)]
    is_cut = any(cell_len(printable(line)) > WIDTH or line.endswith("…") for line in reasons)
    return "\n".join(clip(line, WIDTH) for line in (*lines, *reasons, *([_CUT] if is_cut else [])))


def _head(report: Report) -> Iterator[str]:
    counts = report.counts
    scored = counts.passed + counts.failed
    domain, agent, user = (clip(name, _NAME_WIDTH) for name in (report.domain, report.agent, report.user))
    untried = counts.planned - scored - counts.unscored
    return wrap(
        domain,
        f"agent {agent} vs user {user}",
        f"{report.tasks} {'task' if report.tasks == 1 else 'tasks'} x {report.trials}",
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
        between = interval(rate.low, rate.high)
        noise = number(rerun.half_width) + "*" * rerun.modelled
        used = f"{rate.used}/{report.tasks}"
        line = f"{f'pass^{k}':{name_width}}{number(rate.value):>7}    {between:<15}    {noise:<6}  {used:>6}"
        yield line + "   (* beta-binomial)" * (k == starred)


def _spread(report: Report) -> Iterator[str]:
    repeated = [task for task in report.tasks_table if task.scored > 1]
    flaky = sum(0 < task.passed < task.scored for task in repeated)
    yield from wrap(
        f"flaky {flaky}/{len(repeated)}" if repeated else "flaky —",
        f"disagreement {number(report.pairwise_disagreement)}",
        f"ICC {number(report.icc, 2)}",
        f"pass@{report.trials} {number(report.pass_at_k[report.trials].value)}",
    )
    if report.floors:
        floors = (f"{reference} {number(rate)}" for reference, rate in report.floors.items())
        yield from wrap("floor: pass^1 of agents that do nothing", *floors)
    if bounds := report.infrastructure_bounds:
        ends = (f"pass^{k} {interval(bounds[k].as_failure, bounds[k].as_pass)}" for k in sorted({1, report.trials}))
        yield from wrap("if all infra failed or passed", *ends)
    if report.terminations.keys() - {Termination.USER_STOP.value}:
        yield from wrap("ended", *(f"{name} {count}" for name, count in report.terminations.items()))
    if report.dropped_parameters:
        first, *more = report.dropped_parameters
        yield from wrap(f"dropped parameters: {first}", *more)


def _outages(report: Report) -> Iterator[str]:
    """Return a line per cause of unscored trials: how many, on whose side, and the last message."""
    for outage in report.outages:
        message = f": {' '.join(outage.message.split())}" if outage.message else ""
        yield f"infra {outage.trials} x {outage.cause} ({outage.actor}){message}"


def _user_faults(report: Report) -> Iterator[str]:
    """Return what the simulated user spoiled, and pass^k without it; nothing if it spoiled nothing."""
    faults = report.user_faults
    if faults is None or not faults.trials:
        return
    scored = report.counts.passed + report.counts.failed
    checks = (f"{name.replace('_', ' ')} {count}" for name, count in faults.by_check.items())
    yield from wrap(f"user faults {faults.trials}/{scored} ({percent(faults.share)})", *checks)
    rates = ((k, faults.pass_hat_k_without[k]) for k in sorted({1, report.trials}))
    yield from wrap(
        "without them",
        *(
            f"pass^{k} {number(rate.value)} [{interval(rate.low, rate.high)}] {rate.used}/{report.tasks}"
            for k, rate in rates
        ),
    )


def _personas(report: Report) -> Iterator[str]:
    """Return a line per persona, and the one that is hardest if any stands out."""
    if report.personas is None:
        return
    slices = report.personas.slices
    names = [clip(part.persona, _NAME_WIDTH) for part in slices]
    width = max(map(cell_len, (*names, "persona")))
    yield f"{'persona':{width}}  {'pass^1':>6}  {'95%':<13}  {f'pass^{report.trials}':>6}  {'95%':<13}   tasks"
    for name, part in zip(names, slices, strict=True):
        first, largest = part.pass_1, part.pass_k
        yield (
            f"{set_cell_size(name, width)}  {number(first.value):>6}  {interval(first.low, first.high):<13}"
            f"  {number(largest.value):>6}  {interval(largest.low, largest.high):<13}"
            f"   {first.used}{' (few)' * part.is_small}"
        )
    hardest = report.personas.hardest
    if hardest is None:
        return
    difference = f"{number(hardest.difference)} [{interval(hardest.low, hardest.high)}]"
    if hardest.stands_out:
        yield f"hardest persona: {clip(hardest.persona, _NAME_WIDTH)} {difference} against the others"
    else:
        yield f"no persona stands out · lowest {clip(hardest.persona, _NAME_WIDTH)} {difference}"


def _failing_tasks(report: Report) -> Iterator[str]:
    first: dict[str, TrialFailure] = {}
    for failure in report.failures:
        first.setdefault(failure.task_id, failure)
    failing = [task for task in report.tasks_table if task.task_id in first]
    failing.sort(key=lambda task: task.passed / task.scored)
    shown = [(clip(task.task_id, _NAME_WIDTH), task) for task in failing[:_SHOWN_TASKS]]
    width = max((cell_len(name) for name, _ in shown), default=0)
    for name, task in shown:
        failure = first[task.task_id]
        reason = failure.reasons[0]
        if failure.termination is not Termination.USER_STOP and not reason.startswith(failure.termination):
            reason = f"{failure.termination}, {reason}"
        yield f"{set_cell_size(name, width)} {task.passed}/{task.scored}  {reason}"
    if more := len(failing) - len(shown):
        yield f"and {more} more failing {'task' if more == 1 else 'tasks'}"
