# SPDX-License-Identifier: Apache-2.0
"""An array that lies in a file at strides: boxes of it are read and written where they lie.

Not by mapping the file: a page that is mapped counts as the process's memory, a file that was cut
short is a signal and no error, and so is a full disk.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax import _native
from onnx_argmax._boxes import Box, lengths_of

__all__ = ["FileLayout", "LinearFile"]

_Array = np.ndarray[Any, Any]

_PAGE_BYTES: Final = 4096
"""Between elements that are closer than this a disk can skip nothing, so one read takes all."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Where the elements of an array lie in a file."""

    path: Path
    offset: int
    """Byte of the element at index 0 of every axis."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes from one index to the next, of any sign."""
    dtype: np.dtype[Any]

    @classmethod
    def dense(
        cls,
        path: Path,
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        fortran: bool = False,
    ) -> FileLayout:
        """An array without gaps, in C or Fortran order."""
        strides: list[int] = []
        step = dtype.itemsize
        for n in shape if fortran else reversed(shape):
            strides.append(step)
            step *= n
        return cls(path, offset, shape, tuple(strides if fortran else reversed(strides)), dtype)

    def extent(self) -> tuple[int, int]:
        """First and last byte (exclusive) of the array in the file."""
        if 0 in self.shape:
            return self.offset, self.offset
        reach = [(n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(step for step in reach if step < 0)
        high = self.offset + sum(step for step in reach if step > 0)
        return low, high + self.dtype.itemsize

    def order(self) -> tuple[int, ...]:
        """The axes from the outermost in the file to the innermost."""
        return tuple(
            sorted(range(len(self.shape)), key=lambda axis: (-abs(self.strides[axis]), axis))
        )


@dataclass(frozen=True, slots=True)
class _Runs:
    """A box as equal runs of bytes in a file, which a buffer holds one behind the other."""

    bytes: int
    """Of one run."""
    outer: tuple[int, ...]
    """Axes along which there is a run for each index, from the outermost in the file."""
    count: int


class LinearFile:
    """A file with an array in it, open.

    Raises
    ------
    OSError
        When it cannot be opened.
    ValueError
        When it ends before the array does.
    """

    def __init__(self, layout: FileLayout, *, writable: bool = False) -> None:
        self.layout = layout
        self._file = os.open(layout.path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        found = os.fstat(self._file)
        self._identity = found.st_dev, found.st_ino
        _, high = layout.extent()
        if found.st_size < high and not writable:
            self.close()
            raise ValueError(_too_short(layout.path, found.st_size, high))

    def close(self) -> None:
        """Close the file; again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def buffer_bytes(self, lengths: tuple[int, ...]) -> int:
        """Bytes of the buffer that reading a box of so many elements takes."""
        runs = self._runs(lengths, most_gap=_PAGE_BYTES)
        return runs.bytes * runs.count

    def read(self, box: Box, buffer: memoryview) -> _Array:
        """The elements of a box, as a view of the buffer that they were read into.

        Raises
        ------
        OSError, ValueError
            When they cannot be read, or the file ends before them.
        """
        lengths = lengths_of(box)
        runs = self._runs(lengths, most_gap=_PAGE_BYTES)
        places = self._places(box, runs)
        whole = buffer[: runs.bytes * runs.count]
        done = _native.read_runs(self._file, whole, places)
        if done < len(whole):
            size = os.fstat(self._file).st_size
            needed = int(places[done // runs.bytes]) + runs.bytes
            raise ValueError(_too_short(self.layout.path, size, needed))
        strides = self._strides_in_buffer(lengths, runs)
        first = -sum((n - 1) * s for n, s in zip(lengths, strides, strict=True) if s < 0)
        return np.ndarray(lengths, self.layout.dtype, buffer, first, strides)

    def runs_of(self, box: Box, buffer: memoryview) -> Iterator[tuple[memoryview, int]]:
        """What was read into the buffer for a box, run by run, each with its place in the file."""
        runs = self._runs(lengths_of(box), most_gap=_PAGE_BYTES)
        for number, place in enumerate(self._places(box, runs).tolist()):
            yield buffer[number * runs.bytes : (number + 1) * runs.bytes], place

    def write(self, box: Box, values: _Array) -> None:
        """Write the elements of a box.

        Raises
        ------
        OSError
            When they cannot be written: the disk is full, for example.
        """
        lengths = lengths_of(box)
        runs = self._runs(lengths, most_gap=0)
        strides = self._strides_in_buffer(lengths, runs)
        first = -sum((n - 1) * s for n, s in zip(lengths, strides, strict=True) if s < 0)
        data = memoryview(bytearray(runs.bytes * runs.count))
        np.ndarray(lengths, self.layout.dtype, data, first, strides)[...] = values
        for number, place in enumerate(self._places(box, runs).tolist()):
            self._write_run(data[number * runs.bytes : (number + 1) * runs.bytes], place)

    def sync(self) -> None:
        """Have what was written outlive a loss of power."""
        os.fsync(self._file)

    def overlaps(self, other: LinearFile) -> bool:
        """Whether some byte of the file may belong to both arrays."""
        if self._identity != other._identity:
            return False
        (low, high), (other_low, other_high) = self.layout.extent(), other.layout.extent()
        return low < other_high and other_low < high

    def _runs(self, lengths: tuple[int, ...], most_gap: int) -> _Runs:
        """Axes join the run while no more than a gap lies between their steps and what the run
        reaches so far; with the first that is further apart, the runs begin."""
        run = self.layout.dtype.itemsize
        outer: list[int] = []
        for axis in reversed(self.layout.order()):
            step = abs(self.layout.strides[axis])
            if lengths[axis] == 1:
                continue
            if outer or step - run > most_gap:
                outer.append(axis)
            else:
                run += (lengths[axis] - 1) * step
        count = math.prod(lengths[axis] for axis in outer)
        return _Runs(run if 0 not in lengths else 0, tuple(reversed(outer)), count)

    def _places(self, box: Box, runs: _Runs) -> _Array:
        """First byte of each run, in the order of the file."""
        if 0 in lengths_of(box):
            return np.empty(0, np.int64)
        start = self.layout.offset
        for part, stride in zip(box, self.layout.strides, strict=True):
            start += min(part.start * stride, (part.stop - 1) * stride)
        places = np.array([start], np.int64)
        for axis in runs.outer:
            steps = np.arange(box[axis].stop - box[axis].start) * abs(self.layout.strides[axis])
            places = np.add.outer(places, steps).reshape(-1)
        return places

    def _strides_in_buffer(self, lengths: tuple[int, ...], runs: _Runs) -> tuple[int, ...]:
        strides = list(self.layout.strides)
        step = runs.bytes
        for axis in reversed(runs.outer):
            strides[axis] = step if strides[axis] >= 0 else -step
            step *= lengths[axis]
        # NumPy looks at the strides of axes that are never stepped along.
        return tuple(s if n > 1 else 0 for n, s in zip(lengths, strides, strict=True))

    def _write_run(self, run: memoryview, place: int) -> None:
        done = 0
        while done < len(run):
            done += os.pwrite(self._file, run[done:], place + done)


def _too_short(path: Path, size: int, needed: int) -> str:
    return f"{path}: truncated: it ends after {size} bytes, but its array reaches byte {needed}"
