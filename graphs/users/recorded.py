"""A simulated user that says what was recorded, turn by turn."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage

from taugraph.graphs.user import UserTurn, UserView


class RecordedUser:
    """Plays back the user's side of recorded conversations."""

    def __init__(self, reference: str, words: Mapping[tuple[str, int], Sequence[str]]) -> None:
        """Take the recorded texts by (task id, trial)."""
        self.reference = reference
        self._words = words

    async def speak(self, view: UserView) -> UserTurn:
        """Return the recorded text that comes next.

        Raises:
            LookupError: If the conversation goes on further than it was recorded.
        """
        spoken = sum(isinstance(message, AIMessage) for message in view.messages)
        recorded = self._words[view.key.task_id, view.key.trial]
        if spoken >= len(recorded):
            raise LookupError(f"the user's recorded words end after {len(recorded)} turns")
        return UserTurn(recorded[spoken])
