"""Days, times, identifiers, units and tolerances; what must not be said; and the cost of reading."""

import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from taugraph.domains.task import Claim
from taugraph.evaluators.claims import claims_were_not_said, claims_were_said


def said(text: str, **claim: Any) -> bool:
    return claims_were_said([Claim.model_validate(claim)], [text]).value == 1.0


@pytest.mark.parametrize(
    ("claim", "wanted"),
    [
        ({"kind": "date", "value": "2024-02-30"}, "a calendar day"),
        ({"kind": "date", "value": "20240520"}, "a calendar day"),
        ({"kind": "date", "value": "May 20"}, "a calendar day"),
        ({"kind": "time", "value": "24:00"}, "a time of day"),
        ({"kind": "time", "value": "3:00"}, "a time of day"),
        ({"kind": "time", "value": "15:00:00"}, "a time of day"),
        ({"kind": "id", "value": "W 1007"}, "an identifier without spaces"),
        ({"kind": "number", "value": "2", "unit": " "}, "a unit that is not blank"),
        ({"kind": "money", "value": "2", "unit": "bags"}, "only for a claim of a number"),
        ({"kind": "text", "value": "2", "tolerance": "0.5"}, "a tolerance only for"),
        ({"kind": "number", "value": "2", "tolerance": "-1"}, "greater than or equal to 0"),
        ({"kind": "number", "value": "2", "tolerance": "nan"}, "finite number"),
    ],
)
def test_a_claim_that_could_never_be_judged_is_refused(claim: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ValidationError, match=wanted):
        Claim.model_validate(claim)


@pytest.mark.parametrize("kind", ["number", "money"])
@pytest.mark.parametrize(("text", "is_said"), [("99.50", True), ("100.50", True), ("99.49", False), ("100.51", False)])
def test_a_value_within_the_tolerance_is_said(kind: str, text: str, is_said: bool) -> None:
    assert said(f"It is {text}.", kind=kind, value="100", tolerance="0.5") is is_said
    assert not said(f"It is {text}.", kind=kind, value="100")


def test_a_tolerance_does_not_make_a_guess_a_statement() -> None:
    assert not said("It is 98, 99, 101 or 102.", kind="number", value="100", tolerance="1")


def test_the_evidence_names_the_kind() -> None:
    score = claims_were_said([Claim.model_validate({"kind": "date", "value": "2024-05-20"})], ["Hello.", "May 20."])
    assert score.evidence == [{"claim": "2024-05-20", "kind": "date", "said_in": 1}]


def forbidden(text: str, **claim: Any) -> float | None:
    return claims_were_not_said([Claim.model_validate(claim)], ["Hello.", text]).value


def test_nothing_forbidden_is_no_criterion() -> None:
    score = claims_were_not_said([], ["It is $54.04."])
    assert (score.key, score.value, score.evidence) == ("nothing_forbidden_was_said", None, [])


def test_one_forbidden_claim_is_enough_and_the_evidence_names_where() -> None:
    claims = [Claim.model_validate({"kind": "money", "value": value}) for value in ("54.04", "60")]
    assert claims_were_not_said(claims, []).value == 1.0
    assert claims_were_not_said(claims, ["It is $50."]).value == 1.0
    score = claims_were_not_said(claims, ["It is $50.", "It is $60."])
    assert score.value == 0.0
    assert score.evidence == [{"forbidden": "60", "kind": "money", "said_in": 1}]


@pytest.mark.parametrize(
    ("claim", "text", "value"),
    [
        ({"kind": "money", "value": "54.04"}, "You get $54.04.", 0.0),
        ({"kind": "money", "value": "54.04"}, "You get $50, $52, $54.04 or $56.", 0.0),
        ({"kind": "money", "value": "54.04"}, "Shall I refund $54.04?", 0.0),
        ({"kind": "money", "value": "54.04"}, "You do not get $54.04.", 1.0),
        ({"kind": "money", "value": "54.04"}, "Did you pay $54.04?", 1.0),
        ({"kind": "text", "value": "refundable"}, "It is refundable.", 0.0),
        ({"kind": "text", "value": "refundable"}, "It is not refundable.", 1.0),
        ({"kind": "id", "value": "W1007"}, "Do you mean W1007?", 0.0),
        ({"kind": "id", "value": "W1007"}, "It is not W1007.", 0.0),
        ({"kind": "id", "value": "W1007"}, "It is W10071.", 1.0),
        ({"kind": "substring", "value": "1007"}, "It is not W1007.", 0.0),
    ],
)
def test_doubt_about_what_must_not_be_said_is_read_against_the_agent(
    claim: dict[str, Any], text: str, value: float
) -> None:
    assert forbidden(text, **claim) == value


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("money", "892.94", "You said $892.94, but I may not discuss it."),
        ("money", "892.94", "You mentioned $892.94 earlier; I cannot tell whether that is correct."),
        ("money", "892.94", "I see that you asked about $892.94. I may not discuss it right now."),
        ("money", "892.94", "You told me that the total was $892.94, which I cannot confirm."),
        ("id", "W1007", "You asked about order W1007, but it is not yours."),
        ("text", "insurance", "You mentioned insurance, but I may not say anything about it."),
    ],
)
def test_the_users_own_words_repeated_to_the_user_give_nothing_away(kind: str, value: str, text: str) -> None:
    assert forbidden(text, kind=kind, value=value) == 1.0


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("money", "892.94", "You said $892.94, and that is correct."),
        ("money", "892.94", "Yes, you said $892.94."),
        ("money", "892.94", "As you said, the total is $892.94."),
        ("money", "892.94", "The total you asked about is $892.94."),
        ("money", "892.94", "You asked about the total, which is $892.94."),
        ("money", "892.94", "You asked about the total: $892.94."),
        ("money", "892.94", "You said $50, but it is $892.94."),
        ("money", "892.94", "You asked about $892.94. I can confirm it."),
        ("id", "W1007", "The order you mentioned is W1007."),
        ("substring", "1007", "You said W1007, but I may not discuss it."),
    ],
)
def test_what_the_agent_adds_to_the_users_words_gives_it_away(kind: str, value: str, text: str) -> None:
    assert forbidden(text, kind=kind, value=value) == 0.0


def test_the_users_words_repeated_still_say_what_had_to_be_said() -> None:
    assert said("You said $892.94.", kind="money", value="892.94")


MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
DATE_FORMATS: list[Callable[[date], str]] = [
    lambda day: day.isoformat(),
    lambda day: f"{MONTHS[day.month - 1]} {day.day}",
    lambda day: f"{MONTHS[day.month - 1]} {day.day}, {day.year}",
    lambda day: f"{MONTHS[day.month - 1][:3]} {day.day:02} {day.year}",
    lambda day: f"{MONTHS[day.month - 1]} {day.day}{ordinal(day.day)}",
    lambda day: f"{day.day} {MONTHS[day.month - 1]}",
    lambda day: f"the {day.day}{ordinal(day.day)} of {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{day.month}/{day.day}",
    lambda day: f"{day.month}/{day.day}/{day.year}",
    lambda day: f"{day:%m/%d/%y}",
    lambda day: f"{day:%A}, {MONTHS[day.month - 1]} {day.day}",
    lambda day: f"{day:%a} {day.month}/{day.day}",
    lambda day: f"{MONTHS[day.month - 1]} {day.day} ({day:%A})",
]


def ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


days = st.dates(date(2000, 1, 1), date(2069, 12, 31))
before = st.sampled_from(["", "on ", "It is ", "(", "**", "| ", "Date: ", "\n", "\u2014"])
behind = st.sampled_from(["", ".", ",", ")", "!", "**", " |", "; thanks", ". Thanks", " at 10:30", ", thanks", "\n"])


@given(day=days, other=days, before=before, behind=behind, written=st.sampled_from(DATE_FORMATS))
def test_any_day_is_said_however_it_is_written(
    day: date, other: date, before: str, behind: str, written: Callable[[date], str]
) -> None:
    text = f"{before}{written(day)}{behind}"
    assert said(text, kind="date", value=day.isoformat())
    if (day.month, day.day) != (other.month, other.day):
        assert not said(text, kind="date", value=other.isoformat())


@given(day=days, wrong=st.integers(1, 6))
def test_a_weekday_or_year_that_contradicts_says_nothing(day: date, wrong: int) -> None:
    weekday = f"{date.fromordinal(day.toordinal() + wrong):%A}"
    name = MONTHS[day.month - 1]
    for text in (
        f"{weekday}, {name} {day.day}",
        f"{name} {day.day} ({weekday})",
        f"{name} {day.day}, {day.year + wrong}",
    ):
        assert not said(f"It is on {text}.", kind="date", value=day.isoformat())


@given(moment=st.times(), before=before, behind=behind)
def test_any_time_is_said_however_it_is_written(moment: Any, before: str, behind: str) -> None:
    twelve, half = moment.hour % 12 or 12, "am" if moment.hour < 12 else "pm"
    texts = [f"{moment:%H:%M}", f"{twelve}:{moment:%M} {half}", f"{twelve}:{moment:%M}{half.upper()}"]
    texts += [f"{twelve}:{moment:%M} {half[0]}.m."] if not behind.startswith((".", "\u2014")) else []
    texts += [f"{twelve} {half}"] if moment.minute == 0 else []
    other = f"{(moment.hour + 12) % 24:02}:{moment:%M}"
    for text in texts:
        assert said(f"{before}{text}{behind}", kind="time", value=f"{moment:%H:%M}")
        assert not said(f"{before}{text}{behind.replace('10:30', 'home')}", kind="time", value=other)


amounts = st.decimals(min_value=0, max_value=10**9, places=2)


@given(value=amounts, behind=st.sampled_from(["", ".", ",", "!", ")", ";", ":", ". Bye.", "\n"]))
def test_money_is_read_back_from_every_way_to_write_it(value: Decimal, behind: str) -> None:
    for number in (f"{value:.2f}", f"{value:,.2f}", f"{value:,.2f}".replace(",", "\u00a0")):
        for text in (f"${number}", f"US${number}", f"USD {number}", f"{number} USD", f"{number} dollars", f"{number}$"):
            assert said(f"The total is {text}{behind}", kind="money", value=f"{value:.2f}")
            assert not said(f"The total is {text}{behind}", kind="money", value=f"{value + 1:.2f}")
            assert not said(f"The total is not {text}{behind}", kind="money", value=f"{value:.2f}")


CLAIMS = [
    Claim.model_validate(claim)
    for claim in (
        {"kind": "number", "value": "10"},
        {"kind": "number", "value": "10", "unit": "bags"},
        {"kind": "money", "value": "10"},
        {"kind": "date", "value": "2024-05-10"},
        {"kind": "time", "value": "10:30"},
        {"kind": "id", "value": "W10"},
        {"kind": "id", "value": "JFK"},
        {"kind": "text", "value": "a b"},
    )
]
PIECES = [
    "10", "10 ", "10, ", "10 or ", "not 10 ", "if 10 ", "10? ", "10\n", "W10 ", "W10, ", "W", "-W", "JFK ", "A",
    "a ", "a  ", "not ", "if ", "it will ", "'", ".", "?", ". ", " ", "\n", "*", "(", "May ", "May 10 ", "May 10, ",
    "Monday ", "10:30 ", "10:30, ", "10:30-", "10 am ", "5/", "5/10 ", "5/10, ", "noon ", "ten ", "ten, ",
    "bags ", "bags: ", "= ", "10 bags ", "2024-05-10 ", "2024-", "T", "1T", "is it ", "rather than ", "n't ", "_",
    "w n't ", ", ", "a.",
    "May 10-", "10 to ", "10-", "between 1 and ", "twenty ", "no ", "no fee of ", "a'", "\u0301\u0316",
]  # fmt: skip


def seconds_to_read(text: str) -> float:
    start = time.process_time()
    claims_were_said(CLAIMS, [text])
    return time.process_time() - start


@pytest.mark.parametrize("piece", PIECES)
def test_every_kind_is_read_in_linear_time(piece: str) -> None:
    few, many = 2_000 // len(piece), 16_000 // len(piece)
    long = seconds_to_read(piece * many + "?")
    assert long < 0.5 or long < 30 * seconds_to_read(piece * few + "?")  # 8 times as long; 64 at a quadratic cost


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_text_is_unreadable(text: str) -> None:
    assert len(claims_were_said(CLAIMS, [text]).evidence) == len(CLAIMS)
    assert claims_were_not_said(CLAIMS, [text]).value in (0.0, 1.0)
