"""The carrier's records as the JSON documents that its tools answer with, and how they are found."""

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session, col, select

from taugraph.domains.money import to_amount
from taugraph.domains.phone.models import Bill, Charge, Customer, Line, Plan
from taugraph.tools.lookups import find_record

Document = dict[str, Any]
"""A JSON object."""


def find_customer_record(session: Session, customer_id: str) -> Customer:
    """Return the customer of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, Customer, (customer_id,), f"there is no customer {customer_id!r}")


def find_line(session: Session, line_id: str) -> Line:
    """Return the line of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, Line, (line_id,), f"there is no line {line_id!r}; a line id begins with 'L'")


def find_plan(session: Session, plan_id: str) -> Plan:
    """Return the plan of that id.

    Raises:
        ToolRefusal: If there is none.
    """
    return find_record(session, Plan, (plan_id,), f"there is no plan {plan_id!r}")


def bills_of(session: Session, line_id: str) -> Sequence[Bill]:
    """Return a line's bills, oldest first."""
    return session.exec(select(Bill).where(Bill.line_id == line_id).order_by(col(Bill.position))).all()


def charges_of(session: Session, line_id: str) -> Sequence[Charge]:
    """Return what goes on a line's next bill, in order."""
    return session.exec(select(Charge).where(Charge.line_id == line_id).order_by(col(Charge.position))).all()


def customer_document(session: Session, customer: Customer) -> Document:
    """Return a customer with the lines under contract."""
    lines = session.exec(select(Line).where(Line.customer_id == customer.customer_id).order_by(col(Line.position)))
    return {
        "customer_id": customer.customer_id,
        "name": {"first_name": customer.first_name, "last_name": customer.last_name},
        "birth_date": customer.birth_date,
        "email": customer.email,
        "city": customer.city,
        "lines": {line.line_id: line.phone_number for line in lines},
    }


def line_document(session: Session, line: Line) -> Document:
    """Return a line with its plan and what goes on its next bill."""
    return {
        "line_id": line.line_id,
        "customer_id": line.customer_id,
        "phone_number": line.phone_number,
        "plan": plan_document(session.get_one(Plan, line.plan_id)),
        "status": line.status,
        "suspended_for": line.suspended_for,
        "roaming_enabled": line.roaming,
        "profile_version": line.profile_version,
        "renews_on": line.renews_on,
        "next_bill": [
            {"kind": charge.kind, "amount": to_amount(charge.amount_cents)}
            for charge in charges_of(session, line.line_id)
        ],
    }


def plan_document(plan: Plan) -> Document:
    """Return a plan."""
    return {
        "plan_id": plan.plan_id,
        "name": plan.name,
        "price_per_month": to_amount(plan.price_cents),
        "data_gb": "unlimited" if plan.data_mb is None else gigabytes(plan.data_mb),
        "fastest_network": plan.fastest,
        "price_per_refuelled_gb": to_amount(plan.refuel_cents),
        "price_of_roaming": to_amount(plan.roaming_cents),
    }


def usage_document(line: Line, plan: Plan) -> Document:
    """Return how much of its data a line has used."""
    total = None if plan.data_mb is None else plan.data_mb + line.extra_mb
    return {
        "line_id": line.line_id,
        "used_gb": gigabytes(line.used_mb),
        "included_gb": "unlimited" if total is None else gigabytes(total),
        "left_gb": "unlimited" if total is None else gigabytes(max(0, total - line.used_mb)),
        "renews_on": line.renews_on,
    }


def bill_document(bill: Bill) -> Document:
    """Return a bill."""
    return {
        "bill_id": bill.bill_id,
        "month": bill.month,
        "amount": to_amount(bill.amount_cents),
        "due_on": bill.due_on,
        "status": bill.status,
    }


def gigabytes(megabytes: int) -> int | float:
    """Return megabytes as gigabytes of 1000, an integer where they are whole."""
    return megabytes // 1000 if megabytes % 1000 == 0 else megabytes / 1000
