"""The carrier's policy as rules that a tool call keeps or breaks; `policy.md` says the same in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlmodel import Session, SQLModel, col, select

from taugraph.domains.consent import Proposal, consent_rule
from taugraph.domains.handoff import Reach, handoff_rule
from taugraph.domains.phone.models import Bill, Customer, Line
from taugraph.domains.rules import Moment, PolicyRule, find_row, one_customer_rule

FINDERS = ("find_customer_by_name", "find_customer_by_phone")
"""Tools that identify a customer."""

MOST_REFUELLED_GB = 5
"""Gigabytes that a line may be refuelled with in a month."""

_OWN_REQUEST = ("lost", "stolen", "travel")
_OWED = ("overdue", "requested")
_ACTIVE_ONLY = ("change_plan", "refuel_data", "reset_provisioning", "suspend_line")


def customer_of(session: Session, arguments: Mapping[str, Any]) -> str | None:
    """Return the customer whom a call is about; `None` if it is about none that exists."""
    if (customer := find_row(session, Customer, arguments.get("customer_id"))) is not None:
        return customer.customer_id
    bill = find_row(session, Bill, arguments.get("bill_id"))
    line = find_row(session, Line, bill.line_id if bill else arguments.get("line_id"))
    return line.customer_id if line else None


def customer_is_identified(moment: Moment) -> Iterable[str]:
    """Want the customer found by date of birth, with a number or a name, before any record is touched."""
    customer = customer_of(moment.session, moment.arguments)
    if customer is None:
        return
    found = [event.text.strip() for event in moment.calls(*FINDERS)]
    if not found:
        yield f"{moment.name} touches the data of {customer} before the customer was identified"
    elif customer not in found:
        yield f"{moment.name} touches the data of {customer}, but who was identified is {found[-1]}"


def suspension_may_be_lifted(moment: Moment) -> Iterable[str]:
    """Want a line resumed only after the customer's own wish, or once nothing is owed for it."""
    line = moment.find(Line, "line_id") if moment.name == "resume_line" else None
    if line is None or line.status != "suspended" or line.suspended_for in _OWN_REQUEST:
        return
    if line.suspended_for != "unpaid_bill":
        yield f"line {line.line_id} was to be resumed, which is suspended for {line.suspended_for!r}"
    elif owed := _owed(moment.session, line.line_id):
        yield f"line {line.line_id} was to be resumed while {', '.join(owed)} is not paid"


def debt_comes_first(moment: Moment) -> Iterable[str]:
    """Want a line in debt without roaming, refuelled data or another plan."""
    costs = moment.name in ("change_plan", "refuel_data") or (
        moment.name == "set_line_roaming" and moment.arguments.get("enabled") is True
    )
    line = moment.find(Line, "line_id") if costs else None
    if line is not None and (owed := _owed(moment.session, line.line_id)):
        yield f"{moment.name} was called for {line.line_id} while {', '.join(owed)} is not paid"


def line_is_active(moment: Moment) -> Iterable[str]:
    """Want only active lines changed, but for what lifts a suspension or switches roaming off."""
    turns_on = moment.name == "set_line_roaming" and moment.arguments.get("enabled") is True
    line = moment.find(Line, "line_id") if turns_on or moment.name in _ACTIVE_ONLY else None
    if line is not None and line.status != "active":
        yield f"{moment.name} was called for {line.line_id}, which is {line.status}"


def refuel_stays_within_limit(moment: Moment) -> Iterable[str]:
    """Want no line refuelled with more than a month's limit."""
    line = moment.find(Line, "line_id") if moment.name == "refuel_data" else None
    wanted = moment.number("gigabytes")
    if line is not None and wanted is not None and line.extra_mb / 1000 + wanted > MOST_REFUELLED_GB:
        yield f"line {line.line_id} was refuelled with {wanted:g} GB on top of {line.extra_mb / 1000:g}"


def one_overdue_bill_is_requested(moment: Moment) -> Iterable[str]:
    """Want payment requests for overdue bills only, and one at a time."""
    bill = moment.find(Bill, "bill_id") if moment.name == "send_payment_request" else None
    if bill is None:
        return
    if bill.status == "open":
        yield f"a payment request was sent for {bill.bill_id}, which is not due yet"
    wanted = select(Bill.bill_id).where(Bill.line_id == bill.line_id, Bill.status == "requested")
    if waiting := moment.session.exec(wanted.where(Bill.bill_id != bill.bill_id)).all():
        yield f"a payment request was sent for {bill.bill_id} while {', '.join(waiting)} is still waiting"


def _owed(session: Session, line_id: str) -> list[str]:
    """Return the ids of a line's bills that are due and not paid."""
    wanted = select(Bill.bill_id).where(Bill.line_id == line_id, col(Bill.status).in_(_OWED))
    return list(session.exec(wanted.order_by(col(Bill.position))))


def _is_reserved(_: Moment, row: SQLModel) -> bool:
    """Tell whether a line may be for a colleague, as one is that the carrier itself has stopped."""
    return not isinstance(row, Line) or row.suspended_for in ("fraud_review", "contract_ended")


_LINE = r"(?:(?:the|her|his|their|this|that)\W+){0,2}?(?:lines?\W+)?L\d{5}"
_ENDS = r"(?=\W*$|\W*;|\W*(?:due|because|since|despite|although)\b)"
_WISHES = (
    rf"(?:suspend|resum|refuel)\w*\W+{_LINE}{_ENDS}"
    rf"|(?:chang|switch)\w*\W+(?:the )?plan\W+(?:of|on|for)\W+{_LINE}{_ENDS}"
    rf"|(?:enabl|activat|disabl)\w*\W+roaming\W+(?:of|on|for)\W+{_LINE}{_ENDS}"
)
_REQUESTS = (
    rf"\b(?:suspend|resume|refuel)\W+(?:my|the)\W+(?:line|data){_ENDS}|\bchange\W+(?:my|the)\W+plan{_ENDS}"
    rf"|\b(?:enable|activate|disable)\W+(?:my |the )?roaming{_ENDS}"
)
_BEYOND = (
    r"\b(?:fraud|contract|block|new (?:sim|card|number|phone)|replace|port(?:ing|ed)?\b|another carrier|esim|coverage"
    r"|tower|outage|broken?|crack|water|repair|warrant|refund|discount|credit|insur|intercept|harass|spam|emergency)"
)

_HANDOFF = handoff_rule(Reach(Line, _WISHES, _REQUESTS, _BEYOND, _is_reserved))

_PROPOSALS = {
    "set_line_roaming": Proposal(r"roaming"),
    "suspend_line": Proposal(r"suspend|block|paus"),
    "resume_line": Proposal(r"resum|reactivat|activ|unsuspend|lift"),
    "refuel_data": Proposal(r"refuel|top|add|\bGB\b|gigabyte", ("gigabytes",)),
    "change_plan": Proposal(r"plan", ("plan_id",)),
    "send_payment_request": Proposal(r"pay|bill"),
    "reset_provisioning": Proposal(r"provision|profile|reset"),
}

RULES = (
    consent_rule(_PROPOSALS, Line),
    one_customer_rule(customer_of, record_argument="line_id"),
    PolicyRule(
        "customer_identified_before_private_data",
        "The customer is found by date of birth, with a phone number or the name, before a record is touched.",
        customer_is_identified,
    ),
    PolicyRule(
        "suspension_may_be_lifted",
        "A line is resumed after the customer's own wish or once its bills are paid, and never against the carrier.",
        suspension_may_be_lifted,
    ),
    PolicyRule(
        "debt_comes_first", "A line in debt gets no roaming, no refuelled data and no other plan.", debt_comes_first
    ),
    PolicyRule("line_is_active", "Only active lines are changed, refuelled, suspended or let abroad.", line_is_active),
    PolicyRule(
        "refuel_stays_within_limit",
        f"A line is refuelled with {MOST_REFUELLED_GB} gigabytes a month at most.",
        refuel_stays_within_limit,
    ),
    PolicyRule(
        "one_overdue_bill_is_requested",
        "Payment requests go out for overdue bills only, one at a time.",
        one_overdue_bill_is_requested,
    ),
    _HANDOFF,
)
"""Every rule of the carrier."""
