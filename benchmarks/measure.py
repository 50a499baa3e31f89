"""What the benchmarks measure with: clocks, medians, peak memory, and lines that set a figure beside its floor.

Nothing here asserts on time: a figure is printed with its limit and `ok` or `over`, and whoever reads it decides.
"""

import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

AIRLINE = "airline"
"""The only domain that is measured."""


class CpuShares:
    """Splits the process's CPU time among named sections, innermost section first.

    The clock is that of the whole process, so a section may move between threads; only one trial may be in flight.
    """

    def __init__(self, rest: str) -> None:
        """Start; `rest` is the name of what happens outside of every section."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open = [rest]
        self._mark = time.process_time()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Count what happens inside under that name."""
        self._book()
        self._open.append(name)
        try:
            yield
        finally:
            self._book()
            self._open.pop()

    def total(self) -> float:
        """Return all seconds since the start."""
        self._book()
        return sum(self.seconds.values())

    def _book(self) -> None:
        now = time.process_time()
        self.seconds[self._open[-1]] += now - self._mark
        self._mark = now


@contextmanager
def replaced(owner: Any, name: str, wrapper: Callable[[Any], Any]) -> Iterator[None]:
    """Have a function of an object or module go through a wrapper while this holds."""
    original = getattr(owner, name)
    setattr(owner, name, wrapper(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def wall_ms(work: Callable[[], object], *, times: int = 1) -> list[float]:
    """Return how many milliseconds each of so many calls takes, by the wall clock."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1e3)
    return taken


def undisturbed_ms(work: Callable[[], object]) -> float:
    """Return the fastest of three calls, in milliseconds: what else the machine does only ever adds."""
    return min(wall_ms(work, times=3))


def median_ms(work: Callable[[], object], *, times: int) -> float:
    """Return the median of so many undisturbed calls, in milliseconds."""
    return median(undisturbed_ms(work) for _ in range(times))


def peak_mb() -> float:
    """Return the most memory this process has had resident, in MB (10^6 bytes).

    On Linux it is read from the kernel's status: `ru_maxrss` there starts at the parent's size.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def data_folders() -> dict[str, Path | None]:
    """Return name -> folder of the airline's data; `None` for our own. Published data are left out where absent."""
    shared = Path(__file__).resolve().parents[2] / "shared" / "tau-bench"
    folder = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", shared))
    own: dict[str, Path | None] = {"own": None}
    return own | ({"tau-bench": folder / AIRLINE} if (folder / AIRLINE).is_dir() else {})


@contextmanager
def clean_environment() -> Iterator[Path]:
    """Give a temporary folder for stores and the seed cache, and see that nothing is traced or sent anywhere."""
    with tempfile.TemporaryDirectory(prefix="taugraph-benchmark-") as folder:
        for name in [name for name in os.environ if name.startswith(("LANGSMITH_", "LANGCHAIN_"))]:
            del os.environ[name]
        os.environ["TAUGRAPH_CACHE"] = str(Path(folder) / "cache")
        yield Path(folder)


def machine() -> str:
    """Say what is measured on, and how busy it is with other things: a load above the cores slows every figure."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}"


def print_title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}")


def print_figure(what: str, value: float, unit: str, *, floor: float | None = None, limit: float | None = None) -> None:
    """Print one measurement, how many times its floor it is, and whether it keeps its limit."""
    ratio = f"{value / floor:6.1f} x {floor:.3g} {unit}" if floor else ""
    kept = "" if limit is None else f"limit {limit:g} {unit}: {'ok' if value < limit else 'OVER'}"
    print(f"  {what:<46}{value:>9.3f} {unit:<4}{ratio:<22}{kept}".rstrip())


def print_shares(seconds: Mapping[str, float], trials: int) -> None:
    """Print milliseconds per trial and part of the whole, largest first."""
    whole = sum(seconds.values())
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        print(f"    {name:<44}{spent / trials * 1e3:>9.3f} ms  {spent / whole:6.1%}")
