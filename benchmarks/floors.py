"""What the same work costs without the harness: LangGraph with empty nodes, sqlite3 and SQLModel by themselves."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from sqlalchemy import Engine, Table
from sqlalchemy.orm.attributes import flag_modified
from sqlmodel import Session, SQLModel, select
from typing_extensions import TypedDict

from taugraph.domains.changes import NetChanges, Row
from taugraph.domains.domain import Domain
from taugraph.tools.seed_image import table_of


class Walk(TypedDict):
    """State of the empty graph."""

    left: list[str]
    """Nodes still to visit."""


async def run_supersteps(walks: Sequence[Sequence[str]]) -> None:
    """Walk through a graph of empty nodes, of the kinds and with the checkpointer that a trial has.

    Args:
        walks: Names of the nodes of each walk: `user`, `agent`, `tools`, `score`.
    """

    async def aside(state: Walk) -> Walk:
        return {"left": state["left"][1:]}

    def in_thread(state: Walk) -> Walk:
        return {"left": state["left"][1:]}

    def following(state: Walk) -> str:
        return state["left"][0] if state["left"] else "__end__"

    builder = StateGraph(Walk)
    for name, node in {"user": aside, "agent": aside, "tools": in_thread, "score": in_thread}.items():
        builder.add_node(name, node)
        builder.add_conditional_edges(name, following)
    builder.add_conditional_edges(START, following)
    saver = InMemorySaver()
    graph = builder.compile(checkpointer=saver)
    for walk in walks:
        thread_id = str(uuid4())
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}, "recursion_limit": 100_000}
        await graph.ainvoke({"left": list(walk)}, config, durability="exit")
        await graph.aget_state(config)
        await saver.adelete_thread(thread_id)


def statements_of(domain: Domain, changes: NetChanges) -> list[tuple[str, list[Any]]]:
    """Return the statement and its values for every changed row."""
    return [
        _statement(table_of(model), json.loads(key), after)
        for model in domain.tables
        for key, (_, after) in changes.get(table_of(model).name, {}).items()
    ]


def _statement(table: Table, key: list[Any], after: Row | None) -> tuple[str, list[Any]]:
    if after is None:
        where = " AND ".join(f'"{column.name}" = ?' for column in table.primary_key.columns)
        return f'DELETE FROM "{table.name}" WHERE {where}', key
    columns = ", ".join(f'"{name}"' for name in after)
    marks = ", ".join("?" * len(after))
    return f'INSERT OR REPLACE INTO "{table.name}" ({columns}) VALUES ({marks})', list(after.values())


def replay_rows(raw: sqlite3.Connection, rows: Sequence[tuple[str, list[Any]]]) -> None:
    """Write rows in a transaction on a bare copy of the seed, and roll back."""
    raw.execute("BEGIN")
    for statement, values in rows:
        raw.execute(statement, values)
    raw.execute("ROLLBACK")


def read_and_write(raw: sqlite3.Connection, domain: Domain) -> None:
    """Read one row of a bare copy of the seed, write it, and roll back."""
    table = f'"{domain.tables[0].__tablename__}"'
    raw.execute("BEGIN")
    row = raw.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
    raw.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    raw.execute("ROLLBACK")


def read_and_flush(engine: Engine, domain: Domain) -> None:
    """Read one row of a bare copy of the seed by SQLModel, write it, and roll back."""
    model = domain.tables[0]
    with Session(engine) as session:
        row = session.exec(select(model).limit(1)).one()
        flag_modified(row, _last_column(model))
        session.flush()
        session.rollback()


def _last_column(model: type[SQLModel]) -> str:
    return table_of(model).columns.keys()[-1]
