"""What cannot be played on a server is refused before the first trial, with what to do about it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, PlainTextResponse
from support.langgraph_fake import Ending, LangGraphFake, no_task, played
from support.tiny_airline import write_tiny_airline
from typer.testing import CliRunner

import taugraph
from taugraph import cli
from taugraph.domains.errors import ConfigurationError
from taugraph.domains.trial import SCORING_VERSION
from taugraph.experiments.plan import identity_of, select_tasks
from taugraph.experiments.remote_checks import ModelsElsewhere, check_servers
from taugraph.experiments.run import resume_run, start_run
from taugraph.experiments.serving import app
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import Store, open_store
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext

HEALTHY = {"version": taugraph.__version__, "scoring_version": SCORING_VERSION}


@pytest.fixture
def serve() -> Iterator[Callable[..., LangGraphFake]]:
    with ExitStack() as stack:
        yield lambda script=knowing: stack.enter_context(LangGraphFake(script))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.chdir(tmp_path)
    write_tiny_airline(tmp_path / "data", tasks=3)
    with open_store(tmp_path / "results.db") as opened:
        yield opened


def knowing(asked: dict[str, Any]) -> Ending:
    """Know the tasks of the tiny airline, and pass them all."""
    return no_task(asked, "0", "1", "2") if asked["task_id"].startswith("(") else Ending(played(asked))


def start(store: Store, name: str = "x", **given: Any) -> Any:
    return start_run(load_settings(**{"data": "data", "trials": 2} | given), store, name)


def test_a_run_on_a_server_leaves_neither_address_nor_difference_in_the_store(
    serve: Callable[..., LangGraphFake], store: Store
) -> None:
    server = serve()
    server.health = None
    start(store, "here").play()
    start(store, "there", server=server.url).play()
    here, there = store.experiment("here"), store.experiment("there")
    assert here.fingerprint == there.fingerprint
    assert here.configuration == there.configuration
    assert server.url not in str(there.configuration)
    assert len(store.counts("there")) == 6


def test_when_every_server_is_gone_the_rest_is_missing_and_a_resume_elsewhere_plays_it(
    serve: Callable[..., LangGraphFake], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taugraph.experiments.remote.FLEET_PATIENCE_S", 0.3)
    dying, fresh = serve(), serve()
    run = start(store, server=dying.url, concurrency=2, trials=4)
    dying.started.clear()
    dying.fault = lambda method, path: PlainTextResponse("", 503) if dying.started.total() >= 4 else None
    assert run.play() is None
    done = len(store.counts("x"))
    assert 0 < done <= 4
    assert run.missing == 12 - done
    assert len(store.unscored("x")) <= 2
    again = resume_run("x", store, server=fresh.url)
    fresh.started.clear()
    assert again.play() is None
    assert again.missing == 0
    assert fresh.started.total() == 12 - done


def test_the_command_line_says_that_trials_are_missing_and_resumes_them_on_another_server(
    serve: Callable[..., LangGraphFake], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taugraph.experiments.remote.FLEET_PATIENCE_S", 0.3)
    dying, fresh = serve(), serve()
    dying.fault = lambda method, path: PlainTextResponse("", 503) if dying.started.total() >= 4 else None
    words = ["--name", "cli", "--data", "data", "-k", "2", "--concurrency", "2", "--store", "results.db"]
    ended = CliRunner().invoke(cli.app, ["run", *words, "--server", dying.url])
    assert ended.exit_code == 1, ended.output
    assert "trials missing: " in ended.output
    assert 0 < len(store.missing("cli")) < 6
    ended = CliRunner().invoke(
        cli.app, ["resume", "cli", "--store", "results.db", "--server", fresh.url, "--keep-threads"]
    )
    assert ended.exit_code == 0, ended.output
    assert store.missing("cli") == []
    assert fresh.threads


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"server": "127.0.0.1:2024"}, "cannot use --server '127.0.0.1:2024': wanted an address such as http"),
        ({"server": "ftp://host"}, "wanted an address such as http"),
        ({"server": "http://h:1,http://h:1"}, "an address stands there twice"),
        ({"user": "human"}, "--user human answers here, not on a server"),
        (
            {"agent": "openai:x", "agent_options": '{"api_key": "sk-1"}'},
            "--agent-options holds a secret, which is not sent to a server; set it in the environment of the servers",
        ),
        ({"user": "openai:x", "user_options": '{"default_headers": {"Cookie": "c"}}'}, "--user-options holds a secret"),
    ],
)
def test_settings_that_no_server_can_play_are_refused(store: Store, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        start(store, **{"server": "http://127.0.0.1:9"} | given)
    assert "sk-1" not in str(caught.value)
    assert store.experiments() == []


def test_a_server_that_does_not_answer_is_refused_and_nothing_is_planned(store: Store) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot use the server http://127\.0\.0\.1:9: .*correct --server"):
        start(store, server="http://127.0.0.1:9")
    assert store.experiments() == []


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"health": HEALTHY | {"scoring_version": 1}}, r"another version of taugraph \(scoring_version: 1 there, "),
        ({"health": HEALTHY | {"version": "9.9"}}, "version: '9.9' there"),
        ({"lacks": {"personas", "protocol"}}, "its settings lack personas, protocol"),
        ({"graphs": ["weather"]}, "has no graph 'simulation': it serves weather"),
        ({"graphs": []}, "it serves none"),
        ({"fault": lambda method, path: PlainTextResponse("hi")}, "wanted a LangGraph server that serves"),
        ({"fault": lambda method, path: JSONResponse({"detail": "key?"}, 401)}, "401"),
        ({"script": lambda asked: no_task(asked, "0", "2")}, "does not know 1 of 3 tasks, such as '1'"),
        (
            {"script": lambda asked: Ending({}, "error", "ConfigurationError('no key was found; set X_API_KEY')")},
            r"cannot play this: ConfigurationError\('no key was found",
        ),
    ],
)
def test_a_server_of_another_kind_is_refused(
    serve: Callable[..., LangGraphFake], store: Store, broken: dict[str, Any], message: str
) -> None:
    server = serve()
    for name, value in broken.items():
        setattr(server, name, value)
    with pytest.raises(ConfigurationError, match=message):
        start(store, server=server.url)
    assert store.experiments() == []
    assert not server.threads, "the probe leaves nothing behind"


def test_a_server_with_another_policy_is_refused_and_one_that_plays_the_same_is_not(
    serve: Callable[..., LangGraphFake], store: Store
) -> None:
    start(store, "here")
    same = store.experiment("here").configuration["identity"]
    server = serve()
    server.health = HEALTHY
    for answer, message in (
        ((200, same | {"policy": "0", "tasks": "1", "seed": "9"}), r"under other conditions \(policy, tasks differ\)"),
        ((400, {"error": "no domain named 'x'"}), "cannot play this: no domain named 'x'"),
        ((500, {}), "cannot use the server .*500"),
    ):
        server.identity = answer
        with pytest.raises(ConfigurationError, match=message):
            start(store, server=server.url)
    server.identity = (200, same | {"trials": "9"})
    assert start(store, server=server.url).play() is None


def test_a_queue_that_never_gets_to_the_probe_is_refused(serve: Callable[..., LangGraphFake]) -> None:
    server = serve(lambda asked: Ending({}, after_s=60))
    with pytest.raises(ConfigurationError, match=r"its queue did not get to a run within 0\.2 s"):
        check_servers([server.url], SimulationContext(), ["0"], {}, patience_s=0.2)
    assert len(server.cancelled) == 1


async def test_a_server_tells_the_identity_that_a_run_has_here() -> None:
    settings = load_settings(agent="demo:0.6", seed=3)
    stage = build_stage(settings.context())
    tasks = select_tasks(stage.domain, settings)[:2]
    ours = identity_of(stage, settings, tasks)
    asked = {"context": settings.context().model_dump(), "task_ids": [task.id for task in tasks]}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as http:
        theirs = (await http.post("/taugraph/identity", json=asked)).json()
        assert {key for key in ours if ours[key] != theirs[key]} <= {"trials", "seed"}
        assert (await http.get("/taugraph/health")).json() == HEALTHY
        for wrong in ({}, [], asked | {"task_ids": ["none"]}, asked | {"context": {"domain": "nowhere"}}):
            answer = await http.post("/taugraph/identity", json=wrong)
            assert answer.status_code == 400
            assert answer.json()["error"]


def test_a_model_whose_key_is_on_the_servers_can_be_planned_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    stage = build_stage(SimulationContext(agent="openai:gpt-4.1"), ModelsElsewhere())
    assert stage.agent.reference == "openai:gpt-4.1"
    with pytest.raises(ConfigurationError, match="no such provider"):
        build_stage(SimulationContext(agent="nobody:x"), ModelsElsewhere())
