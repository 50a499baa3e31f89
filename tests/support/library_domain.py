"""A lending library: a whole domain in one module, as somebody outside the package would write it."""

from datetime import UTC, datetime
from typing import Any

from sqlmodel import Field, SQLModel, select

from taugraph.domains.domain import Domain, Seed
from taugraph.domains.errors import ToolRefusal
from taugraph.domains.task import Claim, ClaimKind, GoldCall, Scenario, Task
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool

POLICY = """# Rules of the library

Ask for the member id and look the member up with `get_member`. Before a call of `renew_loan` or `pay_fines`, say what
will change and wait for a yes. A loan is renewed once, by 14 days. `get_book` tells what it costs to replace a book.
"""


class Member(SQLModel, table=True):
    """Who borrows."""

    __tablename__ = "library_members"
    member_id: str = Field(primary_key=True)
    name: str
    fines_cents: int = 0


class Book(SQLModel, table=True):
    """What is borrowed."""

    __tablename__ = "library_books"
    book_id: str = Field(primary_key=True)
    title: str
    price_cents: int


class Loan(SQLModel, table=True):
    """Who has borrowed what."""

    __tablename__ = "library_loans"
    loan_id: str = Field(primary_key=True)
    member_id: str = Field(foreign_key="library_members.member_id")
    book_id: str = Field(foreign_key="library_books.book_id")
    days_left: int
    renewed: bool = False


@domain_tool(ToolKind.READ)
def get_member(member_id: str, session: DatabaseSession) -> dict[str, Any]:
    """Look up a member with fines and loans.

    Args:
        member_id: Id of the member.
    """
    member = session.get(Member, member_id)
    if member is None:
        raise ToolRefusal(f"there is no member {member_id!r}")
    loans = session.exec(select(Loan).where(Loan.member_id == member_id)).all()
    return {"name": member.name, "fines": member.fines_cents / 100, "loans": [loan.model_dump() for loan in loans]}


@domain_tool(ToolKind.READ)
def get_book(book_id: str, session: DatabaseSession) -> dict[str, Any]:
    """Look up a book and what it costs to replace.

    Args:
        book_id: Id of the book.
    """
    book = session.get(Book, book_id)
    if book is None:
        raise ToolRefusal(f"there is no book {book_id!r}")
    return {"title": book.title, "price": book.price_cents / 100}


@domain_tool(ToolKind.WRITE)
def renew_loan(loan_id: str, session: DatabaseSession) -> str:
    """Renew a loan by 14 days, once.

    Args:
        loan_id: Id of the loan.
    """
    loan = session.get(Loan, loan_id)
    if loan is None or loan.renewed:
        raise ToolRefusal(f"loan {loan_id!r} cannot be renewed")
    loan.days_left, loan.renewed = loan.days_left + 14, True
    return f"{loan.days_left} days left"


@domain_tool(ToolKind.WRITE)
def pay_fines(member_id: str, session: DatabaseSession) -> str:
    """Take the payment of all fines of a member.

    Args:
        member_id: Id of the member.
    """
    member = session.get(Member, member_id)
    if member is None or not member.fines_cents:
        raise ToolRefusal(f"member {member_id!r} has nothing to pay")
    member.fines_cents = 0
    return "paid"


def _rows() -> list[SQLModel]:
    return [
        Member(member_id="M-1001", name="Ada Moss", fines_cents=350),
        Member(member_id="M-1002", name="Bo Fern"),
        Book(book_id="B-2001", title="Rivers of Stone", price_cents=1995),
        Book(book_id="B-2002", title="A Field of Salt", price_cents=2450),
        Loan(loan_id="L-3001", member_id="M-1001", book_id="B-2001", days_left=3),
        Loan(loan_id="L-3002", member_id="M-1002", book_id="B-2002", days_left=1),
    ]


def _ada(wish: str) -> Scenario:
    return Scenario(instructions=f"You are Ada Moss. {wish}", known=("Member id: M-1001",), opening="Hello there.")


LOOK_UP = GoldCall(name="get_member", arguments={"member_id": "M-1001"})
TASKS = [
    Task(
        id="renew",
        scenario=_ada("You have not finished your book and want to keep it for longer."),
        gold=(LOOK_UP, GoldCall(name="renew_loan", arguments={"loan_id": "L-3001"})),
    ),
    Task(
        id="pay",
        scenario=_ada("You want a clean slate and pay what you owe."),
        gold=(LOOK_UP, GoldCall(name="pay_fines", arguments={"member_id": "M-1001"})),
    ),
    Task(
        id="lost",
        scenario=_ada("Your book fell into a lake; you ask what fines and a new copy come to together."),
        gold=(LOOK_UP, GoldCall(name="get_book", arguments={"book_id": "B-2001"})),
        claims=(Claim(value="23.45", kind=ClaimKind.MONEY),),
    ),
]

domain = Domain(
    name="library",
    tables=[Member, Book, Loan],
    seed=Seed(content_hash="library-1", rows=_rows),
    policy=POLICY,
    agent_tools=[get_member, get_book, renew_loan, pay_fines],
    tasks=TASKS,
    now=datetime(2024, 5, 15, 12, tzinfo=UTC),
)
