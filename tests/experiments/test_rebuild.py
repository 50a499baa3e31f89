"""A stored trial opens with its full history, whatever happened in it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ModelCallError
from taugraph.domains.protocol import STRICT, find_protocol
from taugraph.domains.task import InitialState
from taugraph.domains.trial import Trial
from taugraph.experiments.play import Player
from taugraph.experiments.rebuild import rebuild
from taugraph.graphs.agent import AgentTurn, AgentView
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.boundary import DeadlineError
from taugraph.graphs.calling import RejectedError
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn
from taugraph.graphs.users.demo import DemoUser


@pytest.fixture
async def saver(tmp_path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as opened:
        yield opened


async def demo_trials(domain_name: str, count: int, protocol: str = "strict") -> tuple[Any, list[Trial]]:
    domain, rules = load_domain(domain_name), find_protocol(protocol)
    stage = Stage(domain, DemoAgent("demo:0.5", domain), DemoUser(stops_on_token=rules.stops_on_token), rules)
    trials = [await Player(stage).play(task.id, 0, number) for number, task in enumerate(domain.tasks[:count])]
    stage.close()
    return domain, trials


@pytest.mark.parametrize(
    ("domain_name", "protocol"),
    [("airline", "strict"), ("airline", "tau-bench"), ("retail", "strict"), ("phone", "strict")],
)
async def test_demonstration_trials_passed_or_failed_are_rebuilt_as_they_were(
    domain_name: str, protocol: str, saver: AsyncSqliteSaver
) -> None:
    domain, trials = await demo_trials(domain_name, 12, protocol)
    assert {trial.outcome for trial in trials} == {"passed", "failed"}
    for trial in trials:
        found = await rebuild(trial, domain, find_protocol(protocol), saver, experiment="x")
        assert found.differs == ()
        config: RunnableConfig = {"configurable": {"thread_id": found.thread_id}}
        history = [checkpoint async for checkpoint in saver.alist(config)]
        assert len(history) > len(trial.timeline)


async def test_a_fork_of_a_rebuilt_trial_has_the_database_of_that_moment(saver: AsyncSqliteSaver) -> None:
    domain, trials = await demo_trials("airline", 4)
    trial = next(trial for trial in trials if trial.changes)
    found = await rebuild(trial, domain, STRICT, saver, experiment="x")
    stage = Stage(domain, DemoAgent("demo:0", domain), DemoUser(), STRICT)
    graph = build_simulation(stage).copy(update={"checkpointer": saver})
    config: RunnableConfig = {"configurable": {"thread_id": found.thread_id}}
    history = [snapshot async for snapshot in graph.aget_state_history(config)]
    early = next(snapshot for snapshot in reversed(history) if snapshot.next == ("agent",))
    assert not early.values.get("changes")
    assert history[0].values["changes"] == trial.changes
    ended = await graph.ainvoke(None, early.config)
    stage.close()
    assert ended["reward"] == 1.0


class Scripted:
    reference, is_privileged = "scripted", False

    def __init__(self, *turns: Any) -> None:
        self._turns = turns
        self._said = 0

    async def reply(self, view: AgentView) -> Any:
        self._said += 1
        turn = self._next(AIMessage("Go on."))
        if isinstance(turn, AIMessage) and not turn.text:
            self._said -= 1  # it is asked again, and answers the same
        return turn

    async def speak(self, view: Any) -> Any:
        self._said += 1
        return self._next(UserTurn("Hello again."))

    def _next(self, last: Any) -> Any:
        turn = self._turns[self._said - 1] if self._said <= len(self._turns) else last
        if isinstance(turn, Exception):
            raise turn
        return turn


OWN = AgentTurn(
    AIMessage("Noted."),
    before=[AIMessage("", tool_calls=[{"name": "note", "args": {}, "id": "1"}]), ToolMessage("ok", tool_call_id="1")],
)


@pytest.mark.parametrize(
    ("agent", "user", "termination"),
    [
        ((AIMessage("Hi."), ValueError("broken")), (UserTurn("Hello."), UserTurn("More.")), "agent_error"),
        ((AIMessage("Hi."),), (UserTurn("Hello."), ValueError("broken")), "user_error"),
        ((AIMessage("Hi."),), (UserTurn("Hello."),), "max_turns"),
        ((OWN, AIMessage("Bye.")), (UserTurn("Hello."), UserTurn("", stops=True)), "user_stop"),
        (
            (AIMessage("Sure?"), AIMessage("Done.")),
            (UserTurn("Hello."), UserTurn("yes", stops=True), UserTurn("", stops=True)),
            "user_stop",
        ),
        (
            (AIMessage("Done."),),
            (UserTurn("Hello.", aside=[{"kind": "thought", "text": "hm"}]), UserTurn("Thanks.", stops=True)),
            "user_stop",
        ),
        ((AIMessage("Hi."), AIMessage("")), (UserTurn("Hello."),), "agent_error"),
        ((AIMessage("Hi."), RejectedError("too long")), (UserTurn("Hello."),), "agent_error"),
        ((AIMessage("Hi."), DeadlineError("too slow")), (UserTurn("Hello."),), "agent_error"),
        ((AIMessage("Hi."),), (UserTurn("Hello."), UserTurn("")), "user_error"),
        ((AIMessage("Hi."), ModelCallError("agent", "rate_limit", "busy")), (UserTurn("Hello."),), "infrastructure"),
        ((AIMessage("Hi."),), (UserTurn("Hello."), ModelCallError("user", "timeout", "slow")), "infrastructure"),
        ((), (ModelCallError("user", "timeout", "slow"),), "infrastructure"),
    ],
)
async def test_every_way_a_trial_ends_is_rebuilt(
    agent: tuple[Any, ...], user: tuple[Any, ...], termination: str, saver: AsyncSqliteSaver
) -> None:
    domain, rules = load_domain("airline"), STRICT.model_copy(update={"max_turns": 3})
    stage = Stage(domain, Scripted(*agent), Scripted(*user), rules)
    trial = await Player(stage).play("cancel-within-a-day", 0, 0)
    stage.close()
    assert trial.termination.value == termination
    found = await rebuild(trial, domain, rules, saver, experiment="x")
    assert found.differs == ()
    assert [entry["kind"] for entry in found.trial.user_log] == [entry["kind"] for entry in trial.user_log]
    kinds = [each.failure and (each.failure.kind, each.failure.actor) for each in (trial, found.trial)]
    assert kinds[0] == kinds[1]
    if trial.termination.value == "infrastructure":
        assert (trial.failure and trial.failure.message) == (found.trial.failure and found.trial.failure.message)


async def test_a_task_that_begins_in_the_middle_of_a_conversation_is_rebuilt(saver: AsyncSqliteSaver) -> None:
    airline = load_domain("airline")
    said = ({"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello, how can I help?"})
    for messages in (said, said[:1]):
        task = airline.task("cancel-within-a-day").model_copy(update={"initial": InitialState(messages=messages)})
        domain = replace(airline, tasks=[task])
        stage = Stage(domain, DemoAgent("demo:0", domain), DemoUser(), STRICT)
        trial = await Player(stage).play(task.id, 0, 0)
        stage.close()
        assert trial.messages[0]["data"]["content"] == "Hello."
        found = await rebuild(trial, domain, STRICT, saver, experiment=f"begins-{len(messages)}")
        assert found.differs == ()


async def test_a_history_that_is_there_is_kept_with_its_forks(saver: AsyncSqliteSaver) -> None:
    domain, [trial] = await demo_trials("airline", 1)
    first = await rebuild(trial, domain, STRICT, saver, experiment="x")
    config: RunnableConfig = {"configurable": {"thread_id": first.thread_id}}
    graph = build_simulation().copy(update={"checkpointer": saver})
    early = [snapshot async for snapshot in graph.aget_state_history(config)][-3]
    await graph.aupdate_state(early.config, {"notes": {"forked": True}}, as_node="user")
    again = await rebuild(trial, domain, STRICT, saver, experiment="x")
    assert (again.differs, again.trial.reward) == ((), trial.reward)
    assert (await graph.aget_state(config)).values["notes"] == {"forked": True}
    other = trial.model_copy(update={"messages": trial.messages[:-1]})
    assert (await rebuild(other, domain, STRICT, saver, experiment="x")).differs
    assert (await graph.aget_state(config)).values["notes"] == trial.notes


async def test_what_cannot_be_rebuilt_is_said(saver: AsyncSqliteSaver) -> None:
    domain, [trial] = await demo_trials("airline", 1)
    changed = trial.model_copy(update={"reward": 0.5, "changes": {"flights": {}}})
    found = await rebuild(changed, domain, STRICT, saver, experiment="x")
    assert [difference.partition(":")[0] for difference in found.differs] == ["reward", "changes"]
