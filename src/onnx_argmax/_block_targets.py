# SPDX-License-Identifier: Apache-2.0
"""Where a result goes, a box at a time."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from onnx_argmax._arrays import writable_view
from onnx_argmax._block_sources import BlockSource, FileSource, MemorySource
from onnx_argmax._boxes import Box
from onnx_argmax._linear_file import LinearFile
from onnx_argmax._mapped_files import file_behind

__all__ = ["BlockTarget", "FileTarget", "block_target", "out_view", "refuse_overlap"]

_Array = np.ndarray[Any, Any]


class BlockTarget(Protocol):
    """What takes boxes of a result."""

    def write(self, box: Box, indices: _Array) -> None:
        """Take the indices of a box."""
        ...

    def close(self) -> None:
        """Let go of what was opened for writing; the caller's own object stays open."""
        ...


class ArrayTarget:
    """An array in memory, or an object that is written by assignment (Zarr, h5py)."""

    def __init__(self, out: Any) -> None:
        self.out = out

    def write(self, box: Box, indices: _Array) -> None:
        self.out[box] = indices

    def close(self) -> None:
        pass


class FileTarget:
    """An array in a file, written past the page tables: a full disk is an error, no signal."""

    def __init__(self, file: LinearFile) -> None:
        self.file = file

    def write(self, box: Box, indices: _Array) -> None:
        self.file.write(box, indices)

    def close(self) -> None:
        self.file.close()


def out_view(out: Any) -> Any:
    """What is written through for an ``out`` argument: a NumPy view where there can be one.

    Raises
    ------
    TypeError
        When it takes no assignment of boxes.
    """
    if isinstance(out, np.ndarray) or hasattr(out, "__dlpack__"):
        return writable_view(out)
    if all(hasattr(out, name) for name in ("shape", "dtype", "__setitem__")):
        return out
    raise TypeError(
        "out: an array that takes boxes by assignment (NumPy, a memory map, Zarr, h5py) is "
        f"needed, got {type(out).__name__}"
    )


def block_target(view: Any) -> BlockTarget:
    """The target that writes to a checked view of ``out``."""
    layout = file_behind(view) if isinstance(view, np.ndarray) else None
    return ArrayTarget(view) if layout is None else FileTarget(LinearFile(layout, writable=True))


def refuse_overlap(source: BlockSource, target: BlockTarget) -> None:
    """Refuse a target whose memory or part of a file is the source's.

    Raises
    ------
    ValueError
        When writing the one might change the other.
    """
    if isinstance(source, FileSource) and isinstance(target, FileTarget):
        overlap = source.file.overlaps(target.file)
    elif isinstance(source, MemorySource) and isinstance(target, ArrayTarget):
        out = target.out
        overlap = isinstance(out, np.ndarray) and np.may_share_memory(source.array, out)
    else:
        overlap = False
    if overlap:
        raise ValueError(
            "out: its memory overlaps that of data, or lies between its elements; pass an array "
            "with memory of its own"
        )
