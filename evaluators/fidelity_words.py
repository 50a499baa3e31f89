"""What a simulated user may know: its scenario, what it was told, and what follows from that by simple counting.

Digits are compared by value and identifiers without letter case, so that `$1,093.34`, `1093.34 dollars` and `gv36fq`
are what they stand for. Numbers in words count too. A text is taken apart only when a look at its letters did not
settle the question, because most of what a user states stands literally in its scenario.
"""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from itertools import combinations

from taugraph.evaluators.mentions import Day, as_plain, find_days

_DIGITS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?")
_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_ORDINALS = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = {
    **{word: number for number, word in enumerate(_UNITS)},
    **{word: number for number, word in enumerate(_ORDINALS)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
    **{word[:-1] + "ieth": 10 * number for number, word in enumerate(_TENS, 2)},
    "dozen": 12,
    "both": 2,
}
_WORDS = re.compile(rf"\b(?:(?:{'|'.join(_VALUES)}|hundred|thousand|a|and)\b[\s-]{{0,2}})+", re.IGNORECASE)
_RANGE = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b|\b(\d{1,2})(?:-|\s(?:to|and|or|until|till)\s)(?:the\s)?(\d{1,2})\b")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SHIFTS = (
    (
        re.compile(r"\b(?:day (?:after|before|later|earlier)|next day|tomorrow|yesterday|overnight|previous day)\b"),
        (1,),
    ),
    (re.compile(r"\bweek"), (1, 2, 7, 14)),
    (re.compile(r"\b(?:days (?:later|earlier|after|before)|within|window|around|range|nights?)\b"), (1, 2, 3, 4, 5)),
)
_MOST_TO_JOIN = 15


def numbers_in_words(plain: str) -> set[int]:
    """Return the whole numbers that a text spells out, ordinals included, up to thousands."""
    found: set[int] = set()
    for run in _WORDS.finditer(plain):
        total = group = 0
        for word in re.findall(r"[a-z]+", run.group().lower()):
            if word in ("hundred", "thousand"):
                group = max(group, 1) * (100 if word == "hundred" else 1000)
                found.add(group)
                if word == "thousand":
                    total, group = total + group, 0
            elif word in _VALUES:
                value = _VALUES[word]
                found.add(value)
                group = group + value if group % 100 == 0 or (group % 10 == 0 and value < 10) else value
                found.add(total + group)
    return found


def numbers_in(plain: str) -> set[Decimal]:
    """Return every number in a text, those inside identifiers and dates included."""
    digits = {Decimal(match.group().replace(",", "")) for match in _DIGITS.finditer(plain)}
    return digits | {Decimal(number) for number in numbers_in_words(plain)}


class Given:
    """What a user was given so far."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Begin with the texts of the scenario."""
        self._texts = [as_plain(text) for text in texts]
        self._told = len(self._texts)
        self._parsed = self._parsed_days = 0
        self._numbers: set[Decimal] = set()
        self._days: list[Day] = []
        self._lower = "\n".join(self._texts).lower()

    def hear(self, text: str) -> None:
        """Add words that reached the user."""
        self._texts.append(as_plain(text))
        self._lower += "\n" + self._texts[-1].lower()

    @property
    def lower(self) -> str:
        """All of it in small letters."""
        return self._lower

    def holds(self, token: str) -> bool:
        """Tell whether an identifier stands there, letter case and `#` ignored."""
        wanted = token.lower().lstrip("#")
        start = self._lower.find(wanted)
        while start >= 0:
            end = start + len(wanted)
            if not (self._lower[start - 1 : start].isalnum() or self._lower[end : end + 1].isalnum()):
                return True
            start = self._lower.find(wanted, start + 1)
        return False

    def has_number(self, value: Decimal, *, is_money: bool = False, is_rough: bool = False) -> bool:
        """Tell whether a number stands there, as digits or in words.

        Args:
            value: The number, without its sign.
            is_money: Whether it is an amount of dollars: then whole ones will do.
            is_rough: Whether it was said to be no more than about right: then 5 % do not matter.
        """
        known = self._all_numbers()
        if value in known:
            return True
        is_whole = is_money and value == value.to_integral_value()
        if is_whole and any(0 < number - value < 1 or 0 < value - number < 1 for number in known):
            return True
        if is_rough and any(abs(number - value) * 20 <= number for number in known):
            return True
        text = str(value)
        return len(text) >= 4 and any(re.search(rf"\d{text}(?!\d)", part) for part in self._texts)

    def adds_up_to(self, value: Decimal) -> bool:
        """Tell whether a number follows from given ones: a sum, a difference, a small multiple or a half."""
        known = self._all_numbers()
        if any(value + number in known or abs(value - number) in known for number in known):
            return True
        if any(value == number * times for number in known for times in range(2, 7)) or value * 2 in known:
            return True
        last = [number for text in self._texts[-2:] for number in sorted(numbers_in(text))][:_MOST_TO_JOIN]
        return any(value == sum(some) for size in (3, 4) for some in combinations(last, size))

    def has_day(self, day: Day) -> bool:
        """Tell whether a day stands there, is an end of a given range, or follows from a given day."""
        days = self._all_days()
        if any(_can_be_same(day, given) for given in days):
            return True
        if self._names_month(day) and self._names_day(day):
            return True
        shifts = {shift for pattern, shifts in _SHIFTS if pattern.search(self._lower) for shift in shifts}
        return any(_is_apart(day, given, shift) for given in days for shift in shifts)

    def _names_month(self, day: Day) -> bool:
        name = _MONTHS[day.month - 1] if 1 <= day.month <= 12 else "no month"
        return bool(re.search(rf"\b{name}|-{day.month:02}-", self._lower)) or not self._all_days()

    def _names_day(self, day: Day) -> bool:
        named = {int(part) for match in _RANGE.finditer(self._lower) for part in match.groups() if part}
        spelled = re.search(rf"(?:{_MONTHS[day.month - 1]}|the)\w*\s\w+", self._lower) if 1 <= day.month <= 12 else None
        return day.day in named or (spelled is not None and day.day in numbers_in_words(self._lower) and day.day > 12)

    def _all_numbers(self) -> set[Decimal]:
        for text in self._texts[self._parsed :]:
            self._numbers |= numbers_in(text)
        self._parsed = len(self._texts)
        return self._numbers

    def _all_days(self) -> list[Day]:
        for text in self._texts[self._parsed_days :]:
            self._days += [mention.value for mention in find_days(text) if isinstance(mention.value, Day)]
        self._parsed_days = len(self._texts)
        return self._days


def _can_be_same(day: Day, given: Day) -> bool:
    return (day.month, day.day) == (given.month, given.day) and (
        None in (day.year, given.year) or day.year == given.year
    )


def _is_apart(day: Day, given: Day, shift: int) -> bool:
    year = day.year or given.year or 2024
    try:
        return abs(date(year, day.month, day.day) - date(given.year or year, given.month, given.day)) == timedelta(
            shift
        )
    except ValueError:
        return False
