# SPDX-License-Identifier: Apache-2.0
"""The elements that are reduced."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "Array", "allocate", "dtype_of", "fill"]

Array: TypeAlias = NDArray[Any]

KINDS: Final = ("random", "nan_rich", "all_equal", "ascending", "descending")
"""What the elements are along the reduced axis."""

_ALIGNMENT: Final = 64
"""A cache line; JAX reads foreign memory in place only where it is aligned so."""
_CHUNK: Final = 1 << 20
"""Elements drawn at a time: what they are drawn into stays in the cache."""
_NAN_SHARE: Final = 0.1


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's dtype, bfloat16 by ml_dtypes."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A C-contiguous array that begins at a cache line, as every runtime likes it best."""
    count = int(np.prod(shape, dtype=np.int64))
    memory = np.empty(count * dtype.itemsize + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + count * dtype.itemsize].view(dtype).reshape(shape)


def fill(memory: Array, view: Array, axis: int | None, kind: str) -> None:
    """Fill an array's whole memory, and give the view of it the order that ``kind`` names."""
    if kind == "all_equal":
        memory.fill(1)
    elif kind in ("ascending", "descending"):
        _ramp(memory, view, axis, descending=kind == "descending")
    elif kind in ("random", "nan_rich"):
        _draw(memory, nan_share=_NAN_SHARE if kind == "nan_rich" else 0)
    else:
        raise ValueError(f"kind: {kind!r} is none of {', '.join(KINDS)}")


def _draw(memory: Array, *, nan_share: float) -> None:
    generator = np.random.Generator(np.random.SFC64(13))
    flat = memory.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        part[...] = _elements(generator, part.dtype, part.size)
        if nan_share:
            part[generator.random(part.size, np.float32) < nan_share] = np.nan


def _elements(generator: np.random.Generator, dtype: np.dtype[Any], count: int) -> Array:
    if dtype.kind in "iu":
        # The largest value of the type is never drawn. 8-bit data would soon hold it, nothing
        # can be greater, and whoever stops there would be timed on a few hundred bytes.
        limits = np.iinfo(dtype)
        native = dtype.newbyteorder("=")
        return generator.integers(limits.min, limits.max, count, native.type, endpoint=False)
    if dtype == np.float64:
        return 2 * generator.random(count) - 1  # normal ones take four times as long
    return generator.standard_normal(count, np.float32)


def _ramp(memory: Array, view: Array, axis: int | None, *, descending: bool) -> None:
    along = memory.reshape(-1) if axis is None else np.moveaxis(view, axis, -1)
    length = along.shape[-1]
    if memory.dtype.kind in "iu":
        limits = np.iinfo(memory.dtype)
        top = min(int(limits.max) - 1, 1 << 52)  # whole numbers of a double
        steps = np.floor(np.linspace(0, min(top, length - 1), length))
    else:
        steps = np.linspace(-1, 1, length)
    along[...] = (steps[::-1] if descending else steps).astype(memory.dtype)
