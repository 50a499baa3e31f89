"""Checks of worlds in which the user has tools of its own: whose tool is whose, and that both sides are needed."""

from collections.abc import Iterator

from taugraph.experiments.check_suite import Finding, Suite, fault, note
from taugraph.tools.definition import ToolKind


def own_tools(suite: Suite) -> Iterator[Finding]:
    """No tool is the agent's and the user's, and no user hands over."""
    agents = {tool.name for tool in suite.domain.agent_tools}
    for tool in suite.user_executor.tools:
        if tool.name in agents:
            yield fault(None, "own_tools", f"a tool named {tool.name!r} is the agent's and the user's")
        if suite.user_executor.kind(tool.name) is ToolKind.HANDOFF:
            yield fault(None, "own_tools", f"the user has the tool {tool.name!r}, and only agents hand over")


def both_act(suite: Suite) -> Iterator[Finding]:
    """A task that both sides act in is not solved by the user alone; that the agent alone solves it is for a person."""
    tasks = {task.id: task for task in suite.tasks}
    for task_id, reaches in suite.alone.items():
        task = tasks[task_id]
        if reaches.get("user") and not task.claims:
            yield fault(
                task, "both_act", "the user reaches the goal alone: add a claim, or a gold write of the agent's"
            )
        if reaches.get("agent"):
            yield note(task, "both_act", "the agent reaches the goal alone: nothing that the user does counts")
