"""Every place is played once, in rounds, and what ends a run early loses nothing that was played."""

import asyncio
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from taugraph.domains.errors import StoreError
from taugraph.domains.trial import Failure, Termination, Trial
from taugraph.experiments.schedule import Interrupt, Place, in_rounds, run_schedule

PLACES = in_rounds(["a", "b", "c"], 8)


def build_trial(task_id: str, trial: int, kind: str | None = None) -> Trial:
    failure = Failure(kind=kind, message="no entry", actor="agent") if kind else None
    end = Termination.INFRASTRUCTURE if kind else Termination.USER_STOP
    return Trial(task_id=task_id, trial=trial, seed=0, termination=end, reward=None if kind else 1.0, failure=failure)


class Stage:
    """Counts what is played and kept; a play takes a few turns of the event loop, unlike for each place."""

    def __init__(self, kinds: dict[Place, str] | None = None) -> None:
        self.played: list[Place] = []
        self.kept: list[Place] = []
        self.running = self.peak = 0
        self._kinds = kinds or {}

    async def play(self, task_id: str, trial: int) -> Trial:
        self.played.append((task_id, trial))
        self.running += 1
        self.peak = max(self.peak, self.running)
        for _ in range(1 + (len(self.played) * 7) % 5):
            await asyncio.sleep(0)
        self.running -= 1
        return build_trial(task_id, trial, self._kinds.get((task_id, trial)))

    async def keep(self, trial: Trial) -> None:
        await asyncio.sleep(0)
        self.kept.append((trial.task_id, trial.trial))

    def keep_then(self, act: Callable[[], None], *, after: int) -> Callable[[Trial], Awaitable[None]]:
        async def keep(trial: Trial) -> None:
            await self.keep(trial)
            if len(self.kept) == after:
                act()

        return keep


@pytest.mark.parametrize("concurrency", [1, 3, 16, 100])
async def test_every_place_is_played_and_kept_exactly_once(concurrency: int) -> None:
    stage = Stage()
    assert await run_schedule(PLACES, stage.play, stage.keep, concurrency=concurrency) is None
    assert Counter(stage.played) == Counter(stage.kept) == Counter(PLACES)


@pytest.mark.parametrize("concurrency", [1, 3, 16])
async def test_as_many_trials_run_at_once_as_allowed_and_no_more(concurrency: int) -> None:
    stage = Stage()
    await run_schedule(PLACES, stage.play, stage.keep, concurrency=concurrency)
    assert stage.peak == concurrency


async def test_nothing_to_play_is_no_reason_to_end_early() -> None:
    stage = Stage()
    assert await run_schedule([], stage.play, stage.keep, concurrency=4) is None


def test_places_come_in_rounds_of_all_tasks() -> None:
    assert in_rounds(["b", "a"], 2) == [("b", 0), ("a", 0), ("b", 1), ("a", 1)]


async def test_a_trial_that_cannot_be_kept_ends_the_run_and_the_kept_ones_stay() -> None:
    stage = Stage()

    def refuse() -> None:
        raise StoreError("disk full")

    with pytest.raises(StoreError, match="disk full"):
        await run_schedule(PLACES, stage.play, stage.keep_then(refuse, after=5), concurrency=3)
    assert len(stage.played) <= 5 + 3
    assert len(stage.kept) == len(set(stage.kept)) >= 5


async def test_the_first_interrupt_lets_running_trials_finish_and_starts_no_other() -> None:
    stage, interrupt = Stage(), Interrupt()
    keep = stage.keep_then(interrupt.request, after=4)
    assert await run_schedule(PLACES, stage.play, keep, concurrency=3, interrupt=interrupt) == "interrupted"
    assert Counter(stage.played) == Counter(stage.kept)
    assert 4 <= len(stage.played) <= 4 + 3


async def test_an_interrupt_before_the_start_plays_nothing() -> None:
    stage, interrupt = Stage(), Interrupt()
    interrupt.request()
    assert await run_schedule(PLACES, stage.play, stage.keep, concurrency=3, interrupt=interrupt) == "interrupted"
    assert stage.played == []


async def test_the_second_interrupt_cuts_running_trials_off() -> None:
    stage, interrupt, stuck = Stage(), Interrupt(), []

    async def play(task_id: str, trial: int) -> Trial:
        if trial:
            stuck.append((task_id, trial))
            if len(stuck) == 2:
                interrupt.request()
                interrupt.request()
            await asyncio.Event().wait()
        return await stage.play(task_id, trial)

    async with asyncio.timeout(5):
        ended = await run_schedule(PLACES, play, stage.keep, concurrency=2, interrupt=interrupt)
    assert ended == "interrupted"
    assert stuck == [("a", 1), ("b", 1)]
    assert Counter(stage.kept) == Counter([("a", 0), ("b", 0), ("c", 0)])


@pytest.mark.parametrize("requests", [0, 1])
async def test_a_cancellation_from_outside_is_not_taken_for_an_interrupt(requests: int) -> None:
    running, interrupt = asyncio.Event(), Interrupt()

    async def play(task_id: str, trial: int) -> Trial:
        running.set()
        await asyncio.Event().wait()
        raise AssertionError("never")

    task = asyncio.create_task(run_schedule(PLACES, play, Stage().keep, concurrency=2, interrupt=interrupt))
    await running.wait()
    for _ in range(requests):
        interrupt.request()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("kind", "advice"), [("authentication", "give a valid key .* --agent-options"), ("unknown_model", "right --agent")]
)
async def test_a_failure_that_all_would_meet_ends_the_run_with_advice(kind: str, advice: str) -> None:
    stage = Stage({("b", 0): kind})
    ended = await run_schedule(PLACES, stage.play, stage.keep, concurrency=2)
    assert ended is not None
    assert re.search(advice, ended)
    assert "no entry" in ended
    assert len(stage.played) <= 2 + 2
    assert Counter(stage.played) == Counter(stage.kept)


@pytest.mark.parametrize("kind", ["rate_limit", "connection", "timeout", "harness"])
async def test_a_failure_that_may_pass_ends_nothing(kind: str) -> None:
    stage = Stage({("b", 0): kind})
    assert await run_schedule(PLACES, stage.play, stage.keep, concurrency=2) is None
    assert len(stage.kept) == len(PLACES)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_is_a_request_while_the_run_lasts_and_its_handler_comes_back(kind: signal.Signals) -> None:
    interrupt, before = Interrupt(), signal.getsignal(kind)
    with interrupt.on_signals():
        os.kill(os.getpid(), kind)
        await asyncio.sleep(0.05)
    assert interrupt.requests == 1
    assert signal.getsignal(kind) is before


def test_a_run_outside_the_main_thread_leaves_signals_alone() -> None:
    stage, ended = Stage(), []

    async def run() -> None:
        interrupt = Interrupt()
        with interrupt.on_signals():
            ended.append(await run_schedule(PLACES, stage.play, stage.keep, concurrency=4, interrupt=interrupt))

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join(10)
    assert ended == [None]
    assert len(stage.kept) == len(PLACES)
