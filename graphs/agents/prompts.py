"""The agents' prompts: Markdown files beside the code, read once, when they are first imported."""

from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template

_ENVIRONMENT = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)


def load_prompt(name: str) -> tuple[str, Template]:
    """Read one prompt; a turn is taken on the event loop, which must not wait for a file.

    Returns:
        Its source, which is part of a run's identity, and the template to fill in.
    """
    source = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return source, _ENVIRONMENT.from_string(source)
