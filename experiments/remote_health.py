"""What a server says about itself: its version, and what would move a score if trials were played there.

A run with `--server` refuses a server whose version, policy, tasks, tools or agent code are not its own.
"""

import json

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse

import taugraph
from taugraph.domains.errors import TaugraphError
from taugraph.domains.trial import SCORING_VERSION
from taugraph.experiments.plan import identity_of
from taugraph.experiments.settings import load_settings
from taugraph.graphs.casting import stage_for
from taugraph.graphs.context import SimulationContext


async def say_version(request: Request) -> JSONResponse:
    """Answer with the version and the scoring version."""
    return JSONResponse({"version": taugraph.__version__, "scoring_version": SCORING_VERSION})


async def say_identity(request: Request) -> JSONResponse:
    """Answer with the identity of a run under the sent `context` and `task_ids`, or with 400 and why there is none."""
    try:
        body = await request.json()
        context = SimulationContext.model_validate(body["context"])
        # In a thread, because it reads files, which must not hold up the server's event loop.
        return JSONResponse(await run_in_threadpool(_identity, context, list(body["task_ids"])))
    except (TaugraphError, ValidationError, ValueError, LookupError, TypeError) as error:
        return JSONResponse({"error": " ".join(str(error).split())}, status_code=400)


def _identity(context: SimulationContext, task_ids: list[str]) -> dict[str, str]:
    stage = stage_for(context)
    tasks = [stage.domain.task(task_id) for task_id in task_ids]
    options = {name: json.loads(getattr(context, name)) for name in ("agent_options", "user_options")}
    settings = load_settings(**context.model_dump(exclude=set(options)), **options)
    return identity_of(stage, settings, tasks)
