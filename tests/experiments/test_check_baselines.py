"""The baselines do what their names say on any domain, and know nothing of its tasks."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from support.library_domain import domain

from taugraph.domains.errors import ConfigurationError
from taugraph.graphs.agent import AgentView, TrialKey
from taugraph.graphs.agents.baselines import NEUTRAL_SENTENCE
from taugraph.graphs.agents.building import build_agent
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.tools.definition import ToolKind, domain_tool
from taugraph.tools.executor import Executor
from taugraph.tools.retail import domain as retail


@domain_tool(ToolKind.HANDOFF)
def call_a_person(why: str, urgency: int, note: str = "") -> str:
    """Call a person.

    Args:
        why: Reason.
        urgency: From 1.
        note: Anything else.
    """
    return f"{why}{urgency}{note}"


def reply(reference: str, messages: list[AnyMessage], tools: list[BaseTool] | None = None) -> AIMessage:
    agent = build_agent(SimulationContext(agent=reference), domain, ChatModels())
    view = AgentView(messages, "policy", list(domain.agent_tools) if tools is None else tools, TrialKey("renew", 0, 0))
    return asyncio.run(agent.reply(view))


def converse(reference: str, *words: str, executor: Executor, most: int = 40) -> list[AnyMessage]:
    """Say the words one after the other, tools being run, until the agent has answered the last."""
    messages: list[AnyMessage] = []
    for word in words:
        messages.append(HumanMessage(word))
        while not isinstance(messages[-1], AIMessage) or messages[-1].tool_calls:
            said = reply(reference, messages, executor.tools)
            messages.append(said)
            for called in said.tool_calls:
                answer = executor.execute(called["name"], called["args"], {})
                status: Any = "error" if answer.is_error else "success"
                messages.append(ToolMessage(answer.text, tool_call_id=called["id"], status=status))
            assert len(messages) < most * 2
    return messages


@pytest.mark.parametrize("reference", ["noop", "transfer", "yes", "recite", "oracle"])
def test_every_baseline_has_a_reference_and_only_the_oracle_is_privileged(reference: str) -> None:
    agent = build_agent(SimulationContext(agent=reference), domain, ChatModels())
    assert (agent.reference, agent.is_privileged) == (reference, reference == "oracle")
    with pytest.raises(ConfigurationError, match="leave them out"):
        build_agent(SimulationContext(agent=reference, agent_options='{"temperature": 0}'), domain, ChatModels())


@pytest.mark.parametrize(("reference", "words"), [("noop", NEUTRAL_SENTENCE), ("yes", "Yes, done.")])
def test_a_baseline_that_only_talks_says_one_thing(reference: str, words: str) -> None:
    for said in ("Hello", "Is it 42?"):
        answer = reply(reference, [HumanMessage(said)])
        assert (answer.text, answer.tool_calls) == (words, [])


def test_the_handing_over_baseline_fills_what_the_tool_wants_and_says_goodbye() -> None:
    first = reply("transfer", [HumanMessage("Hi")], [*domain.agent_tools, call_a_person])
    (made,) = first.tool_calls
    assert (made["name"], made["args"]) == ("call_a_person", {"why": "The customer needs help.", "urgency": 1})
    said = [HumanMessage("Hi"), first, ToolMessage("ok", tool_call_id=str(made["id"]))]
    assert reply("transfer", said, [call_a_person]).text == "Goodbye."


def test_the_handing_over_baseline_says_goodbye_where_it_cannot_hand_over() -> None:
    assert reply("transfer", [HumanMessage("Hi")]).text == "Goodbye."


def test_the_reciting_baseline_recites_the_records_it_was_told_of() -> None:
    executor = Executor(domain)
    messages = converse("recite", "Hi", "I am M-1001 and it is book B-2002", executor=executor)
    executor.close()
    recited = [json.loads(line) for line in messages[-1].text.splitlines()[:-1]]
    assert [sorted(record) for record in recited] == [["fines", "loans", "name"], ["price", "title"]]
    assert recited[1]["price"] == 24.5


def test_the_reciting_baseline_follows_the_ids_that_a_record_lists() -> None:
    executor = Executor(retail)
    user = next(row for row in retail.seed.rows() if type(row).__tablename__ == "user_orders").model_dump()
    messages = converse("recite", "Hi", f"I am {user['user_id']}", executor=executor)
    executor.close()
    assert user["order_id"] in messages[-1].text
    assert messages[-1].text.count("order_id") > 0


def test_the_reciting_baseline_stops_before_errors_end_the_trial() -> None:
    executor = Executor(domain)
    words = " ".join(f"X-{number}" for number in range(100, 140))
    messages = converse("recite", "Hi", words, executor=executor)
    executor.close()
    assert sum(isinstance(message, ToolMessage) for message in messages) == 8
    assert messages[-1].text == "Goodbye."
