"""The simulated user, from its reference."""

from pathlib import Path

from taugraph.domains.errors import ConfigurationError, UnknownNameError
from taugraph.domains.protocol import Protocol
from taugraph.graphs.agents.references import is_model
from taugraph.graphs.context import SimulationContext, read_options, refuse_options
from taugraph.graphs.models import ChatModels
from taugraph.graphs.user import SimulatedUser
from taugraph.graphs.users.demo import DemoUser
from taugraph.graphs.users.human import HumanUser, InterruptingUser
from taugraph.graphs.users.llm import LlmUser
from taugraph.graphs.users.own import build_own_user
from taugraph.graphs.users.react import ReactUser
from taugraph.graphs.users.scripted import load_script
from taugraph.graphs.users.verify import ReflectionUser, VerifyUser

STRATEGIES: dict[str, type[LlmUser]] = {
    user.strategy: user for user in (LlmUser, ReactUser, VerifyUser, ReflectionUser)
}
"""How a chat model plays the user, by name."""

_SCRIPTED = "scripted:"


def build_user(
    context: SimulationContext, protocol: Protocol, models: ChatModels, *, is_served: bool = False
) -> SimulatedUser:
    """Build the simulated user.

    Args:
        context: Holds its reference: `demo`, `human`, `scripted:FILE`, code of one's own, or a chat model with its
            strategy.
        protocol: Decides how the user stops.
        models: Chat models of this run.
        is_served: Whether LangGraph's server plays the trial, so that a person is asked by an interrupt.

    Raises:
        ConfigurationError: If the reference leads nowhere, or the provider lacks a key or package.
        UnknownNameError: If there is no such strategy.
        DataError: If a script cannot be read.
    """
    reference, options = context.user, read_options("user", context.user_options)
    if context.user_strategy not in STRATEGIES:
        raise UnknownNameError("user strategy", context.user_strategy, STRATEGIES)
    is_code = reference not in ("demo", "human") and not reference.startswith(_SCRIPTED)
    if is_code and is_model(reference):
        model = models.build(reference, options, actor="user")
        strategy = STRATEGIES[context.user_strategy]
        return strategy(reference, model, models.calls, stops_on_token=protocol.stops_on_token)
    if context.user_strategy != LlmUser.strategy:
        raise ConfigurationError(
            f"--user-strategy {context.user_strategy} is for chat models, and --user is {reference!r}; leave it out"
        )
    if is_code:
        return build_own_user(reference, protocol, options, timeout_s=context.agent_timeout_s)
    refuse_options("user", reference, options)
    if reference == "human":
        return InterruptingUser() if is_served else HumanUser()
    if reference.startswith(_SCRIPTED):
        return load_script(reference, Path(reference.removeprefix(_SCRIPTED)))
    return DemoUser(stops_on_token=protocol.stops_on_token)
