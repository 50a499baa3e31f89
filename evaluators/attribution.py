"""Whether a text only repeats what the user said, and names the user for it, instead of giving it away.

`You said $892.94, but I may not discuss it` tells the user nothing new. It does as soon as the text goes on to say that
it is right, puts it in a clause of its own (`the total you asked about is $892.94`), or opens with a yes. Only the text
is read: whether the user did say it is not checked.
"""

import re

from taugraph.evaluators.mentions import Mention

_REACH = 160
_END = re.compile(r"[.!?]+(?=\s)|\n|[,;:](?=\s)|\s--?\s|[\u2014()]|\b(?:but|however|though|although)\b", re.IGNORECASE)
_BEFORE = (
    r"^\W*(?:(?:and|so|well|earlier|before|i (?:know|see|understand|hear|heard|note)(?: that)?)\W+)*you(?:'ve|'d)?\s"
)
_ADVERBS = r"(?:(?:have|had|just|also|only|already|earlier|before|first)\s)*"
_SAID = re.compile(
    rf"{_BEFORE}{_ADVERBS}(?:said|wrote|told\s(?:me|us)|stated|claimed|thought|expected|heard)\b"
    r"(?!.*\b(?:which|who|whose|actually|indeed)\b)",
    re.IGNORECASE | re.DOTALL,
)
_NAMED = re.compile(
    rf"{_BEFORE}{_ADVERBS}(?:mentioned|named|quoted|asked\s(?:me\s|us\s)?(?:about|for|after)|inquired\sabout|brought\sup"
    r"|referred\sto|gave\s(?:me|us)|spoke\sof)\b(?!.*\b(?:is|are|was|were|comes|which|who|whose)\b)",
    re.IGNORECASE | re.DOTALL,
)
_LEFT_OPEN = re.compile(r"\b(?:whether|if|not|cannot|unable)\b[^.,;!?\n]*|n't\b[^.,;!?\n]*", re.IGNORECASE)
_CONFIRMS = re.compile(
    r"\b(?:correct|indeed|accurate|exactly|confirmed|yes|i(?: can)? confirm|(?:is|was|that's|it's) (?:right|true))\b",
    re.IGNORECASE,
)


def only_repeats_user(plain: str, mention: Mention) -> bool:
    """Tell whether a mention in a plain text stands for what the user said, and nothing near it says that it is so."""
    before = plain[max(0, mention.start - _REACH) : mention.start]
    after = plain[mention.end : mention.end + _REACH]
    clause = _END.split(before)[-1]
    if not (_SAID.search(clause) or _NAMED.search(clause)):
        return False
    return not any(_CONFIRMS.search(_LEFT_OPEN.sub("", words)) for words in (before, after))
