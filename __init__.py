"""Measure whether a LangChain agent can be trusted: the same task k times, counted only if every trial passes."""

__version__ = "0.1.0"
