"""Seeds depend on what is played and by whom; their values are part of every stored run."""

import pytest

from taugraph.graphs.seeds import actor_seed, trial_seed


def test_seeds_never_change_from_one_version_to_the_next() -> None:
    assert trial_seed(0, "cancel-within-a-day", 0) == 1531766686
    assert actor_seed(7, "cancel-within-a-day", 1, "agent") == 2133268762


def test_seeds_differ_by_run_task_trial_and_actor() -> None:
    trials = {trial_seed(run, task, trial) for run in range(3) for task in ("a", "b") for trial in range(4)}
    actors = {
        actor_seed(seed, task, trial, actor)
        for seed in range(3)
        for task in ("a", "b")
        for trial in range(4)
        for actor in ("agent", "user")
    }
    assert (len(trials), len(actors)) == (24, 48)


@pytest.mark.parametrize(("one", "other"), [((1, "1", 1), (11, "", 1)), ((0, "a", 11), (0, "a1", 1))])
def test_neighbouring_parts_do_not_run_together(one: tuple[int, str, int], other: tuple[int, str, int]) -> None:
    assert trial_seed(*one) != trial_seed(*other)


def test_seeds_fit_what_providers_take() -> None:
    assert all(0 <= trial_seed(run, "a", 0) < 2**31 for run in range(500))
