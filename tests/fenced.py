# SPDX-License-Identifier: Apache-2.0
"""Program: reduce arrays that lie between two pages which nobody may touch.

Usage: ``python fenced.py CASE_FILE LEVEL EDGE``. The file holds the name of the case under way,
for the day on which an access outside the array ends the process. EDGE says which of its ends
the array shares with a forbidden page. ``overrun`` instead of a level touches that page on
purpose. Run by ``test_guard_pages.py``.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import resource
import sys
from collections.abc import Iterator

import numpy as np

from arrangements import ARRANGEMENTS
from layouts import strided
from machine import Setting, running
from onnx_argmax import argmax
from onnx_argmax._element_types import ElementType
from oracle import Array, fast_argmax
from samples import ALL_TYPES, random_elements

EDGES = ("begin", "end")


class Fence:
    """Memory with a forbidden page before its first and behind its last byte."""

    def __init__(self, size: int, edge: str) -> None:
        page = mmap.PAGESIZE
        inside = -(-size // page) * page
        self._map = mmap.mmap(-1, inside + 2 * page)
        self._memory = memoryview(self._map)[page : page + inside]
        self._edge = edge
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.behind = begin + page + inside
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for forbidden in (begin, self.behind):
            if protect(forbidden, page, 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def allocate(self, size: int) -> memoryview:
        """The first or the last bytes between the forbidden pages."""
        start = len(self._memory) - size if self._edge == "end" else 0
        return self._memory[start : start + size]


def arrays(element_type: ElementType, fence: Fence) -> Iterator[tuple[str, int | None, Array]]:
    """Name, axis and array: every kernel, with tails and numbers of lines of many sizes."""
    lanes = 64 // element_type.itemsize
    lengths = (1, 2, 3, 5, 8, 13, 19, lanes - 1, lanes, lanes + 1, 64, 65, 3 * lanes + 1, 1000)
    for length, count in itertools.product(lengths, (1, 7, 66)):
        lines = random_elements(element_type, (count, length), length)
        for name, arrangement in ARRANGEMENTS.items():
            array = arrangement.arrange(lines, fence.allocate)
            yield f"{name} of {count} lines of {length}", arrangement.axis, array
    for steps in ((1, 1), (2, 1), (1, 2), (-1, -3)):
        lines = random_elements(element_type, (3, 70), 1)
        for order in ((0, 1), (1, 0)):
            array = strided(lines, order=order, steps=steps, allocate=fence.allocate)
            yield f"flattened, steps {steps}, order {order}", None, array


def run(case_file: int, level: str, edge: str) -> None:
    fence, result_fence = Fence(1 << 23, edge), Fence(1 << 16, edge)
    for element_type in ALL_TYPES:
        for name, axis, array in arrays(element_type, fence):
            expected = [fast_argmax(array, axis, False, last) for last in (False, True)]
            for threads, dtype in ((1, "int64"), (3, "int16")):
                with running(Setting(level, threads)):
                    case = f"{element_type.dtype_name}, {name}, {threads} threads, {dtype}"
                    os.pwrite(case_file, case.ljust(200).encode(), 0)
                    for last, answer in enumerate(expected):
                        out = strided(answer.astype(dtype), allocate=result_fence.allocate)
                        out[...] = -1
                        argmax(array, axis, False, last, out=out)
                        if not np.array_equal(out, answer):
                            raise AssertionError(f"{case}: {out} instead of {answer}")


def main(case_path: str, level: str, edge: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if level == "overrun":
        ctypes.string_at(Fence(1, edge).behind, 1)
    with open(case_path, "wb", buffering=0) as case_file:
        run(case_file.fileno(), level, edge)


if __name__ == "__main__":
    main(*sys.argv[1:])
