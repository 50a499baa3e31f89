"""Tasks of tau2-bench and its successors, read as they are.

A folder of that generation holds `tasks.json`, `split_tasks.json`, `policy.md` and its records in `db.json`. What a
task is graded on is kept as it says; a component that is in its basis but has no criterion stays without one.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from taugraph.domains.errors import DataError
from taugraph.domains.published import read_file, read_json_object
from taugraph.domains.task import Claim, ClaimKind, Component, GoldCall, InitialState, Scenario, Task

TASKS_FILE = "tasks.json"
"""File that tells this generation from the first, whose task files carry their split in the name."""

_COMPONENTS = {
    "DB": Component.DATABASE,
    "COMMUNICATE": Component.CLAIMS,
    "NL_ASSERTION": Component.ASSERTIONS,
    "ACTION": Component.ACTIONS,
    "ENV_ASSERTION": Component.ENVIRONMENT,
}


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Instructions(_Record):
    domain: str
    reason_for_call: str
    task_instructions: str
    known_info: str | None = None
    unknown_info: str | None = None


class _UserScenario(_Record):
    persona: str | None = None
    instructions: _Instructions | str


class _Action(_Record):
    action_id: str
    requestor: Literal["assistant", "user"] = "assistant"
    name: str
    arguments: dict[str, JsonValue]
    info: str | None = None
    compare_args: tuple[str, ...] | None = None


class _Criteria(_Record):
    actions: tuple[_Action, ...] | None = None
    env_assertions: tuple[dict[str, JsonValue], ...] | None = None
    communicate_info: tuple[str, ...] | None = None
    nl_assertions: tuple[str, ...] | None = None
    reward_basis: tuple[Literal["DB", "COMMUNICATE", "NL_ASSERTION", "ACTION", "ENV_ASSERTION"], ...] = (
        "DB",
        "COMMUNICATE",
    )


class _EnvironmentCall(_Record):
    env_type: Literal["user", "assistant"]
    func_name: str
    arguments: dict[str, JsonValue]


class _InitializationData(_Record):
    agent_data: dict[str, dict[str, JsonValue]] | None = None
    user_data: dict[str, JsonValue] | None = None


class _InitialState(_Record):
    initialization_data: _InitializationData | None = None
    initialization_actions: tuple[_EnvironmentCall, ...] | None = None
    message_history: tuple[dict[str, JsonValue], ...] | None = None


class _Task(BaseModel):
    # What describes a task to its authors may grow: descriptions, issues and annotations are passed over.
    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str = Field(min_length=1)
    user_scenario: _UserScenario
    evaluation_criteria: _Criteria | None = None
    initial_state: _InitialState | None = None


def is_tau2_folder(folder: Path) -> bool:
    """Tell whether a folder holds tasks of this generation."""
    return (folder / TASKS_FILE).is_file()


def read_tau2_policy(folder: Path) -> str:
    """Return the policy the agent must follow, Markdown, as it is.

    Raises:
        DataError: If there is none.
    """
    return read_file(folder / "policy.md").decode("utf-8", "replace")


def read_tau2_tasks(folder: Path) -> tuple[Task, ...]:
    """Read the tasks of a folder, with the splits that its split file names.

    Raises:
        DataError: If a file is missing, or a task breaks the schema or needs what no tool here offers.
    """
    path = folder / TASKS_FILE
    documents = _read_list(path)
    splits = _read_splits(folder)
    tasks: dict[str, Task] = {}
    for index, document in enumerate(documents):
        record = _validated(path, index, document)
        if record.id in tasks:
            raise DataError(path, f"number {index}", "id", record.id, "an id that no other task has")
        named = tuple(name for name, ids in splits.items() if record.id in ids)
        tasks[record.id] = _as_task(path, record, named)
    for name, ids in splits.items():
        if unknown := sorted(set(ids) - tasks.keys()):
            raise DataError(folder / "split_tasks.json", name, None, unknown, f"ids of tasks in {TASKS_FILE}")
    return tuple(tasks.values())


def _read_list(path: Path) -> list[Any]:
    try:
        documents = json.loads(read_file(path))
    except ValueError as error:
        raise DataError(path, None, None, f"no JSON ({error})", "a JSON list of tasks") from error
    if not isinstance(documents, list) or not documents:
        raise DataError(path, None, None, documents, "a JSON list of tasks")
    return documents


def _read_splits(folder: Path) -> Mapping[str, list[str]]:
    path = folder / "split_tasks.json"
    if not path.is_file():
        return {}
    splits = read_json_object(path)
    for name, ids in splits.items():
        if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
            raise DataError(path, name, None, ids, "a list of task ids")
    return splits


def _validated(path: Path, index: int, document: Any) -> _Task:
    try:
        return _Task.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        own_id = document.get("id") if isinstance(document, dict) else None
        record = str(own_id) if own_id else f"number {index}"
        raise DataError(path, record, ".".join(map(str, first["loc"])), first["input"], first["msg"]) from error


def _as_task(path: Path, record: _Task, splits: tuple[str, ...]) -> Task:
    criteria = record.evaluation_criteria or _Criteria(reward_basis=())
    actions = criteria.actions or ()
    if any(action.requestor == "user" for action in actions):
        raise DataError(path, record.id, "evaluation_criteria.actions", "a call by the user", "calls by the assistant")
    if criteria.env_assertions:
        field = "evaluation_criteria.env_assertions"
        raise DataError(path, record.id, field, criteria.env_assertions, "none: this domain has no such functions")
    return Task(
        id=record.id,
        scenario=_scenario(record.user_scenario),
        gold=tuple(GoldCall(name=action.name, arguments=action.arguments) for action in actions),
        has_goal=criteria.actions is not None,
        claims=tuple(Claim(value=text, kind=ClaimKind.SUBSTRING) for text in criteria.communicate_info or ()),
        assertions=criteria.nl_assertions or (),
        basis=tuple(_COMPONENTS[name] for name in criteria.reward_basis),
        initial=_initial(record.initial_state),
        splits=splits,
    )


def _scenario(scenario: _UserScenario) -> Scenario:
    told = scenario.instructions
    persona = f"{scenario.persona}\n\n" if scenario.persona else ""
    if isinstance(told, str):
        return Scenario(instructions=f"{persona}{told}")
    return Scenario(
        instructions=f"{persona}{told.reason_for_call}\n\n{told.task_instructions}",
        known=(told.known_info,) if told.known_info else (),
        unknown=(told.unknown_info,) if told.unknown_info else (),
    )


def _initial(state: _InitialState | None) -> InitialState | None:
    if state is None:
        return None
    data = (state.initialization_data.agent_data if state.initialization_data else None) or {}
    calls = tuple(
        GoldCall(name=call.func_name, arguments=call.arguments)
        for call in state.initialization_actions or ()
        if call.env_type == "assistant"
    )
    return InitialState(data=data, calls=calls, messages=_messages(state.message_history or ()))


def _messages(history: tuple[dict[str, JsonValue], ...]) -> tuple[dict[str, JsonValue], ...]:
    """Return published messages in the form that LangChain reads: role, content, tool calls, tool answers."""
    messages: list[dict[str, JsonValue]] = []
    for document in history:
        role, content = document.get("role"), document.get("content") or ""
        if role == "user":
            messages.append({"role": "user", "content": content})
        elif role == "tool":
            call_id = document.get("tool_call_id") or document.get("id") or ""
            messages.append({"role": "tool", "content": content, "tool_call_id": call_id})
        else:
            calls = document.get("tool_calls")
            listed = calls if isinstance(calls, list) else []
            shown: list[JsonValue] = [
                {"name": call.get("name"), "args": call.get("arguments"), "id": call.get("id"), "type": "tool_call"}
                for call in listed
                if isinstance(call, dict)
            ]
            messages.append({"role": "assistant", "content": content, "tool_calls": shown})
    return tuple(messages)
