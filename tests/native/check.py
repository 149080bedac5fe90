# SPDX-License-Identifier: Apache-2.0
"""Check the core where there is no Python: under an emulator, or built with a sanitizer.

    python tests/native/check.py qemu-aarch64 build/aarch64/onnx_argmax_runner

The arguments are the command that starts the runner (runner.cc). The cases are those of the
contract that give an answer, then every type in every layout with the shapes at which kernels
change; each at every level of the machine, on 1, 2 and 7 threads, for the first and the last
index, as a result and as partial results. Expected answers come from the oracle, which needs the
package installed here as well.
"""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from contract import CASES, Refusal
from layouts import LAYOUTS
from onnx_argmax._element_types import element_type_of_dtype
from oracle import Array, fast_argmax
from samples import ALL_TYPES, random_elements

SHAPES: Final = (
    ((), 0),
    ((1,), 0),
    ((5,), 0),
    ((300,), 0),
    ((70_000,), 0),
    ((3, 5), 0),
    ((3, 5), 1),
    ((40, 19), 1),
    ((19, 200), 0),
    ((600, 3), 0),
    ((2, 7, 33), 1),
    ((3, 100, 5), 1),
    ((2, 300, 70), -1),
    ((4, 3, 2, 5), None),
)
THREADS: Final = (1, 2, 7)
NO_KEYS: Final = -1
"""In place of an index offset: the result alone, without keys."""


@dataclass(frozen=True)
class Question:
    name: str
    data: Array
    axis: int | None
    select_last_index: bool


def questions() -> Iterator[Question]:
    for case in CASES:
        if not isinstance(case.outcome, Refusal):
            axis = case.attributes.get("axis", 0)
            last = bool(case.attributes.get("select_last_index", 0))
            yield Question(case.identifier, case.data, axis, last)
    for seed, (element_type, (shape, axis), layout) in enumerate(
        itertools.product(ALL_TYPES, SHAPES, LAYOUTS)
    ):
        data = LAYOUTS[layout](random_elements(element_type, shape, seed))
        for last in (False, True):
            yield Question(f"{element_type}-{shape}-{layout}", data, axis, last)
    for element_type in ALL_TYPES:
        row = random_elements(element_type, (40,), 0)
        wide = random_elements(element_type, (9, 20_000), 0)  # tiles as wide as they get
        for name, data, axes in (
            ("one row", np.broadcast_to(row, (9, 40)), (0, 1, None)),
            ("one column", np.broadcast_to(row[:, None], (40, 9)), (0, 1, None)),
            ("one element", np.broadcast_to(row[:1], (5, 6, 7)), (1, None)),
            ("wide", wide, (0,)),
        ):
            for axis, last in itertools.product(axes, (False, True)):
                yield Question(f"{element_type}-{name}-axis {axis}", data, axis, last)


def memory_of(data: Array) -> tuple[bytes, int]:
    """The bytes that the array's strides reach, and where in them its first element lies."""
    low = sum((n - 1) * s for n, s in zip(data.shape, data.strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(data.shape, data.strides, strict=True) if s > 0)
    return ctypes.string_at(data.ctypes.data + low, high - low + data.itemsize), -low


def partial_offset(question: Question) -> int:
    """Where indices of partial results begin: those of the last elements have 8 bytes."""
    return 2**40 + 3 if question.select_last_index else 1_000_003


def request(question: Question, level: int, threads: int, index_offset: int) -> bytes:
    data = question.data
    element_type = element_type_of_dtype(data.dtype)
    assert element_type is not None
    memory, offset = memory_of(data)
    axis = -1 if question.axis is None else question.axis % max(data.ndim, 1)
    numbers = (
        level,
        element_type.tensor_proto,
        int(not data.dtype.isnative),
        axis,
        int(question.select_last_index),
        threads,
        4 if 0 <= index_offset < 2**31 else 8,
        index_offset,
        data.ndim,
        *data.shape,
        *data.strides,
        offset,
        len(memory),
    )
    return " ".join(map(str, numbers)).encode() + b"\n" + memory


def main(command: list[str]) -> int:
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None
        levels = runner.stdout.readline().decode().split()
        wrong = asked = 0
        for question in questions():
            if question.data.size == 0:  # the core is not asked what is empty
                continue
            expected = fast_argmax(
                question.data, question.axis, True, question.select_last_index
            ).ravel()
            for level, threads, offset in itertools.product(
                range(len(levels)), THREADS, (NO_KEYS, partial_offset(question))
            ):
                runner.stdin.write(request(question, level, threads, offset))
                runner.stdin.flush()
                line = runner.stdout.readline()
                asked += 1
                if line.split() != [str(i + max(offset, 0)).encode() for i in expected]:
                    wrong += 1
                    setting = f"{levels[level]}, {threads} threads, index offset {offset}"
                    print(f"wrong: {question.name}, {setting}: {line!r}")
                if not line:
                    return 1
        runner.stdin.close()
    print(f"{asked} answers at levels {', '.join(levels)}, {wrong} wrong")
    return 1 if wrong or runner.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
