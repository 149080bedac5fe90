# SPDX-License-Identifier: Apache-2.0
"""An array in a file, written to the folder of a Zarr array."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from onnx_argmax._boxes import Box, lengths_of
from onnx_argmax._linear_file import LinearFile
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.interruption import held_signals

__all__ = ["write_zarr"]

_CHUNK_BYTES: Final = 4 << 20
"""Large enough for a file of its own, small enough to be compressed in little memory."""


def write_zarr(folder: Path, file: LinearFile) -> None:
    """Write a Zarr array of format 3 to a folder that is not there yet, chunk by chunk.

    Raises
    ------
    CommandError
        When the installed Zarr does not write that format.
    OSError
        When it cannot be written: the disk is full, for example.
    """
    zarr = zarr_of_format_3()
    layout = file.layout
    chunks = _chunks(layout.shape, layout.dtype.itemsize)
    folder.mkdir()  # a new one, and not where a link leads
    with held_signals():
        made = zarr.create_array(
            folder, shape=layout.shape, chunks=chunks, dtype=layout.dtype, zarr_format=3
        )
    buffer = memoryview(bytearray(file.buffer_bytes(chunks)))
    for box in _boxes(layout.shape, chunks):
        # Where there is but one element, Zarr wants an array all the same.
        elements = file.read(box, buffer).reshape(lengths_of(box))
        # Zarr's own threads would go on with a chunk that was broken off, in a folder that goes.
        with held_signals():
            made[box] = elements
    _sync(folder)


def zarr_of_format_3() -> Any:
    """The module ``zarr``, which can write format 3.

    Raises
    ------
    CommandError, ModuleNotFoundError
        When it cannot, or is not installed.
    """
    import zarr

    if not hasattr(zarr, "create_array"):
        raise CommandError(
            f"--output: Zarr {zarr.__version__} writes no arrays of format 3; install zarr 3, or "
            "write a .npy"
        )
    return zarr


def _chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """About as many bytes, in long runs of C order."""
    chunks: list[int] = []
    left = _CHUNK_BYTES // itemsize
    for n in reversed(shape):
        chunks.append(max(1, min(n, left)))
        left //= chunks[-1]
    return tuple(reversed(chunks))


def _boxes(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[Box]:
    ranges = [range(0, n, chunk) for n, chunk in zip(shape, chunks, strict=True)]
    for start in itertools.product(*ranges):
        ends = zip(start, chunks, shape, strict=True)
        yield tuple(slice(i, min(i + chunk, n)) for i, chunk, n in ends)


def _sync(folder: Path) -> None:
    """Have everything in a folder outlive a loss of power."""
    for where, _, files in os.walk(folder):
        for path in (where, *(os.path.join(where, name) for name in files)):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
