"""Folders with published data in both layouts."""

from pathlib import Path

import pytest
from support.published import MODULE, TASKS, write_json, write_records


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    write_records(tmp_path)
    write_json(tmp_path / "tasks_test.json", TASKS)
    (tmp_path / "wiki.md").write_text("# Policy\n")
    return tmp_path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    write_records(folder / "data")
    (folder / "tasks_test.py").write_text(MODULE)
    (folder / "wiki.md").write_text("# Policy\n")
    return folder
