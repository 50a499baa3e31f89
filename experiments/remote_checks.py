"""What is checked before trials are sent to servers, so that what is wrong is told before the first one.

Every server has to serve the graph of this very version, find the domain, the actors and the planned tasks, and score
as we do. A run with the id of no task asks it: it sets everything up, calls no model and ends with the names it knows.
"""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
from langgraph_sdk.client import SyncLangGraphClient

import taugraph
from taugraph.domains.errors import ConfigurationError
from taugraph.domains.trial import SCORING_VERSION
from taugraph.experiments.plan import Identity, differing_keys
from taugraph.experiments.remote_server import GRAPH, key_headers
from taugraph.experiments.settings import RunSettings, without_secrets
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.state import SimulationState

HEALTH, IDENTITY = "/taugraph/health", "/taugraph/identity"
"""Routes that `remote_health` serves; a server without them is asked all the rest."""
PROBE_PATIENCE_S = 120.0
"""Seconds in which a server's queue has to get to a run that takes none."""

_LOG = logging.getLogger("taugraph")
_OF_THE_RUN = ("trials", "seed")
"""Names of the identity that are not in the context."""
_NO_TASK = "(no task: taugraph asks what is known here)"
_KEY_ADVICE = "set it in the environment of the servers, such as OPENAI_API_KEY, and leave it out here"


class ModelsElsewhere(ChatModels):
    """Models that are never called here: their keys are in the servers' environment, and need not be in ours."""

    def _init(self, reference: str, options: dict[str, Any], actor: str) -> Any:
        try:
            return super()._init(reference, options, actor)
        except ConfigurationError as error:
            if "no key was found" not in str(error):
                raise
            return super()._init(reference, {"api_key": "none", **options}, actor)


def check_settings(settings: RunSettings) -> None:
    """Refuse what cannot be played on a server.

    Raises:
        ConfigurationError: If an address is none, an option holds a secret, or a person is to answer.
    """
    if not settings.server:
        return
    for url in settings.server:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(
                f"cannot use --server {without_secrets(url)!r}: wanted an address such as http://127.0.0.1:2024"
            )
    if len(set(settings.server)) != len(settings.server):
        raise ConfigurationError("cannot use --server: an address stands there twice; name every server once")
    for name in ("agent_options", "user_options"):
        options = getattr(settings, name)
        if without_secrets(options) != options:
            option = f"--{name.replace('_', '-')}"
            raise ConfigurationError(f"{option} holds a secret, which is not sent to a server; {_KEY_ADVICE}")
    if settings.user == "human":
        raise ConfigurationError("--user human answers here, not on a server; leave out --server, or name another user")


def check_servers(
    urls: Sequence[str],
    context: SimulationContext,
    task_ids: Sequence[str],
    identity: Identity,
    *,
    patience_s: float = PROBE_PATIENCE_S,
) -> None:
    """Ask every server whether it can play these tasks as we would.

    Args:
        urls: Addresses.
        context: Settings of the run.
        task_ids: What is to be played.
        identity: What can move a score here; a server that tells its own has to tell the same.
        patience_s: Seconds in which its queue has to get to a run that takes none.

    Raises:
        ConfigurationError: If one does not answer, is another version, or lacks something; the message names it.
    """
    for url in urls:
        timeout = httpx.Timeout(30.0, connect=5.0)
        with httpx.Client(base_url=url, timeout=timeout, headers=key_headers()) as http:
            try:
                tells = _check_version(url, http)
                _check_graph(url, SyncLangGraphClient(http))
                _check_setup(url, _probe(SyncLangGraphClient(http), context, patience_s), task_ids)
                if tells:
                    _check_identity(url, http, {"context": context.model_dump(), "task_ids": task_ids}, identity)
            except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
                reason = f"{type(error).__name__}: {error}"[:300]
                raise ConfigurationError(
                    f"cannot use the server {url}: {reason}; wanted a LangGraph server that serves "
                    f"taugraph's langgraph.json, as `langgraph dev` does; correct --server or start it"
                ) from error


def _check_version(url: str, http: httpx.Client) -> bool:
    """Refuse another version, and return whether the server tells of itself at all."""
    http.get("/ok").raise_for_status()
    answer = http.get(HEALTH)
    if answer.status_code == httpx.codes.NOT_FOUND:
        _LOG.info("%s does not say which version of taugraph it has", url)
        return False
    answer.raise_for_status()
    theirs = answer.json()
    ours = {"version": taugraph.__version__, "scoring_version": SCORING_VERSION}
    if found := [
        f"{name}: {theirs.get(name)!r} there, {value!r} here"
        for name, value in ours.items()
        if theirs.get(name) != value
    ]:
        raise _other_version(url, "; ".join(found))
    return True


def _check_identity(url: str, http: httpx.Client, asked: dict[str, Any], ours: Identity) -> None:
    answer = http.post(IDENTITY, json=asked)
    if answer.status_code == httpx.codes.BAD_REQUEST:
        raise ConfigurationError(f"the server {url} cannot play this: {answer.json()['error']}"[:1_000])
    theirs = answer.raise_for_status().json()
    if keys := [key for key in differing_keys(ours, theirs) if key not in _OF_THE_RUN]:
        raise ConfigurationError(
            f"the server {url} would play under other conditions ({', '.join(keys)} differ); "
            f"install the same taugraph, data and agent on both sides"
        )


def _check_graph(url: str, client: SyncLangGraphClient) -> None:
    assistants = client.assistants.search(limit=1000)
    own = [one for one in assistants if one["graph_id"] == GRAPH]
    if not own:
        served = ", ".join(sorted({one["graph_id"] for one in assistants})) or "none"
        raise ConfigurationError(
            f"the server {url} has no graph {GRAPH!r}: it serves {served}; start it with taugraph's langgraph.json"
        )
    schemas = client.assistants.get_schemas(own[0]["assistant_id"])
    for what, schema, ours in (
        ("settings", schemas["context_schema"], set(SimulationContext.model_fields)),
        ("state", schemas["state_schema"], set(SimulationState.__annotations__)),
    ):
        theirs = set((schema or {}).get("properties", {}))
        if missing := sorted(ours - theirs):
            raise _other_version(url, f"its {what} lack {', '.join(missing)}")


def _other_version(url: str, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"the server {url} has another version of taugraph ({what}); install {taugraph.__version__} on both sides"
    )


def _probe(client: SyncLangGraphClient, context: SimulationContext, patience_s: float) -> Mapping[str, Any]:
    """Return the state of a run with the id of no task."""
    thread_id = str(uuid4())
    client.threads.create(thread_id=thread_id, metadata={"taugraph": "probe"})
    try:
        run = client.runs.create(
            thread_id,
            GRAPH,
            input={"task_id": _NO_TASK, "trial": 0, "seed": 0},
            context=context.model_dump(mode="json"),
            stream_mode="custom",
            durability="exit",
        )
        deadline = time.monotonic() + patience_s
        while client.runs.get(thread_id, run["run_id"])["status"] in ("pending", "running"):
            if time.monotonic() > deadline:
                client.runs.cancel(thread_id, run["run_id"])
                raise ValueError(f"its queue did not get to a run within {patience_s:g} s")
            time.sleep(0.1)
        return dict(client.threads.get_state(thread_id))
    finally:
        client.threads.delete(thread_id)


def _check_setup(url: str, state: Mapping[str, Any], task_ids: Sequence[str]) -> None:
    errors = [str(task["error"]) for task in state["tasks"] if task.get("error")]
    said = errors[0] if errors else json.dumps(state["values"])[:300]
    if not (said.startswith("UnknownNameError(") and _NO_TASK in said):
        raise ConfigurationError(f"the server {url} cannot play this: {said[:500]}; correct the settings or the server")
    if unknown := [task_id for task_id in task_ids if repr(task_id)[1:-1] not in said and task_id not in said]:
        raise ConfigurationError(
            f"the server {url} does not know {len(unknown)} of {len(task_ids)} tasks, such as {unknown[0]!r}; "
            f"install the same domain and data on both sides"
        )
