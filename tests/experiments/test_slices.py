"""Personas and spoiled trials beside the whole, against counts worked by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.store import ended

from taugraph.domains.trial import Score, Trial
from taugraph.evaluators.reliability import TaskCount, pass_at_k, pass_hat_k
from taugraph.experiments.slices import Variant, clustered, persona_slices, user_faults, variants_of


def judged(trial: Trial, *checks: str) -> Trial:
    evidence = [{"turn": 1, "check": check, "what": "x"} for check in checks]
    score = Score(key="user_was_faithful", value=0.0 if checks else 1.0, evidence=evidence, gates=False)
    return trial.model_copy(update={"scores": [score]})


def played(passes: Mapping[str, Sequence[int]], trials: int = 4) -> tuple[list[TaskCount], dict[str, Variant]]:
    """Return tasks t0, t1, ... played with personas: their passed trials, persona by persona."""
    counts = [
        TaskCount(f"t{index}@{persona}", trials, passed)
        for persona, own in passes.items()
        for index, passed in enumerate(own)
    ]
    return counts, variants_of([count.task_id for count in counts], list(passes))


def test_a_variant_is_named_by_task_and_persona() -> None:
    assert variants_of(["a@terse", "b@terse"], ["terse"]) == {
        "a@terse": Variant("a", "terse"),
        "b@terse": Variant("b", "terse"),
    }


@pytest.mark.parametrize(
    ("task_id", "personas", "wanted"),
    [
        ("mail@home@terse", ["terse"], Variant("mail@home", "terse")),
        ("mail@home@terse", ["all"], Variant("mail@home", "terse")),
        ("a@x@y", ["y", "voices/x@y.md"], Variant("a", "voices/x@y.md")),
        ("a@loud", ["voices/loud.md"], Variant("a", "voices/loud.md")),
    ],
)
def test_an_at_in_the_id_of_a_task_or_a_file_is_no_confusion(
    task_id: str, personas: list[str], wanted: Variant
) -> None:
    assert variants_of([task_id], personas) == {task_id: wanted}


@pytest.mark.parametrize("task_id", ["mail@home", "@terse", "plain"])
def test_what_was_played_without_a_persona_is_no_variant(task_id: str) -> None:
    assert variants_of([task_id], []) == {}
    assert variants_of([task_id], ["terse"]) == {}


def test_every_task_alone_or_in_a_cluster_of_its_own_has_the_same_interval() -> None:
    counts = [TaskCount(f"t{index}", 4, passed) for index, passed in enumerate((4, 3, 0, 2, 4))]
    alone = [TaskCount(c.task_id, c.trials, c.passes, cluster=f"c{c.task_id}") for c in counts]
    for k in (1, 2, 4):
        assert pass_hat_k(counts, k) == pass_hat_k(alone, k)
        assert pass_at_k(counts, k) == pass_at_k(alone, k)


def test_variants_of_one_task_are_no_independent_tasks() -> None:
    counts, variants = played({"calm": (4, 0, 4, 1), "loud": (4, 0, 4, 1)})
    apart, together = pass_hat_k(counts, 1), pass_hat_k(clustered(counts, variants), 1)
    bases = pass_hat_k([TaskCount(f"t{index}", 4, passed) for index, passed in enumerate((4, 0, 4, 1))], 1)
    assert together.value == apart.value == bases.value
    assert together.tasks_used == 8
    # two copies of each task say no more than one: the same error, on three degrees of freedom
    assert together.standard_error == pytest.approx(bases.standard_error, abs=1e-12)
    assert together.t_quantile == bases.t_quantile
    assert apart.low is not None
    assert together.low is not None
    assert together.low < apart.low


def test_the_error_of_unequal_clusters_is_that_of_a_ratio() -> None:
    # mean 2/3; cluster a brings 1/3 + 1/3, cluster b -2/3: 2/1 * (4/9 + 4/9) / 9 = 16/81
    counts = [TaskCount("a1", 1, 1, cluster="a"), TaskCount("a2", 1, 1, cluster="a"), TaskCount("b", 1, 0)]
    assert pass_hat_k(counts, 1).standard_error == pytest.approx(4 / 9, abs=1e-12)


def test_one_cluster_has_a_value_and_no_interval() -> None:
    counts = [TaskCount("a1", 2, 1, cluster="a"), TaskCount("a2", 2, 2, cluster="a")]
    found = pass_hat_k(counts, 1)
    assert (found.value, found.low, found.t_low) == (0.75, None, None)


def test_a_cluster_and_a_task_of_the_same_name_are_two() -> None:
    counts = [TaskCount("a", 1, 1), TaskCount("a@x", 1, 0, cluster="a")]
    assert pass_hat_k(counts, 1).t_quantile == pytest.approx(12.7062, abs=1e-4)


def test_personas_are_sliced_in_the_order_of_the_plan_and_small_ones_are_marked() -> None:
    counts, variants = played({"loud": (4, 2), "calm": (4, 4)})
    found = persona_slices(counts, variants, 4)
    assert found is not None
    assert [(part.persona, part.pass_1.value, part.pass_k.value, part.is_small) for part in found.slices] == [
        ("loud", 0.75, 0.5, True),
        ("calm", 1.0, 1.0, True),
    ]


def test_without_personas_there_are_no_slices() -> None:
    assert persona_slices([TaskCount("a", 4, 2)], {}, 4) is None


def test_the_hardest_persona_is_named_with_the_paired_difference_to_the_others() -> None:
    base = [4, 3, 4, 2, 4, 3, 4, 4, 2, 4, 3, 4]
    counts, variants = played({"calm": base, "loud": [p - 2 + index % 2 for index, p in enumerate(base)], "odd": base})
    found = persona_slices(counts, variants, 4)
    assert found is not None
    assert found.hardest is not None
    assert (found.hardest.persona, found.hardest.tasks, found.hardest.stands_out) == ("loud", 12, True)
    assert found.hardest.difference == -0.375
    # six differences of -1/2 and six of -1/4: each lies 1/8 from the mean
    error = 0.125 * (12 / 11) ** 0.5 / 12**0.5
    assert found.hardest.confidence == pytest.approx(1 - 0.05 / 3)
    assert found.hardest.high == pytest.approx(-0.375 + 2.82004 * error, abs=1e-4)  # t(1 - .05 / 6, 11)
    assert not any(part.is_small for part in found.slices)


def test_no_persona_stands_out_where_the_interval_holds_zero() -> None:
    counts, variants = played({"calm": (4, 0, 2, 3, 1, 4), "loud": (0, 4, 3, 2, 2, 2)})
    found = persona_slices(counts, variants, 4)
    assert found is not None
    assert found.hardest is not None
    assert (found.hardest.persona, found.hardest.stands_out) == ("loud", False)


def test_equal_differences_on_few_tasks_prove_nothing() -> None:
    counts, variants = played({"calm": (4, 4), "loud": (2, 2)})
    found = persona_slices(counts, variants, 4)
    assert found is not None
    assert found.hardest is not None
    assert (found.hardest.difference, found.hardest.low, found.hardest.stands_out) == (-0.5, -0.5, False)


def test_personas_without_a_common_task_are_not_compared() -> None:
    counts, variants = played({"calm": (4,), "loud": ()})
    found = persona_slices([*counts, TaskCount("x@loud", 0, 0)], variants, 4)
    assert found is not None
    assert found.hardest is None


def test_spoiled_trials_are_counted_by_check_and_left_out_of_the_rates() -> None:
    trials = [
        judged(ended("a", 0, 1.0)),
        judged(ended("a", 1, 0.0), "stops_early", "repeats_itself"),
        judged(ended("b", 0, 1.0), "stops_early"),
        judged(ended("b", 1, 0.0)),
        ended("c", 0, 1.0),
    ]
    counts = [TaskCount("a", 2, 1), TaskCount("b", 2, 1), TaskCount("c", 1, 1)]
    found = user_faults(counts, trials, range(1, 3))
    assert found is not None
    assert (found.trials, found.share) == (2, 0.5)  # the trial of c was not judged
    assert found.by_check == {"stops_early": 2, "repeats_itself": 1}
    rates = {k: (rate.value, rate.used) for k, rate in found.pass_hat_k_without.items()}
    assert rates == {1: (pytest.approx(2 / 3), 3), 2: (None, 0)}


def test_a_task_whose_trials_were_all_spoiled_leaves_the_rates() -> None:
    trials = [judged(ended("a", 0, 0.0), "stops_early"), judged(ended("b", 0, 1.0))]
    found = user_faults([TaskCount("a", 1, 0), TaskCount("b", 1, 1)], trials, [1])
    assert found is not None
    assert (found.pass_hat_k_without[1].value, found.pass_hat_k_without[1].used) == (1.0, 1)


def test_trials_that_nobody_judged_have_no_user_faults() -> None:
    assert user_faults([TaskCount("a", 1, 1)], [ended("a")], [1]) is None


def test_a_persona_of_a_file_is_named_as_it_was_given() -> None:
    name = str(Path("voices") / "loud.md")
    assert variants_of(["a@loud"], [name])["a@loud"].persona == name
