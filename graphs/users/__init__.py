"""The kinds of simulated user."""
