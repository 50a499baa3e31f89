"""What the harness itself costs, without any model.

Scripted actors play airline trials one at a time: the demonstration actors on our data, recorded GPT-4o conversations
on tau-bench's. CPU is the process's clock, read where the parts of the harness meet; latencies are wall-clock medians
over calls, each the fastest of three. Floors are measured in the same run: bare LangGraph supersteps, bare sqlite3
transactions, a bare interpreter.
"""

import argparse
import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from floors import read_and_flush, read_and_write, replay_rows, run_supersteps, statements_of
from measure import (
    AIRLINE,
    clean_environment,
    data_folders,
    machine,
    median_ms,
    peak_mb,
    print_figure,
    print_shares,
    print_title,
    replaced,
    undisturbed_ms,
    wall_ms,
)
from parts import Played, build_scene, play_alone
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from taugraph.domains.changes import NetChanges
from taugraph.domains.domain import load_domain
from taugraph.domains.trial import Trial
from taugraph.experiments.play import Player
from taugraph.experiments.schedule import run_schedule
from taugraph.graphs import nodes
from taugraph.graphs.stage import Stage
from taugraph.tools.executor import Executor
from taugraph.tools.seed_image import seed_image

IN_FLIGHT = 32
"""Trials at a time where memory is measured."""

THINKING_S = 0.02
"""Seconds an actor takes to answer where memory is measured, so that trials overlap."""


def report_start() -> None:
    """Print how long the command line takes to show its help."""
    interpreter = median(wall_ms(lambda: _run(["-c", "pass"]), times=5))
    help_page = ["-c", "from taugraph.cli import main; main()", "--help"]
    assert "Usage" in _run(help_page)
    print_title("Start, wall, median of 5 (x interpreter alone)")
    print_figure(
        "taugraph --help", median(wall_ms(lambda: _run(help_page), times=5)), "ms", floor=interpreter, limit=700
    )


def _run(arguments: Sequence[str]) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def report_seed(data: Path | None) -> None:
    """Print how long the seed takes to load; the cache folder is empty at first."""
    print_title("Seed, wall")
    print_figure("reading tasks, policy and files", wall_ms(lambda: load_domain(AIRLINE, data))[0], "ms")
    domain = load_domain(AIRLINE, data)
    print_figure("image, cold: rows checked, inserted, kept", wall_ms(lambda: seed_image(domain))[0], "ms")
    print_figure("image, warm: from the cache", undisturbed_ms(lambda: seed_image(domain)), "ms")
    with closing(Executor(domain)) as executor:
        print_figure("first view of a new executor, warm", wall_ms(lambda: executor.database.read({}, id))[0], "ms")


def report_cpu(played: Played) -> None:
    """Print CPU per trial and its parts, beside the same walks through a graph of empty nodes."""
    started = time.process_time()
    asyncio.run(run_supersteps(played.walks))
    floor = (time.process_time() - started) / played.trials * 1e3
    supersteps = sum(map(len, played.walks)) / played.trials
    total = sum(played.shares.seconds.values()) / played.trials * 1e3
    print_title(f"CPU per trial, {played.trials} trials one by one, {supersteps:.1f} supersteps each")
    print_figure("whole trial (x LangGraph, empty nodes)", total, "ms", floor=floor, limit=80)
    print_shares(played.shares.seconds, played.trials)


def report_views(stage: Stage, ends: Sequence[Any], *, times: int) -> None:
    """Print what opening a trial's view costs, with nothing done in it."""

    def do_nothing(session: object) -> None:
        """Leave the session as it is."""

    database = stage.executor.database
    by_size = sorted((end.get("changes", {}) for end in ends), key=lambda changes: sum(map(len, changes.values())))
    changed = [changes for changes in by_size if changes]
    views = {"untouched": {}, "typical changes": changed[len(changed) // 2], "most changes": changed[-1]}
    print_title("View of a trial's database, wall (x sqlite3: begin, write the rows, rollback)")
    with closing(_bare_copy(stage)) as raw:
        for what, changes in views.items():
            rows = statements_of(stage.domain, changes)
            floor = median_ms(partial(replay_rows, raw, rows), times=times)
            spent = median_ms(partial(database.run, changes, do_nothing), times=times)
            print_figure(f"{what} ({len(rows)} rows)", spent, "ms", floor=floor, limit=1)


def _bare_copy(stage: Stage) -> sqlite3.Connection:
    raw = sqlite3.connect(":memory:", isolation_level=None)
    raw.deserialize(seed_image(stage.domain))
    return raw


def report_tool_calls(stage: Stage, ends: Sequence[Any], *, times: int) -> None:
    """Print how long the trials' own tool calls take, each made again from the state it was made in."""
    taken: dict[str, list[float]] = defaultdict(list)
    for state in ends:
        changes: NetChanges = {}
        for call in (call for message in state["messages"] for call in getattr(message, "tool_calls", ())):
            execute = partial(stage.executor.execute, call["name"], call["args"], changes)
            taken[call["name"]].append(undisturbed_ms(execute))
            changes = execute().changes
    with closing(_bare_copy(stage)) as raw:
        floor = median_ms(lambda: read_and_write(raw, stage.domain), times=times)
        engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        by_model = median_ms(lambda: read_and_flush(engine, stage.domain), times=times)
        engine.dispose()
    every = [value for values in taken.values() for value in values]
    print_title(f"Tool call, wall, {len(every)} calls (x sqlite3: begin, read a row, write it, rollback)")
    print_figure("median of all", median(every), "ms", floor=floor, limit=4)
    print_figure("median of all (x the same by SQLModel)", median(every), "ms", floor=by_model)
    print_figure("95th percentile of all", quantiles(every, n=20)[-1], "ms")
    for name, values in sorted(taken.items(), key=lambda item: -median(item[1])):
        print_figure(f"  {name} ({len(values)})", median(values), "ms")


def report_scoring(stage: Stage, ends: Sequence[Any]) -> None:
    """Print how long the score node takes on the finished trials."""
    taken = [undisturbed_ms(partial(nodes.score, stage, state)) for state in ends]
    print_title("Scoring a finished trial, wall")
    print_figure("median", median(taken), "ms", limit=5)
    print_figure("slowest", max(taken), "ms")


def report_memory(name: str) -> None:
    """Print the peak memory of a fresh process with trials in flight."""
    seen = json.loads(_run([__file__, "--in-flight", name]))
    print_title("Memory of a fresh process (x imports alone)")
    print_figure(f"peak, {seen['in_flight']} trials in flight", seen["peak"], "MB", floor=seen["imports"], limit=400)


def hold_in_flight(data: Path | None) -> dict[str, float]:
    """Play trials side by side, with actors that take their time.

    Returns:
        `imports` and `peak` memory in MB, and `in_flight`, the most trials that were under way at once.
    """
    imports = peak_mb()
    stage, places = build_scene(data, quick=False)
    player = Player(stage)
    flying = most = 0

    def slow(speak: Any) -> Any:
        async def thinking(view: Any) -> Any:
            await asyncio.sleep(THINKING_S)
            return await speak(view)

        return thinking

    async def play(task_id: str, trial: int) -> Trial:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        record = await player.play(task_id, trial, 0)
        flying -= 1
        return record

    async def check(trial: Trial) -> None:
        assert trial.failure is None, trial.failure

    with replaced(stage.agent, "reply", slow), replaced(stage.user, "speak", slow):
        asyncio.run(run_schedule(places, play, check, concurrency=IN_FLIGHT))
    return {"imports": imports, "peak": peak_mb(), "in_flight": most}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer trials and repetitions")
    parser.add_argument("--in-flight", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    folders = data_folders()
    if chosen.in_flight:
        print(json.dumps(hold_in_flight(folders[chosen.in_flight])))
        return
    times = 50 if chosen.quick else 300
    with clean_environment() as scratch:
        report_start()
        for name, data in folders.items():
            print(f"\n== {AIRLINE}, {name} data, {machine()}")
            (scratch / name).mkdir()
            report_seed(data)
            stage, places = build_scene(data, quick=chosen.quick)
            played = asyncio.run(play_alone(stage, places, scratch / name))
            report_cpu(played)
            report_views(stage, played.ends, times=times)
            report_tool_calls(stage, played.ends, times=times)
            report_scoring(stage, played.ends)
            stage.close()
            report_memory(name)


if __name__ == "__main__":
    main()
