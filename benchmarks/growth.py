# SPDX-License-Identifier: Apache-2.0
"""How the time grows with the number of elements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import cpus
from benchmarks.data import allocate, fill
from benchmarks.limit import fastest_limit, limit_calls
from benchmarks.measure import interleaved
from benchmarks.part import Part
from benchmarks.picture import draw_curves
from benchmarks.progress import shown
from benchmarks.tables import Table, seconds
from onnx_argmax import argmax

__all__ = ["run"]

_EXPONENTS: Final = range(3, 10)
_QUICK_EXPONENTS: Final = range(3, 8)
_CHANNELS: Final = 10
_FORMS: Final = ("one row", f"{_CHANNELS} channels")


def run(threads: Sequence[int], *, quick: bool) -> Part:
    """From a thousand to a billion float16 elements (2 GB)."""
    exponents = _QUICK_EXPONENTS if quick else _EXPONENTS
    memory = allocate((10 ** exponents[-1],), np.dtype(np.float16))
    fill(memory, memory, 0, "random")
    jobs = [(form, count, e) for form in _FORMS for count in threads for e in exponents]
    found: list[dict[str, object]] = []
    for form, count, exponent in shown("growth", jobs, lambda job: f"{job[0]}, 10^{job[2]}"):
        flat = memory[: 10**exponent]
        data = flat if form == _FORMS[0] else flat.reshape(_CHANNELS, -1)
        out = np.empty(data.shape[1:], np.int64 if data.ndim == 1 else np.uint8)
        with cpus.only(count):
            found.append(
                {"form": form, "threads": count, "elements": flat.size, **_time(data, out, count)}
            )
    return Part("growth", found, (_table(found),), lambda path, text: _draw(path, text, found))


def _time(data: np.ndarray, out: np.ndarray, threads: int) -> dict[str, float]:
    limits = limit_calls(data, out, threads)
    calls = {"ours": lambda: argmax(data, 0, False, out=out), **limits}
    for call in calls.values():
        call()
    timings = interleaved(calls)
    _, limit = fastest_limit({name: timings[name] for name in limits})
    return {"ours": timings["ours"].median, "limit": limit.median}


def _table(found: Sequence[dict]) -> Table:
    rows = [
        (
            f"{one['form']}, {one['elements']:,}",
            str(one["threads"]),
            seconds(one["ours"]),
            f"{one['ours'] / one['elements'] * 1e12:.0f}",
            f"{one['limit'] / one['ours']:.2f}",
        )
        for one in found
    ]
    columns = ("float16 elements", "threads", "time", "ps an element", "of limit")
    return Table("Growth", columns, rows)


def _draw(path: Path, caption: str, found: Sequence[dict]) -> None:
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for one in found:
        curves = panels.setdefault(one["form"], {})
        for what in ("ours", "limit"):
            name = f"{what}, {one['threads']} thread{'s' if one['threads'] > 1 else ''}"
            curves.setdefault(name, []).append((one["elements"], one[what]))
    labels = ("float16 elements", "seconds")
    draw_curves(path, panels, caption, labels=labels, logarithmic=True)
