"""A person as the user: at a terminal, and through interrupts where the graph is served."""

import asyncio
import os
import pty
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acting import CANCEL, HELLO, REFUND, ScriptedAgent, cancel, play, said
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from typer.testing import CliRunner

from taugraph.cli import app
from taugraph.domains.domain import load_domain
from taugraph.domains.protocol import STRICT
from taugraph.experiments.run import start_run
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import open_store
from taugraph.graphs.agent import TrialKey
from taugraph.graphs.casting import in_personas, stage_for
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.persona import find_persona
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserView
from taugraph.graphs.users.human import HumanUser, InterruptingUser

SetStage = Callable[..., Stage]
PHONE = load_domain("phone")
PHONE_IN_PERSONA = in_personas(PHONE, ["furious"])
TOOL = PHONE.user_tools[0].name


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


def test_a_person_needs_a_terminal() -> None:
    ended = CliRunner().invoke(app, ["run", "airline", "--user", "human"])
    assert (ended.exit_code, "needs a terminal to type at" in ended.stderr) == (2, True)


async def test_a_person_is_told_how_to_talk_and_may_use_a_device() -> None:
    typed, shown = iter(["Hello.", "/use", "/use no_such_tool", f"/use {TOOL} [", f"/use {TOOL}", "/stop"]), list[str]()
    phone = PHONE_IN_PERSONA.tasks[0]
    stage = Stage(PHONE_IN_PERSONA, ScriptedAgent("Look."), HumanUser(lambda: next(typed), shown.append), STRICT)
    state = await play(stage, phone.id)
    stage.close()
    assert find_persona("furious").text in shown[0]
    assert f"- {TOOL}(" in shown[0]
    assert [text.partition(";")[0] for text in shown[2:4]] == [
        "(your device has no ''",
        "(your device has no 'no_such_tool'",
    ]
    assert f"(write /use {TOOL} {{" in shown[4]
    assert shown[5].startswith("\nyour device: ")
    assert (state["termination"], [entry["kind"] for entry in state["user_log"]]) == (
        *("user_stop",),
        ["called", "answered"],
    )


async def test_a_person_in_studio_may_use_a_device() -> None:
    stage = Stage(PHONE, ScriptedAgent("Look."), InterruptingUser(), STRICT)
    graph = build_simulation(stage).copy(update={"checkpointer": InMemorySaver()})
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": PHONE.tasks[0].id}
    await graph.ainvoke(start, config)
    await graph.ainvoke(Command(resume="Hello."), config)
    asked = await graph.ainvoke(Command(resume=f"/use {TOOL}"), config)
    stage.close()
    assert asked["__interrupt__"][0].value["your_device_said"]


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Sit down at a terminal, and return what types there."""
    typing, terminal = pty.openpty()
    with open(terminal, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield lambda text: os.write(typing, text.encode())
    os.close(typing)


async def test_what_is_typed_at_the_terminal_is_said_and_the_prompt_is_no_result(
    keyboard: Callable[[str], Any], capsys: pytest.CaptureFixture[str], set_stage: SetStage
) -> None:
    keyboard(f"\n{HELLO}\n\x04")
    state = await play(set_stage([cancel(), REFUND], HumanUser()))
    shown = capsys.readouterr()
    assert (words(state), state["reward"], shown.out) == ([HELLO], 1.0, "")
    assert shown.err.count("you: ") == 3


def test_a_run_that_is_cut_off_does_not_wait_for_the_person(
    keyboard: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    view = UserView([], PHONE.tasks[0].scenario, TrialKey("t", 0, 0))
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"^$"):
        asyncio.run(asyncio.wait_for(HumanUser().speak(view), 0.1))
    assert time.monotonic() - started < 5
    assert "You play a customer." in capsys.readouterr().err


def test_the_conversations_of_a_person_come_one_by_one(
    keyboard: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    keyboard("Hello.\n/stop\n" * 2)
    settings = load_settings(user="human", agent="noop", limit=2, trials=1, concurrency=8)
    with open_store("results.db") as store:
        run = start_run(settings, store, "x")
        assert (run.is_interactive, run.play()) == (True, None)
    shown = re.findall("You play|agent:", capsys.readouterr().err)
    assert shown == ["You play", "agent:"] * 2


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


@pytest.mark.parametrize("nonsense", [7, "", {"text": 3}, {"stop": False}, {"text": "Hi", "stopp": True}])
async def test_a_run_resumed_with_nonsense_asks_again(nonsense: Any, set_stage: SetStage) -> None:
    graph = build_simulation(set_stage([cancel(), REFUND], InterruptingUser())).copy(
        update={"checkpointer": InMemorySaver()}
    )
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    start: Any = {"task_id": CANCEL}
    await graph.ainvoke(start, config)
    asked = await graph.ainvoke(Command(resume=nonsense), config)
    assert "not_understood" in asked["__interrupt__"][0].value
    await graph.ainvoke(Command(resume=HELLO), config)
    ended = await graph.ainvoke(Command(resume={"stop": True}), config)
    assert (ended["termination"], ended["reward"], words(ended)) == ("user_stop", 1.0, [HELLO])


def test_the_server_asks_a_person_by_an_interrupt_and_the_command_line_at_the_terminal() -> None:
    assert isinstance(stage_for(SimulationContext(user="human")).user, InterruptingUser)
