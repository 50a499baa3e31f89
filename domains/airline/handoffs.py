"""When the airline's customers are for a colleague: what was flown, and what no tool can do."""

from sqlmodel import SQLModel

from taugraph.domains.airline.models import Reservation
from taugraph.domains.airline.trips import flights_of, is_flown
from taugraph.domains.handoff import Reach, handoff_rule
from taugraph.domains.rules import Moment

_TRIP = r"(?:flights?|trips?|reservations?|bookings?|tickets?)"
_OWN = (
    r"(?:(?:a|an|the|this|that|my|her|his|their|your|both|all|of|these|entire|whole|current|upcoming|existing|flight"
    r"|basic|economy|business|one-?way|round-?trip|nonstop)\W+){0,6}?"
)
_CODE = r"(?-i:[A-Z0-9]{6}\b)"
_ENDS = (
    r"(?=\W*$|\W*[;:]|\W*\(?(?:ids?|due|because|since|despite|under|within|until|although|for)\b"
    rf"|\W*(?:from|to)\W+(?:(?!{_CODE})(?-i:[A-Z])|business|economy|basic))"
)
_KEY = rf"(?:\(|{_CODE}(?:,\W{_CODE})*(?!')(?:{_ENDS}|(?=,\W*$)))"
_ONE = rf"{_OWN}(?:{_TRIP}\W+(?:(?:with )?ids?\W+)?{_KEY}|{_TRIP}\b{_ENDS}|{_KEY})"
_WISHES = (
    rf"cancel(?:l?ing|lation)?\W*$|cancel(?:l?ing|lation)?\W+{_ONE}|{_OWN}{_TRIP}\W+cancellation\b|rebook(?:ing)?\W*$"
    rf"|(?:{_TRIP}\W+)?{_CODE}\W+(?:to be )?cancell?ed\b|(?:chang|modify|mov)\w*\W+{_OWN}{_TRIP}\b{_ENDS}"
    rf"|(?:chang|modify|mov)\w*\W+(?:the )?(?:dates?|cabin|passengers?(?: names?)?)\W+(?:of|on|for|in)\W+{_ONE}"
    rf"|(?:upgrad|downgrad)\w*\W+{_ONE}|(?:add|remov)\w*\W+(?:\w+\W+){{0,3}}?bags?\W+(?:to|on|from)\W+{_ONE}"
    rf"|remov\w*\W+(?:\w+\W+)?passengers?\W+from\W+{_ONE}"
)
_REQUESTS = (
    rf"\b(?:cancel|change)\W+{_ONE}|\bbook\W+(?:me\W+)?{_OWN}{_TRIP}\b{_ENDS}"
    r"|\badd\W+(?:a|an|one|two|three|some|\d)\W+(?:more\W+|checked\W+|extra\W+)?bags?\b"
)
_BEYOND = (
    r"\b(?:flown|flew|fly home|in the air|on board|board(?:ed|ing)|took off|landed|stranded|stuck|mid-?trip|missed"
    r"|no-?show|(?:way|flight) (?:back|home)|(?:return|last|remaining|half|one) (?:leg|segment|flight|of)|rest of"
    r"|already used|partial(?:ly)? used|lost|missing|arrived?\b|trace|damaged|luggage|locker|seats?\b|meals?\b"
    r"|pets?\b|dogs?\b|cats?\b|miles\b|points\b|status match|lounge|passport|visa (?:for|requirement)|address|hotel"
    r"|rental|taxi|expenses|check(?:ed)?[- ]in|boarding pass|gate\b|group|infant|unaccompanied|medical equipment"
    r"|insurance refund|refund (?:\w+ ){0,3}insurance|purchased insurance|different card|another card|bank)"
)


def _is_reserved(moment: Moment, row: SQLModel) -> bool:
    """Tell whether a flight of the trip has been flown, or its record is no longer an ordinary one."""
    if not isinstance(row, Reservation):
        return True
    flown = any(is_flown(moment.session, flight, date) for flight, date in flights_of(moment.session, row))
    return flown or row.status is not None


HANDOFF = handoff_rule(Reach(Reservation, _WISHES, _REQUESTS, _BEYOND, _is_reserved))
"""The airline's rule of handing over."""
