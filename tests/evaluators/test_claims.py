"""Claims: what counts as said, near misses, and texts nobody would write."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from taugraph.domains.errors import DataError
from taugraph.domains.task import Claim, ClaimKind, load_tasks
from taugraph.evaluators.claims import claims_were_not_said, claims_were_said


def said(kind: str, value: str, *texts: str, by_substring: bool = False) -> bool:
    score = claims_were_said([Claim(kind=ClaimKind(kind), value=value)], texts, by_substring=by_substring)
    assert score.value in (0.0, 1.0)
    return score.value == 1.0


def test_nothing_that_had_to_be_said_is_no_criterion() -> None:
    score = claims_were_said([], ["Hello."])
    assert (score.key, score.value, score.evidence) == ("claims_were_said", None, [])


@pytest.mark.parametrize("kind", ["text", "number", "money", "substring"])
@pytest.mark.parametrize("texts", [[], [""], [" \n"]])
def test_silence_says_nothing(kind: str, texts: list[str]) -> None:
    assert not said(kind, "10", *texts)


def test_every_claim_must_be_said_and_the_evidence_names_where() -> None:
    claims = [Claim(value="TG278"), Claim(value="1,052.00", kind=ClaimKind.MONEY), Claim(value=7, kind="number")]
    score = claims_were_said(claims, ["Hello.", "Flight TG278, $1,052.", "Flight TG278."])
    assert score.value == 0.0
    assert score.evidence == [
        {"claim": "TG278", "kind": "text", "said_in": 1},
        {"claim": "1,052.00", "kind": "money", "said_in": 1},
        {"claim": "7", "kind": "number", "said_in": None},
    ]
    assert json.loads(json.dumps(score.evidence)) == score.evidence


def test_claims_may_be_said_in_different_texts_but_each_in_one() -> None:
    claims = [Claim(value="Boise"), Claim(value="58", kind=ClaimKind.MONEY)]
    assert claims_were_said(claims, ["To Boise.", "It is $58."]).value == 1.0
    assert claims_were_said([Claim(value="New York")], ["New", "York"]).value == 0.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("10", "10"),
        ("10", "there are ten/10 options"),
        ("10", "There are 10."),
        ("10", "Bags: 10; free: 4"),
        ("10", "Bags:10"),
        ("10", "(10)"),
        ("10", "**10** bags"),
        ("10", "| bags | 10 |"),
        ("10", "|10|"),
        ("10", "- 10 bags"),
        ("10", "'10' or \"10\""),
        ("10", "it's 10!"),
        ("10", "really...10!"),
        ("10", "10\u2014no more"),
        ("10", "10 - no more"),
        ("10", "10%"),
        ("10", "10.0"),
        ("10", "bags\u00a010"),
        ("10", "10\u202fbags"),
        ("0", "0 bags"),
        ("0.5", "half of it, .5, stays"),
        ("0.5", "0.50"),
        ("-58", "the difference is -58."),
        ("-58", "the difference is \u221258."),
        ("-58", "the difference is -$58"),
        ("-58", "the difference is $-58"),
        ("58", "+58"),
        ("1093.34", "1,093.34"),
        ("1,093.34", "1093.34"),
        ("1093.34", "1\u202f093.34 in all"),
        ("23553", "23,553 miles"),
        ("1234567", "1,234,567"),
        ("1052", "$1,052.00"),
    ],
)
def test_a_number_standing_by_itself_is_said(value: str, text: str) -> None:
    assert said("number", value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("10", "order #W1007 total 1010"),
        ("10", "W10"),
        ("10", "#10"),
        ("10", "TG010"),
        ("10", "flight TG 010"),
        ("10", "TG-10"),
        ("10", "10-A"),
        ("10", "TG\u201110"),
        ("10", "credit_card_10"),
        ("10", "bag10"),
        ("10", "10kg"),
        ("10", "10th"),
        ("10", "10:30"),
        ("30", "10:30"),
        ("10", "at 10 am"),
        ("10", "at 10AM"),
        ("10", "at 10 p.m."),
        ("10", "10-15 bags"),
        ("15", "10-15 bags"),
        ("10", "10\u201315 bags"),
        ("10", "2024-05-10"),
        ("5", "2024-05-10"),
        ("2024", "2024-05-10"),
        ("10", "2024\u201005\u201010"),
        ("10", "05/10/2024"),
        ("24", "24/7"),
        ("10", "on May 10, 2024 at noon"),
        ("2024", "on May 10, 2024 at noon"),
        ("2024", "in May 2024"),
        ("10", "on 10 May 2024"),
        ("10", "the 10th of May"),
        ("29", "Sept. 29"),
        ("555", "call +1 (555) 010-0199"),
        ("555", "call (555) 010-0199"),
        ("1", "call +1 555 010 0199"),
        ("199", "call 555-010-0199"),
        ("10", "someone@10.example"),
        ("10", "10@example.com"),
        ("10", "192.168.10.1"),
        ("10", "version 1.10"),
        ("10", "10.5"),
        ("10", "10,5"),
        ("5", "10,5"),
        ("1", "1,0934"),
        ("10", "\u20ac10"),
        ("10", "-10"),
        ("-10", "10"),
        ("-10", "TG-10"),
        ("10", "10\u00b2"),
        ("4", "1. Boise\n2. Reno\n4. Denver"),
        ("4", "  **4.** Denver"),
        ("4", "4) Denver"),
        ("54", "$54.04"),
        ("4", "$54.04"),
        ("93.34", "1,093.34"),
        ("93.34", "1\u00a0093.34"),
        ("1", "1\u00a0093.34"),
    ],
)
def test_a_number_inside_something_else_is_not_said(value: str, text: str) -> None:
    assert not said("number", value, text)


@pytest.mark.parametrize("value", ["1093.34", "1.093", "1093", "93.34", "93", "34", "1"])
def test_continental_numbers_say_nothing(value: str) -> None:
    assert not said("number", value, "1.093,34")


@pytest.mark.parametrize("value", ["54.04", "54", "4", "5404"])
def test_a_decimal_comma_says_nothing(value: str) -> None:
    assert not said("money", value, "It is 54,04.")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1,093.34", "$1,093.34"),
        ("1,093.34", "1093.34 dollars"),
        ("54.04", "It costs 54.04."),
        ("54.04", "It costs $54.04, tax included"),
        ("54.04", "(it is $54.04)"),
        ("54.04", "$54.0400"),
        ("54.04", "**$54.04**"),
        ("54.04", "\\$54.04"),
        ("54.04", "US$54.04"),
        ("54.04", "USD 54.04"),
        ("54.04", "USD54.04"),
        ("54.04", "54.04 USD"),
        ("54.04", "54.04$"),
        ("54.04", "$ 54.04"),
        ("54.04", "Total:$54.04"),
        ("54.04", "-$54.04"),
        ("54.04", "\u2212$54.04"),
        ("54.04", "is\u2014$54.04\u2014and"),
        ("54.04", "30 + 24.04 = 54.04"),
        ("-54.04", "a refund of $54.04"),
        ("$54.04", "54.04"),
        ("0.50", "$.50"),
        ("50.00", "$50/bag"),
        ("50.00", "$50 per bag"),
        ("50.00", "a $50 pound"),
        ("888.00", "May 29, $888"),
    ],
)
def test_an_amount_is_said(value: str, text: str) -> None:
    assert said("money", value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("54.04", "$54.05"),
        ("54.04", "$54"),
        ("54.04", "54.045"),
        ("54.04", "54.04%"),
        ("54.04", "\u20ac54.04"),
        ("54.04", "\u20ac 54.04"),
        ("54.04", "54.04 \u20ac"),
        ("54.04", "54.04 EUR"),
        ("54.04", "A$54.04"),
        ("54.04", "$54.04-$60.00"),
        ("60.00", "$54.04-$60.00"),
        ("50.00", "up to 50 pounds"),
        ("50.00", "50lbs or 23 kg"),
        ("23.00", "50lbs or 23 kg"),
        ("24.00", "within 24 hours"),
        ("50.00", "50 percent"),
        ("45.00", "delayed by 45 minutes"),
        ("54.04", "$54.04k"),
        ("54.04", "$54.04.1"),
        ("1093.34", "$093.34"),
    ],
)
def test_another_amount_or_another_unit_is_not_said(value: str, text: str) -> None:
    assert not said("money", value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("TG278", "Your flight is tg278."),
        ("TG278", "**TG278**/TG279"),
        ("New York", "from new\n york"),
        ("new  york ", "New York"),
        ("New York", "New\u00a0York"),
        ("O'Hare", "at O\u2019Hare\u2019s gate"),
        ("caf\u00e9", "the cafe\u0301"),
        ("2024-05-10", "on 2024\u201005\u201010."),
        ("10:30", "at 10:30, gate 4"),
        ("10%", "is 10% off"),
        ("$54.04", "is $54.04."),
        ("IL", "Chicago, IL 60601"),
        ("a.b", "a.b"),
        ("10", "10, 11"),
    ],
)
def test_whole_words_are_said(value: str, text: str) -> None:
    assert said("text", value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("TG278", "TG2781"),
        ("TG278", "ATG278"),
        ("TG278", "TG27 8"),
        ("IL", "will"),
        ("a.b", "aXb"),
        ("10", "10.50"),
        ("10", "5.10"),
        ("10", "10:30"),
        ("10", "2024-05-10"),
        ("10%", "5.10%"),
        ("New York", "NewYork"),
    ],
)
def test_a_part_of_a_word_is_not_said(value: str, text: str) -> None:
    assert not said("text", value, text)


@pytest.mark.parametrize(
    ("value", "text", "is_said"),
    [
        ("10", "2103", True),
        ("8276.23", "$8,276.23", True),
        ("Yes", "YES", True),
        ("8,276.23", "$8,276.23", False),
        ("new york", "new  york", False),
        ("54.04", "not 54.04", True),
        ("54.04", "54.4", False),
    ],
)
def test_a_substring_is_found_as_tau_bench_finds_it(value: str, text: str, is_said: bool) -> None:
    assert said("substring", value, text) is is_said
    assert is_said is (value.lower() in text.lower().replace(",", ""))


@pytest.mark.parametrize("kind", ["text", "number", "money"])
def test_a_protocol_may_search_every_claim_as_a_substring(kind: str) -> None:
    assert not said(kind, "10", "2103")
    assert said(kind, "10", "2103", by_substring=True)
    score = claims_were_said([Claim(value="10", kind=ClaimKind(kind))], ["2103"], by_substring=True)
    assert score.evidence == [{"claim": "10", "kind": "substring", "said_in": 0}]


@pytest.mark.parametrize("kind", ["number", "money"])
@pytest.mark.parametrize(
    "value", ["ten", "", "10 bags", "1.093,34", "54,04", "1,0", "nan", "inf", "1e5", ".", "5.", "--5", "\u0665", True]
)
def test_a_claim_of_a_number_that_is_none_is_refused(kind: str, value: object) -> None:
    with pytest.raises(ValidationError, match=r"a number such as|valid string|at least 1"):
        Claim.model_validate({"value": value, "kind": kind})


def test_a_claim_of_fractions_of_a_cent_is_refused() -> None:
    with pytest.raises(ValidationError, match="an amount of dollars with at most two decimals"):
        Claim(value="54.045", kind=ClaimKind.MONEY)
    assert Claim(value="54.045", kind=ClaimKind.NUMBER).number() == Decimal("54.045")


@pytest.mark.parametrize("kind", list(ClaimKind))
def test_a_blank_claim_is_refused_because_every_text_says_it(kind: ClaimKind) -> None:
    with pytest.raises(ValidationError, match="a value that is not blank"):
        Claim(value=" \n", kind=kind)


def test_a_number_in_json_is_a_value_like_its_text() -> None:
    assert Claim.model_validate({"value": 23553, "kind": "number"}).value == "23553"
    assert Claim.model_validate({"value": 54.5, "kind": "money"}).number() == Decimal("54.5")


def test_a_task_with_such_a_claim_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    task = {"id": "a", "scenario": {"instructions": "x"}, "claims": [{"value": "ten", "kind": "money"}]}
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(task))
    with pytest.raises(DataError, match=r"tasks\.jsonl, record in line 1, field claims\.0: .*'ten'.* wanted a number"):
        load_tasks(path)


VALUES = {ClaimKind.DATE: "2024-05-10", ClaimKind.TIME: "10:30"}
ALL_KINDS = [Claim(value=VALUES.get(kind, "10"), kind=kind) for kind in ClaimKind]


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 10 \0",
        "9" * 40,
        "$" + "9" * 40 + ".99",
        "1" * 5_000,
        "\u0661\u0660",
        "\uff11\uff10",
        "1," * 50,
    ],
)
def test_a_text_nobody_can_read_is_judged_like_any_other(text: str) -> None:
    assert len(claims_were_said(ALL_KINDS, [text]).evidence) == len(ALL_KINDS)
    assert claims_were_not_said(ALL_KINDS, [text]).value in (0.0, 1.0)


def test_two_numbers_longer_than_any_float_are_told_apart() -> None:
    value = "9" * 40
    assert said("number", value, value)
    assert said("money", f"{value}.25", f"${value}.25")
    assert not said("money", f"{value}.25", f"${value}.26")
    assert not said("number", value, value[:-1] + "8")


PIECES = [
    "1", "1,", "1,111", ",111", "1.", ".1", ".", "-", "- ", "$", "$-", "US", "USD", " ", "\n", "\n ", "> ", "*",
    "(", "(111)", "+1 ", "May ", "May 1", "1 of ", "1 May ", "a", "1 a.", "1-", "1:", "/1", "\u00a0111", "per ",
    "e\u0301", "\u2013", "1\u00a0", "\u0661",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_no_repetition_is_read_again_and_again(piece: str) -> None:
    text = piece * (40_000 // len(piece)) + "x"  # at a quadratic cost each of these takes seconds
    claims = [Claim(value="10", kind=ClaimKind.NUMBER), Claim(value=f"{piece}a{piece}")]
    assert claims_were_said(claims, [text]).value == 0.0


def test_a_megabyte_is_read() -> None:
    text = "".join(PIECES) * (1_000_000 // len("".join(PIECES)))
    assert said("money", "54.04", f"{text} It is $54.04.")


numbers = st.decimals(min_value=0, max_value=10**12, places=2)
around = st.sampled_from(["", " ", "It is ", "(", "**", "| ", "Total: ", "\n", "\u2014", "= "])
behind = st.sampled_from(["", ".", ",", ")", "!", "**", " |", "; thanks", ". Thanks", ", thanks", "\n", "\u2014"])


@given(value=numbers, before=around, after=behind, mark=st.sampled_from(["", "$", "$ ", "US$", "-$", "\u2212$"]))
def test_any_amount_is_said_however_it_is_written(value: Decimal, before: str, after: str, mark: str) -> None:
    for written in (f"{value:.2f}", f"{value:,.2f}", f"{value:.4f}"):
        assert said("money", f"{value:.2f}", f"{before}{mark}{written}{after}")
        assert said("money", f"{value:,.2f}", f"{before}{mark}{written}{after}")


@given(value=numbers, other=numbers, before=around, after=behind)
def test_no_other_amount_is_said(value: Decimal, other: Decimal, before: str, after: str) -> None:
    assert said("money", f"{value:.2f}", f"{before}${other:,.2f}{after}") is (value == other)


@given(value=st.integers(0, 10**9), left=st.sampled_from("aZ_#@59\u00e9"), right=st.sampled_from("aZ_@59\u00e9\u00b2"))
def test_no_number_is_said_by_a_longer_word(value: int, left: str, right: str) -> None:
    for text in (f"{left}{value}", f"{value}{right}", f"x {left}{value}{right} y"):
        assert not said("number", str(value), text)


words = st.lists(st.sampled_from([*"019.,:-/$%# ab\n", "May ", "AM", "\u2212", "\u00a0", "10", "54.04"]), max_size=12)


@given(texts=st.lists(words.map("".join) | st.text(), max_size=3), value=st.integers(0, 1000))
@example(texts=["10" * 20], value=10)
def test_a_number_that_is_said_is_in_the_text_with_its_digits(texts: Sequence[str], value: int) -> None:
    score = claims_were_said([Claim(value=str(value), kind=ClaimKind.NUMBER)], texts)
    if score.value == 1.0:
        index = score.evidence[0]["said_in"]
        assert isinstance(index, int)
        digits = "".join(str(int(c)) for c in texts[index] if c.isdecimal())
        assert str(value) in digits
