"""The simulation graph: `user`, `agent`, `tools` and `score` as nodes of one state graph.

    START -> user -> agent -> tools -> agent ... -> score -> END

Where the user has tools of its own, `user_tools` runs their calls.

Nodes are joined by conditional edges, so that a state edited and forked in Studio knows its next node. The graph
carries no checkpointer; whoever runs it brings one.
"""

import asyncio
import time
from typing import Literal

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from taugraph.graphs import acting, nodes, speaking
from taugraph.graphs.casting import stage_for
from taugraph.graphs.context import SimulationContext, context_for
from taugraph.graphs.delivery import has_calls
from taugraph.graphs.stage import Stage
from taugraph.graphs.state import SimulationInput, SimulationOutput, SimulationState
from taugraph.graphs.updates import Update, timed

Simulation = CompiledStateGraph[SimulationState, SimulationContext, SimulationInput, SimulationOutput]
"""The compiled graph."""


def build_simulation(stage: Stage | None = None, *, domain: str | None = None) -> Simulation:
    """Build the graph.

    Args:
        stage: Domain, actors and protocol of a run; `None` to take them from the run's context, as the server does.
        domain: Domain that a context names unless it says otherwise; `None` for the usual one.
    """
    schema = SimulationContext if domain is None else context_for(domain)

    def current(runtime: Runtime[SimulationContext]) -> Stage:
        return stage if stage is not None else stage_for(runtime.context or schema())

    async def current_aside(runtime: Runtime[SimulationContext]) -> Stage:
        """Build the stage in a thread: it reads files, which must not hold up the server's event loop."""
        return stage if stage is not None else await asyncio.to_thread(current, runtime)

    async def user(state: SimulationState, runtime: Runtime[SimulationContext]) -> Update:
        started = time.time()
        return timed("user", started, state, await speaking.speak(await current_aside(runtime), state))

    async def agent(state: SimulationState, runtime: Runtime[SimulationContext]) -> Update:
        started = time.time()
        return timed("agent", started, state, await acting.act(await current_aside(runtime), state))

    # The next ones touch SQLite, so they are plain functions: LangGraph runs those in worker threads.
    def user_tools(state: SimulationState, runtime: Runtime[SimulationContext]) -> Update:
        started = time.time()
        return timed("user_tools", started, state, speaking.run_user_tools(current(runtime), state))

    def tools(state: SimulationState, runtime: Runtime[SimulationContext]) -> Update:
        started = time.time()
        return timed("tools", started, state, nodes.run_tools(current(runtime), state))

    def score(state: SimulationState, runtime: Runtime[SimulationContext]) -> Update:
        started = time.time()
        return timed("score", started, state, nodes.score(current(runtime), state))

    builder = StateGraph(
        SimulationState,
        context_schema=schema,
        input_schema=SimulationInput,
        output_schema=SimulationOutput,
    )
    builder.add_node("user", user)
    builder.add_node("agent", agent)
    builder.add_node("tools", tools)
    builder.add_node("score", score)
    builder.add_edge(START, "user")
    if stage is None or stage.domain.user_tools:
        builder.add_node("user_tools", user_tools)
        builder.add_conditional_edges("user", after_user_with_tools)
        builder.add_conditional_edges("user_tools", after_user_tools)
    else:
        builder.add_conditional_edges("user", after_user)
    builder.add_conditional_edges("agent", after_agent)
    builder.add_conditional_edges("tools", after_tools)
    builder.add_edge("score", END)
    return builder.compile(name=domain or "simulation")


async def after_user(state: SimulationState) -> Literal["agent", "score"]:
    """Go on to the agent unless the trial has ended."""
    return "score" if state.get("termination") else "agent"


async def after_user_with_tools(state: SimulationState) -> Literal["agent", "user_tools", "score"]:
    """Run the calls of the user's message, go on to the agent, or end."""
    if state.get("held") and not state.get("termination"):
        return "user_tools"
    return await after_user(state)


async def after_user_tools(state: SimulationState) -> Literal["agent", "user", "score"]:
    """Deliver the words that came with the calls, or ask the user for some."""
    if state.get("termination"):
        return "score"
    messages = state.get("messages", [])
    return "agent" if messages and isinstance(messages[-1], HumanMessage) else "user"


async def after_agent(state: SimulationState) -> Literal["tools", "user", "score"]:
    """Run the calls of the agent's message, or deliver its words."""
    if state.get("termination"):
        return "score"
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and has_calls(last) else "user"


async def after_tools(state: SimulationState) -> Literal["agent", "score"]:
    """Go back to the agent unless the trial has ended."""
    return "score" if state.get("termination") else "agent"
