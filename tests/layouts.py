# SPDX-License-Identifier: Apache-2.0
"""The same elements laid out in memory in every way that NumPy can say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from oracle import FLOAT_FORMATS, Array

__all__ = ["LAYOUTS", "Allocate", "Layout", "byte_swapped", "poison", "strided"]

Allocate: TypeAlias = Callable[[int], Any]
"""Gives a writable buffer of at least so many bytes."""
Layout: TypeAlias = Callable[[Array], Array]
"""Gives an array that is equal to a given one, bit for bit, and lies differently in memory."""


def poison(dtype: np.dtype[Any]) -> bytes:
    """Bytes of an element that would win: what lies beside an array must not be read."""
    if dtype.kind in "iub":
        largest: Any = True if dtype.kind == "b" else np.iinfo(dtype).max
        return np.array(largest, dtype).tobytes()
    float_format = FLOAT_FORMATS[dtype.name]
    nan = np.array(float_format.sign - 1, f"u{dtype.itemsize}").tobytes()
    return nan if dtype.isnative else nan[::-1]


def strided(
    values: Array,
    *,
    order: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    misalignment: int = 0,
    allocate: Allocate = bytearray,
) -> Array:
    """Array equal to ``values`` in memory of its own.

    Parameters
    ----------
    values
        The elements; the dtype, byte order included, is kept.
    order
        Axes from the outermost in memory to the innermost; C order if not given.
    steps
        For each axis, the distance of neighbours in units of the dense array; negative runs
        backwards. The gaps hold :func:`poison`. The first and the last element of the memory
        belong to the array.
    misalignment
        Bytes between the buffer's begin and the first element.
    allocate
        Where the memory comes from.
    """
    rank = values.ndim
    order = tuple(range(rank)) if order is None else tuple(order)
    steps = (1,) * rank if steps is None else tuple(steps)
    extents = tuple(
        max(length - 1, 0) * abs(step) + min(length, 1)
        for length, step in zip(values.shape, steps, strict=True)
    )
    dense = tuple(extents[axis] for axis in order)
    count = math.prod(dense)
    size = count * values.dtype.itemsize
    buffer = memoryview(allocate(misalignment + size))[misalignment : misalignment + size]
    buffer[:] = poison(values.dtype) * count
    memory = np.frombuffer(buffer, values.dtype).reshape(dense)
    logical = memory.transpose(np.argsort(order)) if rank else memory
    array = logical[(*(slice(None, None, step) for step in steps), ...)]
    array[...] = values
    return array


def byte_swapped(values: Array) -> Array:
    """The same elements in the other byte order."""
    swapped = values.astype(values.dtype, copy=True)
    raw = swapped.view(f"u{values.dtype.itemsize}")
    raw.byteswap(inplace=True)
    return swapped.view(values.dtype.newbyteorder("S"))


def _read_only(values: Array) -> Array:
    array = strided(values)
    array.flags.writeable = False
    return array


def _everywhere(step: int) -> Layout:
    return lambda values: strided(values, steps=(step,) * values.ndim)


def _alternating(values: Array) -> Array:
    """Forward and backward, near and far steps in one array."""
    return strided(values, steps=[(1, -2, 3, -1)[axis % 4] for axis in range(values.ndim)])


def _rotated(values: Array) -> Array:
    """The last axis outermost in memory, as channels-last has it the other way round."""
    return strided(values, order=[(axis - 1) % values.ndim for axis in range(values.ndim)])


def _inside_a_larger_array(values: Array) -> Array:
    around = [length + 3 for length in values.shape]
    beside = bytearray(poison(values.dtype) * math.prod(around))
    padded = np.frombuffer(beside, values.dtype).reshape(around)
    inside = padded[(*(slice(1, length + 1) for length in values.shape), ...)]
    inside[...] = values
    return inside


LAYOUTS: Final[dict[str, Layout]] = {
    "c_order": strided,
    "fortran_order": lambda values: strided(values, order=range(values.ndim)[::-1]),
    "rotated_axes": _rotated,
    "reversed": _everywhere(-1),
    "every_second": _everywhere(2),
    "every_third_reversed": _everywhere(-3),
    "alternating_steps": _alternating,
    "inside_a_larger_array": _inside_a_larger_array,
    "misaligned": lambda values: strided(values, misalignment=1),
    "byte_swapped": byte_swapped,
    "byte_swapped_reversed": lambda values: strided(
        byte_swapped(values), steps=(-1,) * values.ndim
    ),
    "read_only": _read_only,
}
"""Every layout that keeps the elements; broadcasting, which repeats them, is tested by itself."""
