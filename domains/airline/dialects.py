"""Where the airline's published versions differ, as one table."""

from typing import Literal

from taugraph.domains.dialect import Dialect

_SHARED_TOOLS = frozenset(
    {
        "book_reservation",
        "calculate",
        "cancel_reservation",
        "get_reservation_details",
        "get_user_details",
        "list_all_airports",
        "search_direct_flight",
        "search_onestop_flight",
        "send_certificate",
        "transfer_to_human_agents",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    }
)


class AirlineDialect(Dialect):
    """The differences between the airline's versions."""

    corrected: bool = False
    """Whether bookings are checked as a whole and cancelling settles seats and gift cards."""
    keeps_nested_objects: bool = False
    """Whether nested objects are stored as the caller sent them, extra and missing keys included."""
    fixed_ids: bool = True
    """Whether new reservations and certificates take the three published ids in call order."""
    reuses_last_reservation_id: bool = False
    """Whether a fourth booking overwrites the third instead of being refused."""
    stores_changed_cabin: bool = True
    """Whether changing flights also stores the new cabin."""
    booking_takes_seats: bool = True
    """Whether a booking lowers the free seats."""
    second_leg_of: Literal["first_day", "own_day", "calendar"] = "own_day"
    """Which day's record an overnight second leg shows; `calendar` also rolls over months and times."""
    airports_as: Literal["object", "array"] = "array"
    """Form in which the airports are listed."""
    shows_unset_fields: bool = True
    """Whether records show optional fields that are not set, as null."""
    shows_user_id: bool = True
    """Whether a user record carries its own id."""


TAUGRAPH = AirlineDialect(
    name="taugraph",
    tools=_SHARED_TOOLS | {"get_flight_status"},
    corrected=True,
    fixed_ids=False,
    second_leg_of="calendar",
)
"""Our own seed: the corrected behaviour."""

TAU_BENCH = AirlineDialect(
    name="tau-bench",
    checks_arguments=False,
    tools=_SHARED_TOOLS | {"think"},
    keeps_nested_objects=True,
    reuses_last_reservation_id=True,
    stores_changed_cabin=False,
    booking_takes_seats=False,
    second_leg_of="first_day",
    airports_as="object",
    shows_unset_fields=False,
    shows_user_id=False,
)
"""The first published version."""

TAU2 = AirlineDialect(
    name="tau2",
    checks_arguments=False,
    tools=_SHARED_TOOLS | {"get_flight_status"},
)
"""Its successors."""

DIALECTS = {dialect.name: dialect for dialect in (TAUGRAPH, TAU_BENCH, TAU2)}
"""Dialect by name."""
