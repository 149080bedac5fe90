# SPDX-License-Identifier: Apache-2.0
"""Times of several calls, taken in turns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

__all__ = ["PAUSE_SECONDS", "ROUNDS", "Call", "Timing", "interleaved"]

ROUNDS: Final = 7

_LEAST_SECONDS: Final = 1e-3
"""A sample is as many calls as fill so long: the clock and the loop cost nothing beside it."""
_MOST_LOOPS: Final = 10_000
PAUSE_SECONDS: Final = 2e-3
"""Before each sample, so that the threads of whoever came before have gone to sleep."""
_LAGGARD_RATIO: Final = 2
_LAGGARD_SECONDS: Final = 20e-3
_HOPELESS_SECONDS: Final = 0.1

Call = Callable[[], object]
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Timing:
    """Seconds a call, over the rounds."""

    median: float
    low: float
    """The first quartile."""
    high: float
    """The third quartile."""
    fastest: float
    rounds: int
    loops: int

    @property
    def spread(self) -> float:
        """Distance of the quartiles, in medians."""
        return (self.high - self.low) / self.median


def interleaved(
    calls: Mapping[Name, Call],
    *,
    rivals: Collection[Name] = (),
    rounds: int = ROUNDS,
    pause: float = PAUSE_SECONDS,
    known: Mapping[Name, float] | None = None,
) -> dict[Name, Timing]:
    """Time calls that were called once before; in every round each of them has its turn.

    A rival that takes over 20 ms and over twice as long as the fastest rival cannot be
    the best; it has its turn in the first, the middle and the last round only, and where it
    takes over 100 ms, in the middle one. ``Timing.rounds`` tells. ``known`` holds what the
    first call of each took.
    """
    first = {name: _once(call, (known or {}).get(name, 0)) for name, call in calls.items()}
    fastest = min((first[name] for name in rivals), default=0)
    limit = max(_LAGGARD_SECONDS, _LAGGARD_RATIO * fastest)
    turns = {
        name: _turns(rounds, first[name] if name in rivals and first[name] > limit else 0)
        for name in calls
    }
    loops = {name: _loops(seconds) for name, seconds in first.items()}
    samples: dict[Name, list[float]] = {name: [] for name in calls}
    names = list(calls)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for number in range(rounds):
            # Another one begins each time, so that nobody always follows the same one.
            start = number % len(names)
            for name in names[start:] + names[:start]:
                if number in turns[name]:
                    samples[name].append(_sample(calls[name], loops[name], pause))
    finally:
        if collecting:
            gc.enable()
    return {name: _timing(times, loops[name]) for name, times in samples.items()}


def _turns(rounds: int, laggard_seconds: float) -> Collection[int]:
    if laggard_seconds == 0:
        return range(rounds)
    if laggard_seconds > _HOPELESS_SECONDS:
        return {rounds // 2}
    return {0, rounds // 2, rounds - 1}


def _once(call: Call, known: float) -> float:
    """The fastest of the first calls; after a long one, one more tells nothing new."""
    seconds = known or _clocked(call, 1)
    return seconds if seconds > 2 * _LAGGARD_SECONDS else min(seconds, _clocked(call, 1))


def _loops(seconds: float) -> int:
    return max(1, min(_MOST_LOOPS, round(_LEAST_SECONDS / max(seconds, 1e-8))))


def _sample(call: Call, loops: int, pause: float) -> float:
    time.sleep(pause)
    if loops > 1:
        call()  # threads, code and, where the case is so small, data are back in the caches
    return _clocked(call, loops)


def _clocked(call: Call, loops: int) -> float:
    begin = time.perf_counter()
    for _ in range(loops):
        call()
    return (time.perf_counter() - begin) / loops


def _timing(times: list[float], loops: int) -> Timing:
    low, median, high = (
        statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    )
    return Timing(median, low, high, min(times), len(times), loops)
