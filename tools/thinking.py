"""A place for an agent to think; nothing happens."""

from taugraph.tools.definition import ToolKind, domain_tool


@domain_tool(ToolKind.GENERIC)
def think(thought: str) -> str:
    """Note down a thought before the next action. It reaches nobody and changes nothing.

    Args:
        thought: What to keep in mind.
    """
    return ""
