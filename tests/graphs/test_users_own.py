"""Users that are no model: a person, a script, and code of one's own."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acting import CANCEL, HELLO, REFUND, cancel, play, said
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from typer.testing import CliRunner

from taugraph.cli import app
from taugraph.domains.errors import ConfigurationError, DataError
from taugraph.graphs.casting import build_stage, stage_for
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.human import HumanUser, InterruptingUser
from taugraph.graphs.users.scripted import load_script

SetStage = Callable[..., Stage]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(state: dict[str, Any]) -> list[str]:
    return [text for kind, text in said(state) if kind == "human"]


async def test_a_person_reads_the_scenario_and_the_agent_s_words_and_types(set_stage: SetStage) -> None:
    typed, shown = iter(["", f" {HELLO} ", "/stop"]), list[str]()
    human = HumanUser(lambda: next(typed), shown.append)
    state = await play(set_stage([cancel(), REFUND], human))
    assert (words(state), state["reward"]) == ([HELLO], 1.0)
    assert "You play a customer." in shown[0]
    assert "hang up" in shown[1]
    assert shown[2] == f"\nagent: {REFUND}"


async def test_the_end_of_the_input_hangs_up(set_stage: SetStage) -> None:
    lines = iter([HELLO, None])
    state = await play(set_stage([cancel(), REFUND], HumanUser(lambda: next(lines), lambda text: None)))
    assert state["termination"] == "user_stop"


def test_a_person_needs_a_terminal() -> None:
    ended = CliRunner().invoke(app, ["run", "airline", "--user", "human"])
    assert (ended.exit_code, "needs a terminal to type at" in ended.stderr) == (2, True)


async def test_where_the_graph_is_served_a_person_is_asked_by_an_interrupt(set_stage: SetStage) -> None:
    graph = build_simulation(set_stage([cancel(), REFUND], InterruptingUser())).copy(
        update={"checkpointer": InMemorySaver()}
    )
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": CANCEL}
    asked = await graph.ainvoke(start, config)
    [question] = asked["__interrupt__"]
    assert (question.value["agent_said"], "cancel" in question.value["you_play"].lower()) == (None, True)
    asked = await graph.ainvoke(Command(resume=HELLO), config)
    assert asked["__interrupt__"][0].value["agent_said"] == REFUND
    ended = await graph.ainvoke(Command(resume={"text": "Thanks.", "stop": True}), config)
    assert (ended["termination"], ended["reward"]) == ("user_stop", 1.0)


async def test_a_run_resumed_with_nonsense_is_the_user_s_error(set_stage: SetStage) -> None:
    graph = build_simulation(set_stage(["Hi."], InterruptingUser())).copy(update={"checkpointer": InMemorySaver()})
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": CANCEL}
    await graph.ainvoke(start, config)
    ended = await graph.ainvoke(Command(resume=7), config)
    assert ended["termination"] == "user_error"


def test_the_server_asks_a_person_by_an_interrupt_and_the_command_line_at_the_terminal() -> None:
    assert isinstance(stage_for(SimulationContext(user="human")).user, InterruptingUser)


async def test_a_script_says_the_lines_of_its_task_and_hangs_up(set_stage: SetStage) -> None:
    Path("lines.yaml").write_text(f"{CANCEL}: ['{HELLO}', {{text: Thanks., stop: true}}]\n'*': [Hello]\n")
    state = await play(set_stage([cancel(), REFUND], load_script("scripted:lines.yaml", Path("lines.yaml"))))
    assert (words(state), state["reward"]) == ([HELLO, "Thanks."], 1.0)


def test_a_script_serves_variants_and_tasks_it_does_not_name() -> None:
    Path("lines.json").write_text(json.dumps({CANCEL: [HELLO], "*": ["Hello.", {"stop": True}]}))
    words = ("run", "airline", "--limit", "2", "-k", "1", "--agent", "noop", "--user", "scripted:lines.json")
    ended = CliRunner().invoke(app, [*words, "--personas", "terse", "--json"])
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["counts"] == {"passed": 0, "failed": 2, "unscored": 0, "planned": 2}


async def test_a_script_without_lines_for_a_task_fails_that_trial_and_says_so(set_stage: SetStage) -> None:
    Path("lines.yaml").write_text("other: [Hello]\n")
    state = await play(set_stage(["Hi."], load_script("scripted:lines.yaml", Path("lines.yaml"))))
    assert state["termination"] == "user_error"
    assert f"no lines for task '{CANCEL}'" in state["failure"]["message"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "task id, or"),
        ("x: Hello", "record x: got 'Hello', wanted a list of lines"),
        ("x: [3]", "record x, field line 1: got 3"),
        ("x: [{text: Hi, stopp: true}]", "field line 1"),
        ("x: [a\n", "valid YAML"),
    ],
)
def test_a_bad_script_is_refused_with_its_place(text: str, complaint: str) -> None:
    Path("lines.yaml").write_text(text)
    with pytest.raises(DataError, match=complaint):
        load_script("scripted:lines.yaml", Path("lines.yaml"))


OWN = """
    from taugraph.graphs.user import UserTurn


    class Mine:
        def __init__(self, protocol):
            self.protocol = protocol

        async def speak(self, view):
            return UserTurn("", stops=True) if view.messages else UserTurn("Hello from Mine.")


    user = Mine(None)


    def words(view):
        return "And then?" if len(view.messages) < 6 else UserTurn("", stops=True)


    async def slow(view):
        return words(view)


    nothing = 3


    def wants(database):
        return None
"""


@pytest.mark.parametrize("name", ["Mine", "user", "words", "slow"])
async def test_code_of_one_s_own_plays_the_user(name: str, set_stage: SetStage) -> None:
    Path("mine.py").write_text(textwrap.dedent(OWN))
    built = build_stage(SimulationContext(user=f"./mine.py:{name}"))
    state = await play(set_stage(["Yes?"], built.user))
    built.close()
    assert state["termination"] == "user_stop"
    assert words(state)[0] in ("Hello from Mine.", "And then?")


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("./mine.py:nothing", "it is a int; wanted an object with `async speak"),
        ("./mine.py:missing", "--user './mine.py:missing'"),
        ("./gone.py:user", "--user './gone.py:user'"),
        ("http://127.0.0.1:1#x", "a user is module:attr or ./file.py:attr"),
    ],
)
def test_what_cannot_speak_is_refused_by_the_name_of_the_option(reference: str, complaint: str) -> None:
    Path("mine.py").write_text(textwrap.dedent(OWN))
    with pytest.raises(ConfigurationError, match=complaint) as refused:
        build_stage(SimulationContext(user=reference))
    assert "--agent" not in str(refused.value)
