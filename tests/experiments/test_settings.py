"""Settings come from the command line, the environment, the file and the defaults, in this order; secrets stay out."""

import json
from pathlib import Path
from typing import Any

import pytest

from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.experiments.settings import HIDDEN, RunSettings, load_settings, restored, without_secrets


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in RunSettings.model_fields:
        monkeypatch.delenv(f"TAUGRAPH_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_toml(text: str) -> None:
    Path("taugraph.toml").write_text(text)


def test_what_is_given_beats_the_environment_beats_the_file_beats_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().trials == 4
    write_toml("trials = 5\n")
    assert load_settings().trials == 5
    monkeypatch.setenv("TAUGRAPH_TRIALS", "6")
    assert load_settings().trials == 6
    assert load_settings(trials=7).trials == 7


def test_none_counts_as_not_given() -> None:
    write_toml("seed = 3\n")
    assert load_settings(seed=None).seed == 3


def test_task_ids_are_comma_text_in_the_environment_and_a_list_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write_toml('tasks = ["a", 7]\n')
    assert load_settings().tasks == ("a", "7")
    write_toml('tasks = "a, b"\n')
    assert load_settings().tasks == ("a", "b")
    monkeypatch.setenv("TAUGRAPH_TASKS", "c,,d ,")
    assert load_settings().tasks == ("c", "d")
    assert load_settings(tasks="e").tasks == ("e",)


def test_options_are_a_table_in_the_file_and_json_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    write_toml('[agent_options]\nbase_url = "http://file"\ntemperature = 0.5\n')
    assert load_settings().agent_options == {"base_url": "http://file", "temperature": 0.5}
    monkeypatch.setenv("TAUGRAPH_AGENT_OPTIONS", '{"base_url": "http://env"}')
    assert load_settings().agent_options == {"base_url": "http://env"}
    assert load_settings(agent_options='{"seed": 1}').agent_options == {"seed": 1}


def test_options_given_replace_those_of_the_file_instead_of_mixing_with_them() -> None:
    write_toml("[user_options]\ntemperature = 0.5\n[agent_options]\ntemperature = 0.5\n")
    assert load_settings(agent_options={"seed": 1}, user_options="{}").model_dump(include={"agent_options"}) == {
        "agent_options": {"seed": 1}
    }
    assert load_settings(user_options="{}").user_options == {}


@pytest.mark.parametrize("text", ['{"api_key": "sk-1"', '["sk-1"]', '"sk-1"', "sk-1", "[" * 100_000])
def test_options_that_are_no_object_are_refused_without_repeating_them(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read --agent-options: got .* wanted a JSON object") as caught:
        load_settings(agent_options=text)
    assert "sk-1" not in str(caught.value)


def test_an_unknown_key_in_the_file_is_named_with_the_nearest_known_one() -> None:
    write_toml("trial = 5\n")
    with pytest.raises(
        UnknownNameError, match=r"no setting named 'trial' \(in taugraph.toml\): .* did you mean 'trials'"
    ):
        load_settings()


@pytest.mark.parametrize("content", [b"trials = = 5", b"trials = 5\ntrials = 6", b"\xff\xfe"])
def test_a_file_that_is_no_toml_is_one_clear_error(content: bytes) -> None:
    Path("taugraph.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"cannot read taugraph\.toml: .*; correct the file"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trials", 0),
        ("concurrency", 0),
        ("limit", 0),
        ("max_turns", 0),
        ("max_steps", -1),
        ("max_tool_errors", 0),
        ("timeout_s", 0),
        ("attempts", 0),
        ("seed", "x"),
        ("tasks", 5),
    ],
)
def test_a_value_out_of_range_names_the_option_what_came_and_what_was_wanted(name: str, value: Any) -> None:
    option = name.replace("_", "-")
    with pytest.raises(ConfigurationError, match=f"cannot use {name}: got .*{value}.*, wanted .* correct --{option}"):
        load_settings(**{name: value})


def test_an_empty_text_means_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    optional = [name for name, field in RunSettings.model_fields.items() if field.get_default() is None]
    unset = {name for name in optional if not RunSettings.model_fields[name].default_factory}
    assert unset == {"data", "examples", "split", "limit", "max_turns", "max_steps", "max_tool_errors"}
    write_toml("".join(f'{name} = ""\n' for name in unset))
    assert {getattr(load_settings(), name) for name in unset} == {None}
    write_toml("trials = 5\n")
    monkeypatch.setenv("TAUGRAPH_TRIALS", "")
    assert load_settings().trials == 5


def test_a_stored_value_that_no_longer_fits_is_not_blamed_on_an_option() -> None:
    with pytest.raises(ConfigurationError, match="correct trials in the stored experiment"):
        restored({"trials": 0}, concurrency=2)
    with pytest.raises(UnknownNameError, match=r"no setting named 'gone' \(in the stored experiment\)"):
        restored({"gone": 0})
    with pytest.raises(ConfigurationError, match="correct --concurrency"):
        restored({"concurrency": 2}, concurrency=0)


def test_a_date_in_options_is_refused_because_models_take_json() -> None:
    write_toml("[agent_options]\nsince = 2024-05-01\n")
    with pytest.raises(ConfigurationError, match="cannot use agent_options"):
        load_settings()


def test_every_setting_says_what_it_is_in_a_line() -> None:
    for name, field in RunSettings.model_fields.items():
        assert field.description, name
        assert "\n" not in field.description, name


SECRETS = {
    "api_key": "sk-1",
    "openai_api_key": "sk-1",
    "azure_ad_token": "sk-1",
    "aws_secret_access_key": "sk-1",
    "password": "sk-1",
    "default_headers": {"X-Auth": "sk-1"},
    "nested": [{"client_secret": "sk-1"}],
    "base_url": "https://me:sk-1@example.com/v1",
}


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_secret_is_never_written_down(name: str) -> None:
    stored = load_settings(agent_options={name: SECRETS[name]}, user_options={name: SECRETS[name]}).stored()
    assert "sk-1" not in json.dumps(stored)
    assert HIDDEN in json.dumps(stored["agent_options"])


def test_what_is_no_secret_is_written_down_because_it_may_move_a_score() -> None:
    options = {"max_tokens": 500, "max_completion_tokens": 9, "temperature": 0.1, "base_url": "http://127.0.0.1:1/v1"}
    assert without_secrets(options) == options


def test_the_stores_address_is_never_written_down() -> None:
    assert "store" not in load_settings(store="postgresql://me:sk-1@db/x").stored()


def test_stored_settings_come_back_whatever_the_environment_says_now(monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_settings(trials=2, tasks="a,b", agent_options={"temperature": 0.1})
    monkeypatch.setenv("TAUGRAPH_MAX_TURNS", "3")
    monkeypatch.setenv("TAUGRAPH_SEED", "9")
    write_toml("[agent_options]\ntop_p = 0.3\n")
    assert restored(first.stored()) == first


def test_settings_given_anew_replace_the_stored_ones() -> None:
    stored = load_settings(concurrency=2, timeout_s=5).stored()
    now = restored(stored, concurrency=9, timeout_s=None)
    assert (now.concurrency, now.timeout_s) == (9, 5.0)


def test_a_secret_that_was_not_stored_is_asked_for_again() -> None:
    stored = load_settings(user_options={"api_key": "sk-1", "temperature": 0}).stored()
    with pytest.raises(ConfigurationError, match="a secret in --user-options; give --user-options again"):
        restored(stored)
    given = '{"api_key": "sk-2", "temperature": 0}'
    assert restored(stored, user_options=given).user_options == json.loads(given)


def test_a_secret_of_the_file_is_taken_from_there_again_if_the_rest_is_the_same() -> None:
    write_toml('[agent_options]\napi_key = "sk-1"\ntemperature = 0\n')
    stored = load_settings().stored()
    assert restored(stored).agent_options == {"api_key": "sk-1", "temperature": 0}
    write_toml('[agent_options]\napi_key = "sk-1"\ntemperature = 1\n')
    with pytest.raises(ConfigurationError, match="give --agent-options again"):
        restored(stored)
