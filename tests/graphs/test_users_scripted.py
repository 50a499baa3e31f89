"""Users that say the lines of a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acting import CANCEL, HELLO, REFUND, cancel, play, said
from typer.testing import CliRunner

from taugraph.cli import app
from taugraph.domains.errors import DataError
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.scripted import load_script

SetStage = Callable[..., Stage]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(state: dict[str, Any]) -> list[str]:
    return [text for kind, text in said(state) if kind == "human"]


async def test_a_script_says_the_lines_of_its_task_and_hangs_up(set_stage: SetStage) -> None:
    Path("lines.yaml").write_text(f"{CANCEL}: ['{HELLO}', {{text: Thanks., stop: true}}]\n'*': [Hello]\n")
    state = await play(set_stage([cancel(), REFUND], load_script("scripted:lines.yaml", Path("lines.yaml"))))
    assert (words(state), state["reward"]) == ([HELLO, "Thanks."], 1.0)


def test_a_script_serves_variants_and_tasks_it_does_not_name(caplog: pytest.LogCaptureFixture) -> None:
    Path("lines.json").write_text(json.dumps({CANCEL: [HELLO], "*": ["Hello.", {"stop": True}]}))
    words = ("run", "airline", "--limit", "2", "-k", "1", "--agent", "noop", "--user", "scripted:lines.json")
    ended = CliRunner().invoke(app, [*words, "--personas", "terse", "--json"])
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["counts"] == {"passed": 0, "failed": 2, "unscored": 0, "planned": 2}
    assert caplog.messages.count("the scripted user talks the same whatever the persona") == 1


def test_a_script_without_lines_for_a_task_is_refused_before_the_first_trial() -> None:
    Path("lines.yaml").write_text("other: [Hello]\n")
    ended = CliRunner().invoke(app, ["run", "airline", "--tasks", CANCEL, "--user", "scripted:lines.yaml"])
    assert ended.exit_code == 2
    assert f"no lines for task '{CANCEL}', and none under '*'; write them" in ended.stderr


async def test_a_script_without_lines_for_a_task_fails_that_trial_on_a_server(set_stage: SetStage) -> None:
    Path("lines.yaml").write_text("other: [Hello]\n")
    state = await play(set_stage(["Hi."], load_script("scripted:lines.yaml", Path("lines.yaml"))))
    assert state["termination"] == "user_error"
    assert f"no lines for task '{CANCEL}'" in state["failure"]["message"]


async def test_a_script_may_be_json_lines(set_stage: SetStage) -> None:
    lines = [{"task": CANCEL, "lines": [HELLO]}, {"task": "*", "lines": ["Hello."]}]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    state = await play(set_stage([cancel(), REFUND], load_script("scripted:lines.jsonl", Path("lines.jsonl"))))
    assert (words(state), state["reward"]) == ([HELLO], 1.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "wanted an object such as"),
        ("x", "record line 1: got .*wanted an object such as"),
        ('{"task": "a", "lines": ["b"]}\n{"task": "a"}', "record line 2"),
        ('{"task": "a", "lines": ["b"]}\n{"task": "a", "lines": ["b"]}', "field task: got 'a', wanted every task once"),
        ('{"task": "a", "lines": [""]}', "record a, field line 1"),
    ],
)
def test_bad_json_lines_are_refused_with_their_place(text: str, complaint: str) -> None:
    Path("lines.jsonl").write_text(text)
    with pytest.raises(DataError, match=complaint):
        load_script("scripted:lines.jsonl", Path("lines.jsonl"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "task id, or"),
        ("x: Hello", "record x: got 'Hello', wanted a list of lines"),
        ("x: [3]", "record x, field line 1: got 3"),
        ("x: [{text: Hi, stopp: true}]", "field line 1"),
        ("x: [Hello, '']", "field line 2: got ''"),
        ("x: [{stop: true}]", "the user opens the conversation"),
        ("x: [a\n", "valid YAML"),
    ],
)
def test_a_bad_script_is_refused_with_its_place(text: str, complaint: str) -> None:
    Path("lines.yaml").write_text(text)
    with pytest.raises(DataError, match=complaint):
        load_script("scripted:lines.yaml", Path("lines.yaml"))
