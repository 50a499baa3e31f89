"""Results over HTTP, asked of the routes themselves: what is there, what is refused, and with which status."""

import asyncio
import sqlite3
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from support.store import ended, planned

from taugraph.experiments.serving import MOST_ROWS, app
from taugraph.experiments.store import open_store

ODD_IDS = (
    "plain",
    "a/b",
    "a/b/0",
    "50% off?",
    "#1 & more",
    "naïve café",
    "a..b",
    "trials/0",
    "a\\b",
    "pass-hat-k",
    "x@y+z",
)
"""Characters that mean something in an address."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fill a store with one trial of every odd task, the first failed."""
    place = tmp_path / "results.db"
    with open_store(place) as opened:
        opened.create_experiment(planned("odd", trials=1, task_ids=ODD_IDS))
        for number, task_id in enumerate(ODD_IDS):
            opened.add_trial("odd", ended(task_id, 0, float(number > 0)))
    monkeypatch.setenv("TAUGRAPH_STORE", str(place))
    return place


async def get(path: str, **query: str | int) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://taugraph") as client:
        return await client.get(f"/taugraph/{path}", params=query)


@pytest.mark.parametrize("task_id", ODD_IDS)
async def test_a_trial_is_found_whatever_characters_its_task_has(task_id: str, store: Path) -> None:
    answer = await get(f"experiments/odd/trials/{quote(task_id, safe='')}/0")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["task_id"], answer.json()["trial"]) == (task_id, 0)
    listed = (await get("experiments/odd/trials", task=task_id)).json()
    assert [row["task_id"] for row in listed["trials"]] == [task_id]


async def test_pages_hold_every_trial_once_and_in_order(store: Path) -> None:
    pages = [(await get("experiments/odd/trials", offset=offset, limit=4)).json() for offset in (0, 4, 8, 12)]
    assert [page["total"] for page in pages] == [len(ODD_IDS)] * 4
    assert [row["task_id"] for page in pages for row in page["trials"]] == sorted(ODD_IDS)
    assert len((await get("experiments/odd/trials", limit=MOST_ROWS * 10)).json()["trials"]) == len(ODD_IDS)


async def test_filters_narrow_the_list(store: Path) -> None:
    failed = (await get("experiments/odd/trials", outcome="failed")).json()
    assert [row["task_id"] for row in failed["trials"]] == [ODD_IDS[0]]
    none = (await get("experiments/odd/trials", outcome="failed", task=ODD_IDS[1])).json()
    assert (none["total"], none["trials"]) == (0, [])


@pytest.mark.parametrize(
    ("path", "query", "status", "said"),
    [
        ("experiments/gone", {}, 404, "no experiment named 'gone'"),
        ("experiments/gone/trials", {}, 404, "no experiment named 'gone'"),
        ("experiments/gone/pass-hat-k", {}, 404, "no experiment named 'gone'"),
        ("experiments/odd/trials/gone/0", {}, 404, "gone/0"),
        ("experiments/odd/trials/plain/7", {}, 404, "plain/7"),
        ("experiments/odd/trials", {"task": "gone"}, 404, "no task named 'gone'"),
        ("experiments/odd/trials", {"outcome": "filed"}, 400, "wanted one of passed, failed"),
        ("experiments/odd/trials", {"limit": "-1"}, 400, "cannot read '-1'"),
        ("experiments/odd/trials", {"offset": "²"}, 400, "cannot read '²'"),
        ("experiments/odd/trials", {"limit": "9" * 5_000}, 400, "limit"),
    ],
)
async def test_what_cannot_be_answered_is_refused_as_json(
    path: str, query: dict[str, str], status: int, said: str, store: Path
) -> None:
    answer = await get(path, **query)
    assert (answer.status_code, set(answer.json())) == (status, {"error"})
    assert said in answer.json()["error"]


async def test_a_store_that_is_missing_or_broken_is_unavailable_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing, broken = tmp_path / "deep" / "missing.db", tmp_path / "broken.db"
    broken.write_text("no database at all, but long enough to be looked at as one " * 20)
    for place in (missing, broken):
        monkeypatch.setenv("TAUGRAPH_STORE", str(place))
        answer = await get("experiments")
        assert (answer.status_code, set(answer.json())) == (503, {"error"})
    assert not missing.parent.exists()


async def test_questions_asked_at_once_are_all_answered_and_change_nothing(store: Path) -> None:
    def content() -> list[str]:
        with sqlite3.connect(store) as connection:
            return list(connection.iterdump())

    before = content()
    paths = ["experiments", "experiments/odd", "experiments/odd/trials", "experiments/odd/pass-hat-k"] * 5
    answers = await asyncio.gather(*map(get, paths))
    assert [answer.status_code for answer in answers] == [200] * len(paths)
    assert content() == before


async def test_reliability_is_told_with_its_interval(store: Path) -> None:
    served = (await get("experiments/odd/pass-hat-k")).json()
    assert (served["experiment"], served["counts"]["passed"], served["counts"]["failed"]) == ("odd", 10, 1)
    rate = served["pass_hat_k"]["1"]
    assert rate["value"] == pytest.approx(10 / 11)
    assert 0 < rate["low"] < rate["value"] < rate["high"] <= 1
