"""Recorded tool calls of the published engines, replayed on ours: every answer and every changed record."""

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlmodel import Session

from taugraph.domains.airline import dialects as airline_dialects
from taugraph.domains.airline import models as airline_models
from taugraph.domains.domain import load_domain
from taugraph.domains.retail import dialects as retail_dialects
from taugraph.domains.retail import models as retail_models
from taugraph.tools.airline import documents as airline_documents
from taugraph.tools.executor import Executor
from taugraph.tools.retail import documents as retail_documents

ROOT = Path(__file__).parents[2]
CASES = Path(os.environ.get("TAUGRAPH_CONFORMANCE_DIR", ROOT.parent / "shared" / "conformance"))
TAU_BENCH = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", ROOT.parent / "shared" / "tau-bench"))
FILES = sorted(CASES.glob("*.jsonl")) if CASES.is_dir() else []
FREE_TEXT = {"send_certificate", "transfer_to_human_agents"}
SHOWN = 10


class Record(NamedTuple):
    """A kind of record of the published engines: its name, our model and document, and the tables behind it."""

    name: str
    model: Any
    document: Callable[[Session, Any], dict[str, Any]]
    tables: frozenset[str]


RESERVATION_TABLES = {"reservations", "reservation_flights", "reservation_passengers", "reservation_payments"}
WORLDS = {
    "airline": (
        Record(
            "users",
            airline_models.User,
            airline_documents.user_document,
            frozenset({"users", "payment_methods", "saved_passengers", "user_reservations"}),
        ),
        Record(
            "reservations",
            airline_models.Reservation,
            airline_documents.reservation_document,
            frozenset(RESERVATION_TABLES),
        ),
        Record(
            "flights",
            airline_models.Flight,
            airline_documents.flight_document,
            frozenset({"flights", "flight_days"}),
        ),
    ),
    "retail": (
        Record(
            "users",
            retail_models.User,
            retail_documents.user_document,
            frozenset({"users", "payment_methods", "user_orders"}),
        ),
        Record(
            "orders",
            retail_models.Order,
            retail_documents.order_document,
            frozenset({"orders", "order_lines", "order_payments", "fulfillments"}),
        ),
        Record(
            "products",
            retail_models.Product,
            retail_documents.product_document,
            frozenset({"products"}),
        ),
    ),
}
DIALECTS = {"airline": airline_dialects.DIALECTS, "retail": retail_dialects.DIALECTS}

pytestmark = [
    pytest.mark.skipif(not FILES, reason=f"no recorded cases: {CASES} is missing"),
    pytest.mark.skipif(not TAU_BENCH.is_dir(), reason=f"no tau-bench data: {TAU_BENCH} is missing"),
]


def case_files() -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in FILES] or [pytest.param(None, id="none")]


@cache
def executor(domain: str, dialect: str) -> Executor:
    found = load_domain(domain, TAU_BENCH / domain)
    return Executor(found.in_dialect(DIALECTS[domain][dialect]))


@pytest.mark.parametrize("path", case_files())
def test_recorded_calls_answer_and_change_records_as_published(path: Path) -> None:
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
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
    world = WORLDS[runner.domain.name]
    keys: dict[str, set[str]] = {record.name: set() for record in world}
    for table, rows in changes.items():
        for record in world:
            if table in record.tables:
                keys[record.name].update(json.loads(key)[0] for key in rows)

    def documents(session: Session) -> dict[str, dict[str, Any]]:
        return {
            record.name: {
                key: record.document(session, session.get_one(record.model, key)) for key in keys[record.name]
            }
            for record in world
        }

    return runner.database.read(changes, documents)
