"""The house stays as it was drawn."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "domains": {"domains"},
    "tools": {"domains", "tools"},
    "evaluators": {"domains", "evaluators"},
    "graphs": {"domains", "tools", "evaluators", "graphs"},
    "experiments": {"domains", "tools", "evaluators", "graphs", "experiments"},
    "cli": {"domains", "tools", "evaluators", "graphs", "experiments", "cli"},
}
FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "misc"}


def modules() -> Iterator[Path]:
    for room in MAY_IMPORT:
        yield from sorted((ROOT / room).rglob("*.py"))


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports"
            yield node.module or ""


@pytest.mark.parametrize("path", list(modules()), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    for name in imports_of(path):
        parts = name.split(".")
        assert parts[0] not in MAY_IMPORT, f"write taugraph.{name}"
        if parts[0] == "taugraph" and len(parts) > 1:
            assert parts[1] in MAY_IMPORT[room], f"{room} may not import {name}"


def test_no_module_is_named_after_nothing() -> None:
    assert not [path for path in modules() if path.stem in FORBIDDEN_NAMES]


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(settings["tool"]["setuptools"]["packages"])
    folders = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in modules()}
    assert listed == {"taugraph"} | {f"taugraph.{folder}" for folder in folders}


def test_every_data_file_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]
    kept = {
        path
        for package, globs in patterns.items()
        for glob in globs
        for path in (ROOT / package.removeprefix("taugraph").strip(".").replace(".", "/")).glob(glob)
    }
    data = {
        path
        for room in MAY_IMPORT
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert data <= kept


def test_graphs_named_in_langgraph_json_can_be_loaded_and_bring_no_checkpointer() -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    for reference in graphs.values():
        module, _, attribute = reference.partition(":")
        assert getattr(import_module(module), attribute).checkpointer is None


def test_nothing_that_is_tracked_names_a_machine_path_or_a_registry() -> None:
    pattern = re.compile(r"/(?:work|root)/|(?:pypi|pythonhosted|npmjs)\.(?:org|com)")
    texts = [*ROOT.glob("[!.]*.*"), *ROOT.glob(".ci/*"), *modules(), *(ROOT / "benchmarks").glob("*")]
    for path in texts:
        if path.is_file():
            assert not pattern.search(path.read_text(encoding="utf-8")), path
