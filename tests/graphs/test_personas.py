"""Personas change how things are said, task by task, and never what."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from taugraph.cli import app
from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, DataError, UnknownNameError
from taugraph.experiments.plan import select_tasks
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import open_store
from taugraph.graphs.casting import in_personas
from taugraph.graphs.persona import find_persona, load_personas, read_persona

CANCEL = "cancel-within-a-day"
WANTED = {
    *("rational", "terse", "verbose", "impatient", "furious", "gen-z", "elderly", "non-native", "distracted"),
    *("sceptical", "over-friendly", "social-engineer", "mumbler"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    find_persona.cache_clear()
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def selected(personas: str, **given: Any) -> list[str]:
    settings = load_settings(personas=personas, **given)
    domain = in_personas(load_domain("airline"), settings.personas)
    return [task.id for task in select_tasks(domain, settings)]


def test_the_personas_that_people_meet_are_there() -> None:
    assert set(load_personas()) == WANTED


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_persona_says_how_and_never_what(name: str) -> None:
    persona = load_personas()[name]
    assert 40 <= len(persona.text.split()) <= 120
    assert len(persona.summary) <= 80
    assert not re.search(r"\d|[$€]|@", persona.text + persona.summary)


def test_no_two_personas_are_alike() -> None:
    words = [set(re.findall(r"\w+", persona.text.lower())) for persona in load_personas().values()]
    for place, first in enumerate(words):
        for second in words[place + 1 :]:
            assert len(first & second) < 0.6 * min(len(first), len(second))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("You are calm.", "front matter"),
        ("---\nsummary: calm\n---\n", "field text"),
        ("---\nsummary: calm\nname: other\n---\nYou are calm.", "no field but `summary`"),
        ("---\nsummary: [calm\n---\nYou are calm.", "front matter"),
        ("---\nsummary: 3\n---\nYou are calm.", "field summary"),
        ("first\n---\nsummary: calm\n---\nYou are calm.", "front matter"),
    ],
)
def test_a_bad_persona_file_is_refused_with_what_is_wrong(text: str, complaint: str) -> None:
    Path("mine.md").write_text(text)
    with pytest.raises(DataError, match=complaint):
        read_persona(Path("mine.md"))


def test_a_file_of_one_s_own_is_a_persona_named_after_it() -> None:
    Path("mine.md").write_text("---\r\nsummary: calm\r\n---\r\nYou are calm.\r\n")
    assert find_persona("mine.md").model_dump() == {"name": "mine", "summary": "calm", "text": "You are calm."}
    assert selected("mine.md", tasks=CANCEL) == [f"{CANCEL}@mine"]


def test_an_unknown_persona_is_refused_with_what_was_meant() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'furious'"):
        in_personas(load_domain("airline"), ["furius"])


def test_two_personas_of_one_name_are_refused() -> None:
    Path("terse.md").write_text("---\nsummary: x\n---\nYou are x.")
    with pytest.raises(ConfigurationError, match="two personas are named 'terse'"):
        in_personas(load_domain("airline"), ["terse", "terse.md"])


def test_every_task_is_played_with_every_persona_and_a_limit_counts_scenarios() -> None:
    assert selected("furious,terse", tasks=CANCEL) == [f"{CANCEL}@furious", f"{CANCEL}@terse"]
    assert selected("furious,terse", tasks=f"{CANCEL}@terse") == [f"{CANCEL}@terse"]
    limited = selected("furious,terse", limit=3)
    assert len(limited) == 6
    assert len({name.partition("@")[0] for name in limited}) == 3
    assert len(selected("all", tasks=CANCEL)) == len(WANTED)
    assert selected("all,terse", tasks=CANCEL) == selected("all", tasks=CANCEL)
    assert len(selected("terse", split="smoke")) == len(selected("", split="smoke"))


def test_a_run_is_sliced_by_persona_and_goes_on_with_the_same_ones(caplog: pytest.LogCaptureFixture) -> None:
    Path("mine.md").write_text("---\nsummary: calm\n---\nYou are calm.")
    words = ("run", "airline", "--limit", "2", "-k", "2", "--agent", "demo:0.5", "--personas", "furious,mine.md")
    ended = call(*words, "--name", "x", "--json")
    assert ended.exit_code == 0, ended.output
    assert "the demo user talks the same whatever the persona" in caplog.text
    report = json.loads(ended.stdout)
    assert report["tasks"] == 4
    assert sorted(one["persona"] for one in report["personas"]["slices"]) == ["furious", "mine.md"]
    Path("mine.md").write_text("---\nsummary: calm\n---\nYou are calmer.")
    find_persona.cache_clear()
    with open_store(".taugraph/results.db") as store:
        experiment = store.experiment("x")
        store.create_experiment(experiment.model_copy(update={"name": "unfinished"}))
    resumed = call("resume", "unfinished")
    assert resumed.exit_code == 2
    assert "personas: was" in resumed.stderr
