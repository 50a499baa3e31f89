"""Handing a customer over to a human, a tool that every service domain has."""

from langchain_core.tools import BaseTool
from sqlmodel import SQLModel, func, select

from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool


def handoff_tool(table: type[SQLModel]) -> BaseTool:
    """Return the tool; in a corrected dialect it notes the handoff in a table with `position` and `summary`."""

    @domain_tool(ToolKind.HANDOFF)
    def transfer_to_human_agents(summary: str, session: DatabaseSession) -> str:
        """Hand the customer over to a human colleague, for what lies outside your possibilities.

        Args:
            summary: What the customer wants and what was done so far.
        """
        if getattr(session.info["dialect"], "corrected", True):
            taken = session.exec(select(func.count()).select_from(table)).one()
            session.add(table.model_validate({"position": taken, "summary": summary}))
            session.flush()
        return "Transfer successful"

    return transfer_to_human_agents
