"""Agents and users that are chat models or recordings: what they send, and what becomes of the answer."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from acting import AIRLINE, BYE, CANCEL, HELLO, REFUND, cancel, play
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from taugraph.domains.protocol import STOP_TOKEN
from taugraph.domains.task import Scenario
from taugraph.graphs.agent import TrialKey
from taugraph.graphs.agents.chat import ChatAgent, seed_parameters
from taugraph.graphs.agents.recorded import RecordedAgent
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.seeds import actor_seed
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn, UserView
from taugraph.graphs.users.llm import END_TOOL, GREETING, LlmUser, system_prompt
from taugraph.graphs.users.recorded import RecordedUser

SetStage = Callable[..., Stage]
ONCE = CallSettings(attempts=1)
USAGE: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}


class LinesModel(BaseChatModel):
    """A chat model that takes its lines in order, repeats the last, and notes what it was sent."""

    lines: list[AIMessage]
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _parameters: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _bound: list[list[Any]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "lines"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self._bound.append(list(tools))
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._prompts.append(messages)
        self._parameters.append(kwargs)
        line = self.lines[min(len(self._prompts), len(self.lines)) - 1]
        return ChatResult(generations=[ChatGeneration(message=line)])


class SeededModel(LinesModel):
    """The same with a seed."""

    seed: int | None = None


def lines(*texts: AIMessage | str) -> list[AIMessage]:
    return [AIMessage(text) if isinstance(text, str) else text for text in texts]


async def test_a_chat_agent_reads_the_policy_first_and_then_the_conversation(set_stage: SetStage) -> None:
    model = LinesModel(lines=lines(cancel(), REFUND))
    await play(set_stage(ChatAgent("lines", model, ONCE), [HELLO, BYE]))
    assert [message.type for message in model._prompts[-1]] == ["system", "human", "ai", "tool"]
    assert model._prompts[-1][0].content == AIRLINE.policy


async def test_a_chat_agent_binds_the_tools_once_for_all_trials(set_stage: SetStage) -> None:
    model = LinesModel(lines=lines("Hi."))
    stage = set_stage(ChatAgent("lines", model, ONCE), [HELLO, "Go on.", BYE])
    for trial in range(3):
        await play(stage, trial=trial)
    assert model._bound == [stage.executor.tools]


async def test_a_chat_agent_forwards_its_seed_to_a_model_that_takes_one(set_stage: SetStage) -> None:
    model = SeededModel(lines=lines("Hi."))
    await play(set_stage(ChatAgent("lines", model, ONCE), [HELLO, BYE]), trial=1, seed=7)
    assert model._parameters == [{"seed": actor_seed(7, CANCEL, 1, "agent")}]


async def test_nothing_is_sent_to_a_model_without_a_seed(set_stage: SetStage) -> None:
    model, speaker = LinesModel(lines=lines("Hi.")), LinesModel(lines=lines(HELLO, BYE_CALL))
    await play(set_stage(ChatAgent("lines", model, ONCE), LlmUser("lines", speaker, ONCE)))
    assert (model._parameters, speaker._parameters) == ([{}], [{}, {}])


@pytest.mark.parametrize(
    ("settings", "takes"),
    [
        ({"model": "gpt-4.1"}, True),
        ({"model": "gpt-4.1", "use_responses_api": True}, False),
        ({"model": "gpt-5-pro"}, False),
    ],
)
def test_openais_api_without_seeds_gets_none(settings: dict[str, Any], takes: bool) -> None:
    model = ChatOpenAI(api_key="local", **settings)
    assert seed_parameters(model, 3) == ({"seed": 3} if takes else {})


async def test_usage_is_added_up_by_actor_and_nudges_count(set_stage: SetStage) -> None:
    counted = [line.model_copy(update={"usage_metadata": USAGE}) for line in lines(cancel(), "", REFUND)]
    agent = ChatAgent("lines", LinesModel(lines=counted), ONCE)
    state = await play(set_stage(agent, LlmUser("lines", LinesModel(lines=lines(HELLO, BYE_CALL)), ONCE)))
    assert state["usage"] == {
        "agent": {"calls": 3, "input_tokens": 30, "output_tokens": 6, "uncounted_calls": 0},
        "user": {"calls": 2, "input_tokens": 0, "output_tokens": 0, "uncounted_calls": 2},
    }


BYE_CALL = AIMessage("", tool_calls=[{"name": "end_conversation", "args": {}, "id": "1"}])
SCENARIO = Scenario(
    instructions="You are {{ Ada }} & you want <b>tea</b>.",
    known=("Your id is ada_1", "It is {% raw %} late"),
    unknown=("The price",),
    exit_when="The tea is ordered.",
)


@pytest.mark.parametrize("stops_on_token", [False, True])
def test_the_users_prompt_holds_its_whole_scenario_as_written(stops_on_token: bool) -> None:
    prompt = system_prompt(SCENARIO, stops_on_token=stops_on_token)
    for text in (SCENARIO.instructions, *SCENARIO.known, *SCENARIO.unknown, SCENARIO.exit_when):
        assert str(text) in prompt
    assert "# What you know\n" in prompt
    assert "# What you do not know\n" in prompt


@pytest.mark.parametrize(("stops_on_token", "rule"), [(False, "`end_conversation`"), (True, STOP_TOKEN)])
def test_the_users_prompt_names_only_its_own_way_to_stop(stops_on_token: bool, rule: str) -> None:
    prompt = system_prompt(SCENARIO, stops_on_token=stops_on_token)
    assert rule in prompt
    assert ("`end_conversation`" in prompt, STOP_TOKEN in prompt) == (not stops_on_token, stops_on_token)


@pytest.mark.parametrize(
    "rule",
    [
        "Do not unload everything you know",
        "Never make up names, numbers, dates or wishes",
        "never take on a goal that is not yours",
        "Agreeing is not the end",
        "do not know",
    ],
)
def test_the_users_prompt_has_the_rules_that_keep_it_honest(rule: str) -> None:
    assert rule in system_prompt(SCENARIO, stops_on_token=False)


@pytest.mark.parametrize("stops_on_token", [False, True])
def test_a_scenario_of_instructions_alone_leaves_no_empty_headings(stops_on_token: bool) -> None:
    prompt = system_prompt(Scenario(instructions="You want tea."), stops_on_token=stops_on_token)
    assert "# What you know" not in prompt
    assert "# What you do not know" not in prompt
    assert "None" not in prompt
    assert "{" not in prompt
    assert "your wishes are met, has clearly refused them" in " ".join(prompt.split())


@pytest.mark.parametrize("task", AIRLINE.tasks, ids=lambda task: task.id)
def test_every_own_scenario_renders(task: Any) -> None:
    assert task.scenario.instructions in system_prompt(task.scenario, stops_on_token=False)


async def test_an_llm_user_reads_its_prompt_a_greeting_and_the_conversation(set_stage: SetStage) -> None:
    model = LinesModel(lines=lines(HELLO, BYE_CALL))
    await play(set_stage(["Hi."], LlmUser("lines", model, ONCE)))
    assert [(message.type, message.text) for message in model._prompts[1][1:]] == [
        ("human", GREETING),
        ("ai", HELLO),
        ("human", "Hi."),
    ]
    assert model._prompts[0][0].text == system_prompt(AIRLINE.task(CANCEL).scenario, stops_on_token=False)
    assert model._bound == [[END_TOOL]]


async def test_an_llm_user_that_stops_on_the_token_has_no_tool() -> None:
    model = LinesModel(lines=lines(STOP_TOKEN))
    user = LlmUser("lines", model, ONCE, stops_on_token=True)
    turn = await user.speak(UserView([], SCENARIO, TrialKey("t", 0, 0)))
    assert (turn.text, turn.stops, model._bound) == (STOP_TOKEN, False, [])


async def test_an_llm_user_gets_a_seed_of_its_own(set_stage: SetStage) -> None:
    model = SeededModel(lines=lines(HELLO, BYE_CALL))
    await play(set_stage(["Hi."], LlmUser("lines", model, ONCE)), trial=1, seed=7)
    assert {parameters["seed"] for parameters in model._parameters} == {actor_seed(7, CANCEL, 1, "user")}


RECORDED = {(CANCEL, 0): lines(cancel(), REFUND)}
SPOKEN = {(CANCEL, 0): [HELLO, STOP_TOKEN]}


async def test_recorded_actors_say_what_was_recorded(set_stage: SetStage) -> None:
    stage = set_stage(RecordedAgent("r", RECORDED), RecordedUser("r", SPOKEN), "tau-bench")
    states = await asyncio.gather(*(play(stage) for _ in range(4)))
    assert [(state["termination"], state["reward"]) for state in states] == [("user_stop", 1.0)] * 4
    assert RECORDED[CANCEL, 0][0].id is None


@pytest.mark.parametrize("actor", ["agent", "user"])
async def test_recorded_words_that_run_out_are_the_actors_own_failure(actor: str, set_stage: SetStage) -> None:
    spoken = {(CANCEL, 0): [HELLO] if actor == "user" else [HELLO, "Go on."]}
    stage = set_stage(RecordedAgent("r", RECORDED), RecordedUser("r", spoken), "tau-bench")
    state = await play(stage)
    assert (state["termination"], state["reward"]) == (f"{actor}_error", 0.0)
    assert "recorded words end after" in state["failure"]["message"]


async def test_a_trial_that_was_not_recorded_is_a_failure_not_a_crash(set_stage: SetStage) -> None:
    state = await play(set_stage(RecordedAgent("r", {}), [HELLO]))
    assert state["termination"] == "agent_error"


async def test_a_user_may_be_anything_that_speaks(set_stage: SetStage) -> None:
    def echo(view: UserView) -> UserTurn:
        heard = view.messages[-1] if view.messages else HumanMessage("nothing")
        return UserTurn(f"I heard {heard.text}", stops=len(view.messages) > 2)

    state = await play(set_stage(["One.", "Two."], [echo]))
    assert [message.text for message in state["messages"] if message.type == "human"][-1] == "I heard Two."
