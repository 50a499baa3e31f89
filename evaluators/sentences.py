"""Whether a sentence states what it mentions: it does not where it denies, supposes, asks or guesses.

Read from the words around the mention within its own sentence:

- denied: `it is not 54.04`, `you won't be charged 54.04`, `60 rather than 54.04`, `54.04 is not the total`, `no charge
  of 54.04`, `no insurance`. `Not only`, `not until`, `not more than` and a comma, colon or `but` in between deny
  nothing.
- supposed: `if it were 54.04`, `whether it is 54.04`, up to the comma that ends the condition. `If you'd like` is an
  offer, and so is `let me know if $54.04 works`.
- asked: `Is it 54.04?`. An offer states its terms (`Shall I refund $54.04?`), and so does a statement with a question
  behind it (`The total is $54.04, shall I go on?`), unless that asks whether it is right. What something
  is offered `for` stands even then (`I book it for $54.04, correct?`).
- guessed: more than three different values of one kind joined by nothing but commas, slashes, line breaks or `or`.
  A list that ends in `and` enumerates.

What hedges (`about 54.04`, `maybe 54.04`) still states. Only a bounded stretch beside a mention is looked at.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from taugraph.evaluators.mentions import Mention

MOST_CANDIDATES = 3
"""Different values that may stand in one list before it is a list of guesses."""

_REACH = 160
_END = re.compile(r"\n|(?<![.!?])[.!?]{1,3}[\"')\]*_]{0,4}(?=\s)|(?<=\.\.\.)\s")
_ABBREVIATION = re.compile(r"(?i:\b(?:approx|no|vs|e\.g|i\.e|incl|excl|mr|mrs|ms|dr|st|u\.s|max|min|est))$")
_MONTH_ABBREVIATION = re.compile(r"(?i:\b(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec))$")
_HALF_OF_DAY = re.compile(r"(?i:\b[ap]\.m)$")
_CLAUSE_END = re.compile(r"[,;:](?=\s)|\s--?\s|[\u2014()]|\b(?:but|however|though|although)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['.][^\W_]+)*")
_NEGATOR = re.compile(
    r"not|cannot|never|neither|nor|without|unlike|hardly|\w*n't"
    r"|(?:is|was|are|were|do|does|did|wo|ca|would|could|should|has|have)nt",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\b(?:rather than|instead of|as opposed to|other than|no longer)$", re.IGNORECASE)
_NO = re.compile(r"(?i:(?:\b(?:is|are|was|were|be|have|has|had|with)|'s)\sno)$")
_NO_SUCH = re.compile(r"\bno\s(?:\w+\s){1,2}of\s(?:the\s)?$", re.IGNORECASE)
_NO_WORD = re.compile(r"(?:\bno|^[\W_]*no\s\w+)\s$", re.IGNORECASE)
_UNDENYING = re.compile(
    r"only|just|merely|simply|solely|until|till|before|after|because|since|except|besides|and|so|in|into|from"
    r"|includ(?:e|es|ed|ing)|covers?|forget|worry|hesitate|miss|mind|doubt"
    r"|more|less|fewer|over|below|under|above|exceeds?",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"[*_\"')]{0,4}\s(?:dollars\s)?(?:(?:is|was|are|were|would be)(?:n't|\snot|\sno longer)\s(?:your\s|the\s|a\s)?"
    r"(?:right|correct|total|amount|price|number|date|day|time|fare|fee|refund|balance|cost|answer|limit)"
    r"|(?:is|was)\s(?:wrong|incorrect))\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if(?! you(?:'d| would)? (?:like|want|wish|prefer|agree)\b)"
    r"|whether|unless|suppose|supposing|assuming|provided|in case)\b",
    re.IGNORECASE,
)
_IF_IT_SUITS = re.compile(
    r"[*_\"')]{0,4}\s(?:\w+\s){0,2}?"
    r"(?:works?|suits?|(?:is|are|would be|sounds?)\s(?:ok|okay|fine|good|acceptable|all right))\b",
    re.IGNORECASE,
)
_MAIN_CLAUSE = re.compile(
    r"\bthen\b|\s\S+\s.*\b(?:you|we|i|it|they)(?:'ll|\s(?:will|can|get|receive|pay|owe|must|would|could|may))\b",
    re.IGNORECASE | re.DOTALL,
)
_INVERSION = (
    r"(?:is|are|was|were|does|do|did|has|have|had|will|would|can|could|should|shall|may|might|am)(?:n't)?\s"
    r"(?:it|that|this|these|those|the|there|you|your|we|i|they|he|she|any|everything|all)\b"
)
_OPENS = re.compile(
    rf"[\W\d_]*(?:(?:and|so|or|but|ok|okay|then|well|now)\W+)?(?:{_INVERSION}|(?:what|how|why)\b)", re.IGNORECASE
)
_OPENS_SENTENCE = re.compile(r"[\W_]*(?:when|where|which|who|didn't|isn't|wasn't)\b", re.IGNORECASE)
_ASKS_UNMARKED = re.compile(r"[\W_]*(?:is|was|are|were|does|did)\s(?:it|that|this|there|you|they)\b", re.IGNORECASE)
_OFFERS = re.compile(
    r"\b(?:would you (?:like|prefer|accept|be)|(?:shall|should|may|can|could) (?:i|we)"
    r"|do you (?:want|agree|confirm|accept|wish|consent)|do i have your"
    r"|(?:are you|is it|is that|would (?:that|it) be) (?:ok|okay|fine|happy|comfortable|all right|alright))\b",
    re.IGNORECASE,
)
_ASKS_FOR_ANSWER = re.compile(
    r"[\W_]*(?:ok|okay|agreed|deal|(?:sounds? )?good|fine|yes or no|all right|alright)\W*$", re.IGNORECASE
)
_ASKS_IF_RIGHT = re.compile(r"\b(?:right|correct|true)\W*$|^\W*\w+n't\s\w+\W*$", re.IGNORECASE)
_OFFERED_FOR = re.compile(r"\bfor\s(?:a total of\s|only\s|just\s)?[*_]*$", re.IGNORECASE)
_JOINT = re.compile(
    r"""[*_"'`)\]%]*(?P<word>\s?[^\W\d]+)?[*_"'`)\]]*\s*
    (?:
        (?P<and>,?\s*(?:and|&))
        | (?:[,;/]|\n[ \t]*[-*\u2022]?)\s*(?P<or>(?:and/)?or|nor)?
        | (?P<bare_or>(?:and/)?or|nor|maybe|perhaps)
    )
    \s*(?:maybe|perhaps|possibly|even|either)?\s*[*_"'`(\[\#]*""",
    re.VERBOSE | re.IGNORECASE,
)


class Sentences:
    """The sentences of a plain text."""

    def __init__(self, plain: str) -> None:
        self._plain = plain
        self._stated: dict[tuple[int, int, int], bool] = {}
        self._starts = [0, *(match.end() for match in _END.finditer(plain) if self._ends_sentence(match))]

    def state(self, mention: Mention, opening: Mention) -> bool:
        """Return whether the mention is stated.

        Args:
            mention: What is mentioned.
            opening: The mention whose words before it count: `mention`, or the first of the alternatives it ends.
        """
        place = (opening.start, mention.start, mention.end)
        if place not in self._stated:
            self._stated[place] = self._is_stated(*place)
        return self._stated[place]

    def _is_stated(self, opens: int, begins: int, ends: int) -> bool:
        start, end = self._around(begins)
        before = self._plain[max(start, opens - _REACH) : opens]
        after = self._plain[ends : min(max(end, ends), ends + _REACH)]
        clause = _CLAUSE_END.split(before)[-1]
        if _is_denied(clause) or _DENIED_AFTER.match(after):
            return False
        if self._plain[begins].isalpha() and _NO_WORD.search(clause):
            return False
        if _is_supposed(clause) and not _IF_IT_SUITS.match(after):
            return False
        is_question = self._plain[max(ends, end - 8) : end].rstrip(" \t\r\n\"')]*_").endswith("?")
        if not is_question:
            return not _ASKS_UNMARKED.match(self._plain[start : start + 40])
        is_price = self._plain.startswith(("$", "US"), begins) and _OFFERED_FOR.search(before) is not None
        return not _is_asked(before, after, is_price)

    def _around(self, position: int) -> tuple[int, int]:
        index = bisect_right(self._starts, position)
        return self._starts[index - 1], self._starts[index] if index < len(self._starts) else len(self._plain)

    def _ends_sentence(self, match: re.Match[str]) -> bool:
        if match.group()[0] != ".":
            return True
        before = self._plain[max(0, match.start() - 10) : match.start()]
        follows = self._plain[match.end() : match.end() + 3].lstrip(" *_\"'(")[:1]
        if _HALF_OF_DAY.search(before):
            return not follows.islower()
        if _MONTH_ABBREVIATION.search(before):
            return not follows.isdigit()
        return not _ABBREVIATION.search(before)


def _is_denied(clause: str) -> bool:
    """Return whether one of the last five words of the clause denies what follows, and none behind it undoes that."""
    if _NO_SUCH.search(clause):
        return True
    for place, word in enumerate(reversed(list(_WORD.finditer(clause))[-5:])):
        upto = clause[: word.end()]
        if _COMPARED.search(upto) or _NEGATOR.fullmatch(word.group()) or (place < 2 and _NO.search(upto)):
            return True
        if _UNDENYING.fullmatch(word.group()):
            return False
    return False


def _is_supposed(clause: str) -> bool:
    conditions = list(_CONDITION.finditer(clause))
    return bool(conditions) and not _MAIN_CLAUSE.search(clause, conditions[-1].end())


def _is_asked(before: str, after: str, is_price: bool) -> bool:
    """Return whether a question asks for what it mentions, instead of telling it and asking for something else.

    A price that something is offered for is told even where the question is whether all is right.
    """
    if _OFFERS.search(before):
        return False
    clauses = _CLAUSE_END.split(before)
    if _OPENS_SENTENCE.match(before) or any(_OPENS.match(clause) for clause in clauses):
        return True
    if _ASKS_IF_RIGHT.search(after):
        return not is_price
    behind = _CLAUSE_END.split(after)[1:]
    return not any(_OPENS.match(clause) or _ASKS_FOR_ANSWER.match(clause) for clause in behind)


class Lists:
    """Mentions of one kind, in order, as the lists they stand in."""

    def __init__(self, plain: str, mentions: Sequence[Mention]) -> None:
        self._openings: dict[int, Mention] = {}
        self._guesses: set[int] = set()
        run: list[Mention] = []
        joints: list[re.Match[str]] = []
        for mention in mentions:
            joint = _joint(plain, run[-1], mention) if run else None
            if joint and (not joints or joint["word"] == joints[-1]["word"]):
                joints.append(joint)
            else:
                self._close(run, joints)
                run, joints = [], []
            run.append(mention)
        self._close(run, joints)

    def opening(self, mention: Mention) -> Mention:
        """Return the first of the alternatives that the mention ends, or the mention itself."""
        return self._openings.get(mention.start, mention)

    def is_guess(self, mention: Mention) -> bool:
        """Return whether the mention stands in a list of guesses."""
        return mention.start in self._guesses

    def _close(self, run: list[Mention], joints: list[re.Match[str]]) -> None:
        if any(joint["or"] or joint["bare_or"] for joint in joints):
            self._openings.update((mention.start, run[0]) for mention in run)
        is_enumeration = bool(joints) and joints[-1]["and"] is not None
        if not is_enumeration and len({mention.value for mention in run}) > MOST_CANDIDATES:
            self._guesses.update(mention.start for mention in run)


def _joint(plain: str, left: Mention, right: Mention) -> re.Match[str] | None:
    return _JOINT.fullmatch(plain, left.end, right.start) if right.start - left.end <= 40 else None
