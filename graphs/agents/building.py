"""The agent under test, from its reference."""

from taugraph.domains.domain import Domain
from taugraph.graphs.agent import Agent
from taugraph.graphs.agents.baselines import BASELINES, ORACLE
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.agents.references import ModelReference, Reference, RemoteReference, parse_reference
from taugraph.graphs.agents.strategies import build_chat_agent, model_options, refuse_strategy
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
        UnknownNameError: If an option or a strategy is unknown.
    """
    reference, options = context.agent, read_options("agent", context.agent_options)
    if reference == "demo" or reference.startswith("demo:"):
        refuse_strategy(reference, context)
        refuse_options("agent", reference, options)
        return DemoAgent(reference, domain)
    if reference in BASELINES or reference == ORACLE:
        refuse_strategy(reference, context)
        refuse_options("agent", reference, options)
        return oracle_for(domain) if reference == ORACLE else BASELINES[reference]()
    found = parse_reference(reference)
    if isinstance(found, ModelReference):
        model = models.build(reference, model_options(options), actor="agent")
        return build_chat_agent(reference, model, context, models)
    return _build_own_agent(found, context, domain, models)


def oracle_for(domain: Domain) -> Agent:
    """Build the demonstration agent that never slips, under its own name."""
    oracle = DemoAgent("demo:0", domain)
    oracle.reference = "oracle"
    return oracle


def _build_own_agent(found: Reference, context: SimulationContext, domain: Domain, models: ChatModels) -> Agent:
    """Build an agent that is code, a graph, or deployed somewhere."""
    from taugraph.graphs.agents.factory import Making, make_agent, make_remote_agent  # noqa: PLC0415 - only where it is used
    from taugraph.graphs.agents.loading import load  # noqa: PLC0415 - only where it is used
    from taugraph.graphs.agents.own import OwnAgent  # noqa: PLC0415 - only where it is used

    options = read_options("agent", context.agent_options)
    making = Making(context.agent, options, domain, context, models)
    if isinstance(found, RemoteReference):
        return OwnAgent(context.agent, make_remote_agent(found, making), timeout_s=context.agent_timeout_s)
    assert not isinstance(found, ModelReference), "chat models are built by whoever calls this"
    loaded = load(context.agent, found)
    agent = make_agent(loaded.value, making)
    return OwnAgent(context.agent, agent, timeout_s=context.agent_timeout_s, code_digest=loaded.digest)
