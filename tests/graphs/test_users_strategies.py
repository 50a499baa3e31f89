"""Users that think, check and rewrite: only what was sent enters the conversation, and all of it is paid for."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from acting import BYE, HELLO, REFUND, ScriptedAgent, call, calls, cancel, play, said
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from support.openai_server import OpenAIServer, Reply, ToolCall

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.domains.protocol import STRICT
from taugraph.graphs.agent import TrialKey
from taugraph.graphs.calling import CallSettings
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.persona import find_persona
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserView
from taugraph.graphs.users.building import STRATEGIES
from taugraph.graphs.users.llm import LlmUser, system_prompt
from taugraph.graphs.users.react import ReactUser, split_thought
from taugraph.graphs.users.verify import ReflectionUser, VerifyUser, read_verdict

SetStage = Callable[..., Stage]
ONCE = CallSettings(attempts=1)
HANG_UP = calls(call("end_conversation"))
PHONE = load_domain("phone")


class Recording(GenericFakeChatModel):
    """Takes its messages from a list and keeps what it was asked and with which tools."""

    prompts: list[list[BaseMessage]]
    bound: list[list[str]]

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.bound.append([each["function"]["name"] if isinstance(each, dict) else each.name for each in tools])
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.prompts.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def user(kind: type[LlmUser], *lines: AIMessage | str, stops_on_token: bool = False) -> tuple[LlmUser, Recording]:
    written = iter([AIMessage(line) if isinstance(line, str) else line for line in lines])
    model = Recording(messages=written, prompts=[], bound=[])
    return kind("scripted", model, ONCE, stops_on_token=stops_on_token), model


def say(reply: str = "", thought: str = "hm", stop: bool | None = None) -> AIMessage:
    extra = {} if stop is None else {"stop": stop}
    return calls(call("say", thought=thought, reply=reply, **extra))


def verdict(satisfactory: Any, reason: str = "") -> AIMessage:
    return calls(call("judge", satisfactory=satisfactory, reason=reason))


def words(state: dict[str, Any]) -> list[str]:
    return [text for kind, text in said(state) if kind == "human"]


def log(state: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [entry for entry in state.get("user_log", []) if entry["kind"] == kind]


async def test_u3_only_the_reply_of_a_user_that_thinks_leaves_it(set_stage: SetStage) -> None:
    speaker, _ = user(ReactUser, say(HELLO, "I must hide my income."), say(stop=True))
    state = await play(set_stage([cancel(), REFUND], speaker))
    assert (words(state), state["reward"]) == ([HELLO], 1.0)
    assert [entry["text"] for entry in log(state, "thought")] == ["I must hide my income.", "hm"]
    assert "income" not in json.dumps([message.text for message in state["messages"]])


@pytest.mark.parametrize(
    ("text", "thought", "reply"),
    [
        ("Thought: hide my income\nUser Response: My id is x7", "hide my income", "My id is x7"),
        ("Thought: one\nThought: two\nUser Response: Yes.", "one\ntwo", "Yes."),
        ("**Thought:** one\n**Response:** Yes.\nThought: and now wait", "one", "Yes."),
        ("Thought: I only think.", "I only think.", ""),
        ("Just words, no markers.", "", "Just words, no markers."),
        ("My response: a long one", "", "My response: a long one"),
        ("Thought: hide my income User Response: My id is x7", "hide my income", "My id is x7"),
        ("", "", ""),
    ],
)
def test_u3_thought_and_reply_are_told_apart_by_their_markers(text: str, thought: str, reply: str) -> None:
    assert split_thought(text) == (thought, reply)


def unreadable(name: str, text: str) -> AIMessage:
    broken = {"name": name, "args": "{broken", "id": "c9", "error": None, "type": "invalid_tool_call"}
    return AIMessage(text, invalid_tool_calls=[broken])


@pytest.mark.parametrize(
    "answer",
    [
        say("Thought: I must hide my income.\nUser Response: My id is x7", ""),
        calls(call("say", thought="", reply="My id is x7", stop="false"), text="I must hide my income."),
        say("My id is x7", "I must hide my income."),
    ],
)
async def test_u3_a_thought_is_told_apart_wherever_it_was_written(answer: AIMessage) -> None:
    speaker, _ = user(ReactUser, answer)
    turn = await speaker.speak(UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0)))
    assert (turn.text, turn.stops) == ("My id is x7", False)
    assert [entry["text"] for entry in turn.aside] == ["I must hide my income."]


@pytest.mark.parametrize(
    "answer",
    [
        unreadable("say", "I must hide my income."),
        calls(call("lookup"), text="I must hide my income."),
        calls(call("say", thought="I must hide my income.", reply={"text": "no words"})),
    ],
)
async def test_u3_where_no_reply_can_be_read_a_thought_is_not_sent_instead(answer: AIMessage) -> None:
    speaker, _ = user(ReactUser, answer, say("My id is x7", ""))
    turn = await speaker.speak(UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0)))
    assert (turn.text, turn.usage.calls) == ("My id is x7", 2)
    assert [entry["text"] for entry in turn.aside] == ["I must hide my income."]


async def test_u3_words_sent_beside_a_thought_and_a_call_are_remembered() -> None:
    tool = PHONE.user_tools[0].name
    both = calls(
        call("say", "s1", thought="", reply="I see it."), call(tool, "u1"), text="I look and tell nothing else."
    )
    speaker, model = user(ReactUser, say("Hi."), both, say(stop=True))
    stage = Stage(PHONE, ScriptedAgent("Look.", "Thank you."), speaker, STRICT)
    state = await play(stage, PHONE.tasks[0].id)
    stage.close()
    assert words(state) == ["Hi.", "I see it."]
    assert [(message.type, message.text) for message in model.prompts[-1]][-2:] == [
        *(("ai", "I see it."), ("human", "Thank you."))
    ]


@pytest.mark.parametrize("kind", [LlmUser, ReactUser])
async def test_a_call_of_a_tool_that_the_user_does_not_have_is_no_answer(kind: type[LlmUser]) -> None:
    speaker, _ = user(kind, calls(call("lookup")), HELLO)
    turn = await speaker.speak(UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0)))
    assert (turn.text, turn.usage.calls) == (HELLO, 2)


async def test_u3_a_user_that_only_thinks_is_asked_again_and_then_has_said_nothing(set_stage: SetStage) -> None:
    speaker, model = user(ReactUser, "Thought: hm", say(HELLO), say(stop=True))
    state = await play(set_stage([cancel(), REFUND], speaker))
    assert (words(state), state["usage"]["user"]["calls"]) == ([HELLO], 3)
    assert "reply to the agent is missing" in model.prompts[1][-1].text
    silent, _ = user(ReactUser, *["Thought: hm"] * 3)
    state = await play(set_stage(["Hi."], silent))
    assert (state["termination"], state["failure"]["kind"], state["usage"]["user"]["calls"]) == (
        *("user_error", "empty_reply"),
        3,
    )


async def test_u5_history_holds_what_was_sent_and_drafts_stay_beside_it(set_stage: SetStage) -> None:
    speaker, model = user(
        *(
            VerifyUser,
            "Cancel it, my card is 1234.",
            verdict(False, "it invents a card"),
            HELLO,
            verdict(True),
            *(HANG_UP, verdict(True)),
        ),
    )
    state = await play(set_stage([cancel(), REFUND], speaker))
    assert (words(state), state["reward"]) == ([HELLO], 1.0)
    assert [entry["text"] for entry in log(state, "draft")] == ["Cancel it, my card is 1234.", HELLO, ""]
    assert [entry["satisfactory"] for entry in log(state, "verdict")] == [False, True, True]
    assert state["usage"]["user"]["calls"] == 6
    spoken = [message.text for message in model.prompts[-2] if isinstance(message, AIMessage)]
    assert spoken == [HELLO]


async def test_u5_where_all_drafts_are_rejected_the_last_is_sent_and_marked(set_stage: SetStage) -> None:
    lines = [line for number in range(3) for line in (f"Draft {number}", verdict(False))]
    speaker, model = user(VerifyUser, *lines, HANG_UP, verdict(True))
    state = await play(set_stage(["Yes.", "Bye."], speaker))
    assert words(state) == ["Draft 2"]
    assert (state["notes"]["unverified"], state["usage"]["user"]["calls"]) == (1, 8)
    assert [message.text for message in model.prompts[-2] if isinstance(message, AIMessage)] == ["Draft 2"]


@pytest.mark.parametrize(
    ("message", "satisfactory"),
    [
        (verdict(True), True),
        (verdict(False), False),
        (verdict("true"), True),
        (verdict("False"), False),
        (verdict("untrue"), None),
        (calls(call("judge", reason="fine")), None),
        (AIMessage("This is untrue."), None),
        (AIMessage("True."), True),
        (AIMessage("No."), False),
        (AIMessage("not true"), None),
        (AIMessage(""), None),
    ],
)
def test_u5_a_verdict_is_a_truth_value_and_not_a_word_in_a_sentence(
    message: AIMessage, satisfactory: bool | None
) -> None:
    assert read_verdict(message)[0] is satisfactory


async def test_u5_a_sentence_that_only_holds_the_word_true_sends_nothing(set_stage: SetStage) -> None:
    speaker, _ = user(VerifyUser, "My card is 1234.", "This is untrue.", HELLO, verdict(True), HANG_UP, verdict(True))
    state = await play(set_stage([cancel(), REFUND], speaker))
    assert (words(state), state["reward"]) == ([HELLO], 1.0)
    assert "unverified" not in state["notes"]


async def test_u5_a_judge_that_cannot_be_read_twice_is_not_asked_again(set_stage: SetStage) -> None:
    speaker, _ = user(VerifyUser, "Hm.", "I like it.", HELLO, "Lovely.", HANG_UP, verdict(True))
    state = await play(set_stage([cancel(), REFUND], speaker))
    assert (words(state), state["reward"]) == ([HELLO], 1.0)
    assert (state["notes"]["unverified"], state["usage"]["user"]["calls"]) == (1, 6)
    assert [entry["satisfactory"] for entry in log(state, "verdict")] == [None, None, True]


@pytest.mark.parametrize("kind", [VerifyUser, ReflectionUser])
async def test_hanging_up_too_early_is_rejected_too(kind: type[LlmUser], set_stage: SetStage) -> None:
    yes: list[AIMessage | str] = [say("Yes, do.")] if kind is ReflectionUser else ["Yes, do."]
    speaker, model = user(
        *(kind, HELLO, verdict(True), HANG_UP, verdict(False, "the agent waits for an answer")),
        *(*yes, verdict(True), HANG_UP, verdict(True)),
    )
    state = await play(set_stage(["Shall I cancel it?", cancel(), REFUND], speaker))
    assert (words(state), state["termination"], state["reward"]) == ([HELLO, "Yes, do."], "user_stop", 1.0)
    assert "# The draft\n\n(hangs up)" in model.prompts[3][0].text


async def test_the_judge_is_told_how_the_user_was_told_to_talk() -> None:
    speaker, model = user(VerifyUser, HELLO, verdict(True))
    persona = find_persona("verbose")
    await speaker.speak(UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0), persona))
    assert persona.text in model.prompts[1][0].text


async def test_a_rewritten_draft_may_use_the_user_s_device_instead() -> None:
    tool = PHONE.user_tools[0].name
    speaker, model = user(ReflectionUser, "I looked.", verdict(False, "it did not look"), calls(call(tool, "u1")))
    view = UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0), tools=PHONE.user_tools)
    turn = await speaker.speak(view)
    assert turn.message is not None
    assert ([each["name"] for each in turn.message.tool_calls], turn.text, turn.usage.calls) == ([tool], "", 3)
    assert tool in model.bound[-1]


@pytest.mark.parametrize("kind", [VerifyUser, ReflectionUser])
async def test_where_no_better_draft_is_written_the_rejected_one_is_sent(kind: type[LlmUser]) -> None:
    silence = [""] if kind is ReflectionUser else ["", ""]
    speaker, _ = user(kind, HELLO, verdict(False), *silence, verdict(False), *silence, verdict(False))
    turn = await speaker.speak(UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0)))
    assert (turn.text, turn.notes["unverified"], turn.usage.calls) == (HELLO, 1, 4 + 2 * len(silence))


async def test_rewriting_may_come_to_hanging_up() -> None:
    speaker, _ = user(ReflectionUser, "One more thing.", verdict(False, "all is done"), HANG_UP, verdict(True))
    turn = await speaker.speak(UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0)))
    assert (turn.text, turn.stops, turn.usage.calls) == ("", True, 4)


async def test_a_rejected_draft_is_rewritten_with_the_reason(set_stage: SetStage) -> None:
    speaker, model = user(
        *(ReflectionUser, "I am the agent.", verdict(False, "it speaks as the agent"), say(HELLO, "I am the customer")),
        *(verdict(True), HANG_UP, verdict(True)),
    )
    state = await play(set_stage([cancel(), REFUND], speaker))
    assert (words(state), state["reward"], state["usage"]["user"]["calls"]) == ([HELLO], 1.0, 6)
    assert "it speaks as the agent" in model.prompts[2][-1].text
    assert [entry["text"] for entry in log(state, "thought")] == ["I am the customer"]


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
async def test_every_strategy_can_stop_and_works_where_the_protocol_stops_on_a_token(
    strategy: str, set_stage: SetStage
) -> None:
    first = [say(HELLO)] if strategy == "react" else [HELLO] if strategy == "llm" else [HELLO, verdict(True)]
    last = [say(stop=True)] if strategy == "react" else ["###STOP###", verdict(True)]
    speaker, _ = user(STRATEGIES[strategy], *first, *last, stops_on_token=True)
    state = await play(set_stage([cancel(), REFUND], speaker, "tau-bench"))
    assert (state["termination"], state["reward"]) == ("user_stop", 1.0)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
async def test_every_strategy_may_use_the_user_s_own_device(strategy: str) -> None:
    tool = PHONE.user_tools[0].name
    first: list[Any] = [say("Hi.")] if strategy == "react" else ["Hi."] if strategy == "llm" else ["Hi.", verdict(True)]
    last = {"react": [say(stop=True)], "llm": [HANG_UP]}.get(strategy, [HANG_UP, verdict(True)])
    speaker, model = user(STRATEGIES[strategy], *first, calls(call(tool, "u1")), *last)

    class Agent:
        reference, is_privileged = "silent", False

        async def reply(self, view: Any) -> AIMessage:
            return AIMessage("Look at it, please.")

    stage = Stage(PHONE, Agent(), speaker, STRICT)
    state = await play(stage, PHONE.tasks[0].id)
    stage.close()
    assert [entry["kind"] for entry in state["user_log"] if entry["kind"] in ("called", "answered")] == [
        *("called", "answered")
    ]
    assert state["termination"] == "user_stop"
    assert any(tool in bound for bound in model.bound)
    judged = strategy in ("verify", "reflection")
    assert any(message.type == "tool" for message in model.prompts[-2 if judged else -1])


def test_a_persona_is_in_the_prompt_and_says_that_it_changes_no_fact() -> None:
    scenario = PHONE.tasks[0].scenario
    prompt = " ".join(system_prompt(scenario, stops_on_token=False, persona=find_persona("furious")).split())
    assert " ".join(find_persona("furious").text.split()) in prompt
    assert "It never changes what you know, what you want or what you decide" in prompt
    assert "way of talking" not in system_prompt(scenario, stops_on_token=False)


async def test_another_draft_is_asked_for_with_another_seed(set_stage: SetStage) -> None:
    seeds: list[int | None] = []

    def reply(request: dict[str, Any]) -> Reply:
        seeds.append(request.get("seed"))
        if any(each["function"]["name"] == "judge" for each in request.get("tools", [])):
            return Reply(tool_calls=(ToolCall("judge", json.dumps({"satisfactory": len(seeds) > 2})),))
        return Reply(HELLO) if len(seeds) < 5 else Reply(tool_calls=(ToolCall("end_conversation", "{}"),))

    with OpenAIServer(reply) as server:
        models = ChatModels(ONCE)
        options = json.dumps({"base_url": server.base_url, "api_key": "test"})
        context = SimulationContext(user="openai:scripted", user_options=options, user_strategy="verify")
        stage = build_stage(context, models)
        stage.agent = set_stage([cancel(), REFUND], [BYE]).agent
        state = await play(stage)
        await models.aclose()
        stage.close()
    assert (state["reward"], words(state)) == (1.0, [HELLO])
    assert seeds[0] != seeds[2]


async def test_an_empty_answer_is_asked_for_again_with_another_seed(set_stage: SetStage) -> None:
    seeds: list[int | None] = []

    def reply(request: dict[str, Any]) -> Reply:
        seeds.append(request.get("seed"))
        if len(seeds) == 1:
            return Reply("")
        return Reply(HELLO) if len(seeds) == 2 else Reply(tool_calls=(ToolCall("end_conversation", "{}"),))

    with OpenAIServer(reply) as server:
        models = ChatModels(ONCE)
        options = json.dumps({"base_url": server.base_url, "api_key": "test"})
        stage = build_stage(SimulationContext(user="openai:scripted", user_options=options), models)
        stage.agent = set_stage([cancel(), REFUND], [BYE]).agent
        state = await play(stage)
        await models.aclose()
        stage.close()
    assert (state["reward"], state["usage"]["user"]["calls"]) == (1.0, 3)
    assert seeds[0] != seeds[1]
    assert seeds[0] == seeds[2]


THINKING = [{"type": "thinking", "thinking": "secret", "signature": "s1"}]


async def test_what_its_model_thought_goes_back_to_it_and_to_nobody_else(set_stage: SetStage) -> None:
    ends = {"type": "tool_use", "id": "c1", "name": "end_conversation", "input": {}}
    opening = AIMessage([*THINKING, {"type": "text", "text": HELLO}])
    yes = AIMessage([*THINKING, {"type": "text", "text": "yes"}, ends], tool_calls=[call("end_conversation")])
    again = AIMessage([*THINKING, ends], tool_calls=[call("end_conversation", last_words="yes, really")])
    speaker, model = user(LlmUser, opening, yes, again, HANG_UP)
    agent = ["Shall I cancel it?", "Really?", cancel(), REFUND]
    state = await play(set_stage(agent, speaker))
    assert (words(state), state["reward"]) == ([HELLO, "yes", "yes, really"], 1.0)
    sent = [message.content for message in model.prompts[-1] if isinstance(message, AIMessage)]
    assert sent == [opening.content, [*THINKING, {"type": "text", "text": "yes"}], "yes, really"]
    assert not any(message.tool_calls for message in model.prompts[-1] if isinstance(message, AIMessage))
    assert "secret" not in json.dumps([message.content for message in state["messages"]])


async def test_what_its_model_thought_goes_back_over_the_responses_api(set_stage: SetStage) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
    ends = (ToolCall("end_conversation", json.dumps({"last_words": "yes"})),)
    lines = iter([Reply(HELLO, extra={"reasoning": [thought]}), Reply(tool_calls=ends, extra={"reasoning": [thought]})])
    with OpenAIServer(lambda request: next(lines, Reply(tool_calls=ends))) as server:
        models = ChatModels(ONCE)
        options = {"base_url": server.base_url, "api_key": "test", "use_responses_api": True, "store": False}
        options["include"] = ["reasoning.encrypted_content"]
        stage = build_stage(SimulationContext(user="openai:scripted", user_options=json.dumps(options)), models)
        stage.agent = set_stage(["Shall I cancel it?", cancel(), REFUND], [BYE]).agent
        state = await play(stage)
        await models.aclose()
        stage.close()
        asked = [[item["type"] for item in request.body["input"]] for request in server.requests]
    assert (state["reward"], words(state)) == (1.0, [HELLO, "yes", "yes"])
    assert asked[1] == ["message", "message", "reasoning", "message", "message"]
    assert asked[2] == [*asked[1], "message", "message"]


async def test_a_user_that_thinks_works_over_http(set_stage: SetStage) -> None:
    def script() -> Iterator[Reply]:
        yield Reply(tool_calls=(ToolCall("say", json.dumps({"thought": "secret", "reply": HELLO})),))
        yield Reply(tool_calls=(ToolCall("say", json.dumps({"thought": "done", "reply": "", "stop": True})),))

    lines = script()
    with OpenAIServer(lambda request: next(lines)) as server:
        models = ChatModels(ONCE)
        options = json.dumps({"base_url": server.base_url, "api_key": "test"})
        context = SimulationContext(user="openai:scripted", user_options=options, user_strategy="react")
        stage = build_stage(context, models)
        stage.agent = set_stage([cancel(), REFUND], [BYE]).agent
        state = await play(stage)
        await models.aclose()
        stage.close()
    assert (state["reward"], words(state)) == (1.0, [HELLO])


def test_each_strategy_tells_what_it_tells_its_model_and_no_two_the_same() -> None:
    told = {name: kind.instructions for name, kind in STRATEGIES.items()}
    assert len(set(told.values())) == 4
    assert {name for name, text in told.items() if "is about to send" in text} == {"verify", "reflection"}
    assert {name for name, text in told.items() if '"say"' in text} == {"react", "reflection"}
    assert all("You play a customer" in text for text in told.values())


def test_a_strategy_that_does_not_exist_or_does_not_fit_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'verify'"):
        build_stage(SimulationContext(user_strategy="verfy"))
    with pytest.raises(ConfigurationError, match="--user-strategy react is for chat models, and --user is 'demo'"):
        build_stage(SimulationContext(user_strategy="react"))
