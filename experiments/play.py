"""Playing one trial: the graph from the first word to the scores, and its record."""

import time
import traceback
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from langchain_core.messages import BaseMessage, message_to_dict
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Durability
from langsmith import tracing_context

from taugraph.domains.trial import Failure, Termination, Trial
from taugraph.graphs.agents.hooks import forget_memory, keep_memory
from taugraph.graphs.simulation import Simulation, build_simulation
from taugraph.graphs.stage import Stage

_RECURSION_LIMIT = 100_000
"""Never reached: the protocol's limits end a trial by an edge, not by an exception."""


class Player:
    """Plays trials on one stage, any number at a time."""

    def __init__(
        self,
        stage: Stage,
        *,
        experiment: str = "",
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        durability: Durability = "exit",
    ) -> None:
        """Prepare the graph.

        Args:
            stage: Domain, actors and protocol.
            experiment: Name that the trials' thread ids derive from.
            checkpointer: Keeps the trials' checkpoints; `None` to forget each trial's when it ends.
            durability: `exit` for one checkpoint per trial, `sync` for one per step.
        """
        self._experiment = experiment
        self._keeps = checkpointer is not None
        self._saver: BaseCheckpointSaver[Any] = checkpointer or InMemorySaver()
        self._durability: Durability = durability
        self._agent = stage.agent
        if self._keeps:
            keep_memory(stage.agent, self._saver)
        self._graph: Simulation = build_simulation(stage).copy(update={"checkpointer": self._saver})

    async def play(self, task_id: str, trial: int, seed: int) -> Trial:
        """Play one trial and return its record; a failure of the harness itself leaves it unscored."""
        started, clock = datetime.now(UTC), time.perf_counter()
        thread_id = self.thread_id(task_id, trial)
        config: RunnableConfig = {
            "configurable": {"thread_id": thread_id},
            "recursion_limit": _RECURSION_LIMIT,
            "metadata": {"experiment": self._experiment, "task_id": task_id, "trial": trial},
        }
        failure = None
        try:
            start: Any = {"task_id": task_id, "trial": trial, "seed": seed}
            # Without this LangChain sends traces by itself wherever the environment has a key and says so.
            with tracing_context(enabled=False):
                await self._graph.ainvoke(start, config, durability=self._durability)
        except Exception as error:  # noqa: BLE001 - the trial boundary: a fault of ours must not take the batch along
            failure = Failure(
                kind="harness", message=f"{type(error).__name__}: {error}"[:1_000], traceback=traceback.format_exc()
            )
        state = (await self._graph.aget_state(config)).values
        if not self._keeps:
            await self._saver.adelete_thread(thread_id)
            await forget_memory(self._agent, state.get("agent_memory"))
        return (
            as_trial(state, failure, started_at=started, duration_s=time.perf_counter() - clock)
            if state
            else Trial(task_id=task_id, trial=trial, seed=seed, termination=Termination.INFRASTRUCTURE, failure=failure)
        )

    def thread_id(self, task_id: str, trial: int) -> str:
        """Return the id under which a trial's checkpoints are kept: a UUID, as LangGraph's server wants."""
        return str(uuid5(NAMESPACE_URL, f"taugraph/{self._experiment}/{task_id}/{trial}"))


def as_trial(state: dict[str, Any], failure: Failure | None, *, started_at: datetime, duration_s: float) -> Trial:
    """Make the record of a trial from its final state."""
    own = state.get("failure")
    return Trial(
        task_id=state["task_id"],
        trial=state.get("trial", 0),
        seed=state.get("seed", 0),
        termination=Termination.INFRASTRUCTURE if failure else Termination(state["termination"]),
        reward=None if failure else state["reward"],
        scores=[] if failure else state["scores"],
        messages=[_plain(message) for message in state.get("messages", [])],
        user_log=state.get("user_log", []),
        changes=state.get("changes", {}),
        turns=state.get("turns", 0),
        steps=state.get("steps", 0),
        tool_errors=state.get("tool_errors", 0),
        notes=state.get("notes", {}),
        timeline=state.get("timeline", []),
        usage=state.get("usage", {}),
        failure=failure or (Failure.model_validate(own) if own else None),
        started_at=started_at,
        duration_s=duration_s,
    )


def _plain(message: BaseMessage) -> dict[str, Any]:
    document = message_to_dict(message)
    document["data"] = {name: value for name, value in document["data"].items() if value not in (None, [], {})}
    return document
