"""Code that raises, hangs or returns nonsense fails its trial; a provider that fails inside it leaves it unscored."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from acting import BYE, HELLO, REFUND, Raw, play
from langchain_core.exceptions import ModelRateLimitError
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Interrupt, interrupt

from taugraph.domains.trial import Termination
from taugraph.experiments.play import Player
from taugraph.graphs.agent import AgentView
from taugraph.graphs.agents.hooks import close_agent, open_agent
from taugraph.graphs.agents.own import Later, OwnAgent
from taugraph.graphs.boundary import cross
from taugraph.graphs.refusals import provider_cause
from taugraph.graphs.stage import Stage

SetStage = Callable[..., Stage]
REQUEST = httpx.Request("POST", "http://127.0.0.1/v1")


class Code:
    """A team's own object with a reply."""

    reference = "code"
    is_privileged = False

    def __init__(self, act: Any) -> None:
        self._act = act

    async def reply(self, view: AgentView) -> Any:
        return await self._act(view)


def own(act: Any, timeout_s: float = 5.0) -> OwnAgent:
    return OwnAgent("mine", Code(act), timeout_s=timeout_s)


async def hang(view: AgentView) -> Any:
    await asyncio.sleep(60)


async def hang_on(view: AgentView) -> Any:
    for _ in range(2):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3)


async def crash(view: AgentView) -> Any:
    raise KeyError("reservation")


async def number(view: AgentView) -> Any:
    return 5


@pytest.mark.parametrize("act", [hang, hang_on])
async def test_a_turn_that_takes_too_long_fails_the_trial(
    act: Any, set_stage: SetStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taugraph.graphs.agents.own._GRACE_S", 0.05)
    started = time.monotonic()
    state = await play(set_stage(own(act, timeout_s=0.1), [HELLO, BYE]))
    assert time.monotonic() - started < 2
    assert (state["termination"], state["failure"]["kind"]) == (Termination.AGENT_ERROR, "deadline")
    assert "more than 0.1 seconds" in state["failure"]["message"]
    assert state["reward"] == 0.0


async def test_a_crash_fails_the_trial_and_keeps_its_traceback(set_stage: SetStage) -> None:
    state = await play(set_stage(own(crash), [HELLO, BYE]))
    assert (state["termination"], state["failure"]["kind"]) == (Termination.AGENT_ERROR, "agent_raised")
    assert "in crash" in state["failure"]["traceback"]


async def test_an_answer_that_is_no_message_fails_the_trial(set_stage: SetStage) -> None:
    state = await play(set_stage(own(number), [HELLO, BYE]))
    assert state["termination"] == Termination.AGENT_ERROR
    assert "the agent returned int, wanted an AIMessage" in state["failure"]["message"]


async def test_a_run_that_is_stopped_stops_the_turn(set_stage: SetStage) -> None:
    stopped = asyncio.Event()

    async def wait(view: AgentView) -> Any:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    playing = asyncio.create_task(play(set_stage(own(wait), [HELLO, BYE])))
    await asyncio.sleep(0.2)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError, match=r"^$"):
        await playing
    await asyncio.wait_for(stopped.wait(), 2)


def status_error(kind: type[openai.APIStatusError], status: int) -> openai.APIStatusError:
    return kind("no", response=httpx.Response(status, request=REQUEST), body=None)


class ClientError(Exception):
    """Looks like the one of Amazon's package."""

    response = {"ResponseMetadata": {"HTTPStatusCode": 503}}  # noqa: RUF012 - as the original has it


ClientError.__module__ = "botocore.exceptions"


class ResourceExhausted(Exception):
    """Looks like the one of Google's package."""

    code = 429


ResourceExhausted.__module__ = "google.api_core.exceptions"

PROVIDERS = {
    "rate limit": (status_error(openai.RateLimitError, 429), "rate_limit"),
    "bad key": (status_error(openai.AuthenticationError, 401), "authentication"),
    "no access": (status_error(openai.PermissionDeniedError, 403), "authentication"),
    "overloaded": (status_error(openai.InternalServerError, 503), "provider_error"),
    "unreachable": (openai.APIConnectionError(request=REQUEST), "connection"),
    "too slow": (openai.APITimeoutError(request=REQUEST), "timeout"),
    "amazon": (ClientError(), "provider_error"),
    "google": (ResourceExhausted(), "rate_limit"),
    "langchain": (ModelRateLimitError("slow down"), "rate_limit"),
}


@pytest.mark.parametrize("kind", PROVIDERS)
async def test_a_providers_failure_leaves_the_trial_unscored(kind: str, set_stage: SetStage) -> None:
    error, cause = PROVIDERS[kind]

    async def act(view: AgentView) -> Any:
        try:
            raise error
        except Exception as inner:
            raise RuntimeError("the agent could not answer") from inner

    state = await play(set_stage(own(act), [HELLO, BYE]))
    assert (state["termination"], state["failure"]["kind"]) == (Termination.INFRASTRUCTURE, cause)
    assert state["reward"] is None
    assert "could not answer" in state["failure"]["traceback"]


OWN_FAULTS = {
    "a refused request": status_error(openai.BadRequestError, 400),
    "a tool's own service": httpx.ConnectError("refused", request=REQUEST),
    "a plain timeout": TimeoutError("slow"),
    "a class of the same name": type("RateLimitError", (Exception,), {"status_code": 429})("no"),
}


@pytest.mark.parametrize("kind", OWN_FAULTS)
async def test_a_failure_of_no_provider_is_the_agents_own(kind: str, set_stage: SetStage) -> None:
    async def act(view: AgentView) -> Any:
        raise OWN_FAULTS[kind]

    state = await play(set_stage(own(act), [HELLO, BYE]))
    assert (state["termination"], state["failure"]["kind"]) == (Termination.AGENT_ERROR, "agent_raised")


def test_a_cause_is_found_in_a_group_and_behind_a_context_that_was_not_hidden() -> None:
    limit = PROVIDERS["rate limit"][0]
    assert provider_cause(ExceptionGroup("both", [ValueError("x"), limit])) == "rate_limit"
    hidden = ValueError("handled")
    hidden.__context__, hidden.__suppress_context__ = limit, True
    assert provider_cause(hidden) is None


async def test_only_a_user_may_interrupt_the_trial() -> None:
    async def interrupting() -> None:
        raise GraphInterrupt((Interrupt("who are you?"),))

    with pytest.raises(GraphInterrupt, match="who are you"):
        await cross("user", interrupting())
    failure: Any = await cross("agent", interrupting())
    assert failure.kind == "agent_raised"


async def test_a_graph_that_code_calls_is_no_part_of_the_trials(set_stage: SetStage) -> None:
    def think(state: MessagesState) -> Any:
        return {"messages": [AIMessage(REFUND)]}

    graph = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think").compile()

    async def act(view: AgentView) -> Any:
        answers = [await graph.ainvoke({"messages": list(view.messages)}) for _ in range(2)]
        return answers[-1]["messages"][-1]

    saver = InMemorySaver()
    stage = set_stage(own(act), [HELLO, BYE])
    trial = await Player(stage, checkpointer=saver, durability="sync").play("cancel-within-a-day", 0, 0)
    assert trial.failure is None
    assert [list(namespaces) for namespaces in saver.storage.values()] == [[""]]


async def test_an_agent_cannot_interrupt_the_trial(set_stage: SetStage) -> None:
    async def act(view: AgentView) -> Any:
        return interrupt("what now?")

    state = await play(set_stage(own(act), [HELLO, BYE]))
    assert (state["termination"], state["failure"]["kind"]) == (Termination.AGENT_ERROR, "agent_raised")


async def test_an_agent_that_cannot_be_closed_costs_no_trial(caplog: pytest.LogCaptureFixture) -> None:
    async def build(stack: Any) -> Any:
        stack.callback(lambda: 1 / 0)
        return Code(number)

    agent = OwnAgent("mine", Later(build), timeout_s=5)
    await open_agent(agent)
    await close_agent(agent)
    assert "the agent could not be closed: ZeroDivisionError" in caplog.text


async def test_what_can_only_be_built_later_is_built_once_and_closed(set_stage: SetStage) -> None:
    told: list[str] = []

    async def say(view: AgentView) -> Any:
        return AIMessage(REFUND)

    async def build(stack: Any) -> Any:
        told.append("built")
        stack.callback(told.append, "closed")
        return Code(say)

    agent = OwnAgent("mine", Later(build), timeout_s=5)
    await asyncio.gather(agent.open(), agent.open())
    await play(set_stage(agent, [HELLO, Raw(None), BYE]))
    await agent.aclose()
    assert told == ["built", "closed"]


async def test_an_agent_that_tries_to_end_the_process_fails_its_trial_and_nothing_else(set_stage: SetStage) -> None:
    async def leave(view: AgentView) -> Any:
        raise SystemExit(3)

    state = await play(set_stage(OwnAgent("leaving", Code(leave), timeout_s=5), [HELLO, BYE]))
    assert (state["termination"], state["reward"]) == ("agent_error", 0.0)
    assert state["failure"]["message"] == "ExitedError: the agent tried to end the process (exit code 3)"
