"""What an answer to a proposal means: consent, refusal, or neither.

A clear yes agrees, whatever reason, wish or question stands beside it; what alters the plan, sets a condition, or asks
for something first is neither. A no refuses unless the answer goes on to say what to do ("no, that's all, go ahead"),
and an order not to do it refuses whatever else is said. A mild word ("okay", "fine") agrees only where nothing is
asked. Every pattern reads one sentence in small letters.
"""

import re
from typing import Literal

Meaning = Literal["consent", "refusal", "unclear"]
"""What an answer comes to."""


def _phrases(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})")


_ACT = (
    r"(?:cancel|book|change|update|add|return|exchange|modify|process|complete|refund|issue|continue|upgrade|downgrade"
    r"|finali[sz]e|proceed|go ahead|do|swap|move|switch|submit|place|send|start|confirm|charge|apply|correct|fix)\b"
)
_START = (
    r"(?:(?<=^)|(?<=[,;:] )|(?<=but )|(?<=and )|(?<=please )|(?<=actually )|(?<=just )|(?<=yes )|(?<=no )|(?<=ok ))"
)

_HARMLESS = _phrases(
    r"no (?:problem|worries|rush|longer|doubt|more|other|further|extra|additional|insurance|bags?|changes?)\b",
    r"no travel insurance\b|no, i (?:do not|don't) (?:want|need) (?:any )?(?:travel )?(?:insurance|bags?)\b",
    r"no (?:choice|objections?|questions?|issues?|hurry)\b",
    r"no need (?:to (?:check|ask|wait|send|call)|for)\b",
    r"not a problem\b|nothing (?:else|more)\b|why not\b",
    r"(?:do not|don't) (?:mind|worry)\b|mak(?:e|ing) sure\b",
    r"(?:can't|cannot|can not|i'll|i will|happy to) wait\b|wait no longer\b",
    r"non-?stop\b|one-?stop\b|stop ?overs?\b",
    r"as (?:you|we) (?:said|suggested|proposed|described|discussed)\b",
)
"""What only sounds like an objection."""
_PAUSE = re.compile(rf"{_START}(?:wait|hold on|hang on|hold off|one moment|not yet)\b")
_STOP = re.compile(
    rf"{_START}(?:stop(?! (?:the|my|this) \w)|abort|(?:do not|don't)$)"
    rf"|{_START}(?:do not|don't|dont|never) (?:you )?(?:(?!charge){_ACT}|touch|bother|take|use|make)"
    r"|\bi (?:do not|don't) (?:want|wish|like|intend|plan) (?:you\b|(?:that|this)(?: \w+)?$"
    r"|to (?:cancel|book|change|continue|proceed|go ahead|do|pay|confirm)\b)|"
    + _phrases(
        r"(?:never ?mind|forget (?:it|that|about it)|scratch that|second thoughts?)\b",
        r"(?:decided against|out of the question)\b",
        r"(?:rather|prefer|better|let's|afraid) not\b",
        r"rather you (?:didn't|did not)\b|thanks,? but no\b|no need to\b",
        r"i(?:'ll| will)? (?:pass|decline|refuse|disagree)\b|i (?:do not|don't) think so\b",
        r"i(?:'m)? (?:do not|don't|can't|cannot|won't|will not|not) (?:agree|accept|confirm|consent|approve|allow)",
        r"i (?:can't|won't|will not) (?:pay|do) (?:that|this)\b",
        r"(?:keep|leave) (?:my|the|it|that|this|them|both|everything)\b(?! (?:first|second|third|other|rest))",
        r"(?:absolutely|definitely|certainly|of course|surely) not?\b|no way\b|under no circumstances\b",
        r"(?:is|it's|that's|are) (?:wrong\b|not (?:right|correct|what|ok|okay|fine)\b)|incorrect\b",
        r"(?:isn|aren)'t (?:right|correct|what)\b",
    ).pattern
    + r"|^not (?:at all|really)\b"
)
_NO = re.compile(
    r"(?:^|, (?:so )?)(?:(?:oh|well|um|h+m+|sorry|actually|yes|thanks)[, ]+)*(?:no|nope|nah)\b(?! (?:to|in) )"
)
_WAVERS = _phrases(
    "changed my mind",
    "i(?:'d| would) rather (?:keep|stay|have it)",
    "i can't afford",
    "i'm not going to",
    "i (?:don't|do not) want it$",
    "not interested",
    "(?:do not|don't) charge",
)
"""What refuses unless a yes stands beside it: "yes, return it, I don't want it"."""
_CONDITION = _phrases(
    r"(?:if|unless|provided|assuming|supposing|as long as|on condition|depends|in case(?! you need))\b",
    r"(?:only (?:when|after|once)|before (?:you|that))\b",
    rf"(?:yes|yeah|ok|okay|sure|fine|{_ACT}(?: (?:it|that|so))?),? (?:once|when|after)\b",
)
_DOUBT = _phrases(
    r"(?:maybe|perhaps|might|unsure|still thinking)\b|not (?:sure(?! why)|now|convinced|quite)\b",
    r"let me (?:see|look|read|think|check|ask|know)\b",
    r"get back to\b|one (?:more|last) (?:thing|question)\b|something (?:different|else)\b",
    r"have (?:a|one|another|some|a few)(?: more)? questions?\b",
)
_CHANGE = _phrases(
    r"not (?:that|this|the|my|both|all|those|these)\b|(?:only|just) (?:the|that|this|one|my|for)\b|except\b",
    r"(?:first|second|third|other)\b[^.]{0,40}\b(?:no|not|keep)\b",
    r"but (?:please )?(?:no|not|don't|do not|without|with|first|instead|only(?! because)|just|rather)\b",
    r"but (?:please )?(?:change|use|add|make|keep|take|pay|put|send it|remove|leave|charge)\b",
    r"but (?:i|we)(?:'d)?(?: \w+)? (?:like|prefer|need|want|rather)\b(?! to (?:know|get|receive|thank))",
    r"but (?:to|on|at|from|could|can|would|next|then|later|tomorrow|i don't have)\b",
    r"but[^.]{0,40} (?:instead|first|should|must|(?:has|needs) to be \w+)\b",
    r"with (?:\w+ )?(?:more|fewer|less)\b",
    r"but (?:what|how much|which|where|when)\b",
)
_GO = re.compile(
    r"\b(?:go ahead|go for it|go on|proceed|carry on|please do|let's (?:do|go|proceed)|confirmed|by all means)\b"
    r"|\bi(?: do| can| hereby)? (?:confirm|agree|accept|approve|consent)\b|\b(?:works for|fine by) me\b"
    r"|\bi(?:'d| would) love (?:that|to)\b"
    r"|\bi(?:'ll| will) (?:go with|take) \w"
    r"|\byou (?:may|can) (?:proceed|go)\b|\bmy (?:permission|consent|approval|go-ahead)\b|\bwant to continue\b"
    rf"|{_START}(?:do )?{_ACT} (?:it|that|so|this|them|both|all|everything|now)\b"
    rf"|\bplease (?:do )?(?:{_ACT}|make)(?! (?:the )?(?:price|amount|total|first))"
    r"|\bdo (?:cancel|book|return|exchange)\b"
)
_YES = re.compile(
    r"(?:^|[,;] |\b(?:oh|well|and|then|so|both) )(?:yes|yeah|yep|yup|aye|si|oui|sure|correct|agreed|approved|absolutely"
    r"|definitely|certainly|of course|affirmative|y|confirm|i do(?! not))\b"
)
_MILD = re.compile(
    r"(?:^|[,;] )(?:ok|okay|alright|all right|fine|perfect|great|good|right|exactly)\b"
    r"|\bi'm (?:fine|okay|ok|happy) with (?:that|this|it|the)\b"
    r"|\b(?:sounds|looks|that's|that is|it's|this is|all|that) (?:all )?(?:looks? )?"
    r"(?:fine|ok|okay|right|correct|good|great|perfect|works)\b|\b(?:would|'d) be (?:fine|great|perfect|good)\b"
)
_ONLY_HEARS = _phrases(
    r"(?:yes|yeah|ok|okay|sure|right),? i (?:know|see|understand|hear|heard|notice|noticed|reali[sz]e)\b"
)
_BIDS = re.compile(
    r"^(?:yes|yeah|ok|okay|sure|please|can|could|would|will)\b.*\b(?:go ahead|proceed|do (?:it|that|so|this))\b"
)
_ASKS_AT_ONCE = re.compile(r"^(?:yes|yeah|sure)?[,. ]*(?:how|what|which|when|where|is|are|would|will)\b")


def meaning_of(answer: str) -> Meaning:
    """Tell what an answer to a proposal comes to."""
    sentences = _sentences(answer)
    if _any(_STOP, sentences):
        return "refusal"
    goes_ahead = any(map(_goes_ahead, sentences))
    says_yes = goes_ahead or any(map(_says_yes, sentences))
    if (_any(_NO, sentences) and not goes_ahead) or (_any(_WAVERS, sentences) and not says_yes):
        return "refusal"
    if any(_any(pattern, sentences) for pattern in (_PAUSE, _CONDITION, _DOUBT, _CHANGE)):
        return "unclear"
    is_mild = any(map(_is_mild, sentences)) and not any(sentence.endswith("?") for sentence in sentences)
    return "consent" if says_yes or is_mild else "unclear"


def agrees(answer: str) -> bool:
    """Tell whether an answer clearly agrees to what was asked."""
    return meaning_of(answer) == "consent"


def refuses(answer: str) -> bool:
    """Tell whether an answer says no, or stops what was agreed to before."""
    return meaning_of(answer) == "refusal"


def withdraws(answer: str) -> bool:
    """Tell whether an answer stops what was agreed to before, as a mere no to another question does not."""
    sentences = _sentences(answer)
    return _any(_STOP, sentences) or _any(_PAUSE, sentences)


def _sentences(answer: str) -> list[str]:
    """Return the sentences in small letters, question marks kept, without words that only seem to object."""
    plain = (
        answer.lower()
        .replace("\u2019", "'")
        .replace("\n", ". ")
        .replace("\u2014", ", ")
        .replace("however", "but")
        .replace(" - ", ", ")
    )
    parts = re.findall(r"[^.!?]+\??", _HARMLESS.sub("", plain))
    return [" ".join(part.split()) for part in parts if part.strip(" ,;")]


def _any(pattern: re.Pattern[str], sentences: list[str]) -> bool:
    return any(map(pattern.search, sentences))


def _goes_ahead(sentence: str) -> bool:
    return bool((_BIDS if sentence.endswith("?") else _GO).search(sentence))


def _says_yes(sentence: str) -> bool:
    """Tell whether a sentence says yes, and neither only "yes, I see" nor "yes, how much?"."""
    asks = sentence.endswith("?") and _ASKS_AT_ONCE.search(sentence)
    return bool(_YES.search(sentence)) and not asks and not _ONLY_HEARS.search(sentence)


def _is_mild(sentence: str) -> bool:
    return bool(_MILD.search(sentence)) and not _ONLY_HEARS.search(sentence)
