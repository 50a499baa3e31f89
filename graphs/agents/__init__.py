"""The kinds of agent under test."""
