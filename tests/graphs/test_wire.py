"""A conversation as providers are sent it: valid whatever is in the transcript, and untouched where it is valid."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from taugraph.graphs.transcript import plain_reply, with_ids
from taugraph.graphs.wire import UNREADABLE, as_sent, plain_name


def block(kind: str, identity: str, **fields: Any) -> dict[str | Any, Any]:
    return {"type": kind, "id": identity, "name": "a", **fields}


def test_a_valid_conversation_is_sent_as_it_is_and_blocks_without_a_call_are_not() -> None:
    call: Any = {"name": "a", "args": {}, "id": "1", "type": "tool_call"}
    blocks: list[str | dict[Any, Any]] = [
        {"type": "thinking", "thinking": "t"},
        {"type": "tool_use", "id": "1", "name": "a", "input": {}},
    ]
    said = AIMessage(blocks, tool_calls=[call])
    talk = [HumanMessage("Hi"), said, ToolMessage("x", tool_call_id="1", name="a")]
    assert all(before is after for before, after in zip(talk, as_sent(talk), strict=True))
    [stripped] = as_sent([said.model_copy(update={"tool_calls": []})])
    assert stripped.content == blocks[:1]


def test_calls_that_share_an_id_get_their_own_in_content_blocks_too() -> None:
    call: Any = {"name": "a", "args": {}, "id": "same"}
    said = AIMessage([block("tool_use", "same"), block("tool_use", "same"), "words"], tool_calls=[call, call])
    made = with_ids(said, "agent-2")
    ids = [call["id"] for call in made.tool_calls]
    assert len(set(ids)) == 2
    assert [part["id"] for part in made.content if isinstance(part, dict)] == ids
    assert [part["id"] for part in said.content if isinstance(part, dict)] == ["same", "same"]
    assert len(as_sent([made])[0].content) == 3


def test_a_block_of_the_responses_api_is_known_by_the_id_of_its_call() -> None:
    call: Any = {"name": "a", "args": {}, "id": "c"}
    said = AIMessage([block("function_call", "fc_1", call_id="c", arguments="{}")], tool_calls=[call])
    assert as_sent([said]) == [said]
    again = with_ids(AIMessage(said.content * 2, tool_calls=[call, call]), "agent-2")
    assert [(part["id"], part["call_id"]) for part in again.content if isinstance(part, dict)] == [
        ("fc_1", "c"),
        ("fc_1", "agent-2-call-2"),
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "sent"),
    [
        ("tool_use", {"input": "{"}, {"input": {UNREADABLE: "{"}}),
        ("function_call", {"arguments": "{"}, {"arguments": '{"unreadable_arguments": "{"}'}),
        ("invalid_tool_call", {"args": "{"}, {"type": "tool_call", "args": {UNREADABLE: "{"}}),
    ],
)
def test_unreadable_arguments_are_quoted_in_content_blocks_too(
    kind: str, fields: dict[str, Any], sent: dict[str, Any]
) -> None:
    broken: Any = {"name": "a", "args": "{", "id": "1", "error": None}
    said = AIMessage([block(kind, "1", **fields)], invalid_tool_calls=[broken])
    [made] = as_sent([said])
    assert isinstance(made, AIMessage)
    assert made.content == [block(kind, "1", **fields) | sent]
    assert [(call["args"], call["id"]) for call in made.tool_calls] == [({UNREADABLE: "{"}, "1")]
    assert made.invalid_tool_calls == []
    assert said.tool_calls == []


def test_the_name_beside_an_answer_is_plain_as_well() -> None:
    [made] = as_sent([ToolMessage("no such tool", tool_call_id="1", name="functions.a")])
    assert made.name == "functions_a"


@pytest.mark.parametrize(("name", "plain"), [(None, "unnamed"), ("", "unnamed"), ("a b", "a_b"), ("x" * 65, "x" * 64)])
def test_a_plain_name_is_one_that_every_provider_takes(name: str | None, plain: str) -> None:
    assert plain_name(name) == plain


def test_a_reply_keeps_nothing_of_its_calls_twice() -> None:
    call: Any = {"name": "a", "args": {}, "id": "1"}
    extra = {"tool_calls": [{"id": "1"}], "function_call": {"name": "a"}, "reasoning_content": "r"}
    assert plain_reply(AIMessage("", tool_calls=[call], additional_kwargs=extra)).additional_kwargs == {
        "reasoning_content": "r"
    }
