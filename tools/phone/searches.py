"""The carrier's tools that only look something up."""

from typing import Any

from sqlmodel import col, func, select

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.phone.models import Customer, Line, Plan, Sim
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.phone.documents import (
    Document,
    bill_document,
    bills_of,
    customer_document,
    find_customer_record,
    find_line,
    line_document,
    plan_document,
    usage_document,
)


@domain_tool(ToolKind.READ)
def find_customer_by_phone(phone_number: str, birth_date: str, session: DatabaseSession) -> str:
    """Find a customer's id by one of the customer's numbers, if the date of birth is right.

    Args:
        phone_number: Such as "202-555-0142".
        birth_date: As YYYY-MM-DD.
    """
    digits = "".join(filter(str.isdigit, phone_number))
    wanted = select(Customer).join(Line).where(func.replace(Line.phone_number, "-", "") == digits)
    customer = session.exec(wanted).first()
    if customer is None or customer.birth_date != birth_date:
        raise ToolRefusal("no customer has this phone number and this date of birth")
    return customer.customer_id


@domain_tool(ToolKind.READ)
def find_customer_by_name(first_name: str, last_name: str, birth_date: str, session: DatabaseSession) -> str:
    """Find a customer's id by full name and date of birth.

    Args:
        first_name: Given name.
        last_name: Family name.
        birth_date: As YYYY-MM-DD.
    """
    wanted = (
        select(Customer)
        .where(func.lower(Customer.first_name) == first_name.lower())
        .where(func.lower(Customer.last_name) == last_name.lower(), Customer.birth_date == birth_date)
        .order_by(col(Customer.position))
    )
    if (customer := session.exec(wanted).first()) is None:
        raise ToolRefusal("no customer has this name and this date of birth")
    return customer.customer_id


@domain_tool(ToolKind.READ)
def get_customer_details(customer_id: str, session: DatabaseSession) -> Document:
    """Show a customer: name, date of birth, email, city, and the lines with their phone numbers.

    Args:
        customer_id: The customer's id.
    """
    return customer_document(session, find_customer_record(session, customer_id))


@domain_tool(ToolKind.READ)
def get_line_details(line_id: str, session: DatabaseSession) -> Document:
    """Show a line: plan, status and why it is suspended, roaming, and what goes on the next bill.

    Args:
        line_id: The line's id.
    """
    return line_document(session, find_line(session, line_id))


@domain_tool(ToolKind.READ)
def get_data_usage(line_id: str, session: DatabaseSession) -> Document:
    """Show how much mobile data a line has used this month, and how much is left.

    Args:
        line_id: The line's id.
    """
    line = find_line(session, line_id)
    return usage_document(line, session.get_one(Plan, line.plan_id))


@domain_tool(ToolKind.READ)
def get_bills(line_id: str, session: DatabaseSession) -> list[Document]:
    """Show the bills of a line, oldest first.

    Args:
        line_id: The line's id.
    """
    return [bill_document(bill) for bill in bills_of(session, find_line(session, line_id).line_id)]


@domain_tool(ToolKind.READ)
def list_plans(session: DatabaseSession) -> list[dict[str, Any]]:
    """Show all plans with what they include and cost."""
    return [plan_document(plan) for plan in session.exec(select(Plan).order_by(col(Plan.position)))]


@domain_tool(ToolKind.READ)
def look_up_puk(line_id: str, session: DatabaseSession) -> str:
    """Show the PUK of a line's SIM card.

    Args:
        line_id: The line's id.
    """
    line = find_line(session, line_id)
    return session.exec(select(Sim.puk).where(Sim.line_id == line.line_id)).one()
