"""Results go to stdout, all else to stderr; what can be mended is told in one line, and the exit code fits."""

import inspect
import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import Fault, OpenAIServer
from support.tiny_airline import BAD, PASSWORD, Place, TinyAirlineScript, write_tiny_airline
from typer.testing import CliRunner, Result

from taugraph import cli
from taugraph.cli import checking, playing, showing
from taugraph.cli.output import resume_command
from taugraph.domains.domain import load_domain
from taugraph.domains.trial import Termination, Trial
from taugraph.experiments.display import progress_of
from taugraph.experiments.report import DEMONSTRATION_NOTE
from taugraph.experiments.schedule import in_rounds
from taugraph.experiments.settings import RunSettings
from taugraph.experiments.store import open_store

MODULE = [sys.executable, "-c", "from taugraph.cli import main; main()"]
TASKS, TRIALS = 6, 4
GRID = set(in_rounds([str(index) for index in range(TASKS)], TRIALS))
COUNTS = {"passed", "failed", "unscored", "planned"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in RunSettings.model_fields:
        monkeypatch.delenv(f"TAUGRAPH_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    write_tiny_airline(tmp_path / "data", tasks=TASKS)
    return tmp_path


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(word) for word in words])


def play_demo(name: str = "x", *words: str) -> Result:
    return call("run", "--data", "data", "--limit", "2", "-k", "2", "--agent", "demo:0", "--name", name, *words)


def recorded(*results: dict[str, Any] | str, name: str = "recorded.json") -> Path:
    path = Path(name)
    path.write_text(json.dumps(results))
    return path


def build_result(task_id: int | str = 2, said: str = "It is 4711.", **changes: Any) -> dict[str, Any]:
    stop = {"role": "user", "content": "###STOP###"}
    words = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": said}, stop]
    return {"task_id": task_id, "trial": 0, "reward": 1.0, "info": {}, "traj": words} | changes


def openai(server: OpenAIServer, key: str = "local") -> list[str]:
    options = json.dumps({"base_url": server.base_url, "api_key": key})
    return ["--agent-options", options, "--user-options", options]


def run_words(server: OpenAIServer, *words: str) -> list[str]:
    models = ["--agent", "openai:scripted", "--user", "openai:scripted", "--attempts", "1", "--concurrency", "16"]
    return ["run", "--data", "data", "-k", str(TRIALS), "--name", "x", *models, *openai(server), *words]


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*MODULE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MODULE, *words], capture_output=True, text=True, timeout=180, check=False)


def stored() -> set[Place]:
    if not Path(".taugraph/results.db").exists():
        return set()
    with closing(sqlite3.connect("file:.taugraph/results.db?mode=ro", uri=True)) as connection:
        try:
            return set(connection.execute("SELECT task_id, trial FROM trials"))
        except sqlite3.OperationalError:
            return set()


def wait_for_trials(process: subprocess.Popen[str], count: int) -> None:
    deadline = time.monotonic() + 120
    while len(stored()) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "nothing was stored"
        time.sleep(0.01)


def passes(place: Place) -> bool:
    return (int(place[0]) + place[1]) % 2 == 0


def build_script(**given: Any) -> TinyAirlineScript:
    return TinyAirlineScript(load_domain("airline", Path("data")).tasks, trials=TRIALS, passes=passes, **given)


def assert_complete_and_right() -> None:
    with open_store(".taugraph/results.db") as store:
        found = {(row.task_id, row.trial): row.outcome for row in store.counts("x")}
        assert found == {place: "passed" if passes(place) else "failed" for place in GRID}


def test_a_run_killed_in_the_middle_is_completed_by_resume() -> None:
    script = build_script(delay_s=0.06)
    with OpenAIServer(script) as server:
        process = start(*run_words(server, "--concurrency", "5"))
        wait_for_trials(process, 5)
        process.kill()
        process.communicate()
        before, opened = stored(), set(script.openings)
        assert 5 <= len(before) < len(GRID)
        resumed = finish("resume", "x", "--json", *openai(server))
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stderr == ""
    assert json.loads(resumed.stdout)["counts"] == {"passed": 12, "failed": 12, "unscored": 0, "planned": 24}
    assert_complete_and_right()
    assert {place for place, count in script.openings.items() if count > 1} <= opened - before
    assert max(script.openings.values()) <= 2


def test_ctrl_c_lets_running_trials_finish_and_resume_plays_the_others() -> None:
    script = build_script(delay_s=0.06)
    with OpenAIServer(script) as server:
        process = start(*run_words(server, "--concurrency", "5", "--json"))
        wait_for_trials(process, 3)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
        assert process.returncode == 130
        left = len(GRID) - len(stored())
        assert stored() == set(script.openings)
        assert json.loads(stdout)["counts"]["planned"] == len(GRID)
        assert stderr.splitlines() == [
            "finishing the trials that are running; interrupt again to cut them off",
            f"trials missing: {left}; play them with: taugraph resume x",
        ]
        resumed = finish("resume", "x", *openai(server))
    assert resumed.returncode == 0, resumed.stderr
    assert set(script.openings.values()) == {1}
    assert_complete_and_right()


def test_a_second_ctrl_c_cuts_running_trials_off() -> None:
    with OpenAIServer(build_script(delay_s=3)) as server:
        process = start(*run_words(server))
        deadline = time.monotonic() + 120
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("finishing the trials")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.splitlines() == ["trials missing: 24; play them with: taugraph resume x"]


def test_two_processes_that_resume_at_once_complete_the_run_together() -> None:
    with OpenAIServer(build_script(delay_s=0.05)) as server:
        process = start(*run_words(server, "--concurrency", "4"))
        wait_for_trials(process, 2)
        process.kill()
        process.communicate()
        both = [start("resume", "x", "--concurrency", "4", *openai(server)) for _ in range(2)]
        ends = [(*process.communicate(timeout=180), process.returncode) for process in both]
    assert [end[2] for end in ends] == [0, 0], ends
    assert all("Traceback" not in end[1] for end in ends)
    assert_complete_and_right()


def test_a_refused_key_ends_the_run_at_once_with_advice() -> None:
    script = build_script(fault=lambda place: Fault(401, "bad key"))
    with OpenAIServer(script) as server:
        ended = call(*run_words(server, "--concurrency", "2"))
    assert ended.exit_code == 2
    advice, missing = ended.stderr.splitlines()
    assert re.fullmatch(r"taugraph: stopped, .*bad key.*; give a valid key .* --agent-options, then resume", advice)
    assert missing == "trials missing: 24; play them with: taugraph resume x"
    assert sum(script.openings.values()) <= 4


def test_trials_a_provider_broke_end_with_1_and_are_played_by_resume() -> None:
    faults = {("0", 0): Fault(500, "overloaded")}
    with OpenAIServer(build_script(fault=faults.get)) as server:
        ended = call(*run_words(server, "--json"))
        assert ended.exit_code == 1
        assert json.loads(ended.stdout)["counts"]["unscored"] == 1
        assert ended.stderr == "trials missing: 1; play them with: taugraph resume x\n"
        faults.clear()
        assert call("resume", "x", *openai(server)).exit_code == 0
    assert_complete_and_right()


def test_a_secret_is_printed_nowhere() -> None:
    with OpenAIServer(build_script()) as server:
        ended = call(*run_words(server, "--limit", "1"), *openai(server, PASSWORD))
        resumed = call("resume", "x")
    assert ended.exit_code == 0
    assert resumed.exit_code == 0  # it is finished: nothing to play, so nothing to ask for
    assert PASSWORD not in ended.output + resumed.output + call("experiments", "--json").output


def test_a_finished_run_resumed_prints_its_report_and_plays_nothing() -> None:
    assert play_demo().exit_code == 0
    first = call("report", "x", "--json").stdout
    Path("data").rename("moved")
    again = call("resume", "x", "--json")
    assert (again.exit_code, again.stdout, again.stderr) == (0, first, "")


BAD_RUNS: dict[str, tuple[list[str], str]] = {
    "missing data folder": (["--data", "nowhere"], "cannot read nowhere: got 'no such folder', wanted a folder"),
    "data folder without files": (["--data", "empty"], "cannot read empty: got 'an empty folder', wanted"),
    "malformed task": (["--data", "malformed"], "tasks_test.json, record 0, field instruction.*correct the file"),
    "gold that fails": (["--data", "bad"], "task '0' cannot be scored: .*; correct the task or leave it out"),
    "unknown agent": (["--agent", "nobody"], "cannot use --agent 'nobody': .*write PROVIDER:MODEL"),
    "unknown provider": (["--agent", "nobody:x"], "cannot use --agent 'nobody:x'"),
    "slip rate": (["--agent", "demo:2"], "cannot use agent 'demo:2': got slip rate '2', wanted a number"),
    "no key": (["--agent", "openai:gpt-4.1"], "no key was found; set OPENAI_API_KEY in the environment"),
    "no key for the user": (["--user", "openai:gpt-4.1"], "--user 'openai:gpt-4.1': no key was found"),
    "options for demo": (["--agent-options", '{"a": 1}'], "--agent-options are for chat models and graphs"),
    "options no JSON": (["--agent-options", "{"], "cannot read --agent-options: got no JSON"),
    "k of 0": (["-k", "0"], "cannot use trials: got 0, wanted greater than or equal to 1; correct --trials"),
    "concurrency of 0": (["--concurrency", "0"], "cannot use concurrency: got 0, .*; correct --concurrency"),
    "limit of 0": (["--limit", "0"], "cannot use limit: got 0"),
    "unknown task": (["--tasks", "0,77"], "no task named '77': known are 0, 1"),
    "unknown split": (["--split", "tset"], "no split named 'tset': known are test; did you mean 'test'"),
    "unknown protocol": (["--protocol", "strct"], "no protocol named 'strct': .* did you mean 'strict'"),
    "taken name": (["--name", "taken"], "experiment 'taken' exists: choose another --name"),
}


@pytest.mark.parametrize("case", BAD_RUNS)
def test_a_run_that_cannot_start_says_so_in_one_line_and_leaves_nothing_behind(folder: Path, case: str) -> None:
    (folder / "empty").mkdir()
    write_tiny_airline(folder / "bad", gold=BAD)
    tasks = write_tiny_airline(folder / "malformed") / "tasks_test.json"
    tasks.write_text(tasks.read_text().replace('"instruction"', '"instructions"', 1))
    assert play_demo("taken").exit_code == 0
    words, message = BAD_RUNS[case]
    before = call("experiments", "--json").stdout
    base = ["run"] if "--data" in words else ["run", "--data", "data"]
    assert_refused(call(*base, *words), message)
    assert call("experiments", "--json").stdout == before
    assert call("report", "taken").exit_code == 0


def assert_refused(ended: Result, message: str) -> None:
    assert ended.exit_code == 2, ended.output
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert re.match(f"taugraph: .*{message}", line), line
    assert "Traceback" not in ended.stderr


BAD_WORDS: dict[str, tuple[list[str], str]] = {
    "unknown domain": (["run", "airlin"], "no domain named 'airlin': .* did you mean 'airline'"),
    "domain that is none": (["run", "json:dumps"], "'json:dumps' is a function, wanted a taugraph Domain"),
    "domain in no module": (["run", "nowhere:domain"], "cannot load domain 'nowhere:domain'"),
    "store is a folder": (["run", "--store", "data"], "cannot open the results store data"),
    "store cannot be made": (["run", "--store", "/proc/nowhere/x.db"], "cannot open the results store /proc/nowhere"),
    "store is no database": (["run", "--store", "data/wiki.md"], "cannot open the results store data/wiki.md"),
    "store's driver": (["run", "--store", "nosql://me:sk-1@db/x"], r"cannot open the results store nosql://\.\.\."),
    "report without store": (["report", "x"], "no results store at '.taugraph/results.db': play a run first"),
    "resume without store": (["resume", "x"], "no results store at '.taugraph/results.db': play a run first"),
    "experiments without store": (["experiments"], "no results store at"),
    "tasks of unknown split": (["tasks", "--data", "data", "--split", "dev"], "no split named 'dev': known are test"),
    "tasks of unknown domain": (["tasks", "hotel"], "no domain named 'hotel': known are airline"),
}


@pytest.mark.parametrize("case", BAD_WORDS)
def test_what_was_asked_for_and_is_not_there_is_one_line(case: str) -> None:
    words, message = BAD_WORDS[case]
    ended = call(*words)
    assert_refused(ended, message)
    assert "sk-1" not in ended.stderr
    assert not Path(".taugraph/results.db").exists() or words[0] == "run"


@pytest.mark.parametrize("command", ["report", "resume"])
def test_an_unknown_experiment_is_named_with_the_nearest_known_one(command: str) -> None:
    play_demo("first")
    assert_refused(call(command, "frist"), "no experiment named 'frist': known are first; did you mean 'first'")


BAD_REPLAYS: dict[str, tuple[str | None, str]] = {
    "missing": (None, "cannot read recorded.json: got 'No such file or directory', wanted a results file"),
    "no JSON": ("[{", "no JSON .* wanted a JSON list"),
    "no list": ("{}", "got 'dict', wanted a JSON list"),
    "empty": ("[]", "an empty list.*at least one recorded conversation"),
    "unknown task": (json.dumps([build_result("99")]), "field task_id: got '99', wanted a task of 'airline'"),
    "duplicate": (json.dumps([build_result(), build_result()]), "record number 1, field trial"),
    "negative trial": (json.dumps([build_result(trial=-1)]), "record number 0, field trial: got -1"),
}


@pytest.mark.parametrize("case", BAD_REPLAYS)
def test_a_file_that_cannot_be_replayed_is_one_line_and_no_experiment(case: str) -> None:
    text, message = BAD_REPLAYS[case]
    if text is not None:
        Path("recorded.json").write_text(text)
    assert_refused(call("replay", "recorded.json", "--data", "data"), message)
    assert json.loads(call("experiments", "--json").stdout) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("trial = 1", "no setting named 'trial'"), ("trials =", "cannot read taugraph.toml: .*; correct the file")],
)
def test_a_file_of_settings_that_is_wrong_is_one_line(text: str, message: str) -> None:
    Path("taugraph.toml").write_text(text)
    assert_refused(call("run", "--data", "data"), message)


def test_a_replay_cannot_be_resumed() -> None:
    assert call("replay", recorded(build_result()), "--data", "data", "--name", "r").exit_code == 0
    assert_refused(call("resume", "r"), "experiment 'r' is a replay of recorded conversations")


def test_a_run_speaks_in_json_of_the_promised_shape() -> None:
    document = json.loads(play_demo("x", "--json").stdout)
    assert {"experiment", "domain", "tasks", "trials", "counts", "pass_hat_k", "pass_at_k"} <= document.keys()
    assert (document["experiment"], document["domain"], document["tasks"], document["trials"]) == ("x", "airline", 2, 2)
    assert document["counts"] == {"passed": 4, "failed": 0, "unscored": 0, "planned": 4}
    for name in ("pass_hat_k", "pass_at_k"):
        assert document[name].keys() == {"1", "2"}
        assert all(rate.keys() == {"value", "low", "high", "used"} for rate in document[name].values())
    assert json.loads(call("report", "x", "--json").stdout) == document


def test_a_replay_adds_how_far_the_rewards_agree() -> None:
    path = recorded(build_result(), build_result(said="No idea.", trial=1))
    ended = call("replay", path, "--data", "data", "--name", "r", "--json")
    document = json.loads(ended.stdout)
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert document["agreement"]["same"] == 1
    (row,) = document["agreement"]["different"]
    assert row.keys() == {"task_id", "trial", "recorded", "ours", "reason"}
    assert (row["task_id"], row["trial"], row["recorded"], row["ours"]) == ("2", 1, 1.0, 0.0)
    assert document["counts"]["planned"] == 2
    assert document["note"] is None
    text = call("replay", path, "--data", "data", "--name", "again").stdout
    assert "rewards agree in 1/2 trials" in text
    assert "task 2 trial 1: recorded 1.0, ours 0.0: claims_were_said" in text


def test_a_replay_is_scored_as_published_unless_the_settings_say_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def protocol(*words: str) -> str:
        found: str = json.loads(call("replay", path, "--data", "data", "--json", *words).stdout)["protocol"]
        return found

    path = recorded(build_result())
    assert protocol() == "tau-bench"
    assert protocol("--protocol", "strict") == "strict"
    monkeypatch.setenv("TAUGRAPH_PROTOCOL", "strict")
    assert protocol() == "strict"


def test_a_demonstration_is_called_one_wherever_its_numbers_appear() -> None:
    texts = [play_demo("x").stdout, call("report", "x").stdout, call("resume", "x").stdout]
    assert all(" ".join(text.split()).startswith(DEMONSTRATION_NOTE) for text in texts)
    assert json.loads(call("report", "x", "--json").stdout)["note"] == DEMONSTRATION_NOTE
    (row,) = json.loads(call("experiments", "--json").stdout)
    assert row["privileged"] is True
    assert "privileged" in call("experiments").stdout


def test_experiments_are_listed_newest_first() -> None:
    assert call("experiments", "--store", "x.db").exit_code == 2
    play_demo("older")
    play_demo("newer [red]")
    rows = json.loads(call("experiments", "--json").stdout)
    assert [row["experiment"] for row in rows] == ["newer [red]", "older"]
    assert all(row["counts"].keys() == COUNTS for row in rows)
    text = call("experiments").stdout
    assert "newer [red]" in text
    assert "4 passed 0 failed" in text


def test_tasks_are_listed_for_people_and_machines() -> None:
    rows = json.loads(call("tasks", "--data", "data", "--json").stdout)
    assert [row["task"] for row in rows] == ["0", "1", "2", "3", "4", "5"]
    assert (rows[0]["gold_calls"], rows[2]["claims"], rows[0]["splits"]) == (1, 1, "test")
    text = call("tasks", "--data", "data").stdout
    assert "caller 5" in text
    assert len(call("tasks", "airline").stdout.splitlines()) > 12


@pytest.mark.parametrize("name", ["two words", "Größe Ω/2", "-dash", "it's"])
def test_the_command_that_is_suggested_works_as_it_is_printed(name: str) -> None:
    faults = {("0", 0): Fault(500, "overloaded")}
    with OpenAIServer(build_script(fault=faults.get)) as server:
        words = [*run_words(server, "--limit", "1"), "--store", "my results.db", f"--name={name}"]
        hint = call(*words).stderr
        faults.clear()
        suggested = shlex.split(hint.partition("play them with: ")[2])
        assert suggested[0] == "taugraph"
        resumed = call(*suggested[1:2], *openai(server), *suggested[2:])
    assert resumed.exit_code == 0, resumed.output


def test_a_password_of_the_store_is_not_in_the_suggested_command() -> None:
    hint = resume_command("x", "postgresql://me:sk-1@db/x")
    assert hint == "taugraph resume --store 'postgresql://***@db/x' x"


def test_settings_of_the_environment_and_the_file_count(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("taugraph.toml").write_text('data = "data"\ntrials = 3\nlimit = 1\nstore = "from-file.db"\n')
    monkeypatch.setenv("TAUGRAPH_TRIALS", "2")
    ended = call("run", "--name", "x", "--json")
    assert json.loads(ended.stdout)["trials"] == 2
    assert Path("from-file.db").exists()
    assert json.loads(call("report", "x", "--json").stdout)["tasks"] == 1


COMMANDS: list[Callable[..., None]] = [
    playing.run, playing.resume, playing.replay, showing.report, showing.experiments, showing.tasks, checking.check,
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_every_option_is_in_the_help_with_a_sentence(command: Callable[..., None]) -> None:
    text = call(command.__name__, "--help").stdout
    for name in inspect.signature(command).parameters:
        option = {"as_json": "--json", "file": "file", "domain": "domain", "name": "name"}.get(name)
        assert (option or f"--{name.replace('_', '-')}") in text


def test_every_setting_of_a_run_is_an_option_with_the_setting_s_own_words() -> None:
    text = " ".join(call("run", "--help").stdout.replace("tau- bench", "tau-bench").split()).replace("- ", "-")
    for name, field in RunSettings.model_fields.items():
        assert name == "domain" or f"--{name.replace('_', '-')}" in text
        first_words = (field.description or "").partition(":")[0].partition(",")[0].partition(";")[0].rstrip(".")
        assert first_words in text, name


@pytest.mark.parametrize(
    "code", ["import taugraph", "import sys; sys.argv = ['taugraph', '--help']; import taugraph.cli"]
)
def test_help_and_import_load_nothing_heavy(code: str) -> None:
    after = "try: taugraph.cli.main()\nexcept SystemExit: pass\n" if "cli" in code else ""
    heavy = ["langgraph", "langchain_core", "langchain", "sqlmodel", "sqlalchemy", "scipy", "pydantic", "openai"]
    report = f"{code}\n{after}import sys\nprint('loaded', [name for name in {heavy} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout.splitlines()[-1] == "loaded []"


def test_a_terminal_in_ascii_gets_a_report_too(monkeypatch: pytest.MonkeyPatch) -> None:
    play_demo("x")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ended = finish("report", "x")
    assert ended.returncode == 0, ended.stderr
    assert "pass^1" in ended.stdout


def test_progress_stays_off_what_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_of(1) as on_trial:
        on_trial(Trial(task_id="0", trial=0, seed=0, termination=Termination.USER_STOP, reward=1.0))
    assert capfd.readouterr() == ("", "")
