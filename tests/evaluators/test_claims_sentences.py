"""Claims on sentences written by hand: the extractor's error rate, and it is zero."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from taugraph.domains.task import Claim
from taugraph.evaluators.claims import claims_were_said

TABLE = Path(__file__).with_name("claim_sentences.jsonl")
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def is_misread(row: dict[str, Any]) -> bool:
    claim = Claim.model_validate({key: row[key] for key in ("value", "kind", "unit") if key in row})
    return (claims_were_said([claim], [row["text"]]).value == 1.0) is not row["said"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['kind']}-{row['why']}")
def test_a_sentence_is_read_as_a_person_reads_it(row: dict[str, Any]) -> None:
    assert not is_misread(row), row


def test_the_error_rate_is_zero() -> None:
    misread = [row for row in ROWS if is_misread(row)]
    said = Counter(row["said"] for row in ROWS)
    rate = f"{len(misread)} of {len(ROWS)} sentences misread = {len(misread) / len(ROWS):.1%}"
    print(f"claims: {rate}; {said[True]} say the claim, {said[False]} do not")  # noqa: T201 - the figure is the point
    assert misread == []


def test_the_table_is_large_and_covers_every_kind_both_ways() -> None:
    assert len(ROWS) >= 160
    assert len({(row["text"], row["kind"], row["value"], row.get("unit")) for row in ROWS}) == len(ROWS)
    both_ways = {(kind, said) for kind in ("money", "number", "date", "time", "id", "text") for said in (True, False)}
    assert {(row["kind"], row["said"]) for row in ROWS} == both_ways
