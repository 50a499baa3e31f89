"""An action in words: one JSON object `{"name": ..., "arguments": {...}}` somewhere in what a model wrote.

The first complete object counts. An object that is cut off hides whatever it holds: an argument that happens to have a
name is never taken for an action.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from taugraph.graphs.delivery import without_thoughts

RESPOND = "respond"
"""The action that is words for the user."""

_MARKER = re.compile(r"^[ \t>*#`_]*action[*_` ]*:", re.IGNORECASE | re.MULTILINE)


class UnreadableActionError(ValueError):
    """What the model wrote holds no action; the text says why, as the end of a sentence."""


@dataclass(frozen=True)
class Action:
    """What the model wants done.

    Attributes:
        name: A tool's name, as it was written, or `respond`.
        arguments: The tool's arguments, or `{"content": ...}`.
        others: Further actions in the same message, which are not done.
    """

    name: str
    arguments: dict[str, Any]
    others: int = 0


def read_action(text: str) -> Action:
    """Read the first action of a message.

    Args:
        text: The message, with whatever stands around the action.

    Raises:
        UnreadableActionError: If there is none, or it is not what it should be.
    """
    text = without_thoughts(text)
    marker = _MARKER.search(text)
    found = list(json_objects(text[marker.end() :] if marker else text)) or list(json_objects(text))
    complete = [each for each in found if isinstance(each, dict)]
    if not complete:
        raise UnreadableActionError(str(found[0]) if found else "it holds no JSON object")
    # Thoughts may quote what a tool answered: without a name it is no attempt at an action.
    named = [each for each in complete if "name" in each]
    first = (named or complete)[0]
    name, arguments = first.get("name"), first.get("arguments")
    if not isinstance(name, str):
        raise UnreadableActionError('the JSON object has no "name" that is a text')
    if arguments is None and name != RESPOND:
        arguments = {}
    if not isinstance(arguments, dict):
        raise UnreadableActionError(f'"arguments" of {name[:80]!r} are no JSON object')
    if name == RESPOND and not isinstance(arguments.get("content"), str):
        raise UnreadableActionError('"respond" needs the arguments {"content": "..."} with a text')
    return Action(name, arguments, len(named) - 1)


def json_objects(text: str) -> Iterator[dict[str, Any] | UnreadableActionError]:
    """Yield the outermost JSON objects of a text in order, and in the place of a broken one what is wrong with it."""
    # Line breaks inside a text are no JSON, but what is meant is beyond doubt.
    decoder = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
            yield value
        except (ValueError, RecursionError) as error:
            yield _broken(error, place)
            closed = _closing(text, place)
            if closed is None:
                return
            end = closed
        place = text.find("{", end)


def _broken(error: ValueError | RecursionError, place: int) -> UnreadableActionError:
    if isinstance(error, json.JSONDecodeError):
        return UnreadableActionError(f"its JSON object is broken at character {error.pos - place + 1}: {error.msg}")
    return UnreadableActionError(f"its JSON object cannot be read: {error}")


def _closing(text: str, place: int) -> int | None:
    """Return where the object that opens at a place ends by its braces, texts skipped; `None` if it never does."""
    depth = 0
    for token in _BRACES.finditer(text, place):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return token.end()
    return None


_BRACES = re.compile(r'[{}]|"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
