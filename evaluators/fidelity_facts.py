"""Facts in a user's turn that nobody gave it: invented ones, and ones that contradict its scenario.

Identifiers count wherever they stand, even in a question: nobody asks about a number that they do not have. Numbers,
amounts and days count where the turn states them or asks for something to be done with them.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from taugraph.evaluators.fidelity_labels import Fact, contradictions
from taugraph.evaluators.fidelity_words import Given, numbers_in_words
from taugraph.evaluators.mentions import Day, Mention, Number, find_days, find_numbers
from taugraph.evaluators.sentences import Sentences

_IDENTIFIER = re.compile(
    r"""
    (?P<email>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8})
    | (?P<user_id>\b[A-Za-z]+_[A-Za-z]+_\d+\b)
    | (?P<payment>\b[A-Za-z]+(?:_[A-Za-z]+)*_\d{3,}\b)
    | (?P<order>(?<!\w)\#\w*\d\w{3,}\b|(?<![\w\#])[Ww]\d{5,}\b)
    | (?P<flight>\b[A-Z]{2,3}\d{3,4}\b)
    | (?P<code>\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{6}\b)
    | (?P<digits>(?<![\w.,$\#-])\d{7,}(?![\w@-]|[.,]\d))
    | (?P<phone>(?<!\w)(?:\+\d{1,3}[ -])?\(?\d{3}\)?[ -]\d{3}[ -]\d{4}\b)
    """,
    re.VERBOSE,
)
_NAMED_CODE = re.compile(
    r"\b(?:reservation|booking|confirmation|record|locator)(?: (?:id|code|number|reference|no\.?))?"
    r"(?: is|:| =|'s)? ?[\"'(]?(?P<code>[A-Z]{6}|(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{5,8}"
    r"|(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{5,8})\b"
)
_PLACEHOLDER = re.compile(
    r"[\[<{](?:(?:please )?(?:provide|insert|enter|add|fill in|your|my|the|actual|user|order"
    r"|reservation)\b)[^\]>}\n]{0,40}[\]>}]",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^\W*(?:\w+[, ]+){0,4}?(?:can|could|would|will) you\b|\b(?:can|could|may) (?:i|we) (?!ask|know)", re.IGNORECASE
)
_WISH = re.compile(
    r"\b(?:i|we)(?:'d| would) (?:like|love|want|prefer)|\b(?:i|we) (?:want|need)\b|\bplease\b", re.IGNORECASE
)
_NO_FACT = re.compile(
    r"\s?(?:%|per\s?cent|times|minutes?|mins?|seconds?|secs?|years?(?! old)|x|reasons?|things?|questions?)(?!\w)",
    re.IGNORECASE,
)
_DOLLARS = re.compile(r"\s?(?:dollars?|bucks?|usd)\b", re.IGNORECASE)
_SPAN_UNIT = re.compile(r"[\s-]?(?:hours?|hrs?|h|days?)\b", re.IGNORECASE)
_USUAL = {"100", "101", "1000", "911", "365"}
_USUAL_SPANS = {"14", "15", "21", "24", "30", "48", "60", "72", "90"}
_ROUGH = re.compile(r"\b(?:about|around|roughly|approximately|approx|some|like|almost|nearly|ish)\W{0,3}$|~\s?$", re.I)
_SUMS_UP = re.compile(
    r"\b(?:total|sum|altogether|in all|together|combined|difference|so that(?:'s| is)|makes|comes to|adds?|both|each"
    r"|per|leaves?|half|apiece|more than|less than|cheaper|saves?)\b|[=+]",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_COUNT_WORDS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|both"
_BARE_DAY = re.compile(
    r"\b(?:on|for|by|from|until|till|to|before|after|is|was) the (?P<day>[1-3]?\d)(?:st|nd|rd|th)\b"
    r"(?=\s*(?:[.,;!)]|$|(?:and|or|please|instead|to|but|at|with|if|in the)\b))",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    rf"(?<![\w.,:/$-])(?P<n>\d{{1,2}}|{_COUNT_WORDS}) (?:of us|(?!(?:{_COUNT_WORDS})\b)(?:[a-z]+ )?(?:passengers?"
    rf"|people|persons"
    r"|travell?ers|adults|tickets))\b",
    re.IGNORECASE,
)
_COMPANY = re.compile(
    r"\b(?:you and|wife|husband|partner|friends?|famil\w+|sons?|daughters?|kids?|child\w*|mother|father|mom|dad"
    r"|parents?"
    r"|brothers?|sisters?|colleagues?|passengers|couple|companions?|team|group|us|we|others?|with (?:your|him|her|them)"
    r"|nephew|niece|aunt|uncle|grand\w+|cousin|boss|travellers|travelers|people|both)\b",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"\b(?:alone|by yourself|on your own|one (?:passenger|person|traveller|traveler|adult|seat|ticket)|solo|single)\b"
    r"|\b(?:only|just) (?:you|yourself)\b|\b1 passenger\b",
    re.IGNORECASE,
)
_BAGS = re.compile(
    rf"\b(?P<n>\d{{1,2}}|{_COUNT_WORDS})\s(?:\w+\s){{0,2}}(?:bags|suitcases|pieces of luggage)\b", re.IGNORECASE
)
_NEAR_BAGS = re.compile(r".{0,40}\b(?:bag|suitcase|luggage).{0,40}", re.IGNORECASE)


def ungiven_facts(plain: str, given: Given, scenario: str) -> list[Fact]:
    """Return what a plain text states that is not given, in order.

    Args:
        plain: The user's turn.
        given: What the user was given before it.
        scenario: All that its scenario says.
    """
    found: list[Fact] = []
    for fact in (*contradictions(plain, given, scenario), *_identifiers(plain, given, scenario)):
        if all(abs(fact.start - other.start) > 2 for other in found):
            found.append(fact)
    spans = [(fact.start, fact.start + len(fact.text)) for fact in found]
    has_figures = any(letter.isdigit() for letter in plain)
    if has_figures or _PEOPLE.search(plain) or _BAGS.search(plain):
        sentences = Sentences(plain)
        checks = (_days, _bare_days, _numbers) if has_figures else ()
        others = [fact for check in checks for fact in check(plain, given, sentences)]
        for fact in (*others, *_counts(plain, given, scenario, sentences)):
            if not any(start <= fact.start < end for start, end in spans):
                found.append(fact)
    return sorted(found)


def _identifiers(plain: str, given: Given, scenario: str) -> Iterator[Fact]:
    for match in _IDENTIFIER.finditer(plain) if re.search(r"[\d@]", plain) else ():
        if not given.holds(match.group().rstrip(".-")) and not _is_same_digits(match, given):
            is_labelled = match.lastgroup in ("email", "user_id", "order", "code", "phone")
            same_kind = any(other.lastgroup == match.lastgroup for other in _IDENTIFIER.finditer(scenario))
            yield Fact(match.start(), match.group(), is_labelled and same_kind)
    for match in _PLACEHOLDER.finditer(plain):
        yield Fact(match.start(), match.group(), False)
    for match in _NAMED_CODE.finditer(plain):
        is_word = match["code"].isalpha() and plain.isupper()
        if not is_word and not given.holds(match["code"]):
            yield Fact(match.start("code"), match["code"], bool(re.search(r"\b[A-Z\d]{6}\b", scenario)))


def _is_same_digits(match: re.Match[str], given: Given) -> bool:
    """Tell whether a number is given in another spelling, such as a telephone number without its spaces."""
    digits = re.sub(r"\D", "", match.group())
    return match.lastgroup in ("phone", "digits", "order") and digits in re.sub(r"[ ()+-]", "", given.lower)


def _days(plain: str, given: Given, sentences: Sentences) -> Iterator[Fact]:
    for mention in find_days(plain):
        before = plain[max(0, mention.start - 10) : mention.start].lower()
        is_now = "today" in before or "tonight" in before
        is_known = not isinstance(mention.value, Day) or is_now or given.has_day(mention.value)
        if not is_known and _is_meant(plain, mention, sentences):
            yield Fact(mention.start, plain[mention.start : mention.end], False)


def _bare_days(plain: str, given: Given, sentences: Sentences) -> Iterator[Fact]:
    """Yield days of which only the number is named, as in `on the 29th`."""
    for match in _BARE_DAY.finditer(plain):
        mention = Mention(match["day"], match.start("day"), match.end())
        if not given.has_number(Decimal(match["day"])) and _is_meant(plain, mention, sentences):
            yield Fact(match.start("day"), plain[match.start("day") : match.end()], False)


def _numbers(plain: str, given: Given, sentences: Sentences) -> Iterator[Fact]:
    for mention in find_numbers(plain):
        number, text = mention.value, plain[mention.start : mention.end]
        if not isinstance(number, Number) or not text[-1].isdigit() or _is_usual(number, plain, mention):
            continue
        value, before = abs(number.value), plain[max(0, mention.start - 16) : mention.start]
        is_money = "$" in text or _DOLLARS.match(plain, mention.end) is not None
        if given.has_number(value, is_money=is_money, is_rough=_ROUGH.search(before) is not None):
            continue
        if _SUMS_UP.search(plain) and given.adds_up_to(value):
            continue
        if _is_meant(plain, mention, sentences):
            yield Fact(mention.start, text, False)


def _is_usual(number: Number, plain: str, mention: Mention) -> bool:
    """Tell whether a number is no fact: a small count, a figure of speech, a year, or a span that all rules know."""
    value, digits = abs(number.value), str(abs(number.value))
    if value <= 12 and value == value.to_integral_value():
        return True
    is_dollars = "$" in plain[mention.start : mention.end]
    if not is_dollars and (digits in _USUAL or _NO_FACT.match(plain, mention.end) or _YEAR.fullmatch(digits)):
        return True
    return not is_dollars and digits in _USUAL_SPANS and _SPAN_UNIT.match(plain, mention.end) is not None


def _counts(plain: str, given: Given, scenario: str, sentences: Sentences) -> Iterator[Fact]:
    """Yield how many travel or how many bags go, where the given texts count them otherwise."""
    for match in _PEOPLE.finditer(plain):
        if not _may_travel(_count_of(match), given.lower, scenario) and _is_meant(plain, _mention(match), sentences):
            yield Fact(match.start(), match.group(), False)
    for match in _BAGS.finditer(plain):
        near = " ".join(part.group() for part in _NEAR_BAGS.finditer(given.lower))
        known = {int(part) for part in re.findall(r"\d+", near)} | numbers_in_words(near)
        sums = {first + second for first in known for second in known} | {abs(a - b) for a in known for b in known}
        if known and _count_of(match) not in known | sums and _is_meant(plain, _mention(match), sentences):
            yield Fact(match.start(), match.group(), False)


def _may_travel(people: int, lower: str, scenario: str) -> bool:
    known = {_count_of(match) for match in _PEOPLE.finditer(lower)}
    if known:
        more = {number + 1 for number in known} if re.search(r"\byou and\b", scenario) else set()
        return people in known | more | {first + second for first in known for second in known if first != second}
    return _ALONE.search(scenario) is None and _COMPANY.search(scenario) is not None


def _count_of(match: re.Match[str]) -> int:
    return int(match["n"]) if match["n"].isdigit() else max(numbers_in_words(match["n"]), default=0)


def _mention(match: re.Match[str]) -> Mention:
    return Mention(match["n"], match.start(), match.end())


def _is_meant(plain: str, mention: Mention, sentences: Sentences) -> bool:
    """Tell whether the turn states something or asks for it to be done, and does not only ask about it."""
    if sentences.state(mention, mention):
        return True
    start = max(plain.rfind(mark, 0, mention.start) for mark in ".!?\n") + 1
    before = plain[start : mention.start]
    if re.search(r"\b(?:if|whether|not|n't|what|how|which)\b", before, re.IGNORECASE):
        return False
    return _REQUEST.search(before) is not None or _WISH.search(before) is not None
