"""A simulated user of somebody's own: an object, a class or factory, or a function."""

import inspect
from collections.abc import Mapping
from typing import Any

from taugraph.domains.errors import ConfigurationError
from taugraph.domains.protocol import Protocol
from taugraph.graphs.agents.loading import load
from taugraph.graphs.agents.references import FileReference, ModuleReference, parse_reference
from taugraph.graphs.user import SimulatedUser, UserTurn, UserView

_GIVEN = ("protocol", "options")


class FunctionUser:
    """A function from what the user sees to what it says, plain or async."""

    def __init__(self, reference: str, function: Any) -> None:
        self.reference = reference
        self._function = function

    async def speak(self, view: UserView) -> UserTurn:
        """Return what the function says; words alone are a turn."""
        found = self._function(view)
        if inspect.isawaitable(found):
            found = await found
        return UserTurn(found) if isinstance(found, str) else found


def build_own_user(reference: str, protocol: Protocol, options: Mapping[str, Any]) -> SimulatedUser:
    """Load the user that a reference names.

    Raises:
        ConfigurationError: If it leads nowhere, or to something that cannot speak.
    """
    try:
        found = parse_reference(reference)
        if not isinstance(found, ModuleReference | FileReference):
            raise ConfigurationError(f"cannot use --agent {reference!r}: a user is module:attr or ./file.py:attr")
        value = load(reference, found).value
    except ConfigurationError as error:  # agents are found in the same places
        raise ConfigurationError(str(error).replace("--agent", "--user")) from error
    return _as_user(reference, value, {"protocol": protocol, "options": dict(options)})


def _as_user(reference: str, value: Any, given: Mapping[str, Any]) -> SimulatedUser:
    if _speaks(value):
        return _named(reference, value)
    if not callable(value):
        raise _cannot(reference, f"it is a {type(value).__name__}")
    parameters = [one for one in inspect.signature(value).parameters.values() if one.default is one.empty]
    names = [one.name for one in parameters]
    if not inspect.isclass(value) and len(names) == 1 and names[0] not in _GIVEN:
        return FunctionUser(reference, value)
    if strange := [name for name in names if name not in _GIVEN]:
        raise _cannot(reference, f"it wants {strange[0]!r}, and can be given {' and '.join(_GIVEN)}")
    accepted = inspect.signature(value).parameters
    made = value(**{name: item for name, item in given.items() if name in accepted})
    if not _speaks(made):
        raise _cannot(reference, f"it made a {type(made).__name__}")
    return _named(reference, made)


def _speaks(value: Any) -> bool:
    return not inspect.isclass(value) and inspect.iscoroutinefunction(getattr(value, "speak", None))


def _named(reference: str, user: Any) -> SimulatedUser:
    if not isinstance(getattr(user, "reference", None), str):
        user.reference = reference
    speaking: SimulatedUser = user
    return speaking


def _cannot(reference: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"cannot use --user {reference!r}: {why}; wanted an object with `async speak(view)`, what makes one, or a "
        "function of the view that returns words"
    )
