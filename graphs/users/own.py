"""A simulated user of somebody's own: an object, a class or factory, or a function.

It is asked outside of our graph and given a deadline, as an agent of somebody's own is.
"""

import asyncio
import contextvars
import inspect
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphBubbleUp

from taugraph.domains.errors import ConfigurationError, TaugraphError
from taugraph.domains.protocol import Protocol
from taugraph.graphs.agents.loading import load, what_failed
from taugraph.graphs.agents.references import FileReference, ModuleReference, parse_reference
from taugraph.graphs.agents.workers import Workers
from taugraph.graphs.boundary import DeadlineError
from taugraph.graphs.user import SimulatedUser, UserTurn, UserView

_GIVEN = ("protocol", "options")
_GRACE_S = 1.0


class StoppedError(Exception):
    """The user's code tried to end the process, or to interrupt the trial."""


class OwnUser:
    """Code of somebody's own that plays the user.

    Attributes:
        is_interactive: Whether a person answers through it, so that trials come one by one.
        code_digest: Digest of its source files.
    """

    def __init__(self, reference: str, user: SimulatedUser, *, timeout_s: float, code_digest: str) -> None:
        """Take what was found.

        Args:
            reference: How it is named on the command line.
            user: What speaks.
            timeout_s: Seconds one turn may take.
            code_digest: Digest of its source files.
        """
        self.reference = reference
        self.is_interactive = bool(getattr(user, "is_interactive", False))
        self.code_digest = code_digest
        self._user = user
        self._timeout_s = timeout_s

    async def speak(self, view: UserView) -> UserTurn:
        """Return its next turn.

        Raises:
            DeadlineError: If the turn takes too long.
            StoppedError: If the code tried to end the process or to interrupt the trial.
            Exception: Whatever else the code raises.
        """
        asked = asyncio.create_task(_apart(self._user, view))
        try:
            done, _ = await asyncio.wait({asked}, timeout=self._timeout_s)
        except asyncio.CancelledError:
            asked.cancel()
            raise
        if done:
            return await asked
        asked.cancel()
        asked.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        await asyncio.wait({asked}, timeout=_GRACE_S)  # what does not listen is left behind
        raise DeadlineError(f"the user took more than {self._timeout_s:g} seconds for one turn (--agent-timeout-s)")


async def _apart(user: SimulatedUser, view: UserView) -> UserTurn:
    """Ask the user outside of our graph: a graph of its own would take itself for a part of it, interrupts and all."""
    around = var_child_runnable_config.get() or {}
    var_child_runnable_config.set({"callbacks": around.get("callbacks")})
    try:
        return await user.speak(view)
    except SystemExit as error:  # in a task of its own it would end the process
        raise StoppedError(f"the user tried to end the process (exit code {error.code})") from error
    except GraphBubbleUp as error:
        raise StoppedError(f"the user tried to interrupt the trial ({type(error).__name__})") from error


class FunctionUser:
    """A function from what the user sees to what it says, plain or async; a plain one is called on a thread."""

    def __init__(self, reference: str, function: Any) -> None:
        self.reference = reference
        self._function = function
        self._workers = Workers()

    async def speak(self, view: UserView) -> UserTurn:
        """Return what the function says; words alone are a turn."""
        if inspect.iscoroutinefunction(self._function):
            found = await self._function(view)
        else:
            call = contextvars.copy_context().run
            found = await asyncio.get_running_loop().run_in_executor(self._workers, call, self._function, view)
        if inspect.isawaitable(found):
            found = await found
        return UserTurn(found) if isinstance(found, str) else found


def build_own_user(reference: str, protocol: Protocol, options: Mapping[str, Any], *, timeout_s: float) -> OwnUser:
    """Load the user that a reference names.

    Args:
        reference: As it was typed.
        protocol: Rules of conversation, for code that asks for them.
        options: Options, for code that asks for them.
        timeout_s: Seconds one turn may take.

    Raises:
        ConfigurationError: If it leads nowhere, or to something that cannot speak.
    """
    try:
        found = parse_reference(reference)
        if not isinstance(found, ModuleReference | FileReference):
            raise ConfigurationError(f"cannot use --agent {reference!r}: a user is module:attr or ./file.py:attr")
        loaded = load(reference, found)
    except ConfigurationError as error:  # agents are found in the same places
        raise ConfigurationError(str(error).replace("--agent", "--user")) from error
    user = _as_user(reference, loaded.value, {"protocol": protocol, "options": dict(options)})
    return OwnUser(reference, user, timeout_s=timeout_s, code_digest=loaded.digest)


def _as_user(reference: str, value: Any, given: Mapping[str, Any]) -> SimulatedUser:
    if _speaks(value):
        return _speaking(value)
    if not callable(value):
        raise _cannot(reference, f"it is a {type(value).__name__}")
    accepted = _parameters(value)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    wanted = [
        one for one in accepted.values() if one.default is one.empty and one.kind in (*named, one.POSITIONAL_ONLY)
    ]
    names = [one.name for one in wanted]
    if not inspect.isclass(value) and len(names) == 1 and names[0] not in _GIVEN:
        return FunctionUser(reference, value)
    if strange := [one.name for one in wanted if one.name not in _GIVEN or one.kind not in named]:
        raise _cannot(reference, f"it wants {strange[0]!r}, and can be given {' and '.join(_GIVEN)}")
    try:
        made = value(**{name: item for name, item in given.items() if name in accepted})
    except TaugraphError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"cannot use --user {reference!r}: making it failed: {what_failed(error)}") from error
    if not _speaks(made):
        if inspect.iscoroutine(made):
            made.close()
        raise _cannot(reference, f"it made a {type(made).__name__}")
    return _speaking(made)


def _parameters(value: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(value).parameters
    except (TypeError, ValueError):  # what is written in C may not tell
        return {}


def _speaks(value: Any) -> bool:
    return not inspect.isclass(value) and inspect.iscoroutinefunction(getattr(value, "speak", None))


def _speaking(user: Any) -> SimulatedUser:
    speaking: SimulatedUser = user
    return speaking


def _cannot(reference: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"cannot use --user {reference!r}: {why}; wanted an object with `async speak(view)`, what makes one, or a "
        "function of the view that returns words"
    )
