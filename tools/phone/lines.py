"""The carrier's tools that change a line or what is owed for it. Whether they may be used is the policy's affair."""

from typing import Literal

from sqlmodel import Session

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.phone.models import Bill, Charge, Line, Plan
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.lookups import find_record
from taugraph.tools.phone.documents import (
    Document,
    bill_document,
    charges_of,
    find_line,
    find_plan,
    line_document,
    usage_document,
)


@domain_tool(ToolKind.WRITE)
def set_line_roaming(line_id: str, enabled: bool, session: DatabaseSession) -> Document:
    """Switch roaming of a line on, at the price of its plan, or off, for nothing.

    Args:
        line_id: The line's id.
        enabled: Whether the line is to work abroad.
    """
    line = find_line(session, line_id)
    if line.roaming == enabled:
        raise ToolRefusal(f"roaming of line {line_id} is already {'on' if enabled else 'off'}")
    line.roaming = enabled
    if enabled:
        _charge(session, line, "roaming", session.get_one(Plan, line.plan_id).roaming_cents)
    return line_document(session, line)


@domain_tool(ToolKind.WRITE)
def suspend_line(line_id: str, reason: Literal["lost", "stolen", "travel"], session: DatabaseSession) -> Document:
    """Suspend an active line, so that nobody can use it.

    Args:
        line_id: The line's id.
        reason: Why the customer wants that.
    """
    line = find_line(session, line_id)
    if line.status != "active":
        raise ToolRefusal(f"line {line_id} is {line.status} already")
    line.status, line.suspended_for = "suspended", reason
    return line_document(session, line)


@domain_tool(ToolKind.WRITE)
def resume_line(line_id: str, session: DatabaseSession) -> Document:
    """Make a suspended line active again; its phone must be restarted after that.

    Args:
        line_id: The line's id.
    """
    line = find_line(session, line_id)
    if line.status != "suspended":
        raise ToolRefusal(f"line {line_id} is {line.status}, not suspended")
    line.status, line.suspended_for = "active", None
    line.profile_version += 1
    return line_document(session, line)


@domain_tool(ToolKind.WRITE)
def refuel_data(line_id: str, gigabytes: int, session: DatabaseSession) -> Document:
    """Add mobile data for the rest of the month, at the plan's price for each gigabyte.

    Args:
        line_id: The line's id.
        gigabytes: Whole gigabytes.
    """
    line = find_line(session, line_id)
    plan = session.get_one(Plan, line.plan_id)
    if plan.data_mb is None:
        raise ToolRefusal(f"line {line_id} has unlimited data")
    if not 1 <= gigabytes <= 50:
        raise ToolRefusal("between 1 and 50 gigabytes can be added")
    line.extra_mb += 1000 * gigabytes
    _charge(session, line, "refuel", gigabytes * plan.refuel_cents)
    return usage_document(line, plan)


@domain_tool(ToolKind.WRITE)
def change_plan(line_id: str, plan_id: str, session: DatabaseSession) -> Document:
    """Move a line to another plan at once.

    Args:
        line_id: The line's id.
        plan_id: Id of the new plan.
    """
    line, plan = find_line(session, line_id), find_plan(session, plan_id)
    if line.plan_id == plan.plan_id:
        raise ToolRefusal(f"line {line_id} is on this plan already")
    line.plan_id = plan.plan_id
    return line_document(session, line)


@domain_tool(ToolKind.WRITE)
def send_payment_request(bill_id: str, session: DatabaseSession) -> Document:
    """Send a request to pay a bill to the phone of the bill's line.

    Args:
        bill_id: The bill's id.
    """
    bill = find_record(session, Bill, (bill_id,), f"there is no bill {bill_id!r}")
    if bill.status not in ("open", "overdue"):
        raise ToolRefusal(f"bill {bill_id} is {bill.status}")
    bill.status = "requested"
    return bill_document(bill)


@domain_tool(ToolKind.WRITE)
def reset_provisioning(line_id: str, session: DatabaseSession) -> Document:
    """Write the network profile of an active line anew; its phone must be restarted after that.

    Args:
        line_id: The line's id.
    """
    line = find_line(session, line_id)
    if line.status != "active":
        raise ToolRefusal(f"line {line_id} is {line.status}, not active")
    line.profile_version += 1
    return line_document(session, line)


def _charge(session: Session, line: Line, kind: str, cents: int) -> None:
    """Put something on the line's next bill, unless it is free."""
    if cents:
        place = len(charges_of(session, line.line_id))
        session.add(Charge(line_id=line.line_id, position=place, kind=kind, amount_cents=cents))
        session.flush()
