"""`taugraph init` writes what loads, next to an agent as it is, and overwrites nothing."""

import json
import tomllib
from pathlib import Path

import pytest
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
    assert (Path("evals/policy.md").read_text(), load_settings().trials) == ("mine", 2)


def test_a_langgraph_json_is_taken_for_the_agent() -> None:
    Path("agent").mkdir()
    Path("agent/langgraph.json").write_text('{"dependencies": ["."], "graphs": {"support": "./graph.py:graph"}}')
    ended = call("init", "agent")
    assert ended.exit_code == 0, ended.output
    assert tomllib.loads(Path("agent/taugraph.toml").read_text())["agent"] == "./langgraph.json#support"
    assert "cd agent && taugraph run" in ended.stdout


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


def test_a_bad_configuration_keeps_nobody_from_reading_results(caplog: pytest.LogCaptureFixture) -> None:
    call("run", "airline", "--limit", "1", "-k", "1", "--name", "x")
    Path("taugraph.toml").write_text("this is no toml")
    assert call("report", "x").exit_code == 0
    assert "taugraph.toml cannot be read" in caplog.text
    Path("taugraph.toml").write_text('trials = "many"\nstore = "other.db"\n')
    assert find_store(None) == "other.db"
    assert find_store("mine.db") == "mine.db"
