"""A comparison of simulated users as people read it: plain lines of at most 80 columns."""

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

from taugraph.experiments.lines import WIDTH, clip, interval, number, percent, wrap
from taugraph.experiments.users import PairedDifference, UserComparison, UserSummary

_NAME_WIDTH = 24
_LABEL_WIDTH = 16


def render_users(comparison: UserComparison) -> str:
    """Return the comparison as plain lines of at most 80 columns, without a final newline."""
    lines = [*_head(comparison), *_table(comparison), *_checks(comparison), *_differences(comparison)]
    return "\n".join(clip(line, WIDTH).rstrip() for line in lines)


def _head(comparison: UserComparison) -> Iterator[str]:
    left_out = [f"{comparison.left_out} left out"] if comparison.left_out else []
    tasks = f"{comparison.tasks} common {'task' if comparison.tasks == 1 else 'tasks'}"
    yield from wrap(comparison.domain, f"agent {clip(comparison.agent, 30)}", tasks, *left_out)
    yield f"the users differ in: {', '.join(comparison.differing) or 'nothing'}"


def _table(comparison: UserComparison) -> Iterator[str]:
    first, second = comparison.users
    yield _row("", clip(first.experiment, _NAME_WIDTH), clip(second.experiment, _NAME_WIDTH))
    yield _row("user", clip(first.user, _NAME_WIDTH), clip(second.user, _NAME_WIDTH))
    yield _row("trials", str(first.trials), str(second.trials))
    yield _row("user faults", *map(_fault_share, comparison.users))
    yield _row("turns (median)", number(first.turns, 1), number(second.turns, 1))
    for k, rate in first.pass_hat_k.items():
        other = second.pass_hat_k[k]
        cells = (f"{number(one.value)} [{interval(one.low, one.high)}]" for one in (rate, other))
        yield _row(f"pass^{k}", *cells)


def _row(label: str, first: str, second: str) -> str:
    return f"{label:{_LABEL_WIDTH}}{set_cell_size(first, _NAME_WIDTH + 4)}{second}"


def _fault_share(user: UserSummary) -> str:
    share = user.fault_share
    if share.value is None:
        return number(None)
    if share.low is None or share.high is None:
        return percent(share.value)
    return f"{percent(share.value)} [{100 * share.low:.1f} \N{EN DASH} {100 * share.high:.1f}]"


def _checks(comparison: UserComparison) -> Iterator[str]:
    """Return a line per check that found something."""
    first, second = (user.by_check for user in comparison.users)
    names = sorted(first.keys() | second.keys(), key=lambda name: (-first.get(name, 0) - second.get(name, 0), name))
    for name in names:
        label = f"  {name.replace('_', ' ')}"
        counts = f"{first.get(name, 0)} and {second.get(name, 0)} trials"
        yield f"{label}{' ' * max(1, 34 - cell_len(label))}{counts}"


def _differences(comparison: UserComparison) -> Iterator[str]:
    second = clip(comparison.users[1].experiment, _NAME_WIDTH)
    yield f"{second} less the other, by task (95 %):"
    for label, difference in (("pass^1", comparison.pass_1), ("user faults", comparison.fault_share)):
        yield f"  {label:{_LABEL_WIDTH - 2}}{_difference(difference)}"


def _difference(difference: PairedDifference) -> str:
    if difference.value is None:
        return "no common task was scored by both"
    verdict = ""
    if difference.low is not None and difference.high is not None:
        verdict = " · clear" if difference.low > 0 or difference.high < 0 else " · may be chance"
    shown = f"{number(difference.value)} [{interval(difference.low, difference.high)}]"
    return f"{shown} over {difference.tasks} tasks{verdict}"
