# SPDX-License-Identifier: Apache-2.0
"""Whether the time depends on the data, or on which of equal elements is wanted."""

from __future__ import annotations

from typing import Final

import numpy as np

from benchmarks import cpus
from benchmarks.cases import TYPES
from benchmarks.data import KINDS, allocate, dtype_of, fill
from benchmarks.measure import Call, interleaved
from benchmarks.part import Part
from benchmarks.progress import shown
from benchmarks.tables import Table, seconds
from onnx_argmax import argmax

__all__ = ["MOST_FOR_DATA", "MOST_FOR_LAST", "run"]

MOST_FOR_DATA: Final = 1.2
"""Time of any kind of data over that of random data, at most."""
MOST_FOR_LAST: Final = 1.05
"""Time of the last index over that of the first, at most."""

_SHAPES: Final = (
    ("19 channels", (19, 1 << 18), 0),
    ("300 channels", (300, 1 << 14), 0),
    ("rows of 19", (1 << 17, 19), 1),
    ("rows of 1000", (1 << 12, 1000), 1),
    ("one row", (1 << 22,), 0),
)
_SHORTS: Final = ("f32", "f16", "u8")


def run(*, quick: bool) -> Part:
    """Every kind of data, first and last index, on one thread."""
    shorts = _SHORTS[:1] if quick else _SHORTS
    jobs = [(shape, short) for shape in _SHAPES for short in shorts]
    found: list[dict[str, object]] = []
    with cpus.only(1):
        for (name, shape, axis), short in shown(
            "data kinds", jobs, lambda job: f"{job[0][0]} {job[1]}"
        ):
            times = _times(shape, axis, dtype_of(TYPES[short]))
            found += [
                {"shape": name, "type": short, "kind": kind, "last": last, "seconds": time}
                for (kind, last), time in times.items()
            ]
    return Part("data_kinds", found, (_table(found),))


def _times(shape: tuple[int, ...], axis: int, dtype: np.dtype) -> dict[tuple[str, bool], float]:
    out = np.empty(np.delete(shape, axis), np.int64)
    calls: dict[tuple[str, bool], Call] = {}
    for kind in KINDS:
        if kind == "nan_rich" and dtype.kind in "iu":
            continue
        data = allocate(shape, dtype)
        fill(data, data, axis, kind)
        for last in (False, True):
            calls[kind, last] = _call(data, axis, last, out)
            calls[kind, last]()
    return {key: timing.median for key, timing in interleaved(calls, pause=0).items()}


def _call(data: np.ndarray, axis: int, last: bool, out: np.ndarray) -> Call:
    return lambda: argmax(data, axis, False, last, out=out)


def _table(found: list[dict]) -> Table:
    by_shape: dict[tuple[str, str], dict[tuple[str, bool], float]] = {}
    for one in found:
        times = by_shape.setdefault((one["shape"], one["type"]), {})
        times[one["kind"], one["last"]] = one["seconds"]
    rows: list[tuple[str, ...]] = []
    for (shape, short), times in by_shape.items():
        first = times["random", False]
        cells = [_ratio(times["random", True] / first, MOST_FOR_LAST)]
        for kind in KINDS[1:]:
            time = times.get((kind, False))
            cells.append("" if time is None else _ratio(time / first, MOST_FOR_DATA))
        rows.append((f"{shape}, {short}", seconds(first), *cells))
    columns = ("shape", "random, first", "last", *KINDS[1:])
    note = (
        f"over random data's time; !: more than {MOST_FOR_LAST} (last), {MOST_FOR_DATA} (others)"
    )
    return Table("Kinds of data, one thread", columns, rows, (note,))


def _ratio(value: float, most: float) -> str:
    return f"{value:.2f}{'!' if value > most else ''}"
