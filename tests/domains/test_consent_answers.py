"""Answers written by hand: how many are misread, and that no refusal is taken for consent."""

import json
from collections import Counter
from pathlib import Path

import pytest

from taugraph.domains.answers import meaning_of, withdraws

TABLE = Path(__file__).with_name("consent_answers.jsonl")
ROWS: list[dict[str, str]] = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
LABELS = ("consent", "refusal", "unclear")
MOST_MISREAD = 0.05


def test_the_table_is_large_labelled_and_without_repetition() -> None:
    labels = Counter(row["label"] for row in ROWS)
    assert len(ROWS) >= 120
    assert len({row["answer"] for row in ROWS}) == len(ROWS)
    assert set(labels) == set(LABELS)
    assert min(labels.values()) >= 40


def test_at_most_one_answer_in_twenty_is_misread() -> None:
    misread = [(row["answer"], row["label"]) for row in ROWS if meaning_of(row["answer"]) != row["label"]]
    rate = len(misread) / len(ROWS)
    print(f"consent: {len(misread)} of {len(ROWS)} answers misread = {rate:.1%}")  # noqa: T201 - the figure is the point
    assert rate <= MOST_MISREAD, misread


def test_no_refusal_is_taken_for_consent() -> None:
    refusals = [row["answer"] for row in ROWS if row["label"] == "refusal"]
    assert [answer for answer in refusals if meaning_of(answer) == "consent"] == []


def test_no_answer_that_agrees_takes_anything_back() -> None:
    agreeing = [row["answer"] for row in ROWS if meaning_of(row["answer"]) == "consent"]
    assert [answer for answer in agreeing if withdraws(answer)] == []


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ("Absolutely not.", "refusal"),
        ("Yes, please cancel it. I wanted to go but I can't anymore.", "consent"),
        ("Yes, but use the other card.", "unclear"),
        ("", "unclear"),
        ("\ud83d\ude42", "unclear"),
    ],
)
def test_an_answer_is_consent_refusal_or_neither(answer: str, meaning: str) -> None:
    assert meaning_of(answer) == meaning


@pytest.mark.parametrize("piece", ["yes ", "no, ", "but ", "but i ", ", ", "first ", "please ", "ok, once ", "- ", "a"])
def test_a_long_answer_is_read_at_once(piece: str) -> None:
    assert meaning_of(piece * (50_000 // len(piece))) in LABELS
