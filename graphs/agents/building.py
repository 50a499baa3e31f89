"""The agent under test, from its reference."""

from taugraph.domains.domain import Domain
from taugraph.graphs.agent import Agent
from taugraph.graphs.agents.baselines import BASELINES, ORACLE
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.agents.strategies import build_chat_agent
from taugraph.graphs.context import SimulationContext, read_options, refuse_options
from taugraph.graphs.models import ChatModels


def build_agent(context: SimulationContext, domain: Domain, models: ChatModels) -> Agent:
    """Build the agent under test.

    Args:
        context: Holds its reference: `demo`, `demo:RATE` with the chance of a slip in [0, 1], a baseline (`noop`,
            `transfer`, `yes`, `recite`, `oracle`), code or a graph of one's own, or a chat model.
        domain: The domain, whose answers a demonstration agent is given.
        models: Chat models of this run.

    Raises:
        ConfigurationError: If the reference leads nowhere, or the provider lacks a key or package.
    """
    reference, options = context.agent, read_options("agent", context.agent_options)
    if reference == "demo" or reference.startswith("demo:"):
        refuse_options("agent", reference, options)
        return DemoAgent(reference, domain)
    if reference in BASELINES or reference == ORACLE:
        refuse_options("agent", reference, options)
        return oracle_for(domain) if reference == ORACLE else BASELINES[reference]()
    model = models.build(reference, options, actor="agent")
    return build_chat_agent(reference, model, context, models)


def oracle_for(domain: Domain) -> Agent:
    """Build the demonstration agent that never slips, under its own name."""
    oracle = DemoAgent("demo:0", domain)
    oracle.reference = "oracle"
    return oracle
