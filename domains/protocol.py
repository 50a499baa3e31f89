"""A protocol: the rules of the conversation and of the scoring, as a value.

`strict` is what a new score should mean. `tau-bench` reproduces the published rules, so that recorded conversations and
published tables come out the same. The protocol is part of a run's identity.
"""

from pydantic import BaseModel, ConfigDict, Field

from taugraph.domains.errors import UnknownNameError

STOP_TOKEN = "###STOP###"
"""What a simulated user writes to stop, where the protocol stops on a token."""


class Protocol(BaseModel):
    """Rules of conversation and scoring."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str
    """`strict` or `tau-bench`."""
    max_turns: int | None = Field(default=None, ge=1)
    """User messages at most; `None` for no limit."""
    max_steps: int | None = Field(default=None, ge=1)
    """Agent messages at most; `None` for no limit."""
    max_tool_errors: int | None = Field(default=None, ge=1)
    """Tool errors in a row at most; `None` for no limit."""
    stops_on_token: bool = False
    """Whether the user stops by writing `STOP_TOKEN` anywhere, instead of by a structured reply."""
    defers_stop: bool = True
    """Whether a stop that comes with an answer to the agent's question first lets the agent act on the answer."""
    first_tool_call_only: bool = False
    """Whether further tool calls of one message are dropped."""
    handoff_ends_trial: bool = False
    """Whether handing over to a human ends the trial."""
    gold_may_fail: bool = False
    """Whether refused gold calls are silent; otherwise they make the task invalid."""
    claims_by_substring: bool = False
    """Whether every claim is searched as text in lower case, commas removed from the reply."""
    checks_policy: bool = True
    """Whether the domain's policy rules watch each tool call."""


STRICT = Protocol(name="strict", max_turns=30, max_steps=100, max_tool_errors=10)
"""What a new score should mean."""

TAU_BENCH = Protocol(
    name="tau-bench",
    max_steps=30,
    stops_on_token=True,
    defers_stop=False,
    first_tool_call_only=True,
    handoff_ends_trial=True,
    gold_may_fail=True,
    claims_by_substring=True,
    checks_policy=False,
)
"""The published rules of the first version."""

PROTOCOLS = {protocol.name: protocol for protocol in (STRICT, TAU_BENCH)}
"""Protocol by name."""


def find_protocol(name: str) -> Protocol:
    """Return the protocol of that name.

    Raises:
        UnknownNameError: If there is none.
    """
    if name not in PROTOCOLS:
        raise UnknownNameError("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]
