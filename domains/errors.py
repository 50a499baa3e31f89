"""Every failure taugraph can name, by the boundary it crossed.

    TaugraphError
    ├── DataError            a file breaks its schema: fix the file
    ├── TaskInvalidError     a task cannot be scored: fix the task or leave it out
    ├── UnknownNameError     a name resolves to nothing: fix the name
    ├── ConfigurationError   settings contradict each other or lack something: fix the settings
    ├── ModelCallError       the provider refused, failed or timed out: the trial stays unscored
    ├── ToolRefusal          a tool declines what the agent asked for: the agent reads it as text
    └── StoreError           the results store cannot be opened, read or written

A failed call of the provider leaves a trial unscored. It is never a reward of 0.0.
"""

from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path


class TaugraphError(Exception):
    """A failure with a message that says what failed, what came, what was wanted and what to do next."""


class DataError(TaugraphError):
    """A data file breaks its schema.

    Attributes:
        file: The file that was read.
        record: Which record of it, as a person would look for it; `None` for the whole file.
        field: Dotted field name; `None` where the record as a whole is wrong.
        got: What stands there.
        wanted: What should stand there.
    """

    def __init__(self, file: Path | str, record: str | None, field: str | None, got: object, wanted: str) -> None:
        self.file, self.record, self.field, self.got, self.wanted = file, record, field, got, wanted
        place = "".join(f", {name} {value}" for name, value in (("record", record), ("field", field)) if value)
        super().__init__(
            f"cannot read {file}{place}: got {_short(got)}, wanted {wanted}; correct the file and run again"
        )


class TaskInvalidError(TaugraphError):
    """A task that no agent can be scored on."""

    def __init__(self, task_id: str, reason: str) -> None:
        self.task_id, self.reason = task_id, reason
        super().__init__(f"task {task_id!r} cannot be scored: {reason}; correct the task or leave it out with --tasks")


class UnknownNameError(TaugraphError):
    """A name in the settings resolves to nothing."""

    def __init__(self, kind: str, name: str, known: Collection[str], place: str | None = None) -> None:
        self.kind, self.name, self.known = kind, name, tuple(sorted(known))
        where = f" (in {place})" if place else ""
        message = f"no {kind} named {name!r}{where}: known are {', '.join(self.known) or 'none'}"
        if near := get_close_matches(name, self.known, n=1):
            message += f"; did you mean {near[0]!r}?"
        super().__init__(message)


class ConfigurationError(TaugraphError):
    """Settings contradict each other or lack something."""


class ModelCallError(TaugraphError):
    """The provider refused, failed or timed out: the trial has no score.

    Attributes:
        actor: Whose model was called, `agent` or `user`.
        cause: One word for the kind of failure, such as `rate_limit` or `connection`.
    """

    def __init__(self, actor: str, cause: str, detail: str) -> None:
        self.actor, self.cause, self.detail = actor, cause, detail
        super().__init__(f"the {actor}'s model could not be called ({cause}): {detail}")


class ToolRefusal(TaugraphError):
    """A tool declines a request; its text goes to the agent.

    Attributes:
        keeps_writes: Whether what the tool wrote before it declined stays, as it does in some published versions.
    """

    def __init__(self, message: str, *, keeps_writes: bool = False) -> None:
        self.keeps_writes = keeps_writes
        super().__init__(message)


class StoreError(TaugraphError):
    """The results store cannot be opened, read or written."""


def _short(value: object, limit: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
