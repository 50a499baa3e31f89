"""A folder is a domain: a policy, tasks, and perhaps tools that stand in for the agent's."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from taugraph.cli import app
from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ConfigurationError, DataError

TASKS = """
    - id: asks-for-a-refund
      scenario:
        instructions: You want your money back for order A1. Ask how much it is.
        known: ["Order: A1"]
        opening: I want my money back for order A1.
      claims: [{money: 12.50}]
      calls:
        required: [{name: look_up, arguments: {order: A1}}]
        forbidden: [delete_account]
    - id: asks-for-too-much
      scenario: {instructions: You want your account gone., opening: Delete my account.}
      claims: [not able to]
      calls: {forbidden: [delete_account]}
"""
AGENT = '''
    """An agent with its own top-level modules, as people have them."""

    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from tools import delete_account, look_up


    class Scripted(BaseChatModel):
        _llm_type = "scripted"

        def bind_tools(self, tools, **kwargs):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            last = messages[-1]
            if last.type == "tool":
                reply = AIMessage(f"Done: {last.text}")
            elif "Delete" in last.text:
                reply = AIMessage("", tool_calls=[{"name": "delete_account", "args": {}, "id": "1"}])
            elif "A1" in last.text:
                reply = AIMessage("", tool_calls=[{"name": "look_up", "args": {"order": "A1"}, "id": "2"}])
            else:
                reply = AIMessage("Goodbye.")
            return ChatResult(generations=[ChatGeneration(message=reply)])


    graph = create_agent(Scripted(), [look_up, delete_account])
'''
TOOLS = '''
    from langchain_core.tools import tool


    @tool
    def look_up(order: str) -> str:
        """Look an order up."""
        return "{answer}"


    @tool
    def delete_account() -> str:
        """Delete the account."""
        return "gone"
'''


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "support" / "policy.md", "Be kind. Never delete an account.\n")
    write(tmp_path / "support" / "tasks.yaml", TASKS)
    return tmp_path / "support"


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def write_agent(answer: str = "it is $12.50") -> None:
    write(Path("mine/agent.py"), AGENT)
    write(Path("mine/tools.py"), TOOLS.replace("{answer}", answer))


def test_a_folder_is_a_domain_without_tables_or_tools(folder: Path) -> None:
    domain = load_domain("./support")
    assert (domain.name, domain.tables, domain.agent_tools) == ("support", (), ())
    assert [task.id for task in domain.tasks] == ["asks-for-a-refund", "asks-for-too-much"]
    assert load_domain("support").seed.content_hash == domain.seed.content_hash
    write(folder / "policy.md", "Be kinder.\n")
    assert load_domain("./support").seed.content_hash != domain.seed.content_hash


def test_an_agent_as_it_is_gets_pass_hat_k_on_a_folder() -> None:
    write_agent()
    ended = call("run", "./support", "--agent", "./mine/agent.py:graph", "-k", "2", "--name", "x", "--json")
    assert ended.exit_code == 0, ended.output
    report = json.loads(ended.stdout)
    passed = {row["task_id"]: row["passed"] for row in report["tasks_table"]}
    assert passed == {"asks-for-a-refund": 2, "asks-for-too-much": 0}
    assert report["pass_hat_k"]["1"]["value"] == 0.5
    [reasons] = {tuple(failure["reasons"]) for failure in report["failures"]}
    assert any("no_forbidden_call_was_made" in reason and "delete_account" in reason for reason in reasons)
    assert report["floors"] == {"noop": 0.0, "transfer": 0.0}


def test_tools_of_the_folder_answer_for_the_agent_s_of_the_same_name(folder: Path) -> None:
    write_agent(answer="the real system must not be touched")
    write(folder / "tools.py", TOOLS.replace("{answer}", "it is $12.50"))
    ended = call("run", "./support", "--agent", "./mine/agent.py:graph", "-k", "1", "--json")
    assert ended.exit_code == 0, ended.output
    assert {row["task_id"]: row["passed"] for row in json.loads(ended.stdout)["tasks_table"]} == {
        "asks-for-a-refund": 1,
        "asks-for-too-much": 0,
    }


def test_an_evaluator_beside_the_tasks_decides(folder: Path) -> None:
    write_agent()
    write(folder / "checks.py", "def was_kind(outputs):\n    return 'please' in str(outputs['messages']).lower()\n")
    write(
        folder / "tasks.yaml",
        """
        now: 2026-05-15T15:00:00
        tasks:
          - id: be-kind
            scenario: {instructions: Say hello., opening: Hello}
            evaluators: ["./checks.py:was_kind"]
        """,
    )
    ended = call("run", "support", "--agent", "./mine/agent.py:graph", "-k", "1", "--json")
    assert ended.exit_code == 0, ended.output
    [failure] = json.loads(ended.stdout)["failures"]
    assert any("was_kind" in reason for reason in failure["reasons"])


def test_an_evaluator_that_raises_leaves_the_trial_unscored(folder: Path) -> None:
    write_agent()
    write(folder / "checks.py", "def broken(outputs):\n    return outputs['nothing']\n")
    write(
        folder / "tasks.yaml",
        """
        - id: be-kind
          scenario: {instructions: Say hello., opening: Hello}
          evaluators: ["./checks.py:broken"]
        """,
    )
    ended = call("run", "support", "--agent", "./mine/agent.py:graph", "-k", "1", "--json")
    assert ended.exit_code == 1
    assert json.loads(ended.stdout)["counts"] == {"passed": 0, "failed": 0, "unscored": 1, "planned": 1}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("id: asks-for-a-refund", "id: no"), "field id: got False, wanted .*YAML reads yes, no"),
        (("id: asks-for-too-much", "id: asks-for-a-refund"), "an id that no other task has"),
        (("{money: 12.50}", "{money: plenty}"), "record asks-for-a-refund, field claims.0"),
        (("forbidden: [delete_account]", "forbiden: [delete_account]"), "field calls.forbiden"),
        (
            ("known:", "opening: twice\n    known:"),
            "got \"the key 'opening' comes twice\"",
        ),
        (("claims: [", "claims: [["), "record line"),
        (("- id: asks-for-a-refund", "id: x\n    - id: asks"), "valid YAML"),
    ],
)
def test_a_bad_task_is_refused_with_its_place(folder: Path, change: tuple[str, str], complaint: str) -> None:
    path = folder / "tasks.yaml"
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(DataError, match=complaint):
        load_domain("./support")


def test_claims_may_be_written_in_short(folder: Path) -> None:
    write(
        folder / "tasks.yaml",
        """
        - id: claims
          scenario: {instructions: Ask.}
          claims: [some words, {money: 250.00}, {number: 3, unit: bags}, {date: 2026-05-20}, {time: 15:30}, {id: 00123}]
        """,
    )
    claims = load_domain("./support").task("claims").claims
    assert [(claim.kind.value, claim.value) for claim in claims] == [
        *(("text", "some words"), ("money", "250.0"), ("number", "3")),
        *(("date", "2026-05-20"), ("time", "15:30"), ("id", "00123")),
    ]


def test_a_folder_without_what_it_needs_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        load_domain("./nowhere")
    (folder / "policy.md").unlink()
    with pytest.raises(DataError, match="the document that the agent must follow"):
        load_domain("./support")


def test_what_decides_nothing_or_cannot_be_loaded_is_refused_before_the_first_trial(folder: Path) -> None:
    write_agent()
    write(folder / "tasks.yaml", "- {id: nothing, scenario: {instructions: Ask.}}\n")
    ended = call("run", "support", "--agent", "./mine/agent.py:graph")
    assert (ended.exit_code, "nothing can be decided" in ended.stderr) == (2, True)
    write(folder / "tasks.yaml", "- {id: x, scenario: {instructions: Ask.}, evaluators: ['./checks.py:gone']}\n")
    ended = call("run", "support", "--agent", "./mine/agent.py:graph")
    assert (ended.exit_code, "cannot load checks.py: there is no such file" in ended.stderr) == (2, True)


def test_tools_that_are_none_are_refused(folder: Path) -> None:
    write(folder / "tools.py", "tools = [len]\n")
    with pytest.raises(ConfigurationError, match="holds no LangChain tools"):
        load_domain("./support")
    write(folder / "tools.py", "import nothing_like_this\n")
    with pytest.raises(ConfigurationError, match=r"cannot import tools\.py: ModuleNotFoundError"):
        load_domain("./support")


def test_a_folder_is_checked_as_far_as_it_can_be() -> None:
    ended = call("check", "./support", "--json")
    report: dict[str, Any] = json.loads(ended.stdout)
    assert ended.exit_code == 0, ended.output
    assert report["faults"] == 0
    assert report["baselines"] == {"noop": 0, "transfer": 0, "yes": 0, "recite": 0}
