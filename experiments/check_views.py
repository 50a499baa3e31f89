"""Checks of what is given to whom: the agent's policy and tools, and what either actor sees of a task."""

import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from taugraph.domains.task import ClaimKind, Task
from taugraph.experiments.check_suite import Finding, Suite, fault, leaves, told
from taugraph.experiments.check_world import table_values

_HIDDEN_FIELDS = frozenset(Task.model_fields) - {"id", "scenario", "author", "tags"}
_SHOWN_FIELDS = {"agent": frozenset[str](), "user": frozenset({"persona"})}
_NAME = re.compile(r"`([a-z]\w*)`|\b([a-z]+(?:_[a-z]+)+)\b")
_LEAST_DISTINCTIVE = 5


def policy_tools(suite: Suite) -> Iterator[Finding]:
    """Every tool that the policy names is there for the agent, and none of them is the user's."""
    there = {tool.name for tool in suite.executor.tools}
    gone = {tool.name for tool in suite.domain.agent_tools} - there
    known = table_values(suite) | _schema_words(suite) | set(leaves([call.arguments for call in _calls(suite)]))
    for name in dict.fromkeys(quoted or plain for quoted, plain in _NAME.findall(suite.domain.policy)):
        if name in {tool.name for tool in suite.user_executor.tools}:
            yield fault(None, "policy_tools", f"the policy names {name!r}, which is a tool of the user's")
        elif name in gone:
            yield fault(None, "policy_tools", f"the policy names {name!r}, which this dialect does not have")
        elif "_" in name and name not in there and name not in known:
            yield fault(None, "policy_tools", f"the policy names {name!r}, which is no tool and no value")


def _calls(suite: Suite) -> list[Any]:
    return [call for task in suite.tasks for call in task.gold]


def _schema_words(suite: Suite) -> set[str]:
    """Return every word in the tools' schemas: argument names and the values they may take."""
    return {word for tool in suite.executor.tools for word in re.findall(r"\w+", _plain(tool))}


def hidden_fields(suite: Suite) -> Iterator[Finding]:
    """Nothing of the answers is in what agent or user are given."""
    for task in suite.tasks:
        views = suite.views[task.id]
        secrets = _secrets(task)
        policy = suite.domain.policy
        for actor, given in (("agent", views.agent), ("user", views.user)):
            document = [_plain(view) for view in given[:2]]
            for name in sorted((_HIDDEN_FIELDS - _SHOWN_FIELDS[actor]) & set(_keys(document))):
                yield fault(task, "hidden_fields", f"the {actor} is given the field {name!r} of the task")
            text = json.dumps(document, ensure_ascii=False).replace(json.dumps(policy, ensure_ascii=False), "")
            for value in sorted(value for value in secrets if value in text):
                yield fault(task, "hidden_fields", f"the {actor} is given {value!r}, which only the answers hold")


def _secrets(task: Task) -> set[str]:
    """Return what sets the answers apart and is not told: ids, dates and long figures, and whole sentences."""
    figures = {claim.value for claim in task.claims if claim.kind is not ClaimKind.TEXT}
    figures |= set(leaves([call.arguments for calls in (task.gold, *task.alternatives) for call in calls]))
    kept = {value for value in figures if len(value) >= _LEAST_DISTINCTIVE and any(map(str.isdigit, value))}
    text = " ".join(told(task))
    return {value for value in kept | set(task.assertions) if value not in text}


def _plain(value: Any) -> Any:
    """Return a view as JSON values, whatever it is made of."""
    if isinstance(value, BaseTool):
        return json.dumps(convert_to_openai_tool(value))
    if isinstance(value, BaseMessage):
        return value.text
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from _keys(child)
    elif isinstance(value, list):
        for child in value:
            yield from _keys(child)
