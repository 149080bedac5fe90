# SPDX-License-Identifier: Apache-2.0
"""Processors: which ones a measurement runs on, and what they are."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from onnx_argmax import get_num_threads, set_num_threads

__all__ = ["Others", "available", "machine", "only"]


def available() -> int:
    """Processors that this process may use."""
    return min(len(_allowed()), get_num_threads())


@contextlib.contextmanager
def only(threads: int) -> Iterator[None]:
    """Keep every thread of the process on the first so many processors.

    Some peers (JAX) fix the number of their threads when they start and cannot be told another
    one; two threads that share one processor are as fast as one. It holds for everybody alike.
    """
    before, ours = _allowed(), get_num_threads()
    _move(sorted(before)[:threads])
    set_num_threads(threads)
    try:
        yield
    finally:
        set_num_threads(ours)
        _move(before)


def _allowed() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _move(processors: list[int]) -> None:
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return  # no Linux: everybody is told the number, which JAX does not take
    for task in tasks.iterdir():
        # A thread may end between the two lines.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), processors)


class Others:
    """How busy everybody else keeps the processors while this process measures.

    One busy neighbour on two processors is enough to make two threads as slow as one.
    """

    def __init__(self) -> None:
        self._begin = self._now()

    def share(self) -> float | None:
        """Their share of all processors' time since the beginning; None where it is not known."""
        begin, end = self._begin, self._now()
        if begin is None or end is None or end[1] <= begin[1]:
            return None
        return max(0.0, (end[0] - begin[0]) / (end[1] - begin[1]))

    @staticmethod
    def _now() -> tuple[float, float] | None:
        """Seconds of others, and of all processors, busy or not."""
        first = _text("/proc/stat").partition("\n")[0].split()
        if not first:
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        user, nice, system, idle, waiting, interrupts, soft, stolen = (
            int(field) / ticks for field in first[1:9]
        )
        busy = user + nice + system + interrupts + soft + stolen
        return busy - sum(os.times()[:4]), busy + idle + waiting


def machine() -> dict[str, object]:
    """What the figures depend on."""
    return {
        "processor": _processor(),
        "processors": len(_allowed()),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.release()}",
        "caches": _caches(),
        "huge_pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def _processor() -> str:
    for line in _text("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            return f"{name}, {_cpu_field('cpu family')}/{_cpu_field('model')}"
    return platform.processor() or platform.machine()


def _cpu_field(field: str) -> str:
    for line in _text("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return f"{field.removeprefix('cpu ')} {value.strip()}"
    return ""


def _memory_gib() -> float | None:
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return round(int(line.split()[1]) / (1 << 20), 1)
    return None


def _caches() -> dict[str, str]:
    found: dict[str, str] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if _text(index / "type") != "Instruction":
            found[f"L{_text(index / 'level')}"] = _text(index / "size")
    return found


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
