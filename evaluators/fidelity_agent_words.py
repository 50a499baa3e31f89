"""What an agent's words leave the user with: a question, a promise to act, a report that it acted, or a refusal."""

import re

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_CLOSES = re.compile(
    r"\b(?:any(?:thing|body|one)? (?:else|more|other|further)|some(?:thing)? (?:else|other|further)|other (?:questions?"
    r"|requests?|concerns?|issues?|way)|further (?:assist|help|question|request|need)\w*|(?:how|what) else (?:can"
    r"|may|could) (?:i|we)"
    r"|feel free|don't hesitate|do not hesitate|(?:if|should) you (?:need|have|ever)|assist(?:ance)? with today"
    r"|any questions|have a (?:great|nice|good|wonderful)|happy to help|thank you for|you're welcome"
    r"|you are welcome)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(?:please (?:confirm|reply|respond|answer|tell|provide|choose|say|share|let me know|specify)|let me know"
    r"|could you|can you (?:please|tell|confirm|provide)|yes ?(?:/|or) ?no)\b",
    re.IGNORECASE,
)
_PROMISES = re.compile(
    r"\b(?:one moment|a moment|just a (?:moment|second|minute|sec)|(?:please )?hold on|please hold|bear with me"
    r"|give me a (?:moment|second|minute|sec)"
    r"|(?:please )?wait (?:a|while|for)|i(?:'ll| will| am going to|'m going to| am now|'m now) (?:now |just |then "
    r"|quickly |go ahead"
    r"(?: and)? |proceed (?:with|to) )*(?:cancel|book|chang|modif|updat|process|refund|exchang|return|issu|upgrad"
    r"|downgrad"
    r"|add|remov|check|look|search|pull|do (?:it|that|this)|take care|start|submit|make|proceed|go ahead|get|find"
    r"|switch|put"
    r"|mov|correct|fix|arrang|finali[sz]|complet|set|rebook|retriev)\w*|let me (?:check|look|pull|process|go"
    r"|proceed|do|get|find"
    r"|cancel|book|change|update|search|see|retrieve|take)|working on (?:it|that|this)|right away|allow me)\b",
    re.IGNORECASE,
)
_VERBS = (
    "cancell?ed|booked|changed|modified|updated|processed|refunded|exchanged|returned|issued|upgraded|downgraded|added"
    "|removed|submitted|made|corrected|fixed|arranged|completed|moved|rebooked|done|initiated|switched|swapped|sent"
    "|placed|credited|scheduled|confirmed|requested|finali[sz]ed|replaced|transferred|created|set|approved"
)
_REPORTS = re.compile(
    rf"\b(?:has|have|had|is|are|was|were|been|now|i've|i|we've|successfully|all|'s)(?: (?:now|been|just|already"
    rf"|also|all"
    rf"|both|being|successfully|have|has)){{0,3}} (?:{_VERBS})\b|\b(?:done|completed?|success(?:ful(?:ly)?)?"
    rf"|all set|went through"
    r"|taken care of|in place|finished)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:unable to|cannot|can't|can not|could not|couldn't|not able to|won't be able|not possible|not eligible"
    r"|ineligible|not (?:allowed|permitted|available|refundable|covered|offered|something)|no longer (?:possible"
    r"|available)"
    r"|unfortunately|regret|i'm sorry,? but|i am sorry,? but|afraid|does(?:n't| not) (?:allow|permit|qualify|meet)"
    r"|do(?:n't| not)"
    r" (?:allow|permit|offer|qualify)|must decline|only (?:be )?possible|isn't possible|out of stock|policy)\b",
    re.IGNORECASE,
)
_HANDS_OVER = re.compile(
    r"\b(?:transfer(?:r(?:ed|ing))?|human(?: (?:agent|colleague))?|colleague|supervisor|specialist"
    r"|pass(?:ing)? you on)\b",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Tell whether the words wait for an answer; asking for further wishes, as all do at the end, does not."""
    sentences = [sentence for sentence in _SENTENCE.findall(text) if not _CLOSES.search(sentence)]
    return any(_ASKS.search(sentence) for sentence in sentences)


def promises(text: str) -> bool:
    """Tell whether the words announce something for this moment, and do not report it as done."""
    kept = " ".join(sentence for sentence in _SENTENCE.findall(text) if not _CLOSES.search(sentence))
    return _PROMISES.search(kept) is not None and not reports(kept)


def reports(text: str) -> bool:
    """Tell whether the words say that something was done."""
    stated = " ".join(sentence for sentence in _SENTENCE.findall(text) if not sentence.endswith("?"))
    return _REPORTS.search(stated) is not None


def refuses(text: str) -> bool:
    """Tell whether the words deny something, or hand the customer over."""
    return _REFUSES.search(text) is not None or hands_over(text)


def hands_over(text: str) -> bool:
    """Tell whether the words speak of somebody else who takes over."""
    return _HANDS_OVER.search(text) is not None
