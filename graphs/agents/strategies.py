"""How a chat model acts as the agent: strategies by name."""

from langchain_core.language_models import BaseChatModel

from taugraph.domains.errors import UnknownNameError
from taugraph.graphs.agent import Agent
from taugraph.graphs.agents.chat import ChatAgent
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels

STRATEGIES = ("tool-calling",)
"""Names of the strategies."""


def build_chat_agent(reference: str, model: BaseChatModel, context: SimulationContext, models: ChatModels) -> Agent:
    """Build an agent that is a chat model with the strategy that the context names.

    Raises:
        UnknownNameError: If there is no such strategy.
    """
    if context.strategy not in STRATEGIES:
        raise UnknownNameError("strategy", context.strategy, STRATEGIES)
    return ChatAgent(reference, model, models.calls)
