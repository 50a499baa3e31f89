"""Agents of a team's own, as a reference to them would build them for the airline."""

from typing import Any

from taugraph.domains.domain import load_domain
from taugraph.graphs.agents.factory import Making, as_agent
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels

AIRLINE = load_domain("airline")


def agent_of(value: Any, **options: Any) -> Any:
    """Return the agent that a value is, with these options."""
    return as_agent(value, Making("mine", options, AIRLINE, SimulationContext(), ChatModels()))
