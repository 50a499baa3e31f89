"""Results over HTTP, beside the graphs on LangGraph's server: experiments, trials, and pass^k with intervals.

Everything is read from the store that `TAUGRAPH_STORE` names, and nothing is written.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from taugraph.domains.errors import StoreError, TaugraphError, UnknownNameError
from taugraph.experiments.remote_health import say_identity, say_version
from taugraph.experiments.run import report_on
from taugraph.experiments.settings import find_store, without_secrets
from taugraph.experiments.store import Store, open_store

MOST_ROWS = 500
"""Trials that one answer holds at most."""

_OUTCOMES = ("passed", "failed")
"""What a scored trial came to."""

Answer = Callable[[Store, Request], Any]
"""Works an answer out of the store; runs in a thread of its own."""


def answered(work: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Make a route of a function: it runs in a thread, on a store that is opened for it."""

    @wraps(work)
    async def route(request: Request) -> Response:
        try:
            return JSONResponse(await asyncio.to_thread(_read, work, request))
        except UnknownNameError as error:
            return _refused(404, error)
        except StoreError as error:
            return _refused(503, error)
        except (TaugraphError, ValueError) as error:
            return _refused(400, error)

    return route


def _read(work: Answer, request: Request) -> Any:
    location = find_store(None)
    if "://" not in location and not Path(location).exists():
        raise StoreError(f"no results store at {location!r}: play a run, or name the store with TAUGRAPH_STORE")
    with open_store(location) as store:
        return work(store, request)


def _refused(status: int, error: Exception) -> Response:
    return JSONResponse({"error": " ".join(str(error).split())}, status_code=status)


@answered
def experiments(store: Store, request: Request) -> Any:
    """List the experiments, newest first."""
    return [
        {
            "experiment": row.experiment.name,
            "domain": row.experiment.domain,
            "agent": row.experiment.configuration.get("agent"),
            "privileged": row.experiment.privileged,
            "created_at": row.experiment.created_at.isoformat(),
            "counts": {name: getattr(row, name) for name in ("passed", "failed", "unscored", "planned")},
        }
        for row in store.experiments()
    ]


@answered
def experiment(store: Store, request: Request) -> Any:
    """Show what one experiment planned, without secrets."""
    found = store.experiment(request.path_params["name"])
    return without_secrets(found.model_dump(mode="json"))


@answered
def pass_hat_k(store: Store, request: Request) -> Any:
    """Show pass^k and pass@k with intervals, as the report has them."""
    report = report_on(request.path_params["name"], store).model_dump(mode="json")
    about = ("experiment", "domain", "agent", "user", "privileged", "tasks", "trials")
    return {name: report[name] for name in (*about, "counts", "pass_hat_k", "pass_at_k")}


@answered
def trials(store: Store, request: Request) -> Any:
    """List the scored trials; `outcome`, `task`, `offset` and `limit` narrow the list."""
    name, query = request.path_params["name"], request.query_params
    outcome, task_id = query.get("outcome"), query.get("task")
    if outcome not in (None, *_OUTCOMES):
        raise ValueError(f"cannot filter by outcome {outcome!r}: wanted one of {', '.join(_OUTCOMES)}")
    planned = store.experiment(name).task_ids
    if task_id is not None and task_id not in planned:
        raise UnknownNameError("task", task_id, planned)
    offset, limit = _number(query.get("offset"), 0), min(_number(query.get("limit"), 100), MOST_ROWS)
    rows = [
        {"task_id": row.task_id, "trial": row.trial, "outcome": row.outcome}
        for row in store.counts(name)
        if outcome in (None, row.outcome) and task_id in (None, row.task_id)
    ]
    return {"total": len(rows), "offset": offset, "trials": rows[offset : offset + limit]}


@answered
def trial(store: Store, request: Request) -> Any:
    """Show one trial whole."""
    place = request.path_params["task"], request.path_params["trial"]
    found = [row for row in store.trials(request.path_params["name"], place[0]) if row.trial == place[1]]
    if not found:
        raise UnknownNameError("scored trial", f"{place[0]}/{place[1]}", ())
    return found[0].model_dump(mode="json")


def _number(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"cannot read {text!r}: wanted a number of at least 0")
    return int(text)


app = Starlette(
    routes=[
        Route("/taugraph/health", say_version),
        Route("/taugraph/identity", say_identity, methods=["POST"]),
        Route("/taugraph/experiments", experiments),
        Route("/taugraph/experiments/{name}", experiment),
        Route("/taugraph/experiments/{name}/pass-hat-k", pass_hat_k),
        Route("/taugraph/experiments/{name}/trials", trials),
        Route("/taugraph/experiments/{name}/trials/{task:path}/{trial:int}", trial),
    ]
)
"""The routes, for `http.app` of `langgraph.json`."""
