"""A whole run of the airline tasks with `ChatOpenAI` as agent and user, over HTTP, against a bare client's cost.

For every concurrency a fresh process plays the run and stores it, as `taugraph run` does, and then has a bare
`ChatOpenAI` send the same requests again, as many at a time. The server is a process of its own, so neither its CPU nor
its memory is counted; it shares the machine's cores, so trials per second are a lower bound.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gold_server import gold_server
from langchain_core.messages import convert_to_messages
from langchain_openai import ChatOpenAI
from measure import AIRLINE, clean_environment, data_folders, machine, peak_mb
from openai import DefaultAsyncHttpxClient

from taugraph.domains.trial import Trial
from taugraph.experiments.play import Player
from taugraph.experiments.run import start_run
from taugraph.experiments.schedule import in_rounds, run_schedule
from taugraph.experiments.settings import RunSettings
from taugraph.experiments.store import open_store
from taugraph.graphs.casting import build_stage
from taugraph.graphs.models import ChatModels

CONCURRENCY = (1, 8, 32)
"""Trials, and for the bare client requests, at a time."""

REFERENCE = "openai:gold"
"""The model of both actors; any name will do for the server."""

PROTOCOLS = {"own": "strict", "tau-bench": "tau-bench"}
"""Protocol by data: some of tau-bench's gold calls fail, which `strict` refuses."""

MOST_MEMORY_MB = 400
"""Limit of the peak memory with 32 trials in flight."""


class RecordingModels(ChatModels):
    """Chat models whose requests are kept as they are sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bodies: list[bytes] = []
        self.client = DefaultAsyncHttpxClient(event_hooks={"request": [self._keep]})

    def build(self, reference: str, options: Mapping[str, Any], *, actor: str) -> Any:
        """Return the model of that reference, on the recording client."""
        return super().build(reference, {**options, "http_async_client": self.client}, actor=actor)

    async def _keep(self, request: Any) -> None:
        self.bodies.append(request.content)


def measure(name: str, concurrency: int, trials: int, base_url: str, store: Path) -> dict[str, float]:
    """Play a run and have a bare client repeat its requests, in this process.

    Returns:
        `trials`, `passed`, `requests` per trial; CPU seconds and wall seconds of `run` and `bare`; `peak` and
        `imports` memory in MB.
    """
    imports = peak_mb()
    options = {"base_url": base_url, "api_key": "local"}
    settings = RunSettings(
        data=data_folders()[name],
        agent=REFERENCE,
        agent_options=options,
        user=REFERENCE,
        user_options=options,
        protocol=PROTOCOLS[name],
        trials=trials,
        concurrency=concurrency,
    )
    asyncio.run(record_round(settings.model_copy(update={"limit": 2})))  # first use imports and compiles
    found: list[Trial] = []
    with open_store(store / f"{name}-{concurrency}.db") as opened:
        run = start_run(settings, opened)
        started, clock = time.process_time(), time.perf_counter()
        ended = run.play(found.append)
        run_cpu, run_wall = time.process_time() - started, time.perf_counter() - clock
    assert ended is None, ended
    assert all(trial.failure is None for trial in found), next(trial.failure for trial in found if trial.failure)
    peak = peak_mb()
    bodies = asyncio.run(record_round(settings))
    bare_cpu, bare_wall = asyncio.run(repeat(bodies, options, concurrency=concurrency, times=trials))
    return {
        "trials": len(found),
        "passed": sum(trial.outcome == "passed" for trial in found),
        "requests": len(bodies) * trials / len(found),
        "run_cpu": run_cpu,
        "run_wall": run_wall,
        "bare_cpu": bare_cpu,
        "bare_wall": bare_wall,
        "peak": peak,
        "imports": imports,
    }


async def record_round(settings: RunSettings) -> list[bytes]:
    """Play every task once and return the bodies of all requests, in the order they were sent."""
    context = settings.context()
    models = RecordingModels(context.calls)
    stage = build_stage(context, models)
    task_ids = [task.id for task in stage.domain.tasks][: settings.limit]
    player = Player(stage)

    async def play(task_id: str, trial: int) -> Trial:
        return await player.play(task_id, trial, 0)

    async def check(trial: Trial) -> None:
        assert trial.failure is None, trial.failure

    try:
        await run_schedule(in_rounds(task_ids, 1), play, check, concurrency=settings.concurrency)
    finally:
        await models.client.aclose()
        stage.close()
    return models.bodies


async def repeat(
    bodies: Sequence[bytes], options: Mapping[str, str], *, concurrency: int, times: int
) -> tuple[float, float]:
    """Have a bare `ChatOpenAI` send the requests so many times; return CPU and wall seconds.

    What the client is given is made ready before the clock starts.
    """
    tools: dict[str, Any] = {}
    prompts = [_as_call(json.loads(body), tools) for body in bodies]
    waiting: Iterator[tuple[list[Any], dict[str, Any]]] = iter(prompts * times)
    async with DefaultAsyncHttpxClient() as client:
        model = ChatOpenAI(model="gold", max_retries=0, http_async_client=client, **options)

        async def work() -> None:
            for messages, parameters in waiting:
                await model.ainvoke(messages, **parameters)

        started, clock = time.process_time(), time.perf_counter()
        await asyncio.gather(*(work() for _ in range(concurrency)))
        return time.process_time() - started, time.perf_counter() - clock


def _as_call(body: dict[str, Any], tools: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the messages and parameters that make `ChatOpenAI` send that body; equal tools become one object."""
    parameters = {key: value for key, value in body.items() if key not in ("messages", "model", "stream")}
    if "tools" in parameters:
        parameters["tools"] = tools.setdefault(json.dumps(parameters["tools"]), parameters["tools"])
    return convert_to_messages(body["messages"]), parameters


def report(name: str, delay_ms: int, trials: int, scratch: Path) -> None:
    """Print one line for every concurrency."""
    protocol = PROTOCOLS[name]
    print(
        f"\n== {AIRLINE}, {name} data, protocol {protocol}, x {trials}, server answers after {delay_ms} ms, {machine()}"
    )
    print("  at a   trials  requests  CPU per trial, ms          trials per s      peak    MB over")
    print("  time   passed  a trial    run    bare   ratio     run    bare     MB      imports")
    for concurrency in CONCURRENCY:
        store = scratch / f"{name}-{delay_ms}"
        store.mkdir(exist_ok=True)
        with gold_server(data_folders()[name], protocol, delay_ms) as base_url:
            arguments = ["--measure", name, str(concurrency), str(trials), base_url, str(store)]
            seen = json.loads(
                subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE).stdout
            )
        _print_line(concurrency, seen)


def _print_line(concurrency: int, seen: Mapping[str, float]) -> None:
    trials = seen["trials"]
    run, bare = (seen[f"{side}_cpu"] / trials * 1e3 for side in ("run", "bare"))
    kept = f"  limit {MOST_MEMORY_MB}: {'ok' if seen['peak'] < MOST_MEMORY_MB else 'OVER'}" if concurrency == 32 else ""
    print(
        f"  {concurrency:>4}  {seen['passed']:>3.0f}/{trials:<4.0f}{seen['requests']:>8.1f}"
        f"{run:>9.1f}{bare:>8.1f}{run / bare:>7.2f}x"
        f"{trials / seen['run_wall']:>9.1f}{trials / seen['bare_wall']:>8.1f}"
        f"{seen['peak']:>8.0f}{seen['peak'] - seen['imports']:>9.0f}{kept}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one trial of each task, our data, no delay")
    parser.add_argument("--delays-ms", default="0,20", help="milliseconds the server takes, separated by commas")
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        name, concurrency, trials, base_url, store = chosen.measure
        print(json.dumps(measure(name, int(concurrency), int(trials), base_url, Path(store))))
        return
    with clean_environment() as scratch:
        for name in ["own"] if chosen.quick else data_folders():
            for delay_ms in [0] if chosen.quick else map(int, chosen.delays_ms.split(",")):
                report(name, delay_ms, 1 if chosen.quick else 4, scratch)


if __name__ == "__main__":
    main()
