"""Our own suites are clean, fast to check, and tau-bench's known floor is found again."""

import json
import os
from pathlib import Path

import pytest
from support.library_domain import domain as library
from support.tiny_airline import write_tiny_airline
from typer.testing import CliRunner, Result

from taugraph import cli
from taugraph.domains.domain import installed_domains, load_domain
from taugraph.domains.errors import UnknownNameError
from taugraph.experiments.check import check_domain

SHARED = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench"))
needs_published = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no tau-bench data at {SHARED}: set TAUGRAPH_TAU_BENCH_DIR"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["check", *map(str, words)])


@pytest.mark.parametrize("name", installed_domains())
def test_a_suite_of_ours_has_no_fault(name: str) -> None:
    report = check_domain(load_domain(name))
    assert [finding for finding in report.findings if finding.severity == "fault"] == []
    assert report.baselines["oracle"] == report.tasks
    assert [report.baselines[name] for name in ("noop", "yes", "recite")] == [0, 0, 0]


@needs_published
def test_silence_passes_19_of_the_50_published_airline_tasks() -> None:
    report = check_domain(load_domain("airline", SHARED / "airline"), "test")
    assert (report.tasks, report.baselines["noop"], report.baselines["oracle"]) == (50, 19, 50)
    assert sum(finding.check == "noop" and finding.severity == "fault" for finding in report.findings) == 19


@needs_published
def test_silence_passes_5_of_the_115_published_retail_tasks_and_nobody_passes_those_with_refused_gold() -> None:
    report = check_domain(load_domain("retail", SHARED / "retail"), "test")
    assert (report.tasks, report.baselines["noop"], report.baselines["oracle"]) == (115, 5, 111)
    passed = [finding.task_id for finding in report.findings if finding.check == "noop"]
    assert passed == ["10", "25", "50", "57", "65"]
    refused = {finding.task_id for finding in report.findings if finding.check == "gold_runs"}
    assert {"12", "13", "64", "106"} <= refused


def test_a_clean_suite_ends_with_exit_code_0() -> None:
    result = call("support.library_domain:domain")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "library: 3 tasks, faults 0, notes 0",
        "passed by baselines: noop 0/3, transfer 0/3, yes 0/3, recite 0/3, oracle 3/3",
    ]


def test_a_fault_ends_with_exit_code_1_and_json_has_every_finding(folder: Path) -> None:
    data = write_tiny_airline(folder / "data", tasks=3)
    result = call("airline", "--data", data, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert set(report) == {"domain", "tasks", "findings", "baselines", "faults"}
    assert (report["domain"], report["tasks"]) == ("airline", 3)
    assert report["faults"] == sum(finding["severity"] == "fault" for finding in report["findings"]) > 0
    assert all(set(finding) == {"task_id", "check", "severity", "message"} for finding in report["findings"])


@pytest.mark.parametrize("words", [["nowhere"], ["airline", "--data", "missing"], ["airline", "--split", "missing"]])
def test_bad_usage_ends_with_exit_code_2(words: list[str]) -> None:
    result = call(*words)
    assert (result.exit_code, result.stdout) == (2, "")


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no split named 'nope'"):
        check_domain(library, "nope")
