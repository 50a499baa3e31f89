"""The user's own tools: on the same database as the agent's, and seen by nobody but the user."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from acting import BYE, ScriptedAgent, ScriptedUser, call, calls, play, rules, said, scores
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from taugraph.domains.domain import load_domain
from taugraph.domains.task import GoldCall
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.guidance import guide, guided_call
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn, UserView
from taugraph.graphs.users.demo import DemoUser
from taugraph.graphs.users.llm import LlmUser
from taugraph.tools.executor import Executor

PHONE = load_domain("phone")
ABROAD = "abroad-needs-both-roamings"
"""A task in which the agent lets line L81829 roam, and the user does so on the phone; the price is 4.50."""
HELLO = "Hello from a mountain!"
PRICE = "Done, roaming costs $4.50."
CARD_NUMBER = "8901708600894457777"

SetPhone = Callable[..., Stage]


def doing(*wanted: dict[str, Any], text: str = "", stops: bool = False) -> UserTurn:
    return UserTurn(text, stops, message=calls(*wanted, text=text))


def toggle(_id: str = "u1", switch: str = "data_roaming") -> dict[str, Any]:
    return call("toggle_switch", _id, switch=switch)


def let_roam() -> AIMessage:
    return calls(call("set_line_roaming", line_id="L81829", enabled=True))


@pytest.fixture(scope="module")
def phone_executor() -> Iterator[Executor]:
    shared = Executor(PHONE)
    yield shared
    shared.close()


@pytest.fixture
def set_phone(phone_executor: Executor) -> SetPhone:
    """Return a function that sets a stage with the phone for an agent's and a user's lines."""

    def build(agent: Any, user: Any, protocol: str = "strict", **limits: int) -> Stage:
        stage = Stage(
            domain=PHONE,
            agent=ScriptedAgent(*agent) if isinstance(agent, list) else agent,
            user=ScriptedUser(*user) if isinstance(user, list) else user,
            protocol=rules(protocol, **limits),
        )
        stage.executor = phone_executor
        stage.user_executor = phone_executor.sharing(PHONE.user_tools)
        return stage

    return build


def seen_by_user(stage: Stage) -> list[list[tuple[str, str]]]:
    assert isinstance(stage.user, ScriptedUser)
    return [[(message.type, message.text) for message in view.messages] for view in stage.user.views]


def device(state: dict[str, Any]) -> dict[str, Any]:
    (row,) = state["changes"]["devices"].values()
    return dict(row[1])


async def test_a_call_and_its_answer_are_in_the_users_next_prompt_only(set_phone: SetPhone) -> None:
    stage = set_phone(["What can I do?", PRICE], [HELLO, doing(toggle()), "It is on.", BYE])
    state = await play(stage, ABROAD)
    assert isinstance(stage.agent, ScriptedAgent)
    assert isinstance(stage.user, ScriptedUser)
    *_, asked, called, answered = stage.user.views[2].messages
    assert isinstance(called, AIMessage)
    assert isinstance(answered, ToolMessage)
    assert (asked.text, called.tool_calls[0]["args"]) == ("What can I do?", {"switch": "data_roaming"})
    assert (answered.text, answered.tool_call_id) == ("Data roaming is now on.", called.tool_calls[0]["id"])
    assert said(state) == [("human", HELLO), ("ai", "What can I do?"), ("human", "It is on."), ("ai", PRICE)]
    assert all("now on" not in message.text for view in stage.agent.views for message in view.messages)
    assert all(tool.name != "toggle_switch" for view in stage.agent.views for tool in view.tools)


async def test_what_user_and_agent_do_adds_up_on_one_database(set_phone: SetPhone) -> None:
    stage = set_phone([let_roam(), PRICE], [HELLO, doing(toggle()), "It is on.", BYE])
    state = await play(stage, ABROAD)
    assert (scores(state)["database_matches_goal"], state["reward"]) == (1.0, 1.0)
    assert set(state["changes"]) == {"charges", "devices", "lines"}


@pytest.mark.parametrize("agent", [[let_roam(), PRICE], [PRICE]])
async def test_what_one_side_leaves_out_the_other_cannot_make_up_for(agent: list[Any], set_phone: SetPhone) -> None:
    user = [HELLO, BYE] if len(agent) == 2 else [HELLO, doing(toggle()), "It is on.", BYE]
    state = await play(set_phone(agent, user), ABROAD)
    assert (scores(state)["database_matches_goal"], state["reward"]) == (0.0, 0.0)


async def test_the_phone_shows_at_once_what_the_carrier_did(set_phone: SetPhone) -> None:
    look, test = doing(call("check_status_bar", "u1")), doing(call("run_speed_test", "u2"))
    stage = set_phone(["Look.", let_roam(), "Again."], [HELLO, look, "Nothing.", look, test, "Aha.", BYE])
    await play(stage, ABROAD)
    answers = [message.text for message in stage.user.views[5].messages if isinstance(message, ToolMessage)]  # type: ignore[attr-defined]
    assert answers == [
        "Status bar: No service",
        "Status bar: Larkline (roaming), 4G",
        "Speed test: no internet connection.",
    ]


async def test_words_that_come_with_calls_are_delivered_after_the_answers(set_phone: SetPhone) -> None:
    stage = set_phone(["What do you see?", PRICE], [HELLO, doing(toggle(), text="I have flipped it."), BYE])
    state = await play(stage, ABROAD)
    assert said(state)[2:] == [("human", "I have flipped it."), ("ai", PRICE)]
    assert device(state)["data_roaming"] == 1
    assert seen_by_user(stage)[2] == [
        ("ai", HELLO),
        ("human", "What do you see?"),
        ("ai", "I have flipped it."),
        ("tool", "Data roaming is now on."),
        ("human", PRICE),
    ]


async def test_a_stop_with_calls_first_makes_the_calls(set_phone: SetPhone) -> None:
    state = await play(set_phone(["Bye."], [HELLO, doing(toggle(), stops=True)]), ABROAD)
    assert state["termination"] == "user_stop"
    assert device(state)["data_roaming"] == 1


async def test_a_stop_with_calls_that_answers_a_question_lets_the_agent_act_on_it(set_phone: SetPhone) -> None:
    last = doing(toggle(), text="Yes, and mine is on.", stops=True)
    state = await play(set_phone(["Shall I switch roaming on?", let_roam(), PRICE], [HELLO, last, BYE]), ABROAD)
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)
    assert said(state)[-1] == ("ai", PRICE)


async def test_calls_of_one_message_run_in_order(set_phone: SetPhone) -> None:
    user = [HELLO, doing(toggle("u1"), toggle("u2"), toggle("u3")), "Hm.", BYE]
    stage = set_phone(["Go on."], user)
    assert device(await play(stage, ABROAD))["data_roaming"] == 1
    answers = [text for kind, text in seen_by_user(stage)[2] if kind == "tool"]
    assert answers == [f"Data roaming is now {word}." for word in ("on", "off", "on")]


@pytest.mark.parametrize("name", ["no_such_tool", "set_line_roaming", "get_customer_details"])
async def test_a_user_cannot_call_what_is_not_its_own(name: str, set_phone: SetPhone) -> None:
    wrong = doing(call(name, "u1", line_id="L81829", enabled=True))
    stage = set_phone(["Go on."], [HELLO, wrong, "Hm.", BYE])
    state = await play(stage, ABROAD)
    (answer,) = [text for kind, text in seen_by_user(stage)[2] if kind == "tool"]
    assert answer.startswith(f"Error: there is no tool named '{name}'; known are allow_app, check_app")
    assert state["changes"] == stage.start(PHONE.task(ABROAD))
    assert state["termination"] == "user_stop"


async def test_an_agent_cannot_call_what_is_the_users(set_phone: SetPhone) -> None:
    stage = set_phone([calls(toggle()), "I cannot."], [HELLO, BYE])
    state = await play(stage, ABROAD)
    assert said(state)[2][1].startswith("Error: there is no tool named 'toggle_switch'; known are calculate")
    assert (state["tool_errors"], state["changes"]) == (1, stage.start(PHONE.task(ABROAD)))


async def test_errors_of_the_users_calls_are_not_the_agents(set_phone: SetPhone) -> None:
    wrong = doing(*(call("no_such_tool", f"u{number}") for number in range(9)))
    state = await play(set_phone([PRICE], [HELLO, wrong, doing(toggle()), wrong, "Hm.", BYE]), ABROAD)
    assert (state["termination"], state.get("tool_errors", 0)) == ("user_stop", 0)


@pytest.mark.parametrize("per_message", [1, 5, 10])
async def test_ten_errors_in_a_row_are_the_users_failure(per_message: int, set_phone: SetPhone) -> None:
    wrong = doing(*(call("no_such_tool", f"u{number}") for number in range(per_message)))
    state = await play(set_phone([PRICE], [HELLO, wrong]), ABROAD)
    assert (state["termination"], state["failure"]["kind"]) == ("user_error", "user_tool_errors")
    assert (state["failure"]["actor"], state.get("tool_errors", 0)) == ("user", 0)


async def test_the_published_rules_know_no_limit_of_errors(set_phone: SetPhone) -> None:
    wrong = doing(*(call("no_such_tool", f"u{number}") for number in range(12)))
    state = await play(set_phone([PRICE], [HELLO, wrong, "###STOP###"], protocol="tau-bench"), ABROAD)
    assert (state["termination"], state.get("tool_errors", 0)) == ("user_stop", 0)


async def test_a_user_that_only_plays_with_its_phone_is_stopped(set_phone: SetPhone) -> None:
    state = await play(set_phone([PRICE], [HELLO, doing(toggle())]), ABROAD)
    assert (state["termination"], state["failure"]["kind"]) == ("user_error", "user_calls_without_end")


async def test_a_user_without_tools_cannot_call_any(set_stage: Callable[..., Stage]) -> None:
    stage = set_stage(["Hi.", "Bye."], ["Hello.", doing(toggle(), text="I press something."), BYE])
    state = await play(stage)
    assert said(state)[2] == ("human", "I press something.")
    assert not state.get("changes")


async def test_a_fork_before_the_users_change_has_the_database_before_it(set_phone: SetPhone) -> None:
    stage = set_phone(
        ["Go on.", PRICE], [HELLO, doing(toggle()), "It is on.", BYE, doing(toggle("v1", "vpn")), "VPN.", BYE]
    )
    graph = build_simulation(stage).copy(update={"checkpointer": InMemorySaver()})
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": ABROAD, "trial": 0, "seed": 0}
    await graph.ainvoke(start, config, durability="sync")
    before = [step async for step in graph.aget_state_history(config) if step.next == ("user_tools",)]
    assert len(before) == 1
    assert before[0].values.get("changes") in (None, stage.start(PHONE.task(ABROAD)))
    fork = await graph.aupdate_state(before[0].config, {"turns": before[0].values["turns"]})
    again = await graph.aget_state(fork)
    assert again.next == ("user_tools",)
    await graph.ainvoke(None, before[0].config, durability="sync")
    forked = (await graph.aget_state(config)).values
    assert (device(forked)["data_roaming"], device(forked)["vpn"]) == (1, 1)


def test_a_task_may_begin_with_what_the_user_did_before(set_phone: SetPhone) -> None:
    task = PHONE.task(ABROAD)
    assert task.initial
    before = (
        GoldCall(name="set_line_roaming", arguments={"line_id": "L81829", "enabled": True}),
        GoldCall(name="toggle_switch", arguments={"switch": "data_roaming"}, actor="user"),
    )
    begun = task.model_copy(update={"initial": task.initial.model_copy(update={"calls": before})})
    assert set_phone([], []).start(begun) == set_phone([], []).goal(task).changes


def test_the_gold_of_both_sides_runs_with_the_tools_that_the_trials_have(set_phone: SetPhone) -> None:
    stage = set_phone([], [])
    for task in PHONE.tasks:
        changes = stage.start(task)
        for made in task.gold:
            executor = stage.user_executor if made.actor == "user" else stage.executor
            changes = executor.execute(made.name, dict(made.arguments), changes).changes
        assert stage.goal(task).changes == changes


@pytest.mark.parametrize("task_id", [task.id for task in PHONE.tasks])
async def test_demo_agent_and_demo_user_solve_every_task_in_turns(task_id: str, set_phone: SetPhone) -> None:
    state = await play(set_phone(DemoAgent("demo:0", PHONE), DemoUser()), task_id)
    assert (state["termination"], state["reward"], state["tool_errors"]) == ("user_stop", 1.0, 0)
    assert state.get("violations", []) == []
    called = [entry["message"]["data"]["tool_calls"][0] for entry in state["user_log"] if entry["kind"] == "called"]
    wanted = [(made.name, made.arguments) for made in PHONE.task(task_id).gold if made.actor == "user"]
    assert [(step["name"], step["args"]) for step in called] == wanted


class Watched:
    """A user with a note of what it was given."""

    reference = "watched"

    def __init__(self) -> None:
        self.views: list[UserView] = []

    async def speak(self, view: UserView) -> UserTurn:
        self.views.append(view)
        return await DemoUser().speak(view)


async def test_the_demo_user_acts_on_words_and_is_given_no_answer(set_phone: SetPhone) -> None:
    user = Watched()
    await play(set_phone(["What is it?", PRICE], user), ABROAD)
    given = json.dumps([[message.text for message in view.messages] for view in user.views])
    assert "data_roaming" not in given
    assert all(not isinstance(message, ToolMessage) for view in user.views for message in view.messages)
    assert [view.scenario for view in user.views] == [PHONE.task(ABROAD).scenario] * len(user.views)


def test_words_that_hold_a_call_are_read_back_as_that_call() -> None:
    for task in PHONE.tasks:
        for made in (made for made in task.gold if made.actor == "user"):
            step = guided_call(guide(made), 3)
            assert step is not None
            assert (step["name"], step["args"], step["id"]) == (made.name, made.arguments, "step-3")


@pytest.mark.parametrize("text", ["", "Please restart.", "[step: restart_phone]", "[step: x {]", "[step: x {a}]"])
def test_other_words_hold_no_call(text: str) -> None:
    assert guided_call(text, 1) is None


class ScriptedModel(BaseChatModel):
    """Sends its lines in order, and notes the prompts and the tools it was given."""

    lines: list[AIMessage]
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.tools[:] = [tool["function"]["name"] if isinstance(tool, dict) else tool.name for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self.prompts.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.lines[len(self.prompts) - 1])])


async def test_a_chat_model_as_user_has_the_phone_in_its_tools_and_reads_what_it_shows(set_phone: SetPhone) -> None:
    end = calls(call("end_conversation", "e1"))
    model = ScriptedModel(lines=[AIMessage(HELLO), calls(toggle()), AIMessage("Data roaming is on."), end])
    stage = set_phone([let_roam(), PRICE], LlmUser("scripted", model, CallSettings()))
    state = await play(stage, ABROAD)
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)
    assert {"end_conversation", *(tool.name for tool in PHONE.user_tools)} == set(model.tools)
    assert [message.text for message in model.prompts[2][-2:]] == ["", "Data roaming is now on."]
    assert isinstance(model.prompts[2][-1], ToolMessage)
    assert not any(CARD_NUMBER in message.text for prompt in model.prompts for message in prompt)
    assert isinstance(model.prompts[2][-3], HumanMessage)
