"""The simulation graph as LangGraph's server and Studio load it: without a checkpointer, which they bring."""

from taugraph.graphs.simulation import build_simulation

graph = build_simulation()
airline = build_simulation(domain="airline")
retail = build_simulation(domain="retail")
phone = build_simulation(domain="phone")
