"""Recorded conversations are read in every shape tau-bench writes them, and a file that is none is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from taugraph.domains.errors import DataError
from taugraph.experiments.recordings import Recording, load_recordings

Json = dict[str, Any]
HELLO: Json = {"role": "user", "content": "Hello"}


def call(arguments: Any, name: str | None = "think") -> Json:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def build_result(*words: Json, **changes: Any) -> Json:
    return {"task_id": 0, "trial": 0, "reward": 1.0, "info": {}, "traj": [HELLO, *words]} | changes


def load(tmp_path: Path, *results: Any) -> list[Recording]:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(list(results)))
    return load_recordings(path)


def test_agent_and_user_are_told_apart_and_the_rest_is_left_out(tmp_path: Path) -> None:
    words: list[Json] = [
        {"role": "system", "content": "policy"},
        {"role": "assistant", "content": "Hi", "tool_calls": None},
        {"role": "tool", "tool_call_id": "c1", "name": "think", "content": "x"},
        {"role": "user", "content": "Bye ###STOP###"},
    ]
    (recording,) = load(tmp_path, build_result(*words))
    assert recording.user == ["Hello", "Bye ###STOP###"]
    assert [message.content for message in recording.agent] == ["Hi"]
    assert (recording.place, recording.reward, recording.note) == (("0", 0), 1.0, None)


def test_task_ids_may_be_numbers_or_text(tmp_path: Path) -> None:
    found = load(tmp_path, build_result(task_id=7), build_result(task_id="train-7"), build_result(task_id="8"))
    assert [recording.task_id for recording in found] == ["7", "train-7", "8"]


@pytest.mark.parametrize("arguments", ['{"thought": "a"}', {"thought": "a"}])
def test_arguments_may_be_text_or_an_object(tmp_path: Path, arguments: Any) -> None:
    (recording,) = load(tmp_path, build_result({"role": "assistant", "tool_calls": [call(arguments)]}))
    (message,) = recording.agent
    assert message.tool_calls[0]["args"] == {"thought": "a"}
    assert message.content == ""


@pytest.mark.parametrize("arguments", ["", None, "{}", {}])
def test_no_arguments_are_an_empty_object(tmp_path: Path, arguments: Any) -> None:
    (recording,) = load(tmp_path, build_result({"role": "assistant", "tool_calls": [call(arguments)]}))
    assert recording.agent[0].tool_calls[0]["args"] == {}


@pytest.mark.parametrize("arguments", ['{"thought": ', "[1]", "null", '"x"', "[" * 100_000])
def test_arguments_that_are_no_object_stay_an_unreadable_call(tmp_path: Path, arguments: str) -> None:
    (recording,) = load(tmp_path, build_result({"role": "assistant", "tool_calls": [call(arguments)]}))
    (message,) = recording.agent
    assert message.tool_calls == []
    assert message.invalid_tool_calls[0]["args"] == arguments


@pytest.mark.parametrize("changes", [{"traj": []}, {"traj": None}, {"traj": [{"role": "system", "content": "p"}]}])
def test_a_crash_without_a_conversation_is_kept_with_its_reason(tmp_path: Path, changes: Json) -> None:
    (recording,) = load(tmp_path, build_result(**changes, reward=0.0, info={"error": "rate limit"}))
    assert recording.note == "the recording holds no conversation (rate limit)"


def test_a_crash_may_lack_the_conversation_the_reward_and_the_reason_altogether(tmp_path: Path) -> None:
    (recording,) = load(tmp_path, {"task_id": 0, "trial": 3, "info": None})
    assert recording.place == ("0", 3)
    assert recording.reward is None
    assert recording.note == "the recording holds no conversation (no reason given)"


def test_one_trial_of_a_task_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"record number 2, field trial: got 'task 0 trial 1 once more', wanted every"):
        load(tmp_path, build_result(), build_result(trial=1), build_result(trial=1, task_id="0"))


@pytest.mark.parametrize(
    ("result", "field"),
    [
        (build_result(trial=-1), "trial"),
        (build_result(trial=10**9), "trial"),
        (build_result(trial="first"), "trial"),
        (build_result(reward="good"), "reward"),
        (build_result(reward=float("nan")), "reward"),
        (build_result(traj="text"), "traj"),
        (build_result({"content": "no role"}), "traj.1.role"),
        ({"trial": 0, "reward": 1.0, "traj": []}, "task_id"),
    ],
)
def test_a_result_that_breaks_the_schema_is_named_by_number_and_field(tmp_path: Path, result: Json, field: str) -> None:
    with pytest.raises(DataError, match=f"record number 1, field {field}.*correct the file") as caught:
        load(tmp_path, build_result(), result)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[", "no JSON"),
        (b"\xff\xfe[]", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"results": []}', "got 'dict', wanted a JSON list"),
        (b"[]", "an empty list"),
        (b"[1]", "record number 0"),
    ],
)
def test_a_file_that_is_no_list_of_results_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_recordings(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        load_recordings(tmp_path / "missing.json")
    with pytest.raises(DataError, match="Is a directory"):
        load_recordings(tmp_path)
