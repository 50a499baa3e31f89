"""What a text mentions: numbers, amounts, days, times of day, identifiers and words, each with its place.

A number counts where it stands by itself in English digits. Parts of ids, dates, times of day, ranges, phone numbers
and list markers are no numbers, nor are `010` and `10-minute`. `1,093.34` is read, as is `1 093.34` with a no-break
space; the continental `1.093,34` and `54,04` say nothing. `zero` to `ninety-nine` are numbers too, `one` only where its
unit stands beside it; they never are amounts. `5/20` is the 20th of May, as in the US. Both ends of a span are
mentioned. A time without `am` or `pm` is read by the 24-hour clock, unless it begins a span that ends in one:
`9:00 to 11:30 pm` begins at 21:00, `11-1 pm` at 11:00.

Days and times are read here and not by a library: of `You may check 2 bags, order 10` python-dateutil's fuzzy parser
makes 2 May 2010, and it gives up where a text names two days; dateparser's search makes a day of `may`, fills a year
that nobody said from today's date, drops the weekday that contradicts, and takes 40 ms for a page. Every expression
here is bounded, so that a text is read in time linear in its length.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from taugraph.evaluators.spans import DAYS, HALF_OF_DAY, HOURS, MONTH, ORDINAL

_YEAR = r"(?:19|20)\d\d(?!\w)"
_NO_NUMBER = rf"""
    ^[ \t>*\#]*\d{{1,3}}[.)]\**[ \t]                                                   # the marker of a list item
    | {DAYS} | {HOURS}  # the ends of a span
    | (?<!\w){MONTH}\.?\s(?:\d{{1,2}}(?:st|nd|rd|th)?(?!\w)(?:,?\s{_YEAR})?|{_YEAR})  # May 10, 2024
    | (?<![\w.,:/$-])\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}(?!\w)(?:,?\s{_YEAR})?  # 10 May 2024
    | (?:\+\d{{1,3}}[ -](?:\(\d{{3}}\)|\d{{3}})|\(\d{{3}}\))[ -]?\d{{3}}[ -]\d{{4}}(?!\d)  # +1 (555) 010-0199
"""
_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = dict(zip(_ONES + _TEENS, range(20), strict=True)) | dict(zip(_TENS, range(20, 100, 10), strict=True))
_IN_WORDS = rf"""
    (?<![\w-])(?P<words>(?i:(?:{"|".join(_TENS)})[\s-](?:{"|".join(_ONES[1:10])})|{"|".join(_VALUES)}))(?![\w-])
    (?!\s(?i:hundred|thousand|million|dozen|point|o'clock|and\sa\shalf|half|{"|".join(_VALUES)})\b)
    (?!\s?[AaPp]\.?[Mm]\b)
"""
_NUMBER = r"""
    (?P<minus>(?<![\w)-])-)?
    (?:
        (?P<dollars>(?<!\w)(?<!\d-)(?:(?:US)?\$|USD))\s?(?P<inner_minus>-)?
        | (?<![\w\#@$€£¥₹])(?<![€£¥₹]\s)(?<!\w[.-])(?<!\d[,:/\u00a0\u2009\u202f])
    )
    (?P<digits>(?!0\d)(?:\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3})++|\d++)(?:\.\d++)?|(?<!\.)\.\d++)
    (?P<glued>(?i:kgs?|lbs?|g|oz|km|mi|cm|in|ft|h|hrs?|mins?|x)(?!\w))?
    (?![\w@])(?!-[\w$])(?![.,:/]\d)(?!\s?[AaPp]\.?[Mm]\b)
    (?P<unit>\s?(?:[%€£¥₹]|(?i:per\s?cent|eur|euros?|gbp|pounds?|lbs?|kgs?|kilos?|min(?:ute)?s?|h(?:ou)?rs?|days?)\b))?
"""
_TOKEN = re.compile(f"{_NO_NUMBER} | {_NUMBER} | {_IN_WORDS}", re.VERBOSE | re.MULTILINE)
_SEPARATORS = re.compile(r"[,\s]")
_LONGER = re.compile(rf"(?i:\b(?:(?:{'|'.join(_TENS)}|no)\s|(?:hundred|thousand)\s(?:and\s)?))$")

_DATE = re.compile(
    rf"""
    (?<![\w/.-])(?P<y1>\d{{4}})(?P<dash>[-/])(?P<m1>\d\d)(?P=dash)(?P<d1>\d\d)(?=T\d\d:|(?!\w|[-/.]\d))
    | (?<![\w/.$-])(?P<m2>\d{{1,2}})/(?P<d2>\d{{1,2}})(?:/(?P<y2>\d{{4}}|\d\d))?(?!\w|[-/.]\d|%)
    | (?:(?<![\w-])|(?<=\d-))(?P<m3>{MONTH})\.?\s{{1,3}}(?:the\s)?(?P<d3>\d{{1,2}}){ORDINAL}(?!\w|[-/:.]\d)
        (?:,?\s{{1,3}}(?P<y3>(?:19|20)\d\d)(?!\w|[-/:.,]\d))?
    | (?<![\w.:/$-])(?P<d4>\d{{1,2}}){ORDINAL}[\s-](?:of\s)?(?P<m4>{MONTH})(?!\w)\.?
        (?:[,-]?\s?(?P<y4>(?:19|20)\d\d)(?!\w))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WEEKDAY = r"(?P<weekday>mon|tue|wed|thu|fri|sat|sun)(?:day|s|sday|nesday|r|rs|rsday|urday)?\b"
_WEEKDAY_BEFORE = re.compile(rf"\b{_WEEKDAY}\.?,?\s(?:(?:on\s)?the\s)?$", re.IGNORECASE)
_WEEKDAY_AFTER = re.compile(rf"(?:,\s|\s?\(|\s)(?:a\s)?{_WEEKDAY}(?!,?\s(?:the\s)?(?:\d|{MONTH}\b))", re.IGNORECASE)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_TIME = re.compile(
    rf"""
    (?<!\w)(?:12\s)?(?P<named>noon|midnight)(?!\w)
    | (?:(?<![\w:.,$])|(?<=\dT))(?<![A-Z]-)(?P<hour>\d{{1,2}})
      (?:(?::|\.(?=\d\d{HALF_OF_DAY}))(?P<minute>[0-5]\d)(?::[0-5]\d)?)?
      (?P<half>{HALF_OF_DAY})?
      (?!\w|[:.%]\d)(?!\s?(?:h|hrs?|hours?|min(?:ute)?s?)\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DAYS = re.compile(DAYS, re.VERBOSE | re.IGNORECASE)
_HOURS = re.compile(HOURS, re.VERBOSE | re.IGNORECASE)
_ACCENTED = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,64}")  # composing one long run of accents would take quadratic time
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"  # hyphens, figure and en dash, minus signs; no em dash
_PLAIN = str.maketrans(dict.fromkeys(_HYPHENS, "-") | dict.fromkeys("\u2018\u2019", "'"))


class Number(NamedTuple):
    """A number standing by itself."""

    value: Decimal
    """With its sign."""
    is_amount: bool
    """Whether it can be dollars: it is written in digits and no other unit follows."""
    needs_unit: bool
    """Whether it is a number only together with its unit, as in `23kg` and `one bag`."""


class Day(NamedTuple):
    """A day as far as the text names it."""

    year: int | None
    month: int
    day: int
    weekday: int | None
    """Monday is 0; `None` where the text names none."""

    def can_be(self, wanted: date) -> bool:
        """Return whether nothing that was said about the day contradicts the wanted one."""
        return (
            (self.month, self.day) == (wanted.month, wanted.day)
            and self.year in (None, wanted.year)
            and self.weekday in (None, wanted.weekday())
        )


@dataclass(frozen=True, slots=True)
class Mention:
    """Something a text mentions, at `[start, end)` of the plain text."""

    value: Number | Day | str
    """What is mentioned; a time of day is `HH:MM`."""
    start: int
    """Where it begins, its sign and currency included."""
    end: int
    """Where it ends."""


def as_plain(text: str) -> str:
    """Return the text in composed characters, with one kind of hyphen and of apostrophe."""
    return _ACCENTED.sub(lambda run: unicodedata.normalize("NFC", run.group()), text).translate(_PLAIN)


def find_numbers(plain: str) -> Iterator[Mention]:
    """Yield the numbers of a plain text in order, amounts included."""
    for match in _TOKEN.finditer(plain):
        if match["digits"]:
            value = Decimal(_SEPARATORS.sub("", match["digits"]))
            if match["minus"] or match["inner_minus"]:
                value = value.copy_negate()
            glued = match["glued"] is not None
            is_amount = bool(match["dollars"]) or not (match["unit"] or glued)
            yield Mention(Number(value, is_amount, glued), match.start(), match.end("digits"))
        elif match["words"] and not _LONGER.search(plain, max(0, match.start() - 14), match.start()):
            words = match["words"].lower()
            value = Decimal(sum(_VALUES[word] for word in re.split(r"[\s-]", words)))
            yield Mention(Number(value, False, words == "one"), match.start(), match.end())


def find_days(plain: str) -> Iterator[Mention]:
    """Yield the days of a plain text in order, whether or not the calendar has them."""
    found = {mention.start: mention for mention in map(partial(_day, plain), _DATE.finditer(plain))}
    for match in _DAYS.finditer(plain):
        form = "1" if match["m1"] else "2"
        first, last = int(match[f"from{form}"]), int(match[f"upto{form}"])
        if first < last:
            year, month = match[f"y{form}"], _month(match[f"m{form}"])
            ends = [Day(int(year) if year else None, month, day, None) for day in (first, last)]
            middle = match.start(f"upto{form}")
            found[match.start()] = Mention(ends[0], match.start(), match.end(f"from{form}"))
            found[middle] = Mention(ends[1], middle, match.end())
    yield from (found[start] for start in sorted(found))


def _day(plain: str, match: re.Match[str]) -> Mention:
    year, month, day = (_first(match, part) for part in "ymd")
    before = _WEEKDAY_BEFORE.search(plain, max(0, match.start() - 20), match.start())
    named = before or _WEEKDAY_AFTER.match(plain, match.end())
    weekday = _WEEKDAYS.index(named["weekday"].lower()) if named else None
    full_year = None if not year else int(year) if len(year) == 4 else 2000 + int(year)
    return Mention(Day(full_year, _month(month), int(day), weekday), match.start(), match.end())


def _month(name: str) -> int:
    return int(name) if name.isdecimal() else _MONTHS.index(name[:3].lower()) + 1


def _first(match: re.Match[str], part: str) -> str:
    groups = match.groupdict()
    return next((groups[f"{part}{form}"] for form in range(1, 5) if groups[f"{part}{form}"]), "")


def find_times(plain: str) -> Iterator[Mention]:
    """Yield the times of day of a plain text in order, each as `HH:MM`."""
    found = {}
    for match in _TIME.finditer(plain):
        if match["named"]:
            value = "12:00" if match["named"].lower() == "noon" else "00:00"
            found[match.start()] = Mention(value, match.start(), match.end())
        elif match["minute"] or match["half"]:
            value = f"{_hour(int(match['hour']), match['half']):02}:{match['minute'] or '00'}"
            found[match.start()] = Mention(value, match.start(), match.end())
    for match in _HOURS.finditer(plain):
        if _is_span(plain, match):
            hour = _first_hour(int(match["from_hour"]), int(match["upto_hour"]), match["shared"])
            value = f"{hour:02}:{match['from_minute'] or '00'}"
            found[match.start()] = Mention(
                value, match.start(), match.end("from_minute" if match["from_minute"] else "from_hour")
            )
    yield from (found[start] for start in sorted(found))


def _is_span(plain: str, match: re.Match[str]) -> bool:
    """Tell whether two times are the ends of one span: `3 and 5 pm` are only behind a `between`."""
    return not match["and"] or plain[max(0, match.start() - 8) : match.start()].lower() == "between "


def _first_hour(hour: int, last: int, half: str) -> int:
    """Return where a span begins: in the half of the day in which it ends, unless it would then begin after its end."""
    if not 1 <= hour <= 12:
        return hour
    begins = _hour(hour, half)
    return (begins + 12) % 24 if hour % 12 > last % 12 else begins


def _hour(hour: int, half: str | None) -> int:
    named = (half or "").strip().lower()
    if not named or not 1 <= hour <= 12:
        return hour
    is_late = (
        named[0] == "p" or named.endswith(("afternoon", "evening")) or (named.endswith("night") and 6 <= hour < 12)
    )
    return hour % 12 + 12 * is_late


def find_ids(plain: str, wanted: str) -> Iterator[Mention]:
    """Yield words in order that may be identifiers like the wanted one, itself included wherever it stands alone."""
    exact = rf"(?<!\w)(?<!\w[-.@]){re.escape(wanted)}(?!\w|[-.@]\w)"
    has_digit = any(letter.isdigit() for letter in wanted)
    like = r"(?<![\w-])[\w-]*\d[\w-]*" if has_digit else rf"(?<![\w-])[A-Z]{{{len(wanted)}}}\b"
    for match in re.finditer(f"(?P<exact>{exact})|{like}", plain):
        yield Mention(match.group(), match.start(), match.end())


def find_words(plain: str, wanted: str) -> Iterator[Mention]:
    """Yield the places of the wanted words, letter case and runs of spaces ignored, where nothing goes on.

    Nothing goes on where no letter or digit follows, nor a further part of a number where a digit stands.
    """
    words = wanted.split()
    before = r"(?<!\w)(?<!\d[.,:/-])" if words[0][0].isdigit() else r"(?<!\w)"
    after = r"(?!\w)(?![.,:/-]\d)" if words[-1][-1].isdigit() else r"(?!\w)"
    spaced = r"\s+".join(map(re.escape, words))
    for match in re.finditer(f"{before}{spaced}{after}", plain, re.IGNORECASE):
        yield Mention(wanted, match.start(), match.end())
