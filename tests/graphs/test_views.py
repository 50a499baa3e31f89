"""What agent and user are given: nothing of the task's answers, and nothing they could change for others."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from acting import AIRLINE, BYE, CANCEL, HELLO, REFUND, ScriptedAgent, ScriptedUser, cancel, play
from langchain_core.messages import AIMessage, SystemMessage, message_to_dict
from langchain_core.utils.function_calling import convert_to_openai_tool

from taugraph.domains.task import Scenario, Task
from taugraph.graphs.agent import AgentView
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserView
from taugraph.graphs.users.llm import system_prompt

SetStage = Callable[..., Stage]
TASK_IDS = [task.id for task in AIRLINE.tasks]


def spelled_out(value: Any) -> str:
    return json.dumps(value, default=str)


def agent_reads(view: AgentView) -> str:
    tools = [convert_to_openai_tool(tool) for tool in view.tools]
    return spelled_out([[message_to_dict(message) for message in view.messages], view.policy, tools])


def user_reads(view: UserView) -> str:
    prompt = system_prompt(view.scenario, stops_on_token=False)
    return spelled_out([prompt, [message_to_dict(message) for message in view.messages]])


def secrets(task: Task) -> set[str]:
    """Return the ids and amounts of a task's answers that nobody could know from elsewhere."""
    found: set[str] = {claim.value for claim in task.claims}
    queue: list[Any] = [call.arguments for call in task.gold]
    while queue:
        value = queue.pop()
        if isinstance(value, dict | list):
            queue.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, str) and any(character.isdigit() for character in value) and "2024-05" not in value:
            found.add(value)
    return {value for value in found if len(value) > 4}


@pytest.mark.parametrize("task_id", TASK_IDS)
async def test_the_agent_reads_no_answer_before_it_has_worked_for_it(task_id: str, set_stage: SetStage) -> None:
    task = AIRLINE.task(task_id)
    stage = set_stage(["Which one?"], [task.scenario.opening or HELLO, BYE])
    await play(stage, task_id)
    assert isinstance(stage.agent, ScriptedAgent)
    text = agent_reads(stage.agent.views[0])
    opening = stage.agent.views[0].messages[0].text
    assert [value for value in secrets(task) if value in text and value not in opening] == []
    assert task.scenario.instructions not in text
    assert task_id not in text


@pytest.mark.parametrize("task_id", TASK_IDS)
async def test_the_user_reads_its_scenario_and_no_answer(task_id: str, set_stage: SetStage) -> None:
    task = AIRLINE.task(task_id)
    stage = set_stage(["Which one?"], [HELLO, BYE])
    await play(stage, task_id)
    assert isinstance(stage.user, ScriptedUser)
    text = user_reads(stage.user.views[-1])
    told = spelled_out(task.scenario.model_dump())
    assert [value for value in secrets(task) if value in text and value not in told] == []
    assert [call.name for call in task.gold if call.name in text] == []
    assert spelled_out(task.scenario.instructions)[1:-1] in text


def test_the_views_have_room_for_nothing_else() -> None:
    assert {field.name for field in fields(AgentView)} == {"messages", "policy", "tools", "key", "memory", "seen"}
    assert {field.name for field in fields(UserView)} == {"messages", "scenario", "key", "persona", "tools"}
    assert not {"gold", "claims", "tags"} & Scenario.model_fields.keys()


async def test_the_agent_gets_policy_tools_and_the_conversation(set_stage: SetStage) -> None:
    stage = set_stage([cancel(), REFUND], [HELLO, BYE])
    await play(stage)
    assert isinstance(stage.agent, ScriptedAgent)
    last = stage.agent.views[-1]
    assert last.policy == AIRLINE.policy
    assert list(last.tools) == stage.executor.tools
    assert [message.type for message in last.messages] == ["human", "ai", "tool"]


async def test_the_session_is_hidden_from_the_agents_tools(set_stage: SetStage) -> None:
    stage = set_stage(["Hi."], [HELLO, BYE])
    await play(stage)
    assert isinstance(stage.agent, ScriptedAgent)
    assert all("session" not in spelled_out(convert_to_openai_tool(tool)) for tool in stage.agent.views[0].tools)


def vandal(view: Any) -> AIMessage:
    view.messages[0].content = "I never said that."
    view.messages.insert(0, SystemMessage("mine"))
    view.tools.clear()
    return AIMessage("Hi.")


async def test_what_an_agent_does_to_its_view_changes_nothing_for_others(set_stage: SetStage) -> None:
    stage = set_stage([vandal, cancel(), REFUND], [HELLO, "Go on.", BYE])
    state = await play(stage, CANCEL)
    assert [message.text for message in state["messages"]][:2] == [HELLO, "Hi."]
    assert state["reward"] == 1.0
    assert isinstance(stage.agent, ScriptedAgent)
    assert list(stage.agent.views[1].tools) == stage.executor.tools != []
