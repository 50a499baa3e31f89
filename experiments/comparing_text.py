"""A comparison of two experiments as people read it: plain lines of at most 80 columns."""

import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import set_cell_size

from taugraph.experiments.comparing import ChangedTask, Comparison
from taugraph.experiments.lines import WIDTH, clip, interval, number, wrap

_NAME_WIDTH = 24
_SHOWN_TASKS = 10


def render_comparison(comparison: Comparison) -> str:
    """Return the comparison as plain lines of at most 80 columns, without a final newline."""
    lines = [*_head(comparison), *_rates(comparison), *_verdict(comparison)]
    lines += [*_tasks("worse", comparison.worse), *_tasks("better", comparison.better), *_settings(comparison)]
    return "\n".join(clip(line, WIDTH).rstrip() for line in lines)


def _head(comparison: Comparison) -> Iterator[str]:
    for note in comparison.notes:
        yield from textwrap.wrap(note, WIDTH)
    alone = [
        f"{count} only in {clip(name, _NAME_WIDTH)}"
        for name, count in ((comparison.first, comparison.only_first), (comparison.second, comparison.only_second))
        if count
    ]
    yield from wrap(f"{comparison.tasks} common {'task' if comparison.tasks == 1 else 'tasks'}", *alone)


def _rates(comparison: Comparison) -> Iterator[str]:
    first, second = (set_cell_size(clip(name, 22), 23) for name in (comparison.first, comparison.second))
    yield f"{'':8}{first}{second}difference by task"
    for k, rate in comparison.pass_hat_k.items():
        cells = [f"{number(one.value)} {interval(one.low, one.high)}" for one in (rate.first, rate.second)]
        difference = rate.difference
        change = f"{_signed(difference.value)} [{interval(difference.low, difference.high)}]"
        yield f"{f'pass^{k}':8}{cells[0]:23}{cells[1]:23}{change}"


def _signed(value: float | None) -> str:
    text = number(value)
    return f"+{text}" if value is not None and value > 0 else text


def _verdict(comparison: Comparison) -> Iterator[str]:
    second = clip(comparison.second, _NAME_WIDTH)
    words = {
        "better": f"{second} is better: the interval of the pass^1 difference excludes 0",
        "worse": f"{second} is worse: the interval of the pass^1 difference excludes 0",
        "unclear": "which one is better is unclear: the pass^1 difference may be chance",
    }
    yield words[comparison.verdict]


def _tasks(word: str, tasks: Sequence[ChangedTask]) -> Iterator[str]:
    if not tasks:
        return
    yield f"{word}: {len(tasks)} {'task' if len(tasks) == 1 else 'tasks'}"
    for task in tasks[:_SHOWN_TASKS]:
        change = f"{task.first[0]}/{task.first[1]} -> {task.second[0]}/{task.second[1]}"
        yield f"  {set_cell_size(clip(task.task_id, 44), 46)}{change:16}p {number(task.p)}"
    if len(tasks) > _SHOWN_TASKS:
        yield f"  and {len(tasks) - _SHOWN_TASKS} more; see --json"


def _settings(comparison: Comparison) -> Iterator[str]:
    if not comparison.differs:
        yield "the configurations are the same"
        return
    yield "configuration:"
    for name, (first, second) in comparison.differs.items():
        yield f"  {name}: {clip(first or '-', 28)} | {clip(second or '-', 28)}"
