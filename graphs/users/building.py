"""The simulated user, from its reference."""

from taugraph.domains.protocol import Protocol
from taugraph.graphs.context import SimulationContext, read_options, refuse_options
from taugraph.graphs.models import ChatModels
from taugraph.graphs.user import SimulatedUser
from taugraph.graphs.users.demo import DemoUser
from taugraph.graphs.users.llm import LlmUser


def build_user(context: SimulationContext, protocol: Protocol, models: ChatModels) -> SimulatedUser:
    """Build the simulated user.

    Args:
        context: Holds its reference: `demo`, or a chat model, and the strategy of a model.
        protocol: Decides how the user stops.
        models: Chat models of this run.

    Raises:
        ConfigurationError: If the reference leads nowhere, or the provider lacks a key or package.
    """
    reference, options = context.user, read_options("user", context.user_options)
    if reference == "demo":
        refuse_options("user", reference, options)
        return DemoUser(stops_on_token=protocol.stops_on_token)
    model = models.build(reference, options, actor="user")
    return LlmUser(reference, model, models.calls, stops_on_token=protocol.stops_on_token)
