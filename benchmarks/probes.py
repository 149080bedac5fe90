# SPDX-License-Identifier: Apache-2.0
"""Whether a peer keeps the contract where random data do not ask."""

from __future__ import annotations

from typing import Final

import numpy as np

from benchmarks.cases import Case
from benchmarks.data import Array, allocate, dtype_of
from benchmarks.expected import expected
from benchmarks.peers import Peer, Task, UnsupportedError, prepared

__all__ = ["Prober"]

_ROWS: Final = 40
_LENGTH: Final = 67
"""Longer than a vector of bytes, with a tail."""


class Prober:
    """Asks each peer once for each kind of case, and remembers."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[str, ...]] = {}

    def broken(self, peer: Peer, case: Case) -> tuple[str, ...]:
        """What the peer gets wrong, among "ties", "zeros" and "NaN"."""
        flat = case.axis is None or len(case.shape) == 1
        inner = case.axis is not None and case.axis % len(case.shape) == len(case.shape) - 1
        key = (peer.name, case.dtype, flat, inner, case.select_last_index)
        if key not in self._known:
            shape = (_ROWS * _LENGTH,) if flat else (_ROWS, _LENGTH)
            axis = 0 if flat else 1 if inner else 0
            self._known[key] = tuple(
                name
                for name, data in _data(shape, dtype_of(case.dtype)).items()
                if not _right(peer, data, axis, case.select_last_index)
            )
        return self._known[key]


def _data(shape: tuple[int, ...], dtype: np.dtype) -> dict[str, Array]:
    generator = np.random.default_rng(7)
    names = ("ties",) if dtype.kind in "iu" else ("ties", "zeros", "NaN")
    found = {name: allocate(shape, dtype) for name in names}
    found["ties"][...] = generator.integers(0, 3, shape)
    if "NaN" in found:
        found["zeros"][...] = generator.choice([0.0, -0.0, -1.0], shape)
        found["NaN"][...] = generator.standard_normal(shape)
        found["NaN"][generator.random(shape) < 0.05] = np.nan
    return found


def _right(peer: Peer, data: Array, axis: int, select_last_index: bool) -> bool:
    task = Task(data, axis, select_last_index, "int64", overhead=False, threads=1)
    try:
        made, _ = prepared(peer, task)
    except UnsupportedError:
        return False
    wanted = expected(data, axis, select_last_index=select_last_index)
    return bool(np.array_equal(made.result().reshape(wanted.shape), wanted))
