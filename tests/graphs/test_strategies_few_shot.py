"""Examples in front of a conversation: read with care, shown as text, bounded in length."""

import json
from pathlib import Path
from typing import Any

import pytest
from acting import REFUND
from wire import ScriptedModel, calling, lines, outcome, trial

from taugraph.domains.errors import ConfigurationError, DataError
from taugraph.graphs.agent import AgentView, TrialKey
from taugraph.graphs.agents.few_shot import FewShotAgent, load_examples
from taugraph.graphs.calling import CallSettings

CANCELS = calling("cancel_reservation", reservation_id="GV36FQ")


def conversation(amount: str = "50") -> list[dict[str, Any]]:
    wanted = {"name": "send_certificate", "arguments": json.dumps({"user_id": "u1", "amount": int(amount)})}
    return [
        {"role": "system", "content": "Another policy."},
        {"role": "user", "content": "I was delayed."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_e", "type": "function", "function": wanted}],
        },
        {"role": "tool", "tool_call_id": "call_e", "content": "sent"},
        {"role": "assistant", "content": [{"type": "text", "text": f"<think>easy</think>You have {amount} dollars."}]},
    ]


def write(path: Path, *documents: Any) -> Path:
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in documents))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(
        tmp_path / "good.jsonl", {"messages": conversation(), "source": "by hand"}, "", {"messages": conversation("75")}
    )


@pytest.mark.parametrize("protocol", ["strict", "tau-bench"])
async def test_examples_go_into_the_system_prompt_and_nowhere_else(file: Path, protocol: str) -> None:
    state, requests = await trial(lines(CANCELS, REFUND), "few-shot", examples=str(file), protocol=protocol)
    assert outcome(state) == ("user_stop", 1.0)
    system, *others = requests[1]["messages"]
    for line in (
        "Customer: I was delayed.",
        'Agent calls send_certificate with {"user_id": "u1", "amount": 50}',
        "Tool: sent",
        "Agent: You have 75 dollars.",
        "## Example 2",
    ):
        assert f"\n{line}\n" in system["content"]
    assert [message["role"] for message in others] == ["user", "assistant", "tool"]
    assert "call_e" not in json.dumps(requests)
    assert "Another policy" not in system["content"]
    assert "easy" not in system["content"]
    assert {tool["function"]["name"] for tool in requests[0]["tools"]} >= {"cancel_reservation"}
    assert state["notes"]["examples"] == {"shown": 2, "left_out": 0}


async def test_examples_that_do_not_fit_are_left_out_as_a_whole_and_counted(tmp_path: Path) -> None:
    long = [{"role": "user", "content": "x" * 500}, {"role": "assistant", "content": "Yes."}]
    file = write(
        tmp_path / "e.jsonl", {"messages": conversation()}, {"messages": long}, {"messages": conversation("75")}
    )
    options = {"examples_characters": 400}
    state, requests = await trial(lines(CANCELS, REFUND), "few-shot", examples=str(file), options=options)
    prompt = requests[0]["messages"][0]["content"]
    assert state["notes"]["examples"] == {"shown": 2, "left_out": 1}
    assert ("xxx" in prompt, "75 dollars" in prompt) == (False, True)


def test_no_more_examples_than_asked_for_are_shown(file: Path) -> None:
    examples = load_examples(file, characters=24_000, limit=1)
    assert (len(examples.shown), examples.left_out) == (1, 1)
    assert "50 dollars" in examples.shown[0]


def test_the_digest_follows_the_file(file: Path) -> None:
    before = load_examples(file, characters=24_000).digest
    assert load_examples(file, characters=24_000).digest == before
    write(file, {"messages": conversation("76")})
    assert load_examples(file, characters=24_000).digest != before


async def test_an_example_may_hold_what_looks_like_a_template(tmp_path: Path) -> None:
    odd = [{"role": "user", "content": "{{ policy }} {% endfor %}"}, {"role": "assistant", "content": "{}"}]
    examples = load_examples(write(tmp_path / "odd.jsonl", {"messages": odd}), characters=999)
    model = ScriptedModel(written=["Hi"])
    agent = FewShotAgent("scripted", model, CallSettings(), examples)
    await agent.reply(AgentView([], "Be kind.", [], TrialKey("t", 0, 0)))
    assert "Customer: {{ policy }} {% endfor %}" in model.prompts[0][0].text


def broken(*, role: str = "assistant", **message: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, **message}]}


def called(arguments: Any) -> dict[str, Any]:
    return broken(tool_calls=[{"function": {"name": "f", "arguments": arguments}}])


BAD = [
    ("{", "line 2: got '{', wanted one JSON object"),
    ("[]", "line 2: got"),
    ({"text": "hi"}, "line 2, field messages: got .*, wanted Field required"),
    ({"messages": []}, "line 2, field messages: got"),
    (broken(role="robot"), "line 2, field messages.0.role: got 'robot', wanted 'system'"),
    (
        broken(role="user", content="Hi"),
        "line 2, field messages: .* wanted a conversation in which an assistant speaks",
    ),
    (broken(content=5), "line 2, field messages.0.content"),
    (called("{'a': 1}"), r"line 2, field messages\.0\.tool_calls\.0\.function\.arguments: .* a JSON object as text"),
    (called("[1]"), r"line 2, field messages\.0\.tool_calls\.0\.function\.arguments: .* dictionary"),
]


@pytest.mark.parametrize(("document", "reason"), BAD)
def test_a_broken_example_is_refused_by_line_and_field(tmp_path: Path, document: Any, reason: str) -> None:
    file = write(tmp_path / "bad.jsonl", {"messages": conversation()}, document)
    with pytest.raises(DataError, match=rf"bad\.jsonl, record {reason}"):
        load_examples(file, characters=24_000)


def test_a_file_without_an_example_that_fits_is_refused(tmp_path: Path, file: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no conversation"):
        load_examples(write(tmp_path / "empty.jsonl", "", " "), characters=24_000)
    with pytest.raises(ConfigurationError, match=r"no example .* fits: got 10 characters of room, wanted \d+ for"):
        load_examples(file, characters=10)
    with pytest.raises(ConfigurationError, match=r"cannot open --examples .*: Is a directory"):
        load_examples(tmp_path, characters=10)
    (tmp_path / "latin.jsonl").write_bytes(b'{"messages": "\xff"}')
    with pytest.raises(DataError, match="record line 1"):
        load_examples(tmp_path / "latin.jsonl", characters=10)
