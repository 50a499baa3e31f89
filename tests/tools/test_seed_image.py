"""The cache of seeds saves time and can never change what a trial starts from."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import Column, String
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from taugraph.domains.domain import Domain, Seed
from taugraph.tools.seed_image import seed_image


class CityTable(SQLModel, registry=registry()):
    pass


class City(CityTable, table=True):
    name: str = Field(primary_key=True)
    kind: str = Field(default="town", sa_column=Column("group", String))


class TownTable(SQLModel, registry=registry()):
    pass


class Town(TownTable, table=True):
    __tablename__ = "city"
    name: str = Field(primary_key=True)
    kind: str | None = Field(default="town", index=True)


def cities(*names: str, model: type[SQLModel] = City, hash: str = "1") -> tuple[Domain, list[int]]:
    """Return a domain with these cities, and a list that grows each time its rows are read."""
    reads: list[int] = []

    def rows() -> Iterator[SQLModel]:
        reads.append(len(names))
        yield from (model(name=name) for name in names)

    return Domain("cities", (model,), Seed(hash, rows), "", (), (), datetime(2024, 1, 1)), reads


def names_in(image: bytes) -> list[str]:
    with closing(sqlite3.connect(":memory:")) as raw:
        raw.deserialize(image)
        return [name for (name,) in raw.execute("SELECT name FROM city ORDER BY name")]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "not" / "yet"
    monkeypatch.setenv("TAUGRAPH_CACHE", str(folder))
    return folder


def test_the_second_reading_comes_from_the_cache(cache: Path) -> None:
    domain, reads = cities("Oslo", "Rome")
    first = seed_image(domain)
    assert seed_image(domain) == first
    assert names_in(first) == ["Oslo", "Rome"]
    assert len(reads) == 1
    assert len(list(cache.iterdir())) == 1, "no file of a half-finished write is left"


def test_other_rows_or_other_tables_make_another_image(cache: Path) -> None:
    plain = seed_image(cities("Oslo")[0])
    assert names_in(seed_image(cities("Rome", hash="2")[0])) == ["Rome"]
    assert seed_image(cities("Oslo", model=Town)[0]) != plain
    assert seed_image(cities("Oslo")[0]) == plain
    assert len(list(cache.iterdir())) == 3


def test_a_column_may_be_named_otherwise_than_its_field(cache: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as raw:
        raw.deserialize(seed_image(cities("Oslo")[0]))
        assert raw.execute('SELECT "group" FROM city').fetchall() == [("town",)]


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    place = content.index(b"Oslo")
    return content[:place] + b"Asle" + content[place + 4 :]


@pytest.mark.parametrize("damage", [cut, flip, lambda content: b"", lambda content: b"junk" * 99])
def test_a_damaged_file_is_built_anew(cache: Path, damage: Callable[[bytes], bytes]) -> None:
    domain, reads = cities("Oslo")
    image = seed_image(domain)
    file = next(cache.iterdir())
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert seed_image(domain) == image
    assert file.read_bytes() == whole
    assert len(reads) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    domain, reads = cities("Oslo")
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/taugraph")):
        monkeypatch.setenv("TAUGRAPH_CACHE", str(place))
        assert names_in(seed_image(domain)) == ["Oslo"]
    assert len(reads) == 3


def test_a_folder_in_the_files_place_costs_only_time(cache: Path) -> None:
    domain, _ = cities("Oslo")
    seed_image(domain)
    file = next(cache.iterdir())
    file.unlink()
    (file / "full").mkdir(parents=True)
    assert names_in(seed_image(domain)) == ["Oslo"]
    assert [path.name for path in cache.iterdir()] == [file.name]


@pytest.mark.parametrize("name", ["../../outside", "a/b", "nul\x00", "ü" * 400, "", "."])
def test_a_domains_name_never_leads_out_of_the_cache(cache: Path, name: str) -> None:
    domain, reads = cities("Oslo")
    for _ in range(2):
        seed_image(replace(domain, name=name))
    assert len(reads) == 1
    assert len([path for path in cache.parent.parent.rglob("*") if path.is_file()]) == 1
    assert len(list(cache.iterdir())) == 1


def test_a_seed_without_rows_is_a_seed(cache: Path) -> None:
    assert names_in(seed_image(cities()[0])) == []


STARTS_COLD = """
from taugraph.tools.airline import domain
from taugraph.tools.seed_image import seed_image
assert len(seed_image(domain)) > 100_000
"""


def test_four_processes_may_start_cold_at_once(cache: Path) -> None:
    environment = os.environ | {"TAUGRAPH_CACHE": str(cache)}
    started = [
        subprocess.Popen([sys.executable, "-c", STARTS_COLD], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    errors = [process.communicate(timeout=60)[1] for process in started]
    assert [process.returncode for process in started] == [0] * 4, errors
    assert len(list(cache.iterdir())) == 1
