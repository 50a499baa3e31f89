"""A domain is found by its name or by a reference, and whatever is wrong with either is said."""

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taugraph.domains.airline.dialects import DIALECTS, TAU2
from taugraph.domains.changes import iterate_changes, row_key
from taugraph.domains.dialect import Dialect
from taugraph.domains.domain import Domain, Seed, installed_domains, load_domain
from taugraph.domains.errors import ConfigurationError, DataError, UnknownNameError
from taugraph.domains.money import to_amount, to_cents
from taugraph.tools.airline import domain as airline

SOMEWHERE = Domain("somewhere", (), Seed("1", list), "", (), (), datetime(2024, 1, 1))


def test_an_installed_domain_is_found_by_name() -> None:
    assert "airline" in installed_domains()
    assert load_domain("airline") is airline


def test_a_domain_is_found_by_reference() -> None:
    assert load_domain("taugraph.tools.airline:domain") is airline


def test_a_name_that_is_nearly_right_gets_a_hint() -> None:
    with pytest.raises(UnknownNameError, match=r"no domain named 'airlin': known are .*did you mean 'airline'"):
        load_domain("airlin")


@pytest.mark.parametrize(
    "reference",
    [
        "no.such.module:domain",
        "taugraph.tools.airline:nothing",
        "taugraph.tools.airline:",
        ":domain",
        ":",
        ".relative:domain",
        "..:x",
        "taugraph tools:x",
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(reference: str) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot load domain .*write package\.module:attr"):
        load_domain(reference)


def test_a_reference_to_something_else_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'json:dumps' is a function, wanted a taugraph Domain"):
        load_domain("json:dumps")


def test_an_installed_domain_that_cannot_be_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[taugraph.domains]\nbroken = no_such_module:domain\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "broken" in installed_domains()
    with pytest.raises(ConfigurationError, match="cannot load domain 'no_such_module:domain'"):
        load_domain("broken")


def test_a_folder_of_data_must_exist(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        load_domain("airline", tmp_path / "missing")


def test_a_domain_without_a_reader_takes_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "third_party_world.py").write_text(
        "from datetime import datetime\n"
        "from taugraph.domains.domain import Domain, Seed\n"
        "world = Domain('world', (), Seed('1', list), '', (), (), datetime(2024, 1, 1))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_domain("third_party_world:world").name == "world"
    with pytest.raises(ConfigurationError, match="domain 'world' reads no data folders; leave out --data"):
        load_domain("third_party_world:world", tmp_path)


def test_a_task_is_found_by_id() -> None:
    task = airline.tasks[0]
    assert airline.task(task.id) is task
    with pytest.raises(UnknownNameError, match="no task named 'none'"):
        airline.task("none")
    with pytest.raises(UnknownNameError, match="known are none"):
        SOMEWHERE.task("none")


def test_another_dialect_makes_another_domain() -> None:
    other = airline.in_dialect(TAU2)
    assert (other.dialect, airline.dialect.name, other.tables) == (TAU2, "taugraph", airline.tables)


def test_every_dialect_is_listed_under_its_name() -> None:
    assert {name: dialect.name for name, dialect in DIALECTS.items()} == {name: name for name in DIALECTS}


def test_a_dialect_is_closed_and_frozen() -> None:
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        Dialect(name="x", corected=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="frozen"):
        TAU2.corrected = True


def test_splits_are_those_of_the_tasks() -> None:
    assert airline.splits() == sorted({split for task in airline.tasks for split in task.splits})
    assert SOMEWHERE.splits() == []


# Money and keys


@pytest.mark.parametrize(
    ("amount", "cents"),
    [(0, 0), (250, 25_000), (250.0, 25_000), (0.1, 10), (1.005, 100), (1.015, 102), (-5.5, -550), (True, 100)],
)
def test_dollars_become_cents(amount: float, cents: int) -> None:
    assert to_cents(amount) == cents


@pytest.mark.parametrize("amount", ["1", None, [1], Decimal(1), 1j])
def test_what_is_no_number_is_no_amount(amount: float) -> None:
    with pytest.raises(TypeError, match="an amount must be a number, got"):
        to_cents(amount)


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), float("-inf")])
def test_an_amount_is_finite(amount: float) -> None:
    with pytest.raises(ValueError, match="an amount must be finite"):
        to_cents(amount)


@given(st.integers(-(10**12), 10**12))
def test_cents_come_back_from_dollars(cents: int) -> None:
    amount = to_amount(cents)
    assert to_cents(amount) == to_cents(json.loads(json.dumps(amount))) == cents
    assert isinstance(amount, int) == (cents % 100 == 0)


@given(st.lists(st.none() | st.integers() | st.text(), min_size=1, max_size=3))
def test_a_key_text_tells_its_values(values: list[int | str | None]) -> None:
    assert json.loads(row_key(values)) == values


def test_changes_come_sorted() -> None:
    changes = {"b": {"[2]": [None, {"x": 1}], "[1]": [{"x": 1}, None]}, "a": {"[9]": [None, {"x": 1}]}}
    assert [(table, key) for table, key, _, _ in iterate_changes(changes)] == [("a", "[9]"), ("b", "[1]"), ("b", "[2]")]
