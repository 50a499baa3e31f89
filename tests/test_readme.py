"""What README says of the package is so: its examples load, and what it counts and lists is what there is."""

import re
import tomllib
from pathlib import Path

import pytest

from taugraph.cli import app
from taugraph.domains.domain import load_domain
from taugraph.experiments.settings import RunSettings, load_settings
from taugraph.graphs.agents.strategies import STRATEGIES
from taugraph.graphs.users.building import STRATEGIES as USER_STRATEGIES

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(kind: str, number: int = 0) -> str:
    """Return a fenced block of that kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)[number]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in RunSettings.model_fields:
        monkeypatch.delenv(f"TAUGRAPH_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_configuration_it_shows_loads() -> None:
    shown = block("toml")
    Path("taugraph.toml").write_text(shown)
    settings = load_settings()
    assert {name: getattr(settings, name) for name in tomllib.loads(shown)} == tomllib.loads(shown)


def test_the_folder_it_shows_is_a_domain() -> None:
    Path("evals").mkdir()
    Path("evals/policy.md").write_text("Be kind.")
    Path("evals/tasks.yaml").write_text(block("yaml"))
    Path("evals/tools.py").write_text(f"from langchain_core.tools import tool\n\n\n{block('python')}")
    found = load_domain("./evals")
    assert [task.id for task in found.tasks] == ["asks-for-a-refund"]
    assert [tool.name for tool in found.agent_tools] == ["refund_order"]


def test_the_task_it_shows_calls_the_tool_it_shows() -> None:
    Path("tools.py").write_text(f"from langchain_core.tools import tool\n\n\n{block('python')}")
    Path("policy.md").write_text("Be kind.")
    Path("tasks.yaml").write_text(block("yaml"))
    found = load_domain("./")
    call = found.tasks[0].calls.required[0]
    assert found.agent_tools[0].invoke(dict(call.arguments or {})) == "refunded: $12.50"


@pytest.mark.parametrize("name", ["airline", "retail", "phone"])
def test_it_counts_the_tasks_of_a_world(name: str) -> None:
    assert re.search(rf"`{name}` \({len(load_domain(name).tasks)}\b", README)


@pytest.mark.parametrize("name", [*STRATEGIES, *USER_STRATEGIES])
def test_it_names_every_strategy(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", README)


def test_every_option_it_names_is_one_of_the_command_line() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "cli").glob("*.py"))
    known = {name.replace("_", "-") for name in RunSettings.model_fields} | set(re.findall(r'"--([a-z-]+)"', source))
    assert set(re.findall(r"--([a-z][a-z-]+)", README)) - known == {"help"}


def test_every_command_it_runs_is_one_of_the_command_line() -> None:
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    groups = {group.name for group in app.registered_groups}
    named = set(re.findall(r"taugraph ([a-z]+)", block("sh") + block("sh", 1)))
    assert named == {"run", "init", "check"}
    assert named | {"resume", "replay", "push", "studio", "compare"} <= commands
    assert groups == {"dataset", "users"}


def test_it_stays_short() -> None:
    assert len(README.splitlines()) <= 130
