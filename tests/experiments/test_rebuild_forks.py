"""A trial that kept one record can be replayed and forked at any moment, with the database of that moment."""

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, messages_from_dict
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import StateSnapshot

from taugraph.domains.domain import load_domain
from taugraph.domains.protocol import STRICT
from taugraph.domains.trial import Trial
from taugraph.experiments.play import Player
from taugraph.experiments.rebuild import TranscriptAgent, rebuild
from taugraph.graphs.agent import AgentView
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.simulation import Simulation, build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn, UserView
from taugraph.graphs.users.demo import DemoUser


class Idle:
    """An agent that only talks, and a user who leaves."""

    reference, is_privileged = "idle", False

    async def reply(self, view: AgentView) -> AIMessage:
        return AIMessage("That is all.")

    async def speak(self, view: UserView) -> UserTurn:
        return UserTurn("", stops=True)


class Rest:
    """A user who says what was recorded, from a later turn on."""

    reference = "rest"

    def __init__(self, trial: Trial) -> None:
        recorded = messages_from_dict(trial.messages)
        self._words = [message.text for message in recorded if message.type == "human"]
        self._has_last_word = recorded[-1].type == "human"

    async def speak(self, view: UserView) -> UserTurn:
        place = sum(isinstance(message, AIMessage) and not message.tool_calls for message in view.messages)
        if place >= len(self._words):
            return UserTurn("", stops=True)
        return UserTurn(self._words[place], stops=self._has_last_word and place == len(self._words) - 1)


@pytest.fixture
async def saver(tmp_path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as opened:
        yield opened


async def changing_trials(domain_name: str) -> list[Trial]:
    """Play until a passed and a failed trial that changed the database."""
    domain = load_domain(domain_name)
    stage = Stage(domain, DemoAgent("demo:0.5", domain), DemoUser(), STRICT)
    found: dict[str, Trial] = {}
    for number, task in enumerate(domain.tasks):
        if set(found) == {"passed", "failed"}:
            break
        trial = await Player(stage).play(task.id, 0, number)
        if trial.changes:
            found.setdefault(trial.outcome, trial)
    stage.close()
    assert set(found) == {"passed", "failed"}
    return [found["passed"], found["failed"]]


async def history_of(graph: Simulation, thread_id: str) -> list[StateSnapshot]:
    """Return the snapshots of a thread, oldest first."""
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    return [snapshot async for snapshot in graph.aget_state_history(config)][::-1]


@pytest.mark.parametrize("domain_name", ["airline", "retail", "phone"])
async def test_every_moment_can_be_forked_with_its_database(domain_name: str, saver: AsyncSqliteSaver) -> None:
    domain = load_domain(domain_name)
    for trial in await changing_trials(domain_name):
        found = await rebuild(trial, domain, STRICT, saver, experiment="x")
        assert found.differs == ()
        stage = Stage(domain, Idle(), Idle(), STRICT)
        graph = build_simulation(stage).copy(update={"checkpointer": saver})
        moments = [moment for moment in await history_of(graph, found.thread_id) if moment.next == ("agent",)]
        states = [moment.values.get("changes", {}) for moment in moments]
        assert states[-1], "the database has changed by the end"
        assert any(before != after for before, after in pairwise(states))
        for moment in (moments[0], moments[len(moments) // 2], moments[-1]):
            await graph.ainvoke(None, moment.config)
            forked = (await graph.aget_state({"configurable": {"thread_id": found.thread_id}})).values
            assert forked["termination"] == "user_stop"
            assert forked.get("changes", {}) == moment.values.get("changes", {})
            assert forked["messages"][: len(moment.values["messages"])] == moment.values["messages"]
        stage.close()


@pytest.mark.parametrize("domain_name", ["airline", "retail"])
async def test_a_replay_from_the_middle_comes_to_the_recorded_end(domain_name: str, saver: AsyncSqliteSaver) -> None:
    domain = load_domain(domain_name)
    for trial in await changing_trials(domain_name):
        found = await rebuild(trial, domain, STRICT, saver, experiment="x")
        stage = Stage(domain, TranscriptAgent(trial), Rest(trial), STRICT)
        graph = build_simulation(stage).copy(update={"checkpointer": saver})
        middle = [moment for moment in await history_of(graph, found.thread_id) if moment.next == ("tools",)]
        await graph.ainvoke(None, middle[len(middle) // 2].config)
        ended = (await graph.aget_state({"configurable": {"thread_id": found.thread_id}})).values
        stage.close()
        assert (ended["reward"], ended["changes"]) == (trial.reward, trial.changes)
        said = [message.text for message in messages_from_dict(trial.messages) if message.type == "ai"]
        assert [message.text for message in ended["messages"] if message.type == "ai"] == said
