"""What the models' providers did not let through, read off the notes of the trials."""

from collections.abc import Iterable

from taugraph.domains.trial import Trial

_NOTE = "dropped_parameters"


def dropped_parameters(trials: Iterable[Trial]) -> tuple[str, ...]:
    """Return actor and name of every parameter that a provider refused, such as `agent temperature`, in order."""
    found: dict[str, None] = {}
    for trial in trials:
        names = trial.notes.get(_NOTE)
        found |= dict.fromkeys(str(name) for name in names) if isinstance(names, list) else {}
    return tuple(sorted(found))
