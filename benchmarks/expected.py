# SPDX-License-Identifier: Apache-2.0
"""The right answer of a case, by the tests' oracle."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.data import Array

__all__ = ["expected"]

_CHUNK: Final = 1 << 17
"""Elements at a time, whose keys stay in the cache and take no memory to speak of."""
_ENOUGH: Final = 64


def expected(data: Array, axis: int | None, *, select_last_index: bool) -> Array:
    """The contract's answer without the reduced axis, as int64."""
    if axis is None:
        # A view wherever there is one; else a copy, for the time of the check.
        return _row(data.reshape(-1), select_last_index)
    moved = np.moveaxis(data, axis, -1)
    if moved.ndim == 1:
        return _row(moved, select_last_index)
    result = np.empty(moved.shape[:-1], np.int64)
    # Pieces are cut off the outermost axis that has enough of them, so that each is one block
    # of memory, or a few.
    along = max(
        range(result.ndim), key=lambda i: (min(moved.shape[i], _ENOUGH), abs(moved.strides[i]))
    )
    pieces = max(1, min(result.shape[along], moved.size // _CHUNK))
    for part in np.array_split(np.arange(result.shape[along]), pieces):
        where = (slice(None),) * along + (slice(part[0], part[-1] + 1),)
        result[where] = _oracle()(
            moved[where], -1, keepdims=False, select_last_index=select_last_index
        )
    return result


def _row(row: Array, select_last_index: bool) -> Array:
    """The best of each piece, then the best of those: the order is total."""
    starts = range(0, row.size, _CHUNK)
    best = np.array(
        [start + _answer(row[start : start + _CHUNK], select_last_index) for start in starts]
    )
    return np.asarray(best[_answer(row[best], select_last_index)], np.int64)


def _answer(row: Array, select_last_index: bool) -> int:
    return int(_oracle()(row, 0, keepdims=False, select_last_index=select_last_index))


@cache
def _oracle() -> Callable[..., Any]:
    path = Path(__file__).resolve().parent.parent / "tests" / "oracle.py"
    spec = importlib.util.spec_from_file_location("benchmarks_oracle", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: the tests' oracle cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module.fast_argmax
