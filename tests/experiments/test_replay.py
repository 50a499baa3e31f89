"""Recorded conversations, fed through our tools and scoring, come to the recorded rewards or to a named reason."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.tiny_airline import CANCEL, CERTIFICATE, write_tiny_airline

from taugraph.domains.errors import DataError, StoreError
from taugraph.domains.trial import Trial
from taugraph.experiments.replay import Replay, start_replay
from taugraph.experiments.run import report_on, resume_run
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import Store, open_store

Json = dict[str, Any]
SHARED = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench"))
GPT_4O = SHARED / "trajectories" / "gpt-4o-airline-trials-0-1.json"
needs_tau_bench = pytest.mark.skipif(
    not GPT_4O.is_file(), reason=f"no tau-bench data at {SHARED}: set TAUGRAPH_TAU_BENCH_DIR"
)
STOP: Json = {"role": "user", "content": "###STOP###"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.chdir(tmp_path)
    with open_store(tmp_path / "results.db") as opened:
        yield opened


@pytest.fixture
def replay(tmp_path: Path, store: Store) -> Callable[..., Replay]:
    """Write the results, replay them on the tiny airline and return the replay."""
    data = write_tiny_airline(tmp_path / "data")

    def play(*results: Json, **given: Any) -> Replay:
        path = tmp_path / "recorded.json"
        path.write_text(json.dumps(results))
        settings = load_settings(**({"data": data, "protocol": "tau-bench"} | given))
        started = start_replay(path, settings, store, "recorded")
        assert started.play() is None
        return started

    return play


def spoken(text: str) -> Json:
    return {"role": "assistant", "content": text}


def called(gold: Json, *, as_text: bool = True) -> Json:
    arguments = json.dumps(gold["kwargs"]) if as_text else gold["kwargs"]
    function = {"name": gold["name"], "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


def build_result(task_id: int | str, *words: Json, reward: float | None = 1.0, trial: int = 0, **more: Any) -> Json:
    traj = [{"role": "system", "content": "policy"}, {"role": "user", "content": "Hi"}, *words]
    return {"task_id": task_id, "trial": trial, "reward": reward, "info": {}, "traj": traj} | more


def differences(replay: Replay) -> dict[tuple[str, int], tuple[float | None, float | None]]:
    return {(row.task_id, row.trial): (row.recorded, row.ours) for row in replay.agreement().different}


def only_trial(store: Store) -> Trial:
    (trial,) = store.trials("recorded")
    return trial


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("task_id", [0, "0"])
def test_a_recording_that_does_what_the_gold_does_passes(
    replay: Callable[..., Replay], task_id: int | str, as_text: bool
) -> None:
    played = replay(build_result(task_id, called(CANCEL, as_text=as_text), spoken("Done."), STOP))
    assert played.agreement().same == 1
    assert played.agreement().different == []


def test_a_reward_that_ours_contradicts_is_listed_with_what_ours_rests_on(replay: Callable[..., Replay]) -> None:
    played = replay(
        build_result(0, called(CERTIFICATE), spoken("Done."), STOP, reward=1.0),
        build_result(1, called(CERTIFICATE), spoken("Done."), STOP, reward=0.0),
        build_result(2, spoken("It is 4711."), STOP, reward=1.0),
    )
    wrong_call, right_call = played.agreement().different
    assert (wrong_call.task_id, wrong_call.recorded, wrong_call.ours) == ("0", 1.0, 0.0)
    assert "database_matches_goal" in wrong_call.reason
    assert (right_call.task_id, right_call.recorded, right_call.ours) == ("1", 0.0, 1.0)
    assert "every check passes" in right_call.reason
    assert played.agreement().same == 1


def test_malformed_arguments_are_an_error_that_the_agent_reads(replay: Callable[..., Replay], store: Store) -> None:
    broken = called(CANCEL)
    broken["tool_calls"][0]["function"]["arguments"] = '{"reservation_id": '
    played = replay(build_result(0, broken, called(CANCEL), spoken("Done."), STOP))
    assert played.agreement().same == 1
    assert only_trial(store).tool_errors == 1


def test_a_crash_without_conversation_is_unscored_and_no_disagreement_if_it_has_no_reward(
    replay: Callable[..., Replay], store: Store
) -> None:
    played = replay(
        build_result(0, reward=None, traj=[], info={"error": "boom"}),
        build_result(0, reward=0.0, trial=1, traj=None, info={"error": "bang"}),
    )
    (difference,) = played.agreement().different
    assert (difference.trial, difference.recorded, difference.ours) == (1, 0.0, None)
    assert difference.reason == "the recording holds no conversation (bang)"
    assert played.agreement().same == 1
    counts = report_on("recorded", store).counts
    assert (counts.passed, counts.failed, counts.unscored, counts.planned) == (0, 0, 2, 2)


@pytest.mark.parametrize(
    ("words", "side"), [([called(CANCEL)], "agent's recorded words"), ([called(CANCEL), spoken("Done.")], "user's")]
)
def test_a_conversation_cut_short_says_so_though_its_database_is_right(
    replay: Callable[..., Replay], words: list[Json], side: str
) -> None:
    (difference,) = replay(build_result(0, *words)).agreement().different
    assert (difference.recorded, difference.ours) == (1.0, 0.0)
    assert side in difference.reason
    assert "end after" in difference.reason


def test_trials_may_be_missing_from_the_grid_and_are_not_compared(replay: Callable[..., Replay], store: Store) -> None:
    played = replay(
        build_result(2, spoken("It is 4711."), STOP, trial=2), build_result(1, spoken("No."), STOP, reward=0.0)
    )
    assert played.agreement().same == 2
    assert played.missing == 0
    assert report_on("recorded", store).counts.planned == 6


def test_the_protocol_decides_what_a_replayed_conversation_is_worth(replay: Callable[..., Replay]) -> None:
    quoted = {**STOP, "content": f"Thank you. {STOP['content']}"}
    played = replay(build_result(2, spoken("It is 4711."), quoted), protocol="strict")
    assert differences(played) == {("2", 0): (1.0, 0.0)}


def test_a_task_that_the_data_lack_is_refused_before_anything_is_stored(
    replay: Callable[..., Replay], store: Store
) -> None:
    with pytest.raises(DataError, match=r"field task_id: got '44', wanted a task of 'airline'.*--data"):
        replay(build_result(0, STOP), build_result(44, STOP))
    assert store.experiments() == []


def test_a_name_that_is_taken_is_refused_and_the_first_replay_stays(
    replay: Callable[..., Replay], store: Store
) -> None:
    replay(build_result(2, spoken("It is 4711."), STOP))
    with pytest.raises(StoreError, match="experiment 'recorded' exists"):
        replay(build_result(2, spoken("No."), STOP))
    assert only_trial(store).outcome == "passed"


def test_a_replay_cannot_be_resumed(replay: Callable[..., Replay], store: Store) -> None:
    replay(build_result(2, spoken("It is 4711."), STOP))
    with pytest.raises(Exception, match="is a replay of recorded conversations; run `taugraph replay` again"):
        resume_run("recorded", store)


def replay_published(path: Path, store: Store) -> Replay:
    settings = load_settings(data=SHARED / "airline", protocol="tau-bench")
    started = start_replay(path, settings, store, "gpt-4o")
    assert started.play() is None
    return started


@needs_tau_bench
def test_all_published_rewards_are_reproduced(store: Store) -> None:
    agreement = replay_published(GPT_4O, store).agreement()
    assert agreement.same == 100
    assert agreement.different == []
    report = report_on("gpt-4o", store)
    assert report.pass_hat_k[1].value == pytest.approx(0.430, abs=1e-12)
    assert report.pass_hat_k[2].value == pytest.approx(0.240, abs=1e-12)


@needs_tau_bench
def test_a_doctored_file_differs_exactly_where_it_was_doctored(tmp_path: Path, store: Store) -> None:
    results = json.loads(GPT_4O.read_text())[:30]
    for index in (3, 17):
        results[index]["reward"] = 1.0 - results[index]["reward"]
    results[20] |= {"reward": 0.0, "info": {"error": "the provider hung up"}}
    del results[20]["traj"]
    cut = next(index for index, result in enumerate(results) if result["reward"] == 1.0 and index not in (3, 17, 20))
    results[cut]["traj"] = results[cut]["traj"][:-1]
    path = tmp_path / "doctored.json"
    path.write_text(json.dumps(results))
    agreement = replay_published(path, store).agreement()
    places = {index: (str(results[index]["task_id"]), results[index]["trial"]) for index in (3, 17, 20, cut)}
    found = {(row.task_id, row.trial): row for row in agreement.different}
    assert found.keys() == set(places.values())
    assert agreement.same == 26
    assert found[places[20]].ours is None
    assert "the provider hung up" in found[places[20]].reason
    assert "recorded words end" in found[places[cut]].reason
    assert all(row.reason for row in agreement.different)
