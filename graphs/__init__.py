"""Who acts: the simulation graph, its state, the agents, the simulated users and their prompts."""
