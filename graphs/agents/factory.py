"""What a reference may lead to, and how it becomes an agent.

A chat model, a Runnable, a graph compiled or not, an object with `reply`, or a function that makes one of these from
`tools` and `policy` or, as LangGraph's server calls it, from `config` or `runtime`.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client

from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError, TaugraphError
from taugraph.graphs.agent import Agent
from taugraph.graphs.agents.graph import GraphAgent, has_messages
from taugraph.graphs.agents.graph_options import GraphOptions, RemoteOptions, RunnableOptions, read_graph_options
from taugraph.graphs.agents.loading import what_failed
from taugraph.graphs.agents.own import Later
from taugraph.graphs.agents.pausing import PausingAgent
from taugraph.graphs.agents.references import RemoteReference
from taugraph.graphs.agents.remote import RemoteThreads
from taugraph.graphs.agents.runnable import RunnableAgent
from taugraph.graphs.agents.strategies import build_chat_agent, model_options, refuse_strategy
from taugraph.graphs.context import SimulationContext, refuse_options
from taugraph.graphs.models import ChatModels

_WANTED = (
    "a chat model, a Runnable, a StateGraph or compiled graph, an object with `async reply(view)`, "
    "or a function make_agent(tools, policy) that returns one of these"
)
_FROM_DOMAIN = ("tools", "policy")
_FROM_SERVER = ("config", "runtime")


@dataclass(frozen=True)
class Making:
    """What an agent is made with.

    Attributes:
        reference: As it was typed.
        options: As they were typed.
        domain: The world it will act in.
        context: Settings of the run.
        models: Chat models of the run.
    """

    reference: str
    options: Mapping[str, Any]
    domain: Domain
    context: SimulationContext
    models: ChatModels

    @property
    def tools(self) -> list[BaseTool]:
        """The domain's tools, as far as its dialect has them."""
        known = self.domain.dialect.tools
        return [tool for tool in self.domain.agent_tools if known is None or tool.name in known]


def make_agent(value: Any, making: Making) -> Agent | Later:
    """Return the agent that a value is or makes, or what makes it where that takes an event loop.

    Raises:
        ConfigurationError: If the value is nothing that can act, or a factory fails.
        UnknownNameError: If an option is unknown.
    """
    if not is_factory(value):
        return as_agent(value, making)
    arguments = _arguments(value, making)
    if _is_asynchronous(value):
        return _building(lambda: value(**arguments), making)
    made = _called(lambda: value(**arguments), making)
    if inspect.isawaitable(made) or isinstance(made, AbstractAsyncContextManager | AbstractContextManager):
        return _building(lambda: made, making)
    return as_agent(made, making)


def make_remote_agent(found: RemoteReference, making: Making) -> Later:
    """Return what builds an agent that is deployed; its client belongs to the event loop of the trials.

    Raises:
        UnknownNameError: If an option is unknown.
        ConfigurationError: If an option does not fit.
    """
    refuse_strategy(making.reference, making.context)
    options = read_graph_options(RemoteOptions, making.reference, making.options)

    async def build(stack: AsyncExitStack) -> Agent:
        key: dict[str, Any] = {"api_key": options.api_key} if options.api_key else {}
        client = get_client(url=found.url, headers=options.headers or None, **key)
        threads = RemoteThreads(client, found.assistant, options)
        try:
            await threads.check(making.reference)
        except BaseException:
            await threads.aclose()
            raise
        return PausingAgent(making.reference, threads, options)

    return Later(build)


def is_factory(value: object) -> bool:
    """Tell what has to be called first from what can act itself."""
    if inspect.isclass(value):
        return True
    if isinstance(value, Runnable | StateGraph) or _replies(value):
        return False
    return callable(value)


def as_agent(value: object, making: Making) -> Agent:
    """Return the agent that a value is.

    Raises:
        ConfigurationError: If it is nothing that can act.
        UnknownNameError: If an option is unknown.
    """
    reference, options = making.reference, making.options
    if isinstance(value, BaseChatModel):
        refuse_options("agent", reference, model_options(options))
        return build_chat_agent(reference, value, making.context, making.models)
    refuse_strategy(reference, making.context)
    if isinstance(value, StateGraph):
        value = _called(value.compile, making)
    if isinstance(value, RemoteGraph):
        return PausingAgent(reference, _remote(value, making), read_graph_options(GraphOptions, reference, options))
    if isinstance(value, Pregel) and has_messages(value, str(options.get("input_key", "messages"))):
        names = frozenset(tool.name for tool in making.tools)
        return GraphAgent(reference, value, names, read_graph_options(GraphOptions, reference, options))
    if isinstance(value, Runnable):
        return RunnableAgent(reference, value, read_graph_options(RunnableOptions, reference, options))
    if _replies(value):
        refuse_options("agent", reference, options)
        return value  # type: ignore[return-value] # it was just asked
    raise ConfigurationError(f"cannot use --agent {reference!r}: it is {_article(value)}, wanted {_WANTED}")


def _building(make: Callable[[], Any], making: Making) -> Later:
    async def build(stack: AsyncExitStack) -> Agent:
        try:
            made = make()
            if inspect.isawaitable(made):
                made = await made
            if isinstance(made, AbstractAsyncContextManager) and not isinstance(made, Runnable):
                made = await stack.enter_async_context(made)
            elif isinstance(made, AbstractContextManager) and not isinstance(made, Runnable):
                made = stack.enter_context(made)
        except Exception as error:
            raise _failed(error, making) from error
        return as_agent(made, making)

    return Later(build)


def _called(make: Callable[[], Any], making: Making) -> Any:
    try:
        return make()
    except TaugraphError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(error, making) from error


def _failed(error: BaseException, making: Making) -> ConfigurationError:
    return ConfigurationError(f"cannot use --agent {making.reference!r}: making it failed: {what_failed(error)}")


def _arguments(factory: Any, making: Making) -> dict[str, Any]:
    """Return what a factory asks for by the names of its parameters."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    given: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name in (*_FROM_DOMAIN, *_FROM_SERVER):
            given[parameter.name] = _given(parameter.name, making)
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise ConfigurationError(
                f"cannot use --agent {making.reference!r}: it takes {parameter.name!r}, "
                f"wanted a function of any of {', '.join((*_FROM_DOMAIN, *_FROM_SERVER))}, or {_WANTED}"
            )
    return given


def _given(name: str, making: Making) -> Any:
    if name == "tools":
        return making.tools
    if name == "policy":
        return making.domain.policy
    configurable = dict(read_graph_options(GraphOptions, making.reference, making.options).config)
    if name == "config":
        return {"configurable": configurable}
    from langgraph.store.memory import InMemoryStore  # noqa: PLC0415 - only for factories that ask for a runtime
    from langgraph_sdk.runtime import _ExecutionRuntime  # noqa: PLC0415 - only for factories that ask for a runtime

    options = read_graph_options(GraphOptions, making.reference, making.options)
    return _ExecutionRuntime(access_context="threads.create_run", store=InMemoryStore(), context=options.context)


def _is_asynchronous(factory: Any) -> bool:
    """Tell whether calling it gives something to await; what must not be called twice is not called to find out."""
    plain = inspect.unwrap(factory)
    if inspect.isclass(plain):
        return False
    call = plain if inspect.isroutine(plain) else getattr(plain, "__call__", plain)  # noqa: B004 - not a test
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call) or inspect.isgeneratorfunction(call)


def _replies(value: object) -> bool:
    return not inspect.isclass(value) and inspect.iscoroutinefunction(getattr(value, "reply", None))


def _remote(value: RemoteGraph, making: Making) -> RemoteThreads:
    options = read_graph_options(GraphOptions, making.reference, making.options)
    if value.client is None:
        raise ConfigurationError(f"cannot use --agent {making.reference!r}: the RemoteGraph has no asynchronous client")
    return RemoteThreads(value.client, value.assistant_id, options)


def _article(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
