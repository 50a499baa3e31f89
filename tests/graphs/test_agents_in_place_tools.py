"""What an agent lacks of the domain's tools is told before the first trial, in a few narrow lines."""

import pytest
from acting import AIRLINE
from langchain_core.tools import BaseTool, tool
from support import own_graphs
from support.in_place import agent_of
from support.scripted_model import ScriptedModel

from taugraph.graphs.agents.own import OwnAgent
from taugraph.graphs.agents.tool_match import Difference, ToolMatch, match_of, match_tools, render_match, schemas_of


@tool
def cancel_reservation(reservation_id: str, reason: str = "") -> str:
    """Cancel."""
    return ""


@tool
def calculate(formula: str) -> str:
    """Calculate."""
    return ""


@tool
def get_user_details(user_id: str = "") -> str:
    """Look up."""
    return ""


@tool
def remember(note: str) -> str:
    """Note."""
    return ""


def compared(*tools: BaseTool) -> ToolMatch:
    return match_tools(schemas_of(tools), schemas_of(AIRLINE.agent_tools))


def test_a_domain_compared_with_itself_differs_in_nothing() -> None:
    match = compared(*AIRLINE.agent_tools)
    assert match.same == tuple(each.name for each in AIRLINE.agent_tools)
    assert (match.different, match.lacking, match.own) == ((), (), ())
    total = len(AIRLINE.agent_tools)
    assert render_match(match) == f"the agent has {total} of the domain's {total} tools"


def test_every_difference_is_told_by_name() -> None:
    match = compared(cancel_reservation, calculate, get_user_details, remember)
    assert {each.name: each for each in match.different} == {
        "cancel_reservation": Difference("cancel_reservation", unknown=("reason",)),
        "calculate": Difference("calculate", lacking=("expression",), unknown=("formula",)),
        "get_user_details": Difference("get_user_details", required=("user_id",)),
    }
    assert match.own == ("remember",)
    assert "book_reservation" in match.lacking
    text = render_match(match)
    assert "its own, run as they are: remember" in text
    assert "other arguments: calculate: lacks expression, adds formula" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("count", [1, 40])
def test_the_text_stays_narrow_however_many_tools_there_are(count: int) -> None:
    names = tuple(f"a_rather_long_name_of_a_tool_number_{number}" for number in range(count))
    text = render_match(ToolMatch(same=("one",), lacking=names, own=names, different=(Difference("x" * 90),)))
    assert max(map(len, text.splitlines())) <= 80
    assert names[-1] in text


def test_an_agent_without_any_of_the_tools_is_told_that_it_cannot_act() -> None:
    text = render_match(compared(remember))
    assert text == f"the agent has none of the domain's {len(AIRLINE.agent_tools)} tools, so it will not be able to act"


def test_where_a_domain_has_no_tools_nobody_is_unable_to_act() -> None:
    assert match_tools(schemas_of([remember]), {}).can_act


def test_the_tools_of_a_graph_are_seen_and_those_of_a_chat_model_are_none() -> None:
    graph = agent_of(own_graphs.with_create_agent(ScriptedModel(lines=[])))
    match = match_of(OwnAgent("mine", graph, timeout_s=1), AIRLINE.agent_tools)
    assert match is not None
    assert match.own == ("remember",)
    model = agent_of(ScriptedModel(lines=[]))
    assert match_of(OwnAgent("mine", model, timeout_s=1), AIRLINE.agent_tools) is None
    hidden = agent_of(own_graphs.without_reducer(ScriptedModel(lines=[])))
    assert match_of(hidden, AIRLINE.agent_tools) is None
