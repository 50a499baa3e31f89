"""A trial: one attempt at one task, from the first word to its scores.

Three outcomes: passed, failed, unscored. A trial is unscored only when infrastructure failed; what an agent or a
simulated user does always ends in one of the other terminations and is scored.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from taugraph.domains.changes import NetChanges

SCORING_VERSION = 2
"""Moves with anything that can move a score; stored with every trial."""


class Termination(StrEnum):
    """Why a trial ended: a closed set."""

    USER_STOP = "user_stop"
    """The user ended the conversation."""
    TRANSFER = "transfer"
    """The agent handed over to a human under a protocol where that ends the trial."""
    MAX_TURNS = "max_turns"
    """The user would have spoken once more than allowed."""
    MAX_STEPS = "max_steps"
    """The agent would have acted once more than allowed."""
    TOO_MANY_TOOL_ERRORS = "too_many_tool_errors"
    """Too many tool calls in a row were errors."""
    AGENT_ERROR = "agent_error"
    """The agent raised, or twice answered with nothing."""
    USER_ERROR = "user_error"
    """The simulated user produced no usable turn."""
    INFRASTRUCTURE = "infrastructure"
    """A provider or the harness failed: the trial has no score."""


Outcome = Literal["passed", "failed", "unscored"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Score(_Record):
    """One evaluator's answer about one finished trial."""

    key: str
    """What is true at 1.0, such as `database_matches_goal`."""
    value: float | None = Field(ge=0, le=1)
    """In [0, 1]; `None` where the evaluator has no criterion to judge by."""
    evidence: list[dict[str, JsonValue]] = Field(default_factory=list)
    """What the value rests on, one object per difference or claim."""
    gates: bool = True
    """Whether the reward rests on it."""


class Failure(_Record):
    """What went wrong at a boundary."""

    kind: str
    """One word: `rate_limit`, `connection`, `agent_raised`, ..."""
    message: str
    """The error in words, bounded."""
    actor: Literal["agent", "user", "tools", "harness"] = "harness"
    """On whose side it happened."""
    traceback: str | None = None
    """Where agent or user code raised; `None` for provider failures."""


class Usage(_Record):
    """Tokens one actor used in a trial."""

    calls: int = 0
    """Model calls."""
    input_tokens: int = 0
    """Prompt tokens, cached ones included."""
    output_tokens: int = 0
    """Completion tokens, reasoning included."""
    uncounted_calls: int = 0
    """Calls whose provider reported no usage."""


class Step(_Record):
    """One node of the graph at work."""

    node: str
    """`user`, `user_tools`, `agent`, `tools` or `score`."""
    started: float
    """Seconds of the epoch."""
    ended: float
    """Seconds of the epoch."""
    messages: int = 0
    """Messages of the transcript after it."""


class Trial(_Record):
    """The whole record of one attempt."""

    task_id: str
    """Task that was played."""
    trial: int = Field(ge=0)
    """Index of the attempt, from 0."""
    seed: int
    """Seed of this attempt; the actors' seeds derive from it."""
    termination: Termination
    """Why it ended."""
    reward: float | None = Field(default=None, ge=0, le=1)
    """Product of the gating scores in [0, 1]; `None` while unscored."""
    scores: list[Score] = Field(default_factory=list)
    """One per evaluator, also where the trial ended early."""
    messages: list[dict[str, Any]] = Field(default_factory=list)
    """The transcript, as LangChain message dictionaries."""
    user_log: list[dict[str, Any]] = Field(default_factory=list)
    """What the user did that the agent never saw: drafts, thoughts, and calls of its own tools with their answers."""
    changes: NetChanges = Field(default_factory=dict)
    """What the trial changed in the database."""
    turns: int = 0
    """User messages."""
    steps: int = 0
    """Agent messages."""
    tool_errors: int = 0
    """Tool calls that were errors, in all."""
    notes: dict[str, JsonValue] = Field(default_factory=dict)
    """What else happened: deferred stops, nudges."""
    timeline: list[Step] = Field(default_factory=list)
    """When which node was at work, in order."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    """Tokens by actor."""
    failure: Failure | None = None
    """The failure behind an error termination; `None` otherwise."""
    started_at: datetime | None = None
    """Wall clock in UTC."""
    duration_s: float = 0.0
    """Wall time in seconds."""
    scoring_version: int = SCORING_VERSION
    """Version of the scoring that produced `reward`."""

    @property
    def outcome(self) -> Outcome:
        """Whether it passed, failed, or has no score."""
        if self.reward is None:
            return "unscored"
        return "passed" if abs(self.reward - 1.0) <= 1e-6 else "failed"
