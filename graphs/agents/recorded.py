"""An agent that says what was recorded, message by message."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage

from taugraph.graphs.agent import AgentView


class RecordedAgent:
    """Plays back the agent's side of recorded conversations."""

    is_privileged = False

    def __init__(self, reference: str, words: Mapping[tuple[str, int], Sequence[AIMessage]]) -> None:
        """Take the recorded messages by (task id, trial)."""
        self.reference = reference
        self._words = words

    async def reply(self, view: AgentView) -> AIMessage:
        """Return the recorded message that comes next.

        Raises:
            LookupError: If the conversation goes on further than it was recorded.
        """
        spoken = sum(isinstance(message, AIMessage) for message in view.messages)
        recorded = self._words[view.key.task_id, view.key.trial]
        if spoken >= len(recorded):
            raise LookupError(f"the agent's recorded words end after {len(recorded)} messages")
        return recorded[spoken].model_copy(deep=True)
