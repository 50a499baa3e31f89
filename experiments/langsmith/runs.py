"""A trial as a LangSmith trace: one root run, and below it a run for every node that was at work.

The trace is built from the trial's record, so that a finished experiment can be sent at any time and looks the same. It
grows with the transcript and not with its square: each message stands once in the run of its node and once in the root.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_openai_messages, messages_from_dict

from taugraph.domains.trial import Step, Termination, Trial
from taugraph.experiments.langsmith.identifiers import run_id

RunDocument = dict[str, Any]
"""A run as the client takes it."""


@dataclass(frozen=True)
class TraceContext:
    """What the traces of one experiment have in common.

    Attributes:
        project_id: LangSmith's experiment.
        project_name: Its name.
        experiment: Name of the experiment in the store.
        thread_id: Thread under which the trial's checkpoints are, or would be, kept.
        example_id: Example of the task; `None` where it has none.
        metadata: Goes to every root run: agent, user, protocol, fingerprint.
        gold: Reference solution for the score's run, where it helps people and no actor sees it.
    """

    project_id: UUID
    project_name: str
    experiment: str
    thread_id: str
    example_id: UUID | None
    metadata: Mapping[str, Any]
    gold: Mapping[str, Any]


def trace_of(trial: Trial, context: TraceContext) -> list[RunDocument]:
    """Return the runs of a trial, the root first."""
    steps = _steps(trial)
    started = _moment(steps[0].started)
    messages = messages_from_dict(trial.messages)
    root_id = run_id(context.project_id, trial.task_id, trial.trial)
    root = {
        "name": "simulation",
        "run_type": "chain",
        "inputs": {"task_id": trial.task_id, "trial": trial.trial, "seed": trial.seed},
        "outputs": {
            "reward": trial.reward,
            "termination": trial.termination.value,
            "messages": _openai(messages),
            "changes": trial.changes,
            "scores": {score.key: score.value for score in trial.scores},
        },
        "error": _error(trial),
        "extra": {"metadata": _metadata(trial, context)},
        "tags": [trial.outcome],
        "reference_example_id": str(context.example_id) if context.example_id else None,
    }
    ended = max(_moment(steps[-1].ended), started + timedelta(microseconds=1))
    runs = [_placed(root, root_id, None, (started, ended), context)]
    for number, (step, before) in enumerate(_with_messages(steps)):
        new = messages[before : step.messages]
        span = (_moment(step.started), _moment(step.ended))
        own_id = run_id(context.project_id, trial.task_id, trial.trial, number)
        run = _placed(_run_of(step.node, new, messages[:before], trial, context), own_id, runs[0], span, context)
        runs.append(run)
        if step.node == "tools":
            runs += _call_runs(new, messages[:before], run, span, context)
    return runs


def _run_of(
    node: str, new: Sequence[BaseMessage], before: Sequence[BaseMessage], trial: Trial, context: TraceContext
) -> RunDocument:
    """Return what one node was given and did, without its place."""
    if node == "score":
        scores = [score.model_dump(mode="json") for score in trial.scores]
        outputs: dict[str, Any] = {"reward": trial.reward, "scores": scores}
        return {"name": node, "run_type": "chain", "inputs": {"gold": dict(context.gold)}, "outputs": outputs}
    outputs = {"messages": _openai(new)}
    if node in ("user", "user_tools"):
        aside = [entry for entry in trial.user_log if entry.get("at") == len(before)]
        return {"name": node, "run_type": "chain", "inputs": _last(before), "outputs": {**outputs, "aside": aside}}
    if node == "tools":
        return {"name": node, "run_type": "chain", "inputs": _last(before), "outputs": outputs}
    run: RunDocument = {"name": node, "run_type": "llm", "inputs": _since_agent(before), "outputs": outputs}
    spoken = [message for message in new if isinstance(message, AIMessage)]
    if spoken and (usage := spoken[-1].usage_metadata):
        run["outputs"]["usage_metadata"] = dict(usage)
    if spoken and (model := spoken[-1].response_metadata.get("model_name")):
        run["extra"] = {"metadata": {"ls_model_name": model, "ls_model_type": "chat"}}
    return run


def _call_runs(
    new: Sequence[BaseMessage],
    before: Sequence[BaseMessage],
    parent: RunDocument,
    span: tuple[datetime, datetime],
    context: TraceContext,
) -> Iterator[RunDocument]:
    """Yield a run for every tool call of the message that called."""
    caller = before[-1] if before else None
    calls = [*caller.tool_calls, *caller.invalid_tool_calls] if isinstance(caller, AIMessage) else []
    answers = [message for message in new if isinstance(message, ToolMessage)]
    for number, (call, answer) in enumerate(zip(calls, answers, strict=False)):
        refused = answer.status == "error"
        run = {
            "name": str(call["name"] or "unknown"),
            "run_type": "tool",
            "inputs": {"arguments": call["args"]},
            "outputs": {"output": answer.text},
            "error": answer.text if refused else None,
        }
        yield _placed(run, run_id(parent["id"], "call", number), parent, span, context)


def _placed(
    run: RunDocument,
    own_id: UUID,
    parent: RunDocument | None,
    span: tuple[datetime, datetime],
    context: TraceContext,
) -> RunDocument:
    """Give a run its ids, times and place in the trace."""
    started, ended = span
    order = f"{started:%Y%m%dT%H%M%S%f}Z{own_id}"
    metadata = {**(run.get("extra") or {}).get("metadata", {}), "thread_id": context.thread_id}
    return {
        "error": None,
        **run,
        "extra": {"metadata": metadata},
        "id": str(own_id),
        "trace_id": parent["trace_id"] if parent else str(own_id),
        "parent_run_id": parent["id"] if parent else None,
        "dotted_order": f"{parent['dotted_order']}.{order}" if parent else order,
        "start_time": started.isoformat(),
        "end_time": ended.isoformat(),
        "session_name": context.project_name,
        "session_id": str(context.project_id),
    }


def _metadata(trial: Trial, context: TraceContext) -> dict[str, Any]:
    return {
        **context.metadata,
        "ls_agent_type": "root",
        "experiment": context.experiment,
        "task_id": trial.task_id,
        "trial": trial.trial,
        "seed": trial.seed,
        "termination": trial.termination.value,
        "outcome": trial.outcome,
        "turns": trial.turns,
        "steps": trial.steps,
        "tool_errors": trial.tool_errors,
        "scoring_version": trial.scoring_version,
    }


def _error(trial: Trial) -> str | None:
    """Return what broke a trial: an actor's failure is an error to see, and still a reward of 0."""
    if trial.termination not in (Termination.AGENT_ERROR, Termination.USER_ERROR) or trial.failure is None:
        return None
    return "\n\n".join(filter(None, (trial.failure.message, trial.failure.traceback)))


def _steps(trial: Trial) -> list[Step]:
    """Return the nodes in order; for a trial that kept no timeline one step a message, spread over its time."""
    if trial.timeline:
        return trial.timeline
    start = (trial.started_at or datetime.now(UTC)).timestamp()
    names = [{"human": "user", "ai": "agent", "tool": "tools"}[message["type"]] for message in trial.messages]
    steps = [(name, place) for place, name in enumerate(names, 1) if place == len(names) or names[place] != name]
    share = trial.duration_s / (len(steps) + 1)
    spread = [
        Step(node=name, started=start + share * number, ended=start + share * (number + 1), messages=place)
        for number, (name, place) in enumerate([*steps, ("score", len(names))])
    ]
    return spread


def _with_messages(steps: Sequence[Step]) -> Iterator[tuple[Step, int]]:
    """Yield every step with the number of messages before it."""
    before = 0
    for step in steps:
        yield step, before
        before = step.messages


def _last(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    return {"messages": _openai(messages[-1:])}


def _since_agent(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return what is new to the agent since it last acted."""
    place = max((place for place, each in enumerate(messages, 1) if isinstance(each, AIMessage)), default=0)
    return {"messages": _openai(messages[place:])}


def _openai(messages: Sequence[BaseMessage]) -> list[Any]:
    converted = convert_to_openai_messages(list(messages))
    return converted if isinstance(converted, list) else [converted]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
