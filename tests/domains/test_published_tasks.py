"""Published tasks are read as they are, from JSON or from Python that is never run; what breaks the schema is named."""

from copy import deepcopy
from pathlib import Path

import pytest
from support.published import MODULE, TASKS, Edit, refusal, setting, without, write_json

from taugraph.domains.errors import DataError
from taugraph.domains.published import read_tau_bench_tasks
from taugraph.domains.task import ClaimKind


def test_a_task_keeps_instruction_actions_and_outputs_as_they_are(flat: Path) -> None:
    first, second = read_tau_bench_tasks(flat)
    assert (first.id, first.splits, first.tags) == ("0", ("test",), ())
    assert first.scenario.instructions == TASKS[0]["instruction"]
    assert [{"name": call.name, "kwargs": call.arguments} for call in first.gold] == TASKS[0]["actions"]
    assert [(claim.value, claim.kind) for claim in first.claims] == [
        ("1,200", ClaimKind.SUBSTRING),
        ("yes", ClaimKind.SUBSTRING),
    ]
    assert (second.id, second.gold, second.claims) == ("1", (), ())


def test_only_the_test_split_has_bare_numbers_for_ids(flat: Path, checkout: Path) -> None:
    write_json(flat / "tasks_train.json", TASKS)
    write_json(flat / "tasks_dev.json", TASKS[:1])
    (checkout / "tasks_train.py").write_text(MODULE)
    assert [task.id for task in read_tau_bench_tasks(flat)] == ["0", "1", "dev-0", "train-0", "train-1"]
    assert [(task.id, task.splits) for task in read_tau_bench_tasks(checkout)][2:] == [
        ("train-0", ("train",)),
        ("train-1", ("train",)),
    ]


def test_an_older_tasks_py_is_ignored_beside_a_split_of_its_own_name(checkout: Path) -> None:
    (checkout / "tasks.py").write_text("tasks = [{'user_id': 'older'}]")
    assert len(read_tau_bench_tasks(checkout)) == 2


def test_a_tasks_py_that_stands_alone_is_the_test_split(checkout: Path) -> None:
    (checkout / "tasks_test.py").rename(checkout / "tasks.py")
    assert [(task.id, task.splits) for task in read_tau_bench_tasks(checkout)] == [("0", ("test",)), ("1", ("test",))]


def test_a_module_of_tasks_is_never_executed(checkout: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    effect = f"open({str(witness)!r}, 'w').close()\nraise RuntimeError('executed')\n"
    (checkout / "tasks_test.py").write_text(f"{effect}{MODULE}{effect}")
    assert len(read_tau_bench_tasks(checkout)) == 2
    assert not witness.exists()


def test_a_list_with_a_declared_type_is_read(checkout: Path) -> None:
    (checkout / "tasks_test.py").write_text(MODULE.replace("TASKS =", "TASKS: list[Task] ="))
    assert len(read_tau_bench_tasks(checkout)) == 2


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('"ada_moss_1000",\n', "find(),\n", ["record 0 .line 8", "field user_id", r"find\(\)", "literal"]),
        ('"then credit', 'f"then {x}', ["record 0 .line 9", "field instruction", "literal"]),
        ('annotator="0"', 'annotator="0" + "1"', ["record 0 .line 7", "field annotator", "'0' . '1'", "literal"]),
        ('annotator="0"', 'annotator=Action(name="x")', ["record 0 .line 7", "field annotator", "literal"]),
        ('"yes"', "b'yes'", ["record 0 .line 15", "field outputs.1", "literal"]),
        ("-5", "-True", ["record 0 .line 13", "field actions.1.kwargs.amount", "-True", "literal"]),
        ("-5", "-(-5)", ["record 0 .line 13", "field actions.1.kwargs.amount", "literal"]),
        ("-5", "1e999", ["record 0 .line 6", "field actions.1.kwargs.amount", "got inf", "finite number"]),
        ('{"to":', '{**more, "to":', ["record 0 .line 13", "kwargs.notes.2", "more", "keys that are text"]),
        ('{"to":', '{1: 2, "to":', ["record 0 .line 13", "kwargs.notes.2", "got '1'", "keys that are text"]),
        ('"share": 0.5', '"amount": 6', ["record 0 .line 13", "kwargs.amount", "'amount' again", "each key once"]),
        ('annotator="0"', 'outputs=["x"]', ["record 0 .line 15", "field outputs", "'outputs' again", "each key once"]),
        ('annotator="0"', "**more", ["record 0 .line 7", r"\*\*more", "keywords one by one"]),
        ("Task(user_id=", 'Task("x", user_id=', ["record 1 .line 17", "Task", "with keywords only"]),
        ('Action(name="credit"', 'Task(name="credit"', ["record 0 .line 13", "actions.1", r"Action\(...\) with"]),
        ("    Task(user_id", "    *more, Task(user_id", ["record 1 .line 17", "more", r"Task\(...\) with keywords"]),
        ("annotator=", "author=", ["record 0 .line 6", "field author", "no key of this name"]),
        ("TASKS = [", "TASKS = OTHERS = [", ["2 lists of Task", "one list of Task"]),
        ("TASKS = [", "def tasks(): return [", ["0 lists of Task", "one list of Task"]),
        ('SPLIT = "test"', "tasks = (", ["record line 4 column", "Python"]),
        ('SPLIT = "test"', "\0", ["null bytes", "Python"]),
        ('"test"', "+".join("1" * 100_000), ["recursion", "Python that can be parsed"]),
        ('"test"', "-" * 100_000 + "1", ["Python that can be parsed"]),
    ],
)
def test_a_module_that_is_more_than_literals_is_refused_with_its_line(
    checkout: Path, old: str, new: str, parts: list[str]
) -> None:
    assert MODULE.count(old) == 1
    (checkout / "tasks_test.py").write_text(MODULE.replace(old, new))
    with pytest.raises(DataError, match=refusal(["tasks_test.py", *parts])):
        read_tau_bench_tasks(checkout)


@pytest.mark.parametrize("use", ["TASKS += OTHERS", "TASKS.append(OTHER)", "TASKS = TASKS[:1]", "del TASKS[0]"])
def test_a_module_that_changes_its_list_is_refused(checkout: Path, use: str) -> None:
    (checkout / "tasks_test.py").write_text(f"{MODULE}{use}\n")
    with pytest.raises(DataError, match=r"tasks_test.py, record line 19.*TASKS used again.*complete where it is"):
        read_tau_bench_tasks(checkout)


@pytest.mark.parametrize(
    ("edit", "parts"),
    [
        (without("instruction"), ["record 1, field instruction", "no such key", "this key"]),
        (without("outputs"), ["record 1, field outputs", "no such key", "this key"]),
        (setting("instruction", " \n"), ["record 1, field instruction", r"' \\n'", "text that is not empty"]),
        (setting("instruction", 7), ["record 1, field instruction", "got 7", "a valid string"]),
        (setting("user_id", ""), ["record 1, field user_id", "text that is not empty"]),
        (setting("reward", 1), ["record 1, field reward", "got 1", "no key of this name"]),
        (setting("actions", {}), ["record 1, field actions", "a list"]),
        (setting("actions", [{"name": "x"}]), ["record 1, field actions.0.kwargs", "no such key"]),
        (setting("actions", ["x"]), ["record 1, field actions.0", "got 'x'", "an object"]),
        (setting("actions", [{"name": "x", "kwargs": []}]), ["record 1, field actions.0.kwargs", "an object"]),
        (
            setting("actions", [{"name": "x", "kwargs": {"a": [float("nan")]}}]),
            ["record 1, field actions.0.kwargs.a.0,?:", "got nan", "a finite number"],
        ),
        (setting("outputs", ["a", 12]), ["record 1, field outputs.1", "got 12", "a valid string"]),
        (setting("outputs", [""]), ["record 1, field outputs.0", "text that is not empty"]),
    ],
)
def test_a_task_that_breaks_the_schema_is_refused(flat: Path, edit: Edit, parts: list[str]) -> None:
    tasks = deepcopy(TASKS)
    edit(tasks[1])
    write_json(flat / "tasks_test.json", tasks)
    with pytest.raises(DataError, match=refusal(["tasks_test.json", *parts])):
        read_tau_bench_tasks(flat)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{}", ["a list of tasks"]),
        ("[]", ["an empty list", "at least one task"]),
        ('["x"]', ["record 0", "got 'x'", "an object"]),
        ('[{"user_id": "a", "user_id": "b"}]', ["record 0, field user_id", "again", "each key once"]),
        ("[\n1,]", ["record line 2 column 3", "JSON"]),
    ],
)
def test_a_file_that_is_no_list_of_tasks_is_refused(flat: Path, text: str, parts: list[str]) -> None:
    (flat / "tasks_test.json").write_text(text)
    with pytest.raises(DataError, match=refusal(["tasks_test.json", *parts])):
        read_tau_bench_tasks(flat)


def test_a_folder_without_tasks_is_refused_by_what_it_holds(flat: Path) -> None:
    (flat / "tasks_test.json").unlink()
    with pytest.raises(DataError, match=r"only flights.json, reservations.json.*tasks_<split>.py"):
        read_tau_bench_tasks(flat)


def test_one_split_in_two_files_is_refused(flat: Path) -> None:
    (flat / "tasks_test.py").write_text(MODULE)
    with pytest.raises(DataError, match=r"tasks_test.json and tasks_test.py.*one file for each split"):
        read_tau_bench_tasks(flat)
