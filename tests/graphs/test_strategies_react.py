"""Agents that write their actions down: what is read, what is asked for again, and what the user never sees."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from acting import BYE, REFUND, ScriptedUser, call, calls, play
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from wire import ScriptedModel, in_order, lines, outcome, trial

import taugraph
from taugraph.graphs.agent import AgentView, TrialKey
from taugraph.graphs.agents.action import UnreadableActionError, json_objects, read_action
from taugraph.graphs.agents.react import WritingAgent
from taugraph.graphs.calling import CallSettings

PROMPTS = sorted((Path(taugraph.__file__).parent / "graphs" / "agents").glob("*.md"))
GOOD = ("user_stop", 1.0)
CANCEL_IT = 'Thought: secret plan.\nAction: {"name": "cancel_reservation", "arguments": {"reservation_id": "GV36FQ"}}'
TELL = "Thought: secret joy.\nAction: " + json.dumps({"name": "respond", "arguments": {"content": REFUND}})


def writing(*written: Any, thinks: bool = True) -> tuple[WritingAgent, ScriptedModel]:
    model = ScriptedModel(written=list(written))
    return WritingAgent("scripted", model, CallSettings(), thinks=thinks), model


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
@pytest.mark.parametrize("strategy", ["react", "act"])
async def test_written_actions_solve_a_task_over_the_wire(strategy: str, protocol: str) -> None:
    state, requests = await trial(lines(CANCEL_IT, TELL), strategy, protocol=protocol)
    assert outcome(state) == GOOD
    assert not any("tools" in request for request in requests)
    system, _, own, observed = requests[1]["messages"]
    assert [message["role"] for message in requests[1]["messages"]] == ["system", "user", "assistant", "user"]
    assert own["content"] == CANCEL_IT
    assert observed["content"].startswith("Observation: ")
    assert ("Thought:" in system["content"]) is (strategy == "react")
    assert '"name": "cancel_reservation"' in system["content"]
    assert '"session"' not in system["content"]
    assert isinstance(requests[0]["seed"], int)


async def test_the_transcript_holds_ordinary_calls_and_words() -> None:
    state, _ = await trial(lines(CANCEL_IT, TELL), "react")
    called, told, *_ = (message for message in state["messages"] if message.type == "ai")
    assert (called.content, [(each["name"], each["args"]) for each in called.tool_calls]) == (
        "",
        [("cancel_reservation", {"reservation_id": "GV36FQ"})],
    )
    assert (told.content, told.tool_calls) == (REFUND, [])


async def test_what_cannot_be_read_is_asked_for_again_and_counted() -> None:
    quoted = "Action: {'name': 'cancel_reservation', 'arguments': {'reservation_id': 'GV36FQ'}}"
    state, requests = await trial(in_order("I will cancel it.", quoted, CANCEL_IT, TELL), "react")
    assert outcome(state) == GOOD
    assert "it holds no JSON object" in requests[1]["messages"][-1]["content"]
    assert "Expecting property name enclosed in double quotes" in requests[2]["messages"][-1]["content"]
    assert [message["role"] for message in requests[2]["messages"][2:]] == ["assistant", "user"] * 2
    # Once the third attempt was read the others are gone.
    assert [message["role"] for message in requests[3]["messages"]] == ["system", "user", "assistant", "user"]
    assert state["notes"]["unreadable_actions"] == 2
    assert state["usage"]["agent"]["calls"] == len(requests)
    assert state["usage"]["agent"]["input_tokens"] == 10 * len(requests)
    assert state["usage"]["agent"]["uncounted_calls"] == 0


async def test_a_retried_action_still_earns_the_reward(set_stage: Any) -> None:
    agent, model = writing("Let me see.", CANCEL_IT, TELL)
    state = await play(set_stage(agent, ["Please cancel.", BYE]))
    assert (state["reward"], state["notes"]["unreadable_actions"], len(model.prompts)) == (1.0, 1, 3)


@pytest.mark.parametrize("strategy", ["react", "act"])
async def test_three_unreadable_attempts_are_the_agents_own_failure_and_nothing_is_delivered(strategy: str) -> None:
    raw = '{"name": "respond", "arguments": {"content": 5}}'
    state, requests = await trial(lines(raw), strategy)
    assert outcome(state) == ("agent_error", 0.0)
    assert len(requests) == 3
    assert 'wrote no action in 3 attempts: "respond" needs the arguments' in state["failure"]["message"]
    assert [message.type for message in state["messages"]] == ["human"]
    assert (state["usage"]["agent"]["calls"], state["usage"]["agent"]["output_tokens"]) == (3, 3)
    assert state["notes"]["unreadable_actions"] == 2


async def test_only_the_first_of_several_actions_is_done(set_stage: Any) -> None:
    several = f"{CANCEL_IT}\nObservation: done\nAction: {json.dumps({'name': 'send_certificate', 'arguments': {}})}"
    agent, _ = writing(several, TELL)
    state = await play(set_stage(agent, ["Please cancel.", BYE]))
    assert (state["reward"], state["notes"]["actions_ignored"]) == (1.0, 1)
    assert [message.name for message in state["messages"] if message.type == "tool"] == ["cancel_reservation"]


async def test_thoughts_never_reach_the_user(set_stage: Any) -> None:
    agent, _ = writing(CANCEL_IT, TELL)
    user = ScriptedUser("Please cancel.", "And now?", BYE)
    await play(set_stage(agent, user))
    heard = [view.messages for view in user.views]
    assert REFUND in str(heard[-1])
    assert "secret" not in str(heard)
    assert "Thought" not in str(heard)


@pytest.mark.parametrize("name", ["functions.cancel_reservation", "", "cancel reservation", "x" * 100])
async def test_a_name_that_no_tool_has_goes_to_the_executor_as_it_is(set_stage: Any, name: str) -> None:
    agent, model = writing("Action: " + json.dumps({"name": name, "arguments": {}}), CANCEL_IT, TELL)
    state = await play(set_stage(agent, ["Please cancel.", BYE]))
    assert (state["reward"], state["tool_errors"], len(model.prompts)) == (1.0, 1, 3)
    assert state["messages"][1].tool_calls[0]["name"] == name


async def test_a_transcript_that_was_edited_counts_more_than_what_was_written() -> None:
    agent, model = writing(TELL)
    edited = AIMessage("Something else.", additional_kwargs={"written": TELL})
    both = calls(call("calculate", "a", expression="1"), call("calculate", "b", expression="2"))
    answers = [ToolMessage("1", tool_call_id="a"), ToolMessage("2", tool_call_id="b")]
    view = AgentView(
        [HumanMessage("Hi"), edited, HumanMessage("So?"), both, *answers], "Be kind.", [], TrialKey("t", 0, 0)
    )
    await agent.reply(view)
    own = [message.text for message in model.prompts[0] if message.type == "ai"]
    assert read_action(own[0]).arguments == {"content": "Something else."}
    assert [found["arguments"] for found in json_objects(own[1])] == [{"expression": "1"}, {"expression": "2"}]
    assert model.prompts[0][-1].text == "Observation: 1\nObservation: 2"


READ = [
    ('{"name": "f", "arguments": {"a": 1}}', {"a": 1}),
    ('```json\n{"name": "f", "arguments": {"a": 1}}\n```', {"a": 1}),
    ('Thought: I got {"a": 2} back.\nAction:\n```\n{"name": "f", "arguments": {"a": 1}}\n```\nDone }.', {"a": 1}),
    ('Thought: the tool said {"a": 2}, so {"name": "f", "arguments": {"a": 1}}', {"a": 1}),
    ('**Action:** {"name": "f", "arguments": {"a": "}{ \\" }"}}', {"a": '}{ " }'}),
    ('Action: [{"name": "f", "arguments": {"a": {"b": [{}]}}}]', {"a": {"b": [{}]}}),
    ('<think>{"name": "g", "arguments": {}}</think>{"name": "f", "arguments": {"a": 1}}', {"a": 1}),
    ('{"name": "f", "arguments": {"a": "two\nlines"}}', {"a": "two\nlines"}),
    ('{"name": "f"}', {}),
    ('{"name": "f", "arguments": null}', {}),
    ("Thought: {'name': 'g'} is wrong.\n" + '{"name": "f", "arguments": {"a": 1}}', {"a": 1}),
    ('{"name": "f", "arguments": {"a": 1}} Action: none left', {"a": 1}),
]


@pytest.mark.parametrize(("text", "arguments"), READ)
def test_an_action_is_found_in_what_stands_around_it(text: str, arguments: dict[str, Any]) -> None:
    action = read_action(text)
    assert (action.name, action.arguments, action.others) == ("f", arguments, 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PROSE = st.text(st.characters(codec="utf-8", exclude_characters="{}<>:"), max_size=40)


@given(PROSE, st.text().filter(lambda name: name != "respond"), st.dictionaries(st.text(), JSON, max_size=3), PROSE)
def test_whatever_is_written_as_json_is_read_as_it_was_meant(
    before: str, name: str, arguments: dict[str, Any], after: str
) -> None:
    written = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    assume("think" not in written)  # reasoning in tags is taken out first
    action = read_action(f"{before} {written} {after}")
    assert (action.name, action.arguments, action.others) == (name, arguments, 0)


@given(st.text(st.sampled_from("{}[]\":,\\ \n'nameargumtsNif0-Action")) | st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    with suppress(UnreadableActionError):
        assert isinstance(read_action(text).arguments, dict)


UNREAD = [
    ("", "no JSON object"),
    ("Your trip is cancelled.", "no JSON object"),
    ("{'name': 'f', 'arguments': {}}", "broken at character 2: Expecting property name"),
    ("{name: f, arguments: {}}", "broken at character 2"),
    ('{"name": "f", "arguments": {"a": NaN}}', "NaN is no JSON"),
    ('{"name": "f", "arguments": {"people": [{"name": "g", "arguments": {}}, ', "broken at character"),
    ("{'name': 'f', 'arguments': " + '{"name": "g", "arguments": {}}}', "broken at character 2"),
    ('{"tool": "f"}', 'has no "name"'),
    ('{"name": 5, "arguments": {}}', 'has no "name"'),
    ('{"name": "f", "arguments": "a"}', "\"arguments\" of 'f' are no JSON object"),
    ('{"name": "respond", "arguments": {"text": "Hi"}}', '"respond" needs'),
    ('{"name": "respond"}', "are no JSON object"),
    ('{"a":' * 50_000, "cannot be read"),
    ("{" + '\\"' * 100_000, "broken at character 2"),
]


@pytest.mark.parametrize(("text", "reason"), UNREAD)
def test_what_is_no_action_is_told_precisely(text: str, reason: str) -> None:
    with pytest.raises(UnreadableActionError, match=re.escape(reason)):
        read_action(text)


def test_every_example_in_the_prompts_is_valid_json() -> None:
    found = []
    for path in PROMPTS:
        text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        place = text.find("{")
        while place >= 0:
            value, end = json.JSONDecoder().raw_decode(text, place)  # raises where an example is no JSON
            found.append((path.name, value))
            place = text.find("{", end)
    assert {name for name, _ in found} >= {"act.md", "react.md", "complaint.md"}
    actions = [value for _, value in found if "arguments" in value]
    assert len(actions) == 5
    for action in actions:
        assert read_action(json.dumps(action)).arguments == action["arguments"]


@pytest.mark.parametrize("name", ["react.md", "act.md", "complaint.md"])
def test_every_example_line_of_a_prompt_is_read_as_an_action(name: str) -> None:
    path = next(path for path in PROMPTS if path.name == name)
    examples = [line for line in path.read_text().splitlines() if line.startswith('Action: {"')]
    assert [read_action(line).others for line in examples] == [0] * len(examples)
    assert examples
