# SPDX-License-Identifier: Apache-2.0
"""Where a result goes, a box at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from onnx_argmax._arrays import writable_view
from onnx_argmax._block_sources import (
    BlockSource,
    FileSource,
    MemorySource,
    ObjectSource,
)
from onnx_argmax._boxes import Box
from onnx_argmax._linear_file import LinearFile
from onnx_argmax._mapped_files import file_behind, give_pages_back, map_behind, may_share_file
from onnx_argmax._store_chunks import chunk_of
from onnx_argmax._store_memory import handling_bytes, held_bytes

__all__ = [
    "ArrayTarget",
    "BlockTarget",
    "FileTarget",
    "block_target",
    "out_view",
    "refuse_overlap",
]

_Array = np.ndarray[Any, Any]


class BlockTarget(Protocol):
    """What takes boxes of a result."""

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        """Most memory that writing a box of so many elements takes beyond a copy of these."""
        ...

    def memory(self, box: Box) -> _Array | None:
        """Where the indices of a box can be written at once; None where :meth:`write` must."""
        ...

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
        self._is_array = isinstance(out, np.ndarray)
        self._is_mapped = self._is_array and map_behind(out) is not None
        shape = tuple(out.shape)
        self.chunk = (1,) * len(shape) if self._is_array else chunk_of("out", out, shape)
        """What is written at once at least."""

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        if self._is_array:
            return 0
        touched = tuple(  # by whole chunks, which are read, changed and written
            min(whole, (-(-n // chunk) + (n % chunk != 0)) * chunk)
            for n, chunk, whole in zip(lengths, self.chunk, self.out.shape, strict=True)
        )
        return handling_bytes(self.out, touched) + held_bytes(self.out)

    def memory(self, box: Box) -> _Array | None:
        plain = isinstance(self.out, np.ndarray) and not self._is_mapped
        return self.out[(*box, ...)] if plain else None

    def write(self, box: Box, indices: _Array) -> None:
        self.out[box] = indices
        if self._is_mapped:
            give_pages_back(self.out[(*box, ...)])

    def close(self) -> None:
        pass


class FileTarget:
    """An array in a file, written past the page tables: a full disk is an error, no signal.

    ``out`` is the map of it.
    """

    def __init__(self, out: _Array, file: LinearFile) -> None:
        self.out, self.file = out, file

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        return 0

    def memory(self, box: Box) -> _Array | None:
        return None

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
        f"needed, got {type(out).__name__}; numpy.lib.format.open_memmap(path, 'w+', dtype, "
        "shape) makes a .npy"
    )


def block_target(view: Any) -> BlockTarget:
    """The target that writes to a checked view of ``out``."""
    layout = file_behind(view) if isinstance(view, np.ndarray) else None
    if layout is None:
        return ArrayTarget(view)
    return FileTarget(view, LinearFile(layout, writable=True))


def refuse_overlap(source: BlockSource, target: BlockTarget) -> None:
    """Refuse a target whose memory or part of a file is the source's.

    Raises
    ------
    ValueError
        When writing the one might change the other.
    """
    if isinstance(source, FileSource) and isinstance(target, FileTarget):
        overlap = source.file.overlaps(target.file)
    elif isinstance(source, MemorySource) and isinstance(target, (ArrayTarget, FileTarget)):
        out = target.out
        overlap = isinstance(out, np.ndarray) and (
            np.may_share_memory(source.array, out) or may_share_file(source.array, out)
        )
    elif isinstance(source, ObjectSource) and isinstance(target, ArrayTarget):
        overlap = _same_stored(source.data, target.out)
    else:
        overlap = False
    if overlap:
        raise ValueError(
            "out: its memory overlaps that of data, or lies between its elements; pass an array "
            "with memory of its own"
        )


def _same_stored(data: Any, out: Any) -> bool:
    if data is out:
        return True
    library = type(data).__module__.partition(".")[0]
    if library not in ("zarr", "h5py") or type(data) is not type(out):
        return False
    # Both compare what they stand for, the store or the place in the file, and no elements.
    return bool(data == out) or _same_folder(data, out)


def _same_folder(data: Any, out: Any) -> bool:
    """Whether two Zarr arrays lie in one folder, by whatever paths they were opened."""
    folders = [
        Path(array.store.root, array.path)
        for array in (data, out)
        if hasattr(getattr(array, "store", None), "root")
    ]
    try:
        return len(folders) == 2 and folders[0].samefile(folders[1])
    except (OSError, TypeError):
        return False
