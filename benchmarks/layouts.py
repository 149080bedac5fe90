# SPDX-License-Identifier: Apache-2.0
"""How an array of a shape lies in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.data import Array, allocate

__all__ = ["LAYOUTS", "Arranged", "arrange"]


@dataclass(frozen=True)
class Arranged:
    """An array and the contiguous memory that it is a view of."""

    view: Array
    memory: Array

    @property
    def read_bytes(self) -> Array:
        """What must be read: all the memory, since every cache line of it is touched."""
        return self.memory.reshape(-1).view(np.uint8)


def _contiguous(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    memory = allocate(shape, dtype)
    return Arranged(memory, memory)


def _channels_last(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    batch, channels, *pixels = shape
    memory = allocate((batch, *pixels, channels), dtype)
    return Arranged(np.moveaxis(memory, -1, 1), memory)


def _transposed(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    memory = allocate(shape[::-1], dtype)
    return Arranged(memory.T, memory)


def _reversed(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    memory = allocate(shape, dtype)
    return Arranged(np.flip(memory), memory)


def _broadcast(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    """One row for all: the axis before the last is repeated."""
    memory = allocate((*shape[:-2], 1, shape[-1]), dtype)
    strides = (*memory.strides[:-2], 0, memory.strides[-1])
    # Not by broadcast_to, whose result is read-only: some peers take no such array.
    return Arranged(np.lib.stride_tricks.as_strided(memory, shape, strides), memory)


def _step_2(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    memory = allocate((*shape[:-1], 2 * shape[-1]), dtype)
    return Arranged(memory[..., ::2], memory)


def _byte_swapped(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    return _contiguous(shape, dtype.newbyteorder("S"))


LAYOUTS: Final[dict[str, Callable[[tuple[int, ...], np.dtype[Any]], Arranged]]] = {
    "contiguous": _contiguous,
    "channels-last": _channels_last,
    "transposed": _transposed,
    "reversed": _reversed,
    "broadcast": _broadcast,
    "step-2": _step_2,
    "byte-swapped": _byte_swapped,
}


def arrange(layout: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Arranged:
    """Memory for an array of a shape in a layout, not filled yet."""
    return LAYOUTS[layout](shape, dtype)
