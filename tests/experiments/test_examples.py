"""Examples from an earlier experiment: of other tasks, of the same world, and the same again after a resume."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer
from support.tiny_airline import Place, TinyAirlineScript, write_tiny_airline

from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.experiments.examples import choose_examples, context_with_examples
from taugraph.experiments.run import resume_run, start_run
from taugraph.experiments.settings import RunSettings, load_settings
from taugraph.experiments.store import Store, open_store
from taugraph.graphs.casting import in_personas

TASKS, TRIALS = 6, 2


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_tiny_airline(tmp_path / "data", tasks=TASKS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "kept" / "results.db") as opened:
        yield opened


def passes(place: Place) -> bool:
    """Task 1 never, task 2 at its second attempt, the others always."""
    return place[0] != "1" and place != ("2", 0)


@pytest.fixture
def server(data: Path) -> Iterator[OpenAIServer]:
    domain = load_domain("airline", data)
    tasks = [*domain.tasks, *in_personas(domain, ["rational"]).tasks]
    script = TinyAirlineScript(tasks, trials=TRIALS, passes=passes)
    with OpenAIServer(script) as running:
        yield running


def settings(server: OpenAIServer, data: Path | None, **given: Any) -> RunSettings:
    options = {"base_url": server.base_url, "api_key": "local", **given.pop("options", {})}
    base: dict[str, Any] = {"agent": "openai:scripted", "agent_options": options, "data": data, "trials": TRIALS}
    return load_settings(**(base | {"user": "openai:scripted", "user_options": wire(server)} | given))


def wire(server: OpenAIServer) -> dict[str, Any]:
    return {"base_url": server.base_url, "api_key": "local"}


def few_shot(server: OpenAIServer, data: Path | None, **given: Any) -> RunSettings:
    return settings(server, data, **({"strategy": "few-shot", "examples": "good", "tasks": "4,5"} | given))


def play_source(server: OpenAIServer, data: Path, store: Store, **given: Any) -> None:
    start_run(settings(server, data, **given), store, "good").play()


def shown(server: OpenAIServer) -> str:
    """Return the system prompt of the last request by an agent."""
    requests = [request.body for request in server.requests]
    agents = [each for each in requests if "end_conversation" not in json.dumps(each.get("tools", []))]
    prompt: str = agents[-1]["messages"][0]["content"]
    return prompt


def places(lines: str) -> list[Place]:
    return [(each["task_id"], each["trial"]) for each in map(json.loads, lines.splitlines())]


def kept_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "kept").glob("examples-*"))


def test_a_run_is_shown_the_passed_trials_of_other_tasks(
    server: OpenAIServer, data: Path, store: Store, tmp_path: Path
) -> None:
    play_source(server, data, store)
    run = start_run(few_shot(server, data), store, "x")
    assert run.play() is None
    assert [trial.outcome for trial in store.trials("x")] == ["passed"] * 4
    (file,) = kept_files(tmp_path)
    # Task 1 never passed; of task 2 the second attempt did; 4 and 5 are played themselves.
    assert places(file.read_text()) == [("0", 0), ("2", 1), ("3", 0)]
    assert 'Agent calls cancel_reservation with {"reservation_id": "RRRRR1"}' in shown(server)
    assert "## Example 3" in shown(server)
    assert store.trials("x")[0].notes["examples"] == {"shown": 3, "left_out": 0}
    identity = store.experiment("x").configuration["identity"]
    assert identity["examples"] == file.stem.removeprefix("examples-")
    assert store.experiment("x").configuration["examples"] == "good"


def test_as_many_examples_are_taken_as_asked_for(server: OpenAIServer, data: Path, store: Store) -> None:
    play_source(server, data, store)
    source = store.experiment("good")
    chosen = choose_examples(source, few_shot(server, data), store, limit=2)
    assert places(chosen) == [("0", 0), ("2", 1)]
    assert choose_examples(source, few_shot(server, data), store, limit=2) == chosen
    context = context_with_examples(few_shot(server, data, options={"examples_limit": 1}), store)
    assert places(Path(context.examples or "").read_text()) == [("0", 0)]


def test_variants_of_a_played_task_are_no_examples(server: OpenAIServer, data: Path, store: Store) -> None:
    play_source(server, data, store, tasks="0,3", personas="rational", trials=1)
    assert store.experiment("good").task_ids == ("0@rational", "3@rational")
    source = store.experiment("good")
    plain = few_shot(server, data, tasks="0")
    assert places(choose_examples(source, plain, store, limit=9)) == [("3@rational", 0)]
    in_persona = few_shot(server, data, tasks="3", personas="rational")
    assert places(choose_examples(source, in_persona, store, limit=9)) == [("0@rational", 0)]
    with pytest.raises(ConfigurationError, match="got 2 tasks, 2 of them played here, and none of the others passed"):
        choose_examples(source, few_shot(server, data, tasks="0,3"), store, limit=9)


@pytest.mark.parametrize(("tasks", "played"), [("0,1,2,3,4,5", 6), ("0,2,3,4,5", 5)])
def test_a_run_with_no_example_left_is_refused(
    server: OpenAIServer, data: Path, store: Store, tasks: str, played: int
) -> None:
    play_source(server, data, store)
    with pytest.raises(ConfigurationError, match=f"'good' has no example .*got 6 tasks, {played} of them played"):
        start_run(few_shot(server, data, tasks=tasks), store, "x")
    assert [each.experiment.name for each in store.experiments()] == ["good"]


def test_an_experiment_on_another_world_is_refused(server: OpenAIServer, data: Path, store: Store) -> None:
    play_source(server, data, store, tasks="0", trials=1)
    (data / "wiki.md").write_text("# Another policy\n")
    with pytest.raises(ConfigurationError, match="'good' are no examples for this run: policy differ"):
        start_run(few_shot(server, data), store, "x")
    with pytest.raises(ConfigurationError, match=r"are no examples for this run: .*seed_data, policy"):
        start_run(few_shot(server, None, tasks="cancel-within-a-day"), store, "x")
    with pytest.raises(ConfigurationError, match="are no examples for this run: domain, "):
        start_run(few_shot(server, None, domain="retail", tasks=()), store, "x")


def test_a_name_that_is_neither_a_file_nor_an_experiment_is_told(
    server: OpenAIServer, data: Path, store: Store
) -> None:
    play_source(server, data, store, tasks="0", trials=1)
    with pytest.raises(UnknownNameError, match=r"no examples file or experiment named 'god': .*did you mean 'good'"):
        start_run(few_shot(server, data, examples="god"), store, "x")


def test_a_demonstration_may_serve_as_example_but_it_is_said(
    server: OpenAIServer, data: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    start_run(load_settings(data=data, agent="demo:0", trials=1, tasks="0"), store, "good").play()
    with caplog.at_level(logging.WARNING, "taugraph"):
        assert start_run(few_shot(server, data), store, "x").play() is None
    assert "examples of experiment good are by an agent that was given the answers" in caplog.text
    assert "Agent calls cancel_reservation" in shown(server)
    assert not store.experiment("x").privileged


def test_a_resume_shows_the_same_examples_though_there_are_more_by_now(
    server: OpenAIServer, data: Path, store: Store, tmp_path: Path
) -> None:
    with open_store(tmp_path / "aside.db") as aside:
        play_source(server, data, aside)
        trials = aside.trials("good")
    start_run(settings(server, data), store, "good")._stage.close()
    store.add_trial("good", next(trial for trial in trials if trial.task_id == "3"))
    start_run(few_shot(server, data), store, "x")._stage.close()
    (file,) = kept_files(tmp_path)
    assert places(file.read_text()) == [("3", 0)]
    for trial in trials[:4]:
        store.add_trial("good", trial)
    given = {"agent_options": wire(server), "user_options": wire(server)}
    assert resume_run("x", store, **given).play() is None
    assert kept_files(tmp_path) == [file]
    assert "## Example 2" not in shown(server)
    file.unlink()
    with pytest.raises(ConfigurationError, match=r"\(examples: was"):
        resume_run("x", store, **given)


def test_examples_that_got_lost_are_found_again(server: OpenAIServer, data: Path, store: Store, tmp_path: Path) -> None:
    play_source(server, data, store)
    start_run(few_shot(server, data), store, "x")._stage.close()
    (file,) = kept_files(tmp_path)
    content = file.read_text()
    file.write_text("spoiled")
    given = {"agent_options": wire(server), "user_options": wire(server)}
    resume_run("x", store, **given)._stage.close()
    assert file.read_text() == content
    file.unlink()
    assert resume_run("x", store, **given).play() is None
    assert [trial.outcome for trial in store.trials("x")] == ["passed"] * 4


def test_a_resume_on_changed_examples_is_refused(
    server: OpenAIServer, data: Path, store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"messages": [{"role": "assistant", "content": "Hello"}]}))
    start_run(few_shot(server, data, examples=str(file)), store, "x")._stage.close()
    file.write_text(json.dumps({"messages": [{"role": "assistant", "content": "Goodbye"}]}))
    with pytest.raises(ConfigurationError, match=r"'x' cannot go on under other conditions \(examples: was [0-9a-f]+"):
        resume_run("x", store, agent_options=wire(server), user_options=wire(server))


def test_a_resume_under_another_prompt_is_refused(
    server: OpenAIServer, data: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_run(settings(server, data, strategy="reflect"), store, "x")._stage.close()
    monkeypatch.setattr("taugraph.graphs.agents.reflect.ReflectingAgent.instructions", "Be brief.")
    with pytest.raises(ConfigurationError, match=r"\(agent_prompt: was"):
        resume_run("x", store, agent_options=wire(server), user_options=wire(server))
