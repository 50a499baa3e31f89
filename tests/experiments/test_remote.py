"""Trials played on LangGraph servers are scored once each, whatever the servers do meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from support.langgraph_fake import Ending, LangGraphFake, Script, played

from taugraph.domains.trial import Termination, Trial
from taugraph.experiments.play import Player
from taugraph.experiments.remote import ATTEMPTS, RemotePlayer
from taugraph.experiments.remote_fleet import Fleet
from taugraph.experiments.remote_server import Server
from taugraph.experiments.schedule import Interrupt, run_schedule
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext

GRID = [(task, trial) for trial in range(4) for task in "abcdef"]


@pytest.fixture
def serve() -> Iterator[Callable[..., LangGraphFake]]:
    with ExitStack() as stack:
        yield lambda script=passing: stack.enter_context(LangGraphFake(script))


def passing(asked: dict[str, Any]) -> Ending:
    return Ending(played(asked))


def ending(*given: Any, **named: Any) -> Script:
    return lambda asked: Ending(*given, **named)


@asynccontextmanager
async def player_on(
    *urls: str,
    silence_s: float = 5.0,
    patience_s: float = 1.0,
    on_gone: Callable[[], None] = lambda: None,
    **given: Any,
) -> AsyncIterator[RemotePlayer]:
    servers = [Server(url, silence_s=silence_s) for url in urls]
    fleet = Fleet(servers, patience_s=patience_s, pause_s=0.05, on_gone=on_gone)
    async with RemotePlayer(fleet, SimulationContext(), experiment="x", **given) as player:
        yield player


async def play_grid(player: RemotePlayer, **given: Any) -> list[Trial]:
    kept: list[Trial] = []

    async def keep(trial: Trial) -> None:
        kept.append(trial)

    async def play(task_id: str, trial: int) -> Trial:
        return await player.play(task_id, trial, 7)

    await run_schedule(given.pop("places", GRID), play, player.releasing(keep), **{"concurrency": 8} | given)
    return kept


def places(trials: list[Trial]) -> list[tuple[str, int]]:
    return sorted((trial.task_id, trial.trial) for trial in trials)


def fails_once(method: str, end: str, answer: Response) -> Callable[[str, str], Response | None]:
    """Return a fault for the first request of a kind."""
    faults = [answer]
    return lambda verb, path: faults.pop() if faults and verb == method and path.endswith(end) else None


def test_a_trial_has_the_thread_of_a_local_run() -> None:
    local = Player(build_stage(SimulationContext()), experiment="x")
    assert RemotePlayer(Fleet([]), SimulationContext(), experiment="x").thread_id("a", 3) == local.thread_id("a", 3)


async def test_trials_are_spread_over_the_servers_and_each_thread_is_deleted_when_its_trial_is_stored(
    serve: Callable[..., LangGraphFake],
) -> None:
    first, second = serve(), serve()
    async with player_on(first.url, second.url) as player:
        kept = await play_grid(player)
    assert places(kept) == sorted(GRID)
    assert {trial.reward for trial in kept} == {1.0}
    assert kept[0].messages[0]["data"]["content"] == "Thank you."
    assert set((first.started + second.started).values()) == {1}
    assert min(first.started.total(), second.started.total()) >= 8
    assert first.contexts[0] == SimulationContext().model_dump(mode="json")
    assert not first.threads
    assert not second.threads
    assert len(first.deleted) + len(second.deleted) == len(GRID)


async def test_threads_stay_where_they_are_wanted(serve: Callable[..., LangGraphFake]) -> None:
    server = serve()
    async with player_on(server.url, keep_threads=True) as player:
        await play_grid(player)
    assert len(server.threads) == len(GRID)
    assert server.deleted == []


async def test_more_than_a_hundred_trials_are_in_flight_on_one_server(serve: Callable[..., LangGraphFake]) -> None:
    server = serve(lambda asked: Ending(played(asked), until=lambda: server.peak == 150))
    async with player_on(server.url, silence_s=60.0) as player, asyncio.timeout(90):
        kept = await play_grid(player, places=[("a", trial) for trial in range(150)], concurrency=150)
    assert server.peak == 150
    assert {trial.outcome for trial in kept} == {"passed"}


@pytest.mark.parametrize(
    ("status", "method", "end"),
    [
        (500, "POST", "/threads"),
        (503, "POST", "/runs"),
        (429, "POST", "/runs"),
        (502, "GET", "/state"),
        (408, "GET", "/state"),
    ],
)
async def test_a_server_that_fails_is_left_out_and_its_trial_is_played_by_another(
    serve: Callable[..., LangGraphFake], status: int, method: str, end: str
) -> None:
    first, second = serve(), serve()
    first.fault = fails_once(method, end, PlainTextResponse("overloaded", status))
    async with player_on(first.url, second.url) as player:
        trial = await player.play("a", 0, 7)
        await asyncio.sleep(0.3)
    assert trial.outcome == "passed"
    assert second.started == {("a", 0): 1}
    assert not first.threads, "what the failing server still has of it is removed when it answers again"


async def test_a_single_server_that_fails_once_finds_the_run_it_has_already(
    serve: Callable[..., LangGraphFake],
) -> None:
    server = serve()
    server.fault = fails_once("GET", "/state", PlainTextResponse("overloaded", 503))
    async with player_on(server.url) as player:
        assert (await player.play("a", 0, 7)).outcome == "passed"
    assert server.started == {("a", 0): 1}


async def test_a_server_that_dies_in_the_middle_loses_and_doubles_nothing(serve: Callable[..., LangGraphFake]) -> None:
    second = serve()
    with LangGraphFake(lambda asked: Ending(played(asked), after_s=0.1)) as first:
        async with player_on(first.url, second.url) as player:
            playing = asyncio.create_task(play_grid(player))
            while first.started.total() < 4:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(first.__exit__)
            kept = await playing
    assert places(kept) == sorted(GRID)
    assert {trial.outcome for trial in kept} == {"passed"}


async def test_when_no_server_is_left_the_rest_is_not_tried(serve: Callable[..., LangGraphFake]) -> None:
    server = serve()
    server.fault = lambda method, path: PlainTextResponse("down", 503) if server.started.total() >= 3 else None
    waiting = list(GRID)
    async with player_on(server.url, patience_s=0.3, on_gone=waiting.clear) as player:
        kept = await play_grid(player, places=waiting, concurrency=4)
    assert len(kept) <= 3 + 4
    lost = [trial for trial in kept if trial.outcome == "unscored"]
    assert {trial.failure.kind for trial in lost if trial.failure} == {"no_server"}
    assert f"none of {server.url} answers" in str(lost[0].failure)


async def test_a_trial_whose_servers_are_lost_again_and_again_is_given_up(serve: Callable[..., LangGraphFake]) -> None:
    servers = [serve(), serve()]
    for server in servers:
        server.fault = lambda method, path: PlainTextResponse("no", 500) if path.endswith("/runs") else None
    async with player_on(*(server.url for server in servers)) as player:
        trial = await player.play("a", 0, 7)
    assert trial.termination is Termination.INFRASTRUCTURE
    assert trial.failure is not None
    assert trial.failure.kind == "server_lost"
    assert f"given up after {ATTEMPTS} attempts" in trial.failure.message


async def test_a_connection_that_falls_silent_is_made_again_while_the_run_goes_on(
    serve: Callable[..., LangGraphFake],
) -> None:
    server = serve(lambda asked: Ending(played(asked), after_s=1.0))
    async with player_on(server.url, silence_s=0.2) as player:
        assert (await player.play("a", 0, 7)).outcome == "passed"
    assert server.started == {("a", 0): 1}


async def test_a_run_without_end_is_cancelled_and_left_unscored(serve: Callable[..., LangGraphFake]) -> None:
    server = serve(lambda asked: Ending(played(asked), after_s=60))
    fleet = Fleet([Server(server.url)])
    async with RemotePlayer(fleet, SimulationContext(), patience_s=0.3) as player:
        trial = await player.play("a", 0, 7)
    assert trial.failure is not None
    assert trial.failure.kind == "server_timeout"
    assert "no end after 0.3 s" in trial.failure.message
    assert len(server.cancelled) == 1
    assert not server.threads


@pytest.mark.parametrize(
    ("end", "kind", "message"),
    [
        (Ending({}, "error", "KeyError('oops')"), "server_error", r"the run failed on http.*: KeyError\('oops'\)"),
        (Ending({}, "timeout"), "server_timeout", "cut the run off at its own time limit"),
        (Ending({}, "interrupted"), "server_lost", r"given up after 5 attempts.*ended from outside \(interrupted\)"),
        (Ending({}, "error"), "server_lost", r"ended from outside \(error\)"),
        (Ending({}), "server_answer", "asked for task, trial and seed .*None"),
        (Ending(None), "server_answer", "cannot be read"),
        (Ending([1]), "server_answer", "cannot be read"),
        (Ending({"task_id": "b", "trial": 0, "seed": 7}), "server_answer", r"those of \('b', 0, 7\)"),
        (Ending({"task_id": "a", "trial": 0, "seed": 7}), "server_answer", "KeyError: 'termination'"),
        (Ending(played({"task_id": "a", "trial": 0, "seed": 7}, reward=2)), "server_answer", "less than or equal to 1"),
        (
            Ending(played({"task_id": "a", "trial": 0, "seed": 7}, messages=[{"type": "poem"}])),
            "server_answer",
            "unexpected message type: poem",
        ),
        (Ending(played({"task_id": "a", "trial": 0, "seed": 7}, messages=["hello"])), "server_answer", "TypeError"),
    ],
)
async def test_a_run_that_ends_without_a_readable_score_is_unscored_and_says_why(
    serve: Callable[..., LangGraphFake], end: Ending, kind: str, message: str
) -> None:
    async with player_on(serve(lambda asked: end).url) as player:
        trial = await player.play("a", 0, 7)
    assert (trial.task_id, trial.trial, trial.seed) == ("a", 0, 7)
    assert trial.termination is Termination.INFRASTRUCTURE
    assert trial.reward is None
    assert trial.failure is not None
    assert trial.failure.kind == kind
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(trial.failure.message)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (PlainTextResponse("<html>", 200), "server_answer"),
        (JSONResponse({"detail": "no"}, 422), "server_refused"),
        (JSONResponse({"detail": "who are you"}, 403), "server_refused"),
    ],
)
async def test_an_answer_that_no_server_of_ours_gives_leaves_the_trial_unscored(
    serve: Callable[..., LangGraphFake], answer: Response, kind: str
) -> None:
    server = serve()
    server.fault = fails_once("POST", "/runs", answer)
    async with player_on(server.url) as player:
        trial = await player.play("a", 0, 7)
    assert trial.failure is not None
    assert trial.failure.kind == kind
    assert server.url in trial.failure.message


async def test_a_trial_under_way_from_before_is_waited_for_and_not_started_again(
    serve: Callable[..., LangGraphFake],
) -> None:
    goes_on = False
    server = serve(lambda asked: Ending(played(asked), until=lambda: goes_on))
    async with player_on(server.url) as before, player_on(server.url) as after, asyncio.timeout(30):
        first = asyncio.create_task(before.play("a", 0, 7))
        while not server.started:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(after.play("a", 0, 7))
        await asyncio.sleep(0.2)
        goes_on = True
        assert [(await task).outcome for task in (first, second)] == ["passed", "passed"]
    assert server.started == {("a", 0): 1}


@pytest.mark.parametrize(
    ("before", "status", "marks"),
    [
        ({"reward": 0.0}, "success", {"fingerprint": "another"}),
        ({"reward": None}, "success", {"fingerprint": "this"}),
        ({"reward": 0.0}, "error", {"fingerprint": "this"}),
    ],
    ids=["another experiment's", "unscored", "failed"],
)
async def test_a_thread_that_holds_no_score_of_this_experiment_makes_way(
    serve: Callable[..., LangGraphFake], before: dict[str, Any], status: str, marks: dict[str, Any]
) -> None:
    ends = [Ending({}), Ending({})]
    server = serve(lambda asked: ends.pop())
    asked = {"task_id": "a", "trial": 0, "seed": 7}
    ends[1] = Ending(played(asked, **before), status, "boom" if status == "error" else None)
    ends[0] = Ending(played(asked))
    async with player_on(server.url, marks=marks, keep_threads=True) as earlier:
        await earlier.play("a", 0, 7)
    async with player_on(server.url, marks={"fingerprint": "this"}) as player:
        assert (await player.play("a", 0, 7)).reward == 1.0
    assert server.started == {("a", 0): 2}


async def test_the_second_interrupt_cancels_what_runs_on_the_servers(serve: Callable[..., LangGraphFake]) -> None:
    server = serve(lambda asked: Ending(played(asked), after_s=60))
    interrupt = Interrupt()
    async with player_on(server.url) as player:
        playing = asyncio.create_task(play_grid(player, concurrency=3, interrupt=interrupt))
        while server.started.total() < 3:
            await asyncio.sleep(0.01)
        interrupt.request()
        await asyncio.sleep(0.05)
        assert server.cancelled == []
        interrupt.request()
        assert await playing == []
    assert len(set(server.cancelled)) == 3
    assert not server.threads


async def test_a_provider_that_fails_on_a_server_is_told_with_the_server(serve: Callable[..., LangGraphFake]) -> None:
    failure = {"kind": "authentication", "message": "bad key", "actor": "agent", "traceback": None}
    changes = {"termination": "infrastructure", "reward": None, "failure": failure}
    server = serve(lambda asked: Ending(played(asked, **changes)))
    async with player_on(server.url) as player:
        trial = await player.play("a", 0, 7)
    assert trial.outcome == "unscored"
    assert trial.failure is not None
    assert (trial.failure.kind, trial.failure.message) == ("authentication", f"bad key (on {server.url})")


async def test_times_are_those_of_the_trial_and_not_of_the_queue(serve: Callable[..., LangGraphFake]) -> None:
    steps = [{"node": "user", "started": 100.0, "ended": 101.0}, {"node": "score", "started": 101.5, "ended": 103.25}]
    server = serve(lambda asked: Ending(played(asked, timeline=steps)))
    async with player_on(server.url) as player:
        trial = await player.play("a", 0, 7)
    assert trial.duration_s == 3.25
    assert trial.started_at is not None
    assert trial.started_at.timestamp() == 100.0


async def test_a_thread_that_could_not_be_deleted_at_once_is_deleted_in_the_end(
    serve: Callable[..., LangGraphFake],
) -> None:
    server = serve()
    faults = [PlainTextResponse("busy", 503)]
    server.fault = lambda method, path: faults.pop() if faults and method == "DELETE" else None
    async with player_on(server.url) as player:
        await play_grid(player)
    assert faults == []
    assert not server.threads
