# SPDX-License-Identifier: Apache-2.0
"""Any shape: lengths of rows, numbers of channels and widths one by one, and where it jumps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import cpus
from benchmarks.cases import TYPES
from benchmarks.data import allocate, dtype_of, fill
from benchmarks.measure import Call, interleaved
from benchmarks.part import Part
from benchmarks.picture import draw_curves
from benchmarks.progress import shown
from benchmarks.tables import Table
from onnx_argmax import argmax

__all__ = ["CLIFF", "Point", "cliffs", "run"]

CLIFF: Final = 2.0
"""A point may cost so many times its cheaper neighbour's time a byte."""

_MOST: Final = 300
_ROW_ELEMENTS: Final = 1 << 17
_COLUMNS: Final = 1 << 13
_INNER_ELEMENTS: Final = 1 << 18
_PAGE: Final = 4096
_PAGES: Final = (1, 2, 3, 4, 5, 8, 16, 32)
_AROUND: Final = range(-3, 4)
_SHORTS: Final = ("f32", "f16", "u8")

Shapes = dict[int, tuple[tuple[int, ...], int]]
"""For each place on the sweep's axis the shape and the reduced axis."""


@dataclass(frozen=True)
class Point:
    """One shape; the time a byte counts the bytes read and those of the result."""

    at: int
    seconds_per_byte: float


def _rows(itemsize: int) -> Shapes:
    return {n: ((max(1, _ROW_ELEMENTS // n), n), 1) for n in range(1, _MOST + 1)}


def _channels(itemsize: int) -> Shapes:
    return {n: ((n, _COLUMNS), 0) for n in range(1, _MOST + 1)}


def _widths(channels: int) -> Callable[[int], Shapes]:
    def shapes(itemsize: int) -> Shapes:
        widths = (pages * _PAGE // itemsize + step for pages in _PAGES for step in _AROUND)
        return {
            width: ((max(1, _INNER_ELEMENTS // (channels * width)), channels, width), 1)
            for width in widths
        }

    return shapes


_SWEEPS: Final[dict[str, Callable[[int], Shapes]]] = {
    "length of the rows": _rows,
    "number of channels": _channels,
    "columns around multiples of 4096 bytes, 19 channels": _widths(19),
    "columns around multiples of 4096 bytes, 64 channels": _widths(64),
}


def run(*, quick: bool) -> Part:
    """Sweep on one thread; a quick one takes one element type and every seventh point."""
    shorts = _SHORTS[:1] if quick else _SHORTS
    jobs = [(title, short) for title in _SWEEPS for short in shorts]
    found: dict[str, dict[str, list[Point]]] = {title: {} for title in _SWEEPS}
    with cpus.only(1):
        for title, short in shown("sweep", jobs, " ".join):
            dtype = dtype_of(TYPES[short])
            shapes = _SWEEPS[title](dtype.itemsize)
            if quick:
                shapes = dict(list(shapes.items())[::7])
            found[title][short] = _confirmed(shapes, _points(shapes, dtype), dtype)
    return _part(found)


def _points(shapes: Shapes, dtype: np.dtype) -> list[Point]:
    memory = allocate((max(int(np.prod(shape)) for shape, _ in shapes.values()),), dtype)
    fill(memory, memory, 0, "random")
    calls: dict[int, Call] = {}
    sizes: dict[int, int] = {}
    for at, (shape, axis) in shapes.items():
        data = memory[: int(np.prod(shape))].reshape(shape)
        out = np.empty(np.delete(shape, axis), np.int64)
        calls[at] = _call(data, axis, out)
        sizes[at] = data.nbytes + out.nbytes
        calls[at]()
    timings = interleaved(calls, pause=0)
    return [Point(at, timings[at].median / sizes[at]) for at in shapes]


def _call(data: np.ndarray, axis: int, out: np.ndarray) -> Call:
    return lambda: argmax(data, axis, False, out=out)


def _confirmed(shapes: Shapes, points: list[Point], dtype: np.dtype) -> list[Point]:
    """Measure every jump and its neighbours once more: a busy moment is not a cliff."""
    places = list(shapes)
    again = {
        places[i]
        for point, _ in cliffs(points)
        for i in range(places.index(point.at) - 1, places.index(point.at) + 2)
        if 0 <= i < len(places)
    }
    if not again:
        return points
    second = {p.at: p for p in _points({at: shapes[at] for at in places if at in again}, dtype)}
    return [min(p, second.get(p.at, p), key=lambda point: point.seconds_per_byte) for p in points]


def cliffs(points: list[Point]) -> Iterator[tuple[Point, float]]:
    """Points that cost over ``CLIFF`` times the cheaper of their neighbours, and how many."""
    for i, point in enumerate(points):
        neighbours = [points[j].seconds_per_byte for j in (i - 1, i + 1) if 0 <= j < len(points)]
        ratio = point.seconds_per_byte / min(neighbours, default=point.seconds_per_byte)
        if ratio > CLIFF:
            yield point, ratio


def _part(found: Mapping[str, Mapping[str, list[Point]]]) -> Part:
    rows: list[tuple[str, ...]] = []
    for title, by_type in found.items():
        for short, points in by_type.items():
            costs = [1e12 * point.seconds_per_byte for point in points]
            jumps = ", ".join(f"{p.at} ({ratio:.1f})" for p, ratio in cliffs(points))
            cells = (f"{min(costs):.0f}", f"{np.median(costs):.0f}", f"{max(costs):.0f}")
            rows.append((title, short, *cells, jumps or "none"))
    columns = (
        "sweep",
        "type",
        "ps a byte, least",
        "median",
        "most",
        f"over {CLIFF:g} times a neighbour",
    )

    def draw(path: Path, caption: str) -> None:
        panels = {
            title: {
                short: [(point.at, 1e12 * point.seconds_per_byte) for point in points]
                for short, points in by_type.items()
            }
            for title, by_type in found.items()
        }
        draw_curves(path, panels, caption, labels=("elements", "ps a byte"))

    data = {
        title: {
            short: [(point.at, point.seconds_per_byte) for point in points]
            for short, points in by_type.items()
        }
        for title, by_type in found.items()
    }
    return Part("sweep", data, (Table("Sweep, one thread", columns, rows),), draw)
