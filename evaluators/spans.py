"""How people write spans of days and of hours whose ends share a month, a year, or a half of the day.

The expressions are verbose ones; each says which groups it has.
"""

MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
"""A month by its name, without a group."""

ORDINAL = r"(?:st|nd|rd|th)?"
"""What may stand behind the number of a day."""

HALF_OF_DAY = r"(?:\s?(?:[ap]\.m\b\.?|[ap]m\b)|\s(?:in\sthe\s(?:morning|afternoon|evening)|at\snight)\b)"
"""Which half of the day a time is in."""

_YEAR = r"(?:19|20)\d\d(?!\w|[-/:.,]\d)"
_JOINED = r"\s(?:to|until|till|through|thru|and)\s|\s-\s"
_NOTHING_COUNTED = r"""
    (?=\s?$|\s?[\n,.;:!?)*|\]]|\s(?:for|in|at|on|is|are|was|were|will|and|or|but|with|you|we|to|from|inclusive|as|each
    |while|when|if|which|because|\(|-)(?!\w))
"""
DAYS = rf"""
    (?<![\w-])(?P<m1>{MONTH})\.?\s{{1,3}}(?:the\s)?(?P<from1>\d{{1,2}}){ORDINAL}(?:(?P<tight>-)|{_JOINED})
        (?:the\s)?(?P<upto1>\d{{1,2}}){ORDINAL}(?!\w|[-/:.]\d)(?:,?\s(?P<y1>{_YEAR})|(?(tight)|{_NOTHING_COUNTED}))
    | (?<![\w.:/$-])(?P<from2>\d{{1,2}}){ORDINAL}(?:-|{_JOINED})
        (?:the\s)?(?P<upto2>\d{{1,2}}){ORDINAL}\s(?:of\s)?(?P<m2>{MONTH})(?!\w)\.?(?:,?\s(?P<y2>{_YEAR}))?
"""
"""`May 20-27, 2024` and `20 to 27 May`: groups `m`, `from`, `upto` and `y`, each with 1 or 2 behind it."""

HOURS = rf"""
    (?<![\w:.,$-])(?P<from_hour>\d{{1,2}})(?:[:.](?P<from_minute>[0-5]\d))?
    (?:\s?-\s?|\s(?:(?:to|until|till)|(?P<and>and))\s)
    (?=(?P<upto_hour>\d{{1,2}})(?:[:.][0-5]\d)?(?P<shared>{HALF_OF_DAY}))
"""
"""`3-5 pm` and `between 3 and 5 pm` up to the second time: groups `from_hour`, `from_minute`, `upto_hour`, `shared`
and, where only a `between` before it makes a span, `and`."""
