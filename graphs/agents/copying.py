"""A fork of a thread: its checkpoints up to one of them, under another name."""

from collections import defaultdict
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple


async def copy_thread(saver: BaseCheckpointSaver[Any], old: str, new: str, checkpoint_id: str) -> bool:
    """Copy a thread up to and with one checkpoint; the ids of checkpoints follow the clock.

    Returns:
        Whether the saver knows that checkpoint.
    """
    found = [each async for each in saver.alist({"configurable": {"thread_id": old}})]
    if not any(_id(each) == checkpoint_id for each in found):
        return False
    kept = sorted((each for each in found if _id(each) <= checkpoint_id), key=_id)
    tips = {_namespace(each): _id(each) for each in kept}
    for each in kept:
        parent = each.parent_config
        config = _config(new, _namespace(each), _id_of(parent) if parent else None)
        put = await saver.aput(config, each.checkpoint, each.metadata, each.checkpoint["channel_versions"])
        # What was written at the last checkpoints came after the fork.
        if tips[_namespace(each)] != _id(each):
            await _copy_writes(saver, put, each)
    return True


async def _copy_writes(saver: BaseCheckpointSaver[Any], config: RunnableConfig, copied: CheckpointTuple) -> None:
    by_task: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for task_id, channel, value in copied.pending_writes or []:
        by_task[task_id].append((channel, value))
    for task_id, writes in by_task.items():
        await saver.aput_writes(config, writes, task_id)


def _config(thread_id: str, namespace: str, checkpoint_id: str | None) -> RunnableConfig:
    at = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, **at}}


def _id(found: CheckpointTuple) -> str:
    return found.checkpoint["id"]


def _id_of(config: RunnableConfig) -> str | None:
    return config.get("configurable", {}).get("checkpoint_id")


def _namespace(found: CheckpointTuple) -> str:
    return str(found.config.get("configurable", {}).get("checkpoint_ns", ""))
