# SPDX-License-Identifier: Apache-2.0
"""The limit: reading the same bytes once, with the same threads and instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from benchmarks.data import Array
from benchmarks.measure import Timing
from onnx_argmax import _native

__all__ = ["WRITES", "fastest_limit", "limit_calls"]

WRITES: Final = 1 / 64
"""Share of the read bytes from which the result's bytes are written too."""


def limit_calls(read: Array, result: Array, threads: int) -> dict[str, Callable[[], object]]:
    """The native loops, by name: reading, and writing where the result is not small.

    Whether stores that go past the caches are faster depends on sizes and processor, so both
    are timed; the limit is the faster one.
    """
    data = read.reshape(-1).view(np.uint8)
    written = np.empty(result.nbytes, np.uint8)
    if result.nbytes < WRITES * data.nbytes:
        nothing = written[:0]
        return {"read": lambda: _native.read_and_write(data, nothing, False, threads)}
    return {
        "read and write": lambda: _native.read_and_write(data, written, False, threads),
        "read and write past the caches": (
            lambda: _native.read_and_write(data, written, True, threads)
        ),
    }


def fastest_limit(timings: Mapping[str, Timing]) -> tuple[str, Timing]:
    """Which of the loops was the fastest, and its time."""
    return min(timings.items(), key=lambda item: item[1].median)
