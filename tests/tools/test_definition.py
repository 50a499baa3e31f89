"""What a model sees of a tool comes from its signature and docstring, and nothing else of it shows."""

import json
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import ToolNode

from taugraph.tools.airline import AGENT_TOOLS
from taugraph.tools.definition import ToolKind, kind_of
from taugraph.tools.executor import Executor

KINDS = {
    ToolKind.READ: {
        "get_flight_status",
        "get_reservation_details",
        "get_user_details",
        "list_all_airports",
        "search_direct_flight",
        "search_onestop_flight",
    },
    ToolKind.WRITE: {
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    },
    ToolKind.GENERIC: {"calculate", "think"},
    ToolKind.HANDOFF: {"transfer_to_human_agents"},
}
ARGUMENTS = {
    "book_reservation": "user_id origin destination flight_type cabin flights passengers payment_methods "
    "total_baggages nonfree_baggages insurance",
    "calculate": "expression",
    "cancel_reservation": "reservation_id",
    "get_flight_status": "flight_number date",
    "get_reservation_details": "reservation_id",
    "get_user_details": "user_id",
    "list_all_airports": "",
    "search_direct_flight": "origin destination date",
    "search_onestop_flight": "origin destination date",
    "send_certificate": "user_id amount",
    "think": "thought",
    "transfer_to_human_agents": "summary",
    "update_reservation_baggages": "reservation_id total_baggages nonfree_baggages payment_id",
    "update_reservation_flights": "reservation_id cabin flights payment_id",
    "update_reservation_passengers": "reservation_id passengers",
}
each_tool = pytest.mark.parametrize("shown", AGENT_TOOLS, ids=lambda shown: shown.name)


def schema(shown: BaseTool) -> dict[str, Any]:
    found: dict[str, Any] = convert_to_openai_tool(shown)["function"]["parameters"]
    return found


def test_every_tool_has_its_kind() -> None:
    kinds = {kind: {shown.name for shown in AGENT_TOOLS if kind_of(shown) is kind} for kind in ToolKind}
    assert kinds == KINDS


def test_a_tool_that_states_no_kind_is_taken_to_write() -> None:
    @tool
    def stranger() -> str:
        """Do something."""
        return ""

    assert kind_of(stranger) is ToolKind.WRITE


@each_tool
def test_the_arguments_are_those_published_and_all_required(shown: BaseTool) -> None:
    assert list(schema(shown)["properties"]) == ARGUMENTS[shown.name].split()
    assert sorted(schema(shown).get("required", [])) == sorted(ARGUMENTS[shown.name].split())


@each_tool
def test_the_session_is_hidden(shown: BaseTool) -> None:
    assert "session" not in json.dumps(convert_to_openai_tool(shown)).lower()


@each_tool
def test_every_tool_and_argument_is_described(shown: BaseTool) -> None:
    assert shown.description
    assert "Args:" not in shown.description
    for name, field in schema(shown)["properties"].items():
        assert field.get("description"), name
        items = field.get("items", {}).get("properties", {})
        assert all(item.get("description") for item in items.values()), name
        assert (field["type"] == "array") == bool(items), name


def test_closed_sets_are_enums() -> None:
    by_name = {shown.name: schema(shown)["properties"] for shown in AGENT_TOOLS}
    cabins = ["basic_economy", "economy", "business"]
    assert by_name["book_reservation"]["cabin"]["enum"] == cabins
    assert by_name["update_reservation_flights"]["cabin"]["enum"] == cabins
    assert by_name["book_reservation"]["flight_type"]["enum"] == ["one_way", "round_trip"]
    assert by_name["book_reservation"]["insurance"]["enum"] == ["yes", "no"]


def test_every_dialect_shows_models_the_same_schema(
    airline: Executor, published: Executor, successor: Executor
) -> None:
    shown = {
        executor.domain.dialect.name: {each.name: convert_to_openai_tool(each) for each in executor.tools}
        for executor in (airline, published, successor)
    }
    for dialect, tools in shown.items():
        assert len(tools) == 14, dialect
        for name, found in tools.items():
            assert found == convert_to_openai_tool(next(each for each in AGENT_TOOLS if each.name == name))


def test_langgraphs_own_tool_node_accepts_the_tools() -> None:
    node = ToolNode(AGENT_TOOLS)
    assert set(node.tools_by_name) == {shown.name for shown in AGENT_TOOLS}


def test_the_spec_sends_no_argument_that_a_framework_claims() -> None:
    claimed = {"config", "run_manager", "callbacks", "runtime", "state", "store"}
    assert not {name for shown in AGENT_TOOLS for name in schema(shown)["properties"]} & claimed
