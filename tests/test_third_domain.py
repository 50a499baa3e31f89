"""A domain from outside the package is found, checked and played like our own."""

import importlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from taugraph import cli
from taugraph.domains.domain import installed_domains, load_domain

REFERENCE = "support.library_domain:domain"
SOURCE = Path(__file__).parent / "support" / "library_domain.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Announce the domain as an installed package does: by a folder of metadata on the path."""
    metadata = folder / "site" / "a_library-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: a-library\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[taugraph.domains]\nlibrary = {REFERENCE}\n")
    monkeypatch.syspath_prepend(str(metadata.parent))
    importlib.invalidate_caches()
    return "library"


def call(*words: str) -> Result:
    return CliRunner().invoke(cli.app, list(words))


def test_it_has_three_tables_four_tools_and_three_tasks_in_less_than_150_lines() -> None:
    domain = load_domain(REFERENCE)
    assert (len(domain.tables), len(domain.agent_tools), len(domain.tasks)) == (3, 4, 3)
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) < 150


def test_an_entry_point_announces_it(installed: str) -> None:
    assert installed in installed_domains()
    assert load_domain(installed) is load_domain(REFERENCE)


def test_it_passes_the_check_by_either_name(installed: str) -> None:
    for name in (installed, REFERENCE):
        result = call("check", name, "--json")
        report = json.loads(result.stdout)
        assert (report["findings"], result.exit_code) == ([], 0)
        assert report["baselines"] == {"noop": 0, "transfer": 0, "yes": 0, "recite": 0, "oracle": 3}


def test_it_is_played_by_either_name(installed: str) -> None:
    for name in (installed, REFERENCE):
        result = call("run", name, "-k", "2", "--agent", "demo:0", "--json")
        report = json.loads(result.stdout)
        assert (result.exit_code, report["domain"]) == (0, "library")
        assert report["counts"] == {"passed": 6, "failed": 0, "unscored": 0, "planned": 6}
        assert report["floors"] == {"noop": 0.0, "transfer": 0.0}
