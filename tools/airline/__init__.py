"""The airline as a domain: its tables, seed, policy and tasks, with the tools that act on them."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from taugraph.domains.airline.dialects import TAU2, TAU_BENCH, TAUGRAPH
from taugraph.domains.airline.models import TABLES, Handoff
from taugraph.domains.airline.published import read_seed
from taugraph.domains.airline.rules import RULES
from taugraph.domains.airline.seed import load_seed
from taugraph.domains.domain import Domain, RowComparison
from taugraph.domains.published import read_policy, read_tau_bench_tasks
from taugraph.domains.task import load_tasks
from taugraph.domains.tau2_files import is_tau2_folder, read_tau2_policy, read_tau2_tasks
from taugraph.tools.airline.bookings import book_reservation
from taugraph.tools.airline.changes import (
    cancel_reservation,
    update_reservation_baggages,
    update_reservation_flights,
    update_reservation_passengers,
)
from taugraph.tools.airline.records import change
from taugraph.tools.airline.searches import (
    get_flight_status,
    get_reservation_details,
    get_user_details,
    list_all_airports,
    search_direct_flight,
    search_onestop_flight,
)
from taugraph.tools.airline.service import send_certificate
from taugraph.tools.arithmetic import calculate
from taugraph.tools.handoff import handoff_tool
from taugraph.tools.thinking import think

AGENT_TOOLS = (
    book_reservation,
    calculate,
    cancel_reservation,
    get_flight_status,
    get_reservation_details,
    get_user_details,
    list_all_airports,
    search_direct_flight,
    search_onestop_flight,
    send_certificate,
    think,
    handoff_tool(Handoff),
    update_reservation_baggages,
    update_reservation_flights,
    update_reservation_passengers,
)
"""Every tool of every dialect."""

_FOLDER = Path(__file__).parents[2] / "domains" / "airline"


def read_data(folder: Path) -> Domain:
    """Build the airline on published files.

    Raises:
        DataError: If a file is missing or breaks its form.
    """
    if is_tau2_folder(folder):
        found = replace(domain, policy=read_tau2_policy(folder), tasks=read_tau2_tasks(folder), dialect=TAU2)
    else:
        found = replace(domain, policy=read_policy(folder), tasks=read_tau_bench_tasks(folder), dialect=TAU_BENCH)
    return replace(found, seed=read_seed(folder), comparison=RowComparison(), source=folder.name)


domain = Domain(
    name="airline",
    tables=TABLES,
    seed=load_seed(),
    policy=(_FOLDER / "policy.md").read_text(encoding="utf-8"),
    agent_tools=AGENT_TOOLS,
    tasks=load_tasks(_FOLDER / "tasks.jsonl"),
    now=datetime(2024, 5, 15, 15),
    dialect=TAUGRAPH,
    comparison=RowComparison(
        unordered={
            "reservation_passengers": "position",
            "reservation_payments": "position",
            "user_reservations": "position",
            "payment_methods": "position",
        },
        ignored={"handoffs": frozenset({"summary"})},
    ),
    rules=RULES,
    read_data=read_data,
    change_records=change,
)
"""The airline on our own seed."""
