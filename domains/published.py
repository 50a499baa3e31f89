"""What others published is read as it is: checked in every field, never repaired, never executed.

A folder of tau-bench's first version is accepted in two layouts: that of its repository, `data/<name>.json` with tasks
in `tasks_<split>.py`, and a flat one, `<name>.json` with tasks in `tasks_<split>.json`. The policy is `wiki.md`.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, JsonValue, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic_core import ErrorDetails, PydanticCustomError

from taugraph.domains.errors import DataError
from taugraph.domains.task import Claim, ClaimKind, GoldCall, Scenario, Task
from taugraph.domains.task_modules import read_task_module

_MOST_DOLLARS = 2**31 // 100 - 1
"""So that cents fit the 32 bits of an integer column."""


class PublishedRecord(BaseModel):
    """A record as somebody else published it: every key known, no number out of bounds."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


RecordT = TypeVar("RecordT", bound=PublishedRecord)


def dollars_to_cents(amount: object) -> int:
    """Convert an amount in dollars to cents, exactly.

    Args:
        amount: Whole number, or a float with at most two decimals as it is written.

    Raises:
        PydanticCustomError: If it is anything else or its cents do not fit 32 bits; a validator may raise it.
    """
    if isinstance(amount, int | float) and not isinstance(amount, bool) and abs(amount) <= _MOST_DOLLARS:
        cents = amount * 100 if isinstance(amount, int) else Decimal(repr(amount)) * 100
        if cents == int(cents):
            return int(cents)
    raise PydanticCustomError("cents", "an amount in dollars with at most two decimals")


Cents = Annotated[int, BeforeValidator(dollars_to_cents)]
"""Dollars in the file, cents in the record."""


def find_file(folder: Path, name: str) -> Path:
    """Return the path of a file in either layout.

    Args:
        folder: Folder of the data.
        name: Name of the file, such as `users.json`.

    Raises:
        DataError: If it is in neither place, or in both.
    """
    found = [path for path in (folder / name, folder / "data" / name) if path.is_file()]
    if not found:
        raise DataError(folder, None, None, _contents(folder), f"{name} or data/{name}")
    if len(found) > 1:
        raise DataError(folder, None, None, f"{name} and data/{name}", "one of them")
    return found[0]


def read_file(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(path, None, None, str(error), "a readable file") from error


def read_policy(folder: Path) -> str:
    """Return the policy the agent must follow, Markdown, as it is.

    Raises:
        DataError: If there is none, or it is empty or not UTF-8.
    """
    path = find_file(folder, "wiki.md")
    policy = _text(path, read_file(path))
    if not policy.strip():
        raise DataError(path, None, None, policy, "the policy's text")
    return policy


def read_json_object(path: Path, content: bytes | None = None) -> dict[str, Any]:
    """Return the object a JSON file holds.

    Args:
        path: The file.
        content: What it holds, where that was read before; `None` to read it now.

    Raises:
        DataError: If it is not JSON, not an object, or repeats a key.
    """
    value = _read_json(path, content)
    if not isinstance(value, dict):
        raise DataError(path, None, None, value, "an object")
    return value


def read_records(path: Path, content: bytes, record: type[RecordT], own_id: str) -> dict[str, RecordT]:
    """Read a JSON object of records and validate every one.

    Args:
        path: The file.
        content: What it holds.
        record: Model of one record.
        own_id: Field of the record that repeats its key; it may be `None` where records need not carry it.

    Returns:
        Records by key, in the file's order.

    Raises:
        DataError: If it is no JSON object, or a record is not as the model says or disagrees with its key.
    """
    raw = read_json_object(path, content)
    try:
        records = TypeAdapter(dict[str, record]).validate_python(raw)  # type: ignore[valid-type] # a type at run time
    except PydanticError as error:
        raise _refusal(path, None, error, raw) from error
    for key, value in records.items():
        if (own := getattr(value, own_id)) not in (None, key):
            raise DataError(path, key, own_id, own, f"{key!r}, the key it stands under")
    return records


def read_tau_bench_tasks(folder: Path) -> tuple[Task, ...]:
    """Read the tasks of every split in a folder, the split `test` first.

    A task of `test` is named by its place, `0`, as tau-bench's results name it; others carry their split, `train-12`.

    Args:
        folder: Folder of the data, in either layout.

    Raises:
        DataError: If there are no tasks, a split is there twice, or a task breaks the schema.
    """
    return tuple(task for split, path in _task_files(folder) for task in _read_split(split, path))


def _named(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "text that is not empty")
    return text


_Named = Annotated[str, AfterValidator(_named)]


class _ActionRecord(PublishedRecord):
    name: _Named
    kwargs: dict[str, JsonValue]


class _TaskRecord(PublishedRecord):
    annotator: str | None = None
    user_id: _Named
    instruction: _Named
    actions: tuple[_ActionRecord, ...]
    outputs: tuple[_Named, ...]


def _task_files(folder: Path) -> list[tuple[str, Path]]:
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("tasks_?*.py"), *folder.glob("tasks_?*.json")]):
        split = path.stem.removeprefix("tasks_")
        if split in found:
            raise DataError(folder, None, None, f"{found[split].name} and {path.name}", "one file for each split")
        found[split] = path
    # The original's airline folder keeps an older copy of its test tasks as tasks.py beside tasks_test.py.
    if not found and (folder / "tasks.py").is_file():
        found["test"] = folder / "tasks.py"
    if not found:
        raise DataError(folder, None, None, _contents(folder), "tasks_<split>.py, tasks_<split>.json or tasks.py")
    return sorted(found.items(), key=lambda item: (item[0] != "test", item[0]))


def _read_split(split: str, path: Path) -> Iterator[Task]:
    count = 0
    for count, (name, fields) in enumerate(_raw_tasks(path), start=1):
        try:
            record = _TaskRecord.model_validate(fields)
        except PydanticError as error:
            raise _refusal(path, name, error, fields) from error
        yield Task(
            id=str(count - 1) if split == "test" else f"{split}-{count - 1}",
            scenario=Scenario(instructions=record.instruction),
            gold=tuple(GoldCall(name=action.name, arguments=action.kwargs) for action in record.actions),
            claims=tuple(Claim(value=output, kind=ClaimKind.SUBSTRING) for output in record.outputs),
            splits=(split,),
        )
    if not count:
        raise DataError(path, None, None, "an empty list", "at least one task")


def _raw_tasks(path: Path) -> list[tuple[str, Any]]:
    if path.suffix == ".py":
        tasks = read_task_module(path, read_file(path))
        return [(f"{index} (line {task.line})", task.fields) for index, task in enumerate(tasks)]
    value = _read_json(path, None)
    if not isinstance(value, list):
        raise DataError(path, None, None, value, "a list of tasks")
    return [(str(index), fields) for index, fields in enumerate(value)]


def _contents(folder: Path) -> str:
    if not folder.is_dir():
        return "no such folder"
    names = sorted(path.name for path in folder.iterdir())
    return f"only {', '.join(names)}" if names else "an empty folder"


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DataError(path, f"byte {error.start}", None, error.reason, "text in UTF-8") from error


def _read_json(path: Path, content: bytes | None) -> Any:
    repeated: list[tuple[dict[str, Any], str]] = []

    def note_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.append((value, next(key for key in value if keys.count(key) > 1)))
        return value

    text = _text(path, read_file(path) if content is None else content)
    try:
        value = json.loads(text, object_pairs_hook=note_repeated)
    except json.JSONDecodeError as error:
        raise DataError(path, f"line {error.lineno} column {error.colno}", None, error.msg, "JSON") from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, None, None, str(error), "JSON") from error
    if repeated:
        owner, key = repeated[-1]  # the outermost, which no other repeated key has dropped
        record, *fields = (*(_path_to(owner, value) or ()), key)
        raise DataError(path, record, ".".join(fields) or None, f"the key {key!r} again", "each key once")
    return value


def _path_to(target: object, value: object) -> tuple[str, ...] | None:
    """Return the keys that lead to an object, found by identity; `None` where it is not inside."""
    if value is target:
        return ()
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        if (rest := _path_to(target, child)) is not None:
            return (str(key), *rest)
    return None


def _refusal(path: Path, record: str | None, error: PydanticError, raw: object) -> DataError:
    """Say what pydantic found first, in our words; without a record's name, the first key is the record."""
    first = error.errors(include_url=False)[0]
    place = _place(first, raw)
    if record is None:
        record, *place = place
    got, wanted = first["input"], first["msg"].removeprefix("Input should be ").removeprefix("String should ")
    match first["type"]:
        case "missing":
            got, wanted = "no such key", "this key"
        case "extra_forbidden":
            wanted = "no key of this name"
        case "model_type" | "model_attributes_type" | "dict_type":
            wanted = "an object"
        case "tuple_type":
            wanted = "a list"
        case "union_tag_not_found" | "union_tag_invalid":
            tag = first["ctx"]["discriminator"].strip("'")
            place.append(tag)
            got, wanted = first["input"].get(tag, "no such key"), first["ctx"].get("expected_tags", "this key")
    return DataError(path, record, ".".join(place) or None, got, wanted)


def _place(error: ErrorDetails, raw: object) -> list[str]:
    """Return the keys that lead to the error, without the branch names pydantic puts between them."""
    place: list[str] = []
    for part in error["loc"]:
        inside = part in raw if isinstance(raw, dict) else isinstance(raw, list) and isinstance(part, int)
        if inside:
            raw = raw[part]  # type: ignore[index] # a dict or a list that has it, by the line above
        elif not isinstance(raw, dict) or part is not error["loc"][-1] or part == "[key]":
            continue
        place.append(str(part))
    return place
