"""Tokens: read off a message, and added up."""

from langchain_core.messages import AIMessage

from taugraph.domains.trial import Usage


def usage_of(message: AIMessage) -> Usage:
    """Return what one model call used; a provider that reports nothing leaves the call uncounted."""
    tokens = message.usage_metadata
    if tokens is None:
        return Usage(calls=1, uncounted_calls=1)
    return Usage(calls=1, input_tokens=tokens["input_tokens"], output_tokens=tokens["output_tokens"])


def add_usage(first: Usage, second: Usage) -> Usage:
    """Return the sum of both, field by field."""
    return Usage(**{name: getattr(first, name) + getattr(second, name) for name in Usage.model_fields})
