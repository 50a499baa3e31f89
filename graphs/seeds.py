"""Seeds that depend on what is played and by whom, and on nothing else: not on concurrency, order or other trials."""

from hashlib import sha256


def trial_seed(run_seed: int, task_id: str, trial: int) -> int:
    """Return the seed of one trial, in [0, 2**31)."""
    return _seed(run_seed, task_id, trial)


def actor_seed(seed: int, task_id: str, trial: int, actor: str) -> int:
    """Return one actor's seed within a trial, in [0, 2**31)."""
    return _seed(seed, task_id, trial, actor)


def _seed(*parts: object) -> int:
    digest = sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4]) & 0x7FFFFFFF
