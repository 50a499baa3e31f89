"""Recorded tool calls of the published engines, replayed on ours: every answer and every changed record."""

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from taugraph.domains.airline.dialects import DIALECTS
from taugraph.domains.airline.models import Flight, Reservation, User
from taugraph.domains.domain import load_domain
from taugraph.tools.airline.documents import flight_document, reservation_document, user_document
from taugraph.tools.executor import Executor

ROOT = Path(__file__).parents[2]
CASES = Path(os.environ.get("TAUGRAPH_CONFORMANCE_DIR", ROOT.parent / "shared" / "conformance"))
TAU_BENCH = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", ROOT.parent / "shared" / "tau-bench"))
FILES = sorted(CASES.glob("*.jsonl")) if CASES.is_dir() else []
FREE_TEXT = {"send_certificate", "transfer_to_human_agents"}
BUILT = {"airline"}
SHOWN = 10

pytestmark = [
    pytest.mark.skipif(not FILES, reason=f"no recorded cases: {CASES} is missing"),
    pytest.mark.skipif(not TAU_BENCH.is_dir(), reason=f"no tau-bench data: {TAU_BENCH} is missing"),
]


def case_files() -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in FILES] or [pytest.param(None, id="none")]


@cache
def executor(domain: str, dialect: str) -> Executor:
    found = load_domain(domain, TAU_BENCH / domain)
    return Executor(found.in_dialect(DIALECTS[dialect]))


@pytest.mark.parametrize("path", case_files())
def test_recorded_calls_answer_and_change_records_as_published(path: Path) -> None:
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if cases[0]["domain"] not in BUILT:
        pytest.skip(f"domain {cases[0]['domain']!r} is not built yet")
    failures = [f"{case['source']}: {text}" for case in cases for text in differences(case)]
    assert not failures, f"{len(failures)} differences, the first:\n" + "\n".join(failures[:SHOWN])


def differences(case: dict[str, Any]) -> Iterator[str]:
    runner = executor(case["domain"], case.get("dialect", "tau-bench"))
    changes: dict[str, Any] = {}
    for call in case["calls"]:
        answer = runner.execute(call["name"], call["arguments"], changes)
        changes = answer.changes
        if answer.is_error != call["error"]:
            yield f"{call['name']}({call['arguments']}) error: recorded {call['error']}, ours {answer.text[:300]}"
        elif not call["error"] and call["name"] not in FREE_TEXT and not same(call["output"], read(answer.text)):
            yield f"{call['name']}({call['arguments']}) output: recorded {call['output']}, ours {answer.text}"
    ours = changed_records(runner, changes)
    recorded = case["changed"]
    for table in sorted(set(ours) | set(recorded)):
        for key in sorted(set(ours.get(table, {})) | set(recorded.get(table, {}))):
            mine, theirs = ours.get(table, {}).get(key), recorded.get(table, {}).get(key)
            if not same(theirs, mine):
                yield f"{table}/{key}: recorded {theirs}, ours {mine}"


def read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def same(recorded: Any, ours: Any) -> bool:
    """Compare as documents: numbers by value, an absent key equal to null, list order counted."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        return all(same(recorded.get(key), ours.get(key)) for key in recorded.keys() | ours.keys())
    if isinstance(recorded, list) and isinstance(ours, list):
        return len(recorded) == len(ours) and all(map(same, recorded, ours))
    if isinstance(recorded, str) and isinstance(ours, int | float):
        return recorded == str(ours) or read(recorded) == ours
    return (type(recorded) is type(ours) and recorded == ours) or (
        is_number(recorded) and is_number(ours) and abs(recorded - ours) < 0.005
    )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def changed_records(runner: Executor, changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every record that differs from the seed, whole, as the published engines keep them."""
    keys: dict[str, set[str]] = {"users": set(), "reservations": set(), "flights": set()}
    for table, rows in changes.items():
        for key in rows:
            first = json.loads(key)[0]
            if table in ("flights", "flight_days"):
                keys["flights"].add(first)
            elif table.startswith("reservation"):
                keys["reservations"].add(first)
            else:
                keys["users"].add(first)

    def documents(session: Session) -> dict[str, dict[str, Any]]:
        return {
            "users": {key: user_document(session, session.get_one(User, key)) for key in keys["users"]},
            "reservations": {
                key: reservation_document(session, session.get_one(Reservation, key)) for key in keys["reservations"]
            },
            "flights": {key: flight_document(session, session.get_one(Flight, key)) for key in keys["flights"]},
        }

    return runner.database.read(changes, documents)
