"""How a simulated user behaves: what it unloads, repeats, claims and leaves open, and whether it knows its role."""

import re
from collections.abc import Iterator, Sequence

from taugraph.domains.answers import agrees
from taugraph.domains.task import Scenario
from taugraph.evaluators import fidelity_agent_words as agent_words
from taugraph.evaluators.fidelity_words import Given, numbers_in
from taugraph.evaluators.mentions import Day, as_plain, find_days

LEAST_FACTS = 4
"""Checkable facts below which telling all of them at once is no fault."""
SHARE_OF_FACTS = 0.8
"""Share of the checkable facts that are nearly all."""
LONGEST_REPEATABLE = 4
"""Words that a user may say again as often as it likes."""
LONGEST_REPLY = 14
"""Words of a yes or a thank-you that may come again: every question of an agent may get the same answer."""

_WORD = re.compile(r"[^\W_]+(?:['.@_-][^\W_]+)*")
_TELL_ALL = re.compile(
    r"\b(?:tell|give|say|state|provide|share|mention|name|list|write|put|explain)\b[^.]{0,60}\b(?:at once"
    r"|in (?:a single|one)"
    r" (?:message|go|breath)|right away|up ?front|at the (?:very )?start|in (?:the|your) first (?:message|sentence))",
    re.IGNORECASE,
)
_ASKS_AGAIN = re.compile(
    r"\b(?:repeat|again|once more|one more time|rephrase|clarif\w+|didn't (?:catch|get|understand|quite)"
    r"|did not (?:catch|get"
    r"|understand|quite)|not sure i (?:understand|follow)|still need|double-check|re-?confirm|re-?enter|resend)\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:thanks?|thank you|bye|goodbye|that's all|that is all|nothing else|have a (?:nice|great|good))\b",
    re.IGNORECASE,
)

_LEAVE = re.compile(
    r"\b(?:thanks?|thank you|bye|goodbye|so much|very|a lot|for|your|the|help|time|have|a|great|good|nice|day"
    r"|evening|ok|okay"
    r"|take care|cheers|see you|later|and|that|s|is|it|all|i|think|need|needed|everything|got|to|go|now|gotta|must"
    r"|run|leave|never"
    r"|mind|nevermind|forget|actually|well|sorry|today|you|too|ll|will|be|off|ve|m|am|done|here|on|my|way|talk|soon"
    r"|anyway|hi|oh)\b"
)

_DEEDS = (
    r"cancell?|process|book|chang|modif(?:i)?|updat|refund|exchang|issu|initiat|submit(?:t)?|upgrad|add|remov"
    r"|correct|arrang"
    r"|complet|rebook|return|locat|retriev|appl(?:i)?|mov|switch|swap(?:p)?|replac|credit|confirm"
)
_RECORD = (
    r"(?:order|reservation|booking|refund|flight|account|request|return|exchange|profile|trip|address|payment|items?)"
)
_AGENT_VOICE = re.compile(
    rf"""
    \b(?:how|what)\ (?:can|may|could|else\ can|would)\ i\ (?:help|assist|do\ for)\ (?:you|with\ (?:that|this)\ today)
    | \b(?:anything|something)\ (?:else|more|further)\ (?:that\ )?(?:i|we)\ (?:can|could|may)\ (?:help|assist|do\ for)\b
    | \b(?:anything|something)\ (?:else|more)\ you(?:'d|\ would)?\ (?:need|like)\ (?:help|assistance|me\ to)\b
    | \bi(?:'ve|\ have)?\ (?:now\ |just\ |already\ |successfully\ )*(?:{_DEEDS})(?:ed|e?d)\ your\b
    | \bi(?:'ve|\ have)\ (?:now\ |just\ |already\ |successfully\ )*(?:processed|issued|initiated|submitted)\ (?:the|a
      |this)\b
    | \byour\ (?:\w+\ ){{0,3}}{_RECORD}\ (?:\w+\ )?(?:has\ been|have\ been|is\ now|will\ be
      |was)\ (?:\w+ly\ )?(?:now\ )?(?:{_DEEDS})e?d\b
    | \bi(?:'ll|\ will|'m\ going\ to|\ am\ going\ to|\ can)\ (?:now\ |then\ |go\ ahead\ and\ )*(?:{_DEEDS})(?:e
      |y)?\ your\b
    | \b(?:can|could|may|would|let)\ (?:i|me|you)\ (?:please\ |pls\ |plz\ |kindly\ )*(?:have|get|provide|confirm
      |verify|share|pull\ up|look\ up
      |check|give\ me|tell\ me)\ (?:me\ )?(?:with\ )?your\ (?:\w+\ ){{0,2}}(?:id|number|e-?mail|zip|order|reservation
        |account|details
      |address|date|booking|information)\b
    | \b(?:please|pls|plz)\ (?:provide|share|confirm|verify|give\ me|tell\ me)\ (?:me\ )?(?:with\ )?your\b
    | \bthank\ you\ for\ (?:calling|contacting|reaching\ out|choosing|flying\ with|shopping\ with)
    | \bwe\ (?:sincerely\ )?apologi[sz]e\ for\ (?:the|any)\ inconvenience
    | \bi(?:'d|\ would)\ be\ (?:happy|glad|delighted|pleased)\ to\ (?:help|assist)\ you\b
    | \bi\ can\ (?:help|assist)\ you\ with\ (?:that|this)\b | \bi'm\ here\ to\ (?:help|assist)\b
    | \b(?:would|do)\ you\ (?:like|want)\ me\ to\ (?:proceed|go\ ahead|{_DEEDS})e?y?\b
    | \byou(?:'ll|\ will)\ (?:receive|get|see)\ (?:a|your|the)\ (?:refund|confirmation|credit|e-?mail
      |voucher)\b.{{0,40}}\b(?:business\ days
      |shortly|soon|within|hours)\b
    | \baccording\ to\ our\ (?:records|policy|system)\b | \bour\ (?:records|system)\ (?:show|indicate)s?\b
    | \bi(?:'m|\ am|'ll|\ will)\ (?:be\ )?transfer(?:ring)?\ you\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d|(?<!\w)'[^'\n]{6,}'(?!\w)")
_REPORTED = re.compile(
    r"\byou (?:just |already |also )?(?:said|told|wrote|asked|promised|mentioned|keep saying|claim\w*)\b[^.!?\n]*",
    re.IGNORECASE,
)
_GERUNDS = (
    "cancell?ing|booking|changing|modifying|updating|processing|refunding|exchanging|returning|issuing|upgrading"
    "|downgrading|adding|removing|sending|correcting|fixing|swapping|switching|arranging|completing|moving|rebooking"
    "|reimbursing|crediting|replacing|sorting|taking care of|putting through"
)
_PARTICIPLES = (
    "cancell?ed|booked|changed|modified|updated|processed|refunded|exchanged|returned|issued|upgraded|downgraded|added"
    "|removed|sent|corrected|fixed|swapped|switched|arranged|completed|moved|rebooked|replaced|credited|sorted|redirected|rerouted|reversed|approved|submitted|done"
)
_CLAIMS_DONE = re.compile(
    rf"""
    \b(?:thanks?|thank\ you|thx|cheers|appreciate\ (?:it|you)|appreciate|grateful)\b[^.!?\n]{{0,30}}?\b(?:for|you
      |your)\ (?:\w+ly\ |already\ |actually\ )?
      (?:(?:{_GERUNDS})\b(?!\ (?:fee|policy|options?|id|number|time|fees))
        |having\ (?:\w+\ ){{0,4}}?(?:{_PARTICIPLES})\b|getting\ (?:\w+\ ){{1,5}}?(?:{_PARTICIPLES})\b)
    | \b(?:now\ that|since|glad|happy|great|good|nice|perfect|wonderful|relieved|pleased)(?:\ to\ (?:see|hear
      |know))?[,!]?\ (?:that\ |so\ )?
      (?:you(?:'ve|\ have)|(?:it|that|everything|(?:the|my)\ (?:\w+\ ){{0,3}}\w+)(?:'s|\ is|\ has\ been|\ was
        |\ has))\ (?:now\ |just\ |already\ |all\ |finally\ |been\ )*
      (?:{_PARTICIPLES})\b
    | \byou(?:'ve|\ have)\ (?:now\ |just\ )+(?:{_PARTICIPLES})\ (?:it|that|my|the|everything)\b
    | \bi\ (?:can\ |now\ )*see\ (?:that\ )?(?:you(?:'ve|\ have)|(?:it|(?:the|my)\ (?:\w+\ ){{0,2}}\w+)(?:'s|\ is
      |\ has\ been|\ was))\ (?:now\ |already\ |just\ |been\ )*(?:{_PARTICIPLES})\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tells_everything(first: str, scenario: Scenario) -> str | None:
    """Return how much the first message unloads of what the scenario knows, if that is nearly all; else `None`."""
    if len(scenario.known) < LEAST_FACTS or _TELL_ALL.search(scenario.instructions):
        return None
    if scenario.opening is not None and normal(first) == normal(scenario.opening):
        return None
    told = Given([first])
    words = set(_WORD.findall(told.lower))
    held = [holds for fact in scenario.known if (holds := _is_told(as_plain(fact), told, words)) is not None]
    if len(held) < LEAST_FACTS or sum(held) < max(LEAST_FACTS, SHARE_OF_FACTS * len(held)):
        return None
    return f"{sum(held)} of {len(held)} known facts in the first message"


def _is_told(fact: str, told: Given, words: set[str]) -> bool | None:
    """Tell whether a message holds a fact; `None` where the fact has nothing to look for."""
    _, separator, value = fact.partition(": ")
    value = value if separator else fact
    days = [mention.value for mention in find_days(value)]
    for mention in reversed(list(find_days(value))):
        value = f"{value[: mention.start]} {value[mention.end :]}"
    if not all(told.has_day(day) for day in days if isinstance(day, Day)):
        return False
    tokens = [token for token in _WORD.findall(value) if not token.isdigit()]
    coded = [token for token in tokens if any(letter.isdigit() for letter in token)]
    numbers = [n for n in numbers_in(re.sub(r"\S*[^\W\d]\S*\d\S*", " ", value)) if n > 1]
    if not all(map(told.holds, coded)) or not all(told.has_number(number) for number in numbers):
        return False
    soft = {token.lower() for token in tokens if len(token) > 3 and token not in coded}
    if not days and not coded and not numbers and not soft:
        return None
    if days or coded or any(number > 12 for number in numbers):
        return True
    return sum(word in words for word in soft) * 2 >= len(soft)


def normal(text: str) -> str:
    """Return the words of a text in small letters, one space between them."""
    return " ".join(re.findall(r"\w+", text.lower()))


def is_repetition(turn: str, earlier: Sequence[str], heard: Sequence[str], *, is_restart: bool) -> bool:
    """Tell whether a turn says an earlier one again without having been asked to.

    Args:
        turn: The user's turn.
        earlier: Its earlier turns.
        heard: What the agent said before it, in order.
        is_restart: Whether the turn is the opening line, and what it asks for has been done.
    """
    words = normal(turn)
    same = [text for text in earlier if len(words) == len(normal(text)) and _spelled(words) == _spelled(normal(text))]
    if not same or is_restart:
        return bool(same)
    length = len(words.split())
    is_reply = same != list(earlier[:1]) and length <= LONGEST_REPLY and (agrees(turn) or _FAREWELL.search(turn))
    return length > LONGEST_REPEATABLE and not is_reply and not (heard and _was_asked_again(heard[-1], heard[:-1]))


def _spelled(words: str) -> list[str]:
    """Return words so that two letters in the wrong order make no difference."""
    return ["".join(sorted(word)) for word in words.split()]


def _was_asked_again(last: str, before: Sequence[str]) -> bool:
    if _ASKS_AGAIN.search(last):
        return True
    now = set(normal(last).split())
    return any(len(now & then) >= 0.6 * len(now | then) for text in before if (then := set(normal(text).split())))


def agent_voice(plain: str, scenario: str) -> str | None:
    """Return words that only the agent would say; quotations and reports of what the agent said are none."""
    own = _REPORTED.sub(" ", _QUOTED.sub(" ", plain))
    match = _AGENT_VOICE.search(own)
    return match.group() if match and match.group().lower() not in scenario.lower() else None


def claim_of_deed(plain: str) -> str | None:
    """Return words that take something as done by the agent; questions, suppositions and reports do not."""
    for sentence in re.findall(r"[^.!?\n]+[.!?]*", _REPORTED.sub(" ", _QUOTED.sub(" ", plain))):
        match = _CLAIMS_DONE.search(sentence)
        is_open = sentence.endswith("?") or re.search(
            r"\b(?:if|once|when|until|before|after|unless|in advance|would be|will be|not)\b|n't\b",
            sentence,
            re.IGNORECASE,
        )
        if match and not is_open:
            return " ".join(match.group().split())
    return None


def early_stop(last: str, heard: Sequence[str], *, turns: int) -> str | None:
    """Return why a stop came too early; `None` where it did not.

    Args:
        last: What the user said in or before stopping, after the agent's last words; empty if it only hung up.
        heard: What the agent said, in order.
        turns: Messages of the user.
    """
    if not heard:
        return "stopped before the agent answered" if turns <= 2 else None
    if agent_words.hands_over(heard[-1]):
        return None
    if agent_words.asks(heard[-1]) and agrees(last) and not _leaves_open(last):
        return f"agreed and left before it was done: {last[:80]!r}"
    if any(map(agent_words.refuses, heard[-2:])):
        return None
    if agent_words.promises(heard[-1]):
        return f"stopped while the agent was about to act: {heard[-1][:80]!r}"
    if agent_words.asks(heard[-1]) and _leaves_open(last):
        return f"stopped instead of answering: {heard[-1][-80:]!r}"
    return None


def _leaves_open(last: str) -> bool:
    """Tell whether the last words answer no question, but only take leave."""
    return not _LEAVE.sub(" ", normal(last)).strip()


def openings(scenario: Scenario, turns: Sequence[str]) -> Iterator[str]:
    """Yield the line with which the user began, and the one that its scenario would have it say."""
    if turns:
        yield normal(turns[0])
    if scenario.opening is not None:
        yield normal(scenario.opening)
