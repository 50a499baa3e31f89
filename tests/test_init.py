"""`taugraph init` writes what loads, next to an agent as it is, and overwrites nothing."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from taugraph import __version__
from taugraph.cli import app
from taugraph.domains.domain import load_domain
from taugraph.experiments.settings import RunSettings, find_store, load_settings
from taugraph.experiments.starting import configuration

AGENT = """
from langchain_core.messages import AIMessage, ToolMessage
from taugraph.graphs.agent import AgentTurn


class Agent:
    reference, is_privileged = "mine", False

    async def reply(self, view):
        if view.seen:
            return AIMessage("Goodbye.")
        call = {"name": "refund_order", "args": {"order_id": "A1001"}, "id": "1"}
        before = [AIMessage("", tool_calls=[call]), ToolMessage("refunded", tool_call_id="1")]
        return AgentTurn(AIMessage("You get $12.50 back."), before=before)


agent = Agent()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in RunSettings.model_fields:
        monkeypatch.delenv(f"TAUGRAPH_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_what_is_written_loads_and_plays_as_it_is() -> None:
    Path("agent.py").write_text(AGENT)
    ended = call("init", "--agent", "./agent.py:agent")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines()[-1] == "describe your tasks in evals/tasks.yaml, then: taugraph run"
    assert [task.id for task in load_domain("./evals").tasks] == ["asks-for-a-refund"]
    played = call("run", "-k", "2", "--json")
    assert played.exit_code == 0, played.output
    assert json.loads(played.stdout)["counts"] == {"passed": 2, "failed": 0, "unscored": 0, "planned": 2}


def test_every_setting_stands_in_the_configuration_once_with_its_default() -> None:
    text = configuration("x:y")
    lines = [line.removeprefix("# ") for line in text.splitlines() if " = " in line]
    assert [line.partition(" = ")[0] for line in lines] == list(RunSettings.model_fields)
    set_lines = {"domain": "./evals", "agent": "x:y"}
    for line in lines:
        [(name, value)] = tomllib.loads(line).items()
        field = RunSettings.model_fields[name]
        default = set_lines.get(name, field.get_default(call_default_factory=True))
        assert value == (list(default) if isinstance(default, tuple) else "" if default is None else default)
        assert field.description in text.replace("\n# ", " ")


def test_the_configuration_is_valid_as_it_is() -> None:
    Path("taugraph.toml").write_text(configuration("./agent.py:agent"))
    assert (load_settings().domain, load_settings().agent) == ("./evals", "./agent.py:agent")


def test_nothing_that_is_there_is_overwritten() -> None:
    Path("evals").mkdir()
    Path("evals/policy.md").write_text("mine")
    Path("taugraph.toml").write_text("trials = 2\n")
    ended = call("init")
    assert "left as it is: taugraph.toml" in ended.stdout
    assert "written: evals/tasks.yaml" in ended.stdout
    assert "the agent is the one that taugraph.toml names" in ended.stdout
    assert (Path("evals/policy.md").read_text(), load_settings().trials) == ("mine", 2)


def test_a_langgraph_json_is_taken_for_the_agent() -> None:
    Path("agent").mkdir()
    Path("agent/langgraph.json").write_text('{"dependencies": ["."], "graphs": {"support": "./graph.py:graph"}}')
    ended = call("init", "agent")
    assert ended.exit_code == 0, ended.output
    assert tomllib.loads(Path("agent/taugraph.toml").read_text())["agent"] == "./langgraph.json#support"
    assert "cd agent && taugraph run" in ended.stdout


def test_every_line_may_be_uncommented_as_it_is() -> None:
    lines = configuration("./agent.py:agent").splitlines()
    given = [line.removeprefix("# ") for line in lines if " = " in line]
    assert len(given) == len(RunSettings.model_fields)
    Path("taugraph.toml").write_text("\n".join(given))
    assert load_settings() == load_settings(domain="./evals", agent="./agent.py:agent")
    Path("taugraph.toml").unlink()
    assert load_settings(domain="./evals", agent="./agent.py:agent").model_dump() == {
        **load_settings().model_dump(),
        **{"domain": "./evals", "agent": "./agent.py:agent"},
    }


def test_further_graphs_of_a_langgraph_json_are_named() -> None:
    Path("langgraph.json").write_text('{"graphs": {"first": "./a.py:g", "second": "./b.py:g"}}')
    assert "agent: ./langgraph.json#first; there are also ./langgraph.json#second" in call("init").stdout


@pytest.mark.parametrize("text", ["no json", "[]", '{"graphs": ["x"]}', '{"graphs": {}}'])
def test_a_langgraph_json_without_graphs_leaves_the_agent_open(text: str) -> None:
    Path("langgraph.json").write_text(text)
    ended = call("init")
    assert ended.exit_code == 0, ended.output
    assert "no agent was found: name yours in taugraph.toml" in ended.stdout
    refused = call("run")
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
    assert "'./agent.py:graph' of taugraph.toml" in refused.stderr


@pytest.mark.parametrize("agent", ["agent.py", "http://127.0.0.1:1", "foo"])
def test_an_agent_that_no_run_would_take_is_refused_before_anything_is_written(agent: str) -> None:
    ended = call("init", "--agent", agent)
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
    assert f"cannot use --agent '{agent}'" in ended.stderr
    assert not list(Path().iterdir())


def test_what_is_no_file_is_not_taken_for_one_that_is_there() -> None:
    Path("taugraph.toml").symlink_to("nowhere")
    assert "cannot write taugraph.toml: what stands there is no file" in call("init").stderr


def test_a_folder_with_a_space_comes_quoted_in_the_next_command() -> None:
    assert "cd 'my agent' && taugraph run" in call("init", "my agent").stdout


def test_a_folder_that_cannot_be_written_is_refused_in_one_line() -> None:
    Path("file").write_text("")
    ended = call("init", "file")
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
    assert "cannot write file" in ended.stderr


def test_the_version_is_told() -> None:
    assert call("--version").stdout == f"taugraph {__version__}\n"


def test_an_error_names_where_the_value_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("taugraph.toml").write_text("limitt = 3\n")
    assert "no setting named 'limitt' (in taugraph.toml)" in call("run").stderr
    Path("taugraph.toml").write_text("trials = 0\n")
    assert "correct trials in taugraph.toml" in call("run").stderr
    monkeypatch.setenv("TAUGRAPH_TRIALS", "none")
    assert "correct TAUGRAPH_TRIALS in the environment" in call("run").stderr
    assert "correct --trials" in call("run", "-k", "0").stderr


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('agent = "foo"', "cannot use agent 'foo' of taugraph.toml: it is no chat model"),
        ("[agent_options]\nseed = 1", "taugraph: agent_options of taugraph.toml are for chat models and graphs"),
        ('user = "nobody:x"', "cannot use user 'nobody:x' of taugraph.toml"),
        ('domain = "foo"', "no domain named 'foo' (domain of taugraph.toml): known are"),
        ('split = "foo"', "no split named 'foo' (split of taugraph.toml): known are"),
        ('protocol = "foo"', "no protocol named 'foo' (protocol of taugraph.toml): known are"),
        ('tasks = ["foo"]', "no task named 'foo' (tasks of taugraph.toml): known are"),
        ('personas = "foo"', "no persona named 'foo' (personas of taugraph.toml): known are"),
        ("trials = = 3", "cannot read taugraph.toml: Invalid value (at line 1, column 10)"),
    ],
)
def test_what_only_a_run_finds_wrong_names_the_file_too(text: str, wanted: str) -> None:
    Path("taugraph.toml").write_text(text)
    ended = call("run")
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
    assert wanted in ended.stderr


def test_what_only_a_run_finds_wrong_names_the_variable_too(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("taugraph.toml").write_text('agent = "bar"')
    monkeypatch.setenv("TAUGRAPH_AGENT", "foo")
    assert "cannot use TAUGRAPH_AGENT 'foo': it is no chat model" in call("run").stderr
    monkeypatch.setenv("TAUGRAPH_AGENT_OPTIONS", "[1]")
    assert "cannot read TAUGRAPH_AGENT_OPTIONS: got a JSON list" in call("run").stderr
    monkeypatch.delenv("TAUGRAPH_AGENT_OPTIONS")
    monkeypatch.setenv("TAUGRAPH_DOMAIN", "foo")
    assert "no domain named 'foo' (TAUGRAPH_DOMAIN): known are" in call("tasks").stderr


def test_what_was_typed_is_named_as_it_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("taugraph.toml").write_text('agent = "bar"\ndomain = "x"\n')
    assert "cannot use --agent 'foo': it is no chat model" in call("run", "airline", "--agent", "foo").stderr
    monkeypatch.setenv("TAUGRAPH_DOMAIN", "foo")
    assert "no domain named 'foo': known are" in call("run", "foo").stderr


def test_a_bad_configuration_keeps_nobody_from_reading_results(caplog: pytest.LogCaptureFixture) -> None:
    call("run", "airline", "--limit", "1", "-k", "1", "--name", "x")
    Path("taugraph.toml").write_text("this is no toml")
    assert call("report", "x").exit_code == 0
    assert "taugraph.toml cannot be read" in caplog.text
    Path("taugraph.toml").write_text('trials = "many"\nstore = "other.db"\n')
    assert find_store(None) == "other.db"
    assert find_store("mine.db") == "mine.db"


def test_the_help_of_run_names_every_default() -> None:
    run: Any = get_command(app)
    options = {option.name: option.help for option in run.commands["run"].params}
    defaults = {name: field.get_default() for name, field in RunSettings.model_fields.items() if name != "keep_threads"}
    for name, default in defaults.items():
        if isinstance(default, str | int | float):
            shown = f"{default:g}" if isinstance(default, float) else str(default)
            assert f"Default: {shown}" in options[name] or f"{shown} (default)" in options[name], name
