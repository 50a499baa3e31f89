"""`taugraph run` on an agent in a folder of its own, as a person types it: real processes, no network."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import scripted_model

MODULE = [sys.executable, "-c", "from taugraph.cli import main; main()"]
AGENT = """
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from graphs.prompts import PROMPT
from model import ScriptedModel
from tools import TOOLS

graph = create_agent(ScriptedModel(lines=["How can I help?"]), TOOLS, system_prompt=PROMPT)
"""
TOOLS = """
from langchain_core.tools import tool


@tool
def cancel_reservation(reservation_id: str) -> str:
    "Cancel."
    raise SystemError("must not run")


@tool
def remember(note: str) -> str:
    "Note."
    return "noted"


TOOLS = [cancel_reservation, remember]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    agent = tmp_path / "agent"
    (agent / "graphs").mkdir(parents=True)
    (agent / "graphs" / "__init__.py").touch()
    (agent / "graphs" / "prompts.py").write_text("PROMPT = 'You cancel trips.'")
    (agent / "tools.py").write_text(TOOLS)
    (agent / "agent.py").write_text(AGENT)
    shutil.copy(scripted_model.__file__, agent / "model.py")
    return tmp_path


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*MODULE, *words], capture_output=True, text=True, timeout=60, check=False)


def test_an_agent_with_tools_and_graphs_of_its_own_is_evaluated_as_it_is(folder: Path) -> None:
    ended = run(
        *("run", "airline", "--agent", "./agent/agent.py:graph", "--limit", "1", "-k", "1", "--json", "--name", "mine")
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["agent"] == "./agent/agent.py:graph"
    assert report["counts"]["unscored"] == 0
    assert "the agent has 1 of the domain's" in ended.stderr
    assert "its own, run as they are: remember" in ended.stderr
    assert max(map(len, ended.stderr.splitlines())) <= 80


def test_an_experiment_does_not_go_on_with_changed_code(folder: Path) -> None:
    first = run("run", "airline", "--agent", "agent/agent.py:graph", "--limit", "1", "-k", "1", "--name", "mine")
    assert first.returncode == 0, first.stderr
    (folder / "agent" / "tools.py").write_text(f"{TOOLS}\n# changed\n")
    script = (
        "from taugraph.experiments.run import resume_run\nfrom taugraph.experiments.store import open_store\n"
        "from taugraph.domains.errors import TaugraphError\n"
        "store = open_store('.taugraph/results.db')\n"
        "try:\n    resume_run('mine', store)\nexcept TaugraphError as error:\n    print(error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert "experiment 'mine' cannot go on under other conditions (agent_code: was" in ended.stdout


SLOW = """
import time

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def think(state: MessagesState):
    time.sleep(600)
    return {"messages": [AIMessage("Hello.")]}


graph = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think")
"""


def test_an_agent_that_hangs_holds_up_neither_other_trials_nor_the_end(folder: Path) -> None:
    (folder / "slow.py").write_text(SLOW)
    words = ["run", "airline", "--agent", "slow.py:graph", "--limit", "6", "-k", "3", "--agent-timeout-s", "0.2"]
    ended = run(*words, "--json", "--concurrency", "9")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["terminations"] == {"agent_error": 18}


def test_a_wrong_reference_ends_with_one_line(folder: Path) -> None:
    ended = run("run", "airline", "--agent", "./agent/agent.py:grahp")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert "agent.py has no 'grahp': there are" in ended.stderr


def test_a_graph_that_ends_the_process_is_told_and_never_looks_like_success(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text(
        "from langgraph.graph import START, MessagesState, StateGraph\n\n\n"
        "async def leave(state: MessagesState):\n"
        "    raise SystemExit(0)\n\n\n"
        "graph = StateGraph(MessagesState).add_node('leave', leave).add_edge(START, 'leave').compile()\n"
    )
    words = ["run", "airline", "--limit", "1", "-k", "1", "--agent", "./leaving.py:graph"]
    ended = subprocess.run(
        [sys.executable, "-c", "from taugraph.cli import main; main()", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 2
    assert "ended the process (exit code 0)" in ended.stderr
