"""Checks of a task against its world: what it names exists and agrees, and its gold calls run and keep the policy."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import Any

from taugraph.domains.task import GoldCall, Task
from taugraph.experiments.check_suite import Finding, GoldStep, Suite, fault, leaves, note, told
from taugraph.graphs.agents.baselines import ORACLE
from taugraph.tools.seed_image import table_of

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_AMOUNT = re.compile(r"\$(\d[\d,]*)(?:\.(\d\d))?(?![\d,]*\d)")
_GIVEAWAY = re.compile(
    r"should (?:be|have)\b|\bcorrect (?:answer|amount|fee)|expected (?:answer|result)|\bwrong\b|do not refund|\bTODO\b",
    re.IGNORECASE,
)
_OUTSIDE = {"unknown-id", "wrong-id"}
"""Tags of tasks whose user names an id that does not exist, and is meant to."""


def gold_runs(suite: Suite) -> Iterator[Finding]:
    """Every gold call, alternatives included, runs on the seed."""
    for task in suite.tasks:
        for step in (step for steps in suite.solutions[task.id] for step in steps):
            if step.kind is None:
                yield fault(task, "gold_runs", f"there is no tool named {step.call.name!r} for the {step.call.actor}")
            elif step.is_error:
                yield fault(task, "gold_runs", f"gold call {step.call.name} is refused: {step.text:.160}")


def gold_keeps_policy(suite: Suite) -> Iterator[Finding]:
    """The gold, played with every question asked, breaks no rule of the policy."""
    tasks = {task.id: task for task in suite.tasks}
    for trial in suite.trials[ORACLE]:
        broken = [row for score in trial.scores for row in score.evidence if "rule" in row]
        for text in dict.fromkeys(f"{row['rule']}: {row.get('explanation', '')}" for row in broken):
            yield fault(tasks[trial.task_id], "gold_keeps_policy", f"the gold breaks {text:.200}")


def ids(suite: Suite) -> Iterator[Finding]:
    """Ids in scenario and gold are in the seed, or come from an answer before."""
    for task in suite.tasks:
        for word in dict.fromkeys(suite.ids_in(" ".join(told(task)))):
            if word not in suite.seed_values and not _OUTSIDE & set(task.tags):
                yield fault(task, "ids", f"the scenario names {word!r}, which the seed does not have")
        for steps in suite.solutions[task.id]:
            for step, value in _unknown(suite, steps):
                yield fault(task, "ids", f"gold call {step.call.name} names {value!r}, which nothing leads to")


def _unknown(suite: Suite, steps: list[GoldStep]) -> Iterator[tuple[GoldStep, str]]:
    heard = ""
    for step in steps:
        for value in leaves(step.call.arguments):
            if suite.is_id(value) and value not in suite.seed_values and value not in heard:
                yield step, value
        heard += step.text


def owners(suite: Suite) -> Iterator[Finding]:
    """What the gold touches belongs to the one customer that the scenario names."""
    roots, owned = _ownership(suite)
    for task in suite.tasks:
        words = set(suite.ids_in(" ".join(told(task))))
        for table, keys in roots.items():
            named = words & keys
            if len(named) != 1:
                continue
            for value in dict.fromkeys(leaves([call.arguments for call in _all_gold(task)])):
                belongs = owned.get((table, value), set())
                if belongs and not belongs & named:
                    yield fault(
                        task, "owners", f"{value!r} belongs to {min(belongs)!r}, the scenario to {min(named)!r}"
                    )


def _all_gold(task: Task) -> list[GoldCall]:
    return [call for calls in (task.gold, *task.alternatives) for call in calls]


def _ownership(suite: Suite) -> tuple[dict[str, set[str]], dict[tuple[str, str], set[str]]]:
    """Return the keys of each table that refers to none, and (such a table, key of another) -> keys it refers to."""
    tables = {table.name: table for table in map(table_of, suite.domain.tables)}
    links = {
        (name, column.name): key.column.table.name
        for name, table in tables.items()
        for column in table.columns
        for key in column.foreign_keys
    }
    roots: dict[str, set[str]] = {name: set() for name in tables if not any(name == owner for owner, _ in links)}
    owned: dict[tuple[str, str], set[str]] = {}
    for row in suite.rows:
        name = row[""]
        keys = [column.name for column in tables[name].primary_key.columns if (name, column.name) not in links]
        values = [str(row[key]) for key in keys if suite.is_id(str(row[key]))]
        if name in roots:
            roots[name].update(values)
        for column, target in ((column, target) for (owner, column), target in links.items() if owner == name):
            for value in values:
                owned.setdefault((target, value), set()).add(str(row[column]))
    return roots, owned


def dates(suite: Suite) -> Iterator[Finding]:
    """Dates in the gold are in the seed or told to the user; dates told are in the seed or the gold."""
    known = frozenset(value[:10] for value in suite.seed_values if _ISO_DATE.match(value))
    for task in suite.tasks:
        text = " ".join(told(task))
        used = {value[:10] for value in leaves([call.arguments for call in _all_gold(task)]) if _ISO_DATE.match(value)}
        for day in sorted(used - known):
            if not any(spelling in text for spelling in _spellings(day)):
                yield fault(task, "dates", f"the gold names {day}, which is neither in the seed nor in the scenario")
        for day in sorted(set(_ISO_DATE.findall(text)) - known - used):
            yield note(task, "dates", f"the scenario names {day}, which is neither in the seed nor in the gold")


@cache
def _spellings(day: str) -> tuple[str, ...]:
    try:
        parsed = date.fromisoformat(day)
    except ValueError:
        return (day,)
    months = (f"{parsed:%B}", f"{parsed:%b}")
    return (day, *(text for month in months for text in (f"{parsed.day} {month}", f"{month} {parsed.day}")))


def amounts(suite: Suite) -> Iterator[Finding]:
    """Amounts told to the user are in the seed, an answer or the gold."""
    for task in suite.tasks:
        found = [*suite.answers(task), *leaves([call.arguments for call in _all_gold(task)])]
        known = set(re.findall(r"\d+(?:\.\d+)?", " ".join(found)))
        for match in _AMOUNT.finditer(" ".join(told(task))):
            dollars, cents = match[1].replace(",", "").rstrip(","), match[2] or "00"
            spellings = {dollars, f"{dollars}.0"} if cents == "00" else set()
            spellings |= {f"{dollars}.{cents}", f"{dollars}.{cents}".rstrip("0")}
            if not spellings & known and str(int(dollars + cents)) not in suite.seed_values:
                yield note(task, "amounts", f"the scenario names {match[0]}, which is in no record")


def seed_text(suite: Suite) -> Iterator[Finding]:
    """No text of the seed gives away what is right."""
    for value in sorted(suite.seed_values):
        if " " in value and (found := _GIVEAWAY.search(value)):
            yield fault(None, "seed_text", f"a text of the seed says {found[0]!r}: {value!r:.120}")


def table_values(suite: Suite) -> set[Any]:
    """Return names of tables and columns, and every value of the seed and of what tasks begin with."""
    tables = [table_of(table) for table in suite.domain.tables]
    begun = {value for task in suite.tasks if task.initial for value in leaves(task.initial.data)}
    return {name for table in tables for name in (table.name, *table.columns.keys())} | suite.seed_values | begun
