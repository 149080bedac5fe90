# SPDX-License-Identifier: Apache-2.0
"""Memory maps: which file lies behind one, and giving its pages back."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax._linear_file import FileLayout

__all__ = ["file_behind", "give_pages_back", "map_behind", "may_share_file"]

_Array = np.ndarray[Any, Any]

_PAGEOUT: Final = 21
"""MADV_PAGEOUT of Linux, which keeps what was written to a private page; Python has no name."""


def map_behind(array: _Array) -> Any:
    """The ``numpy.memmap`` that an array is, or is a view of; None where there is none."""
    base: Any = array
    while base is not None:
        if isinstance(base, np.memmap) and isinstance(base.base, mmap.mmap):
            return base
        # Between views stand objects of NumPy's own: as_strided's, for example.
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return None


def file_behind(array: _Array, *, copy_on_write: bool = False) -> FileLayout | None:
    """Where the elements of a memory-mapped array lie in its file.

    None where that is not certain: for a file that went away or was replaced since (the kernel's
    own list of maps is asked, as the name alone says nothing of it), and for a map whose pages
    may differ from the file's, unless ``copy_on_write`` asks for these.
    """
    mapped = map_behind(array)
    if mapped is None or mapped.filename is None or (mapped.mode == "c") is not copy_on_write:
        return None
    address = array.__array_interface__["data"][0]
    path = Path(mapped.filename)
    try:
        found = path.stat()
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return None
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    for line in lines:
        addresses, _, start, on, inode, *_ = line.split(maxsplit=5)
        low, high = (int(end, 16) for end in addresses.split("-"))
        if low <= address < high:
            if (on, int(inode)) != (device, found.st_ino):
                return None
            offset = int(start, 16) + address - low
            return FileLayout(path, offset, array.shape, array.strides, array.dtype)
    return None


def may_share_file(one: _Array, other: _Array) -> bool:
    """Whether two memory-mapped arrays may hold the same bytes of a file, in whatever mode."""
    places = [_place_by_name(array) for array in (one, other)]
    if None in places:
        return False
    (file, low, high), (other_file, other_low, other_high) = filter(None, places)
    return file == other_file and low < other_high and other_low < high


def _place_by_name(array: _Array) -> tuple[tuple[int, int], int, int] | None:
    """Device and inode of the file of that name, first and last byte (exclusive) in it."""
    mapped = map_behind(array)
    if mapped is None or mapped.filename is None:
        return None
    try:
        found = Path(mapped.filename).stat()
    except OSError:
        return None
    start = mapped.offset - mapped.__array_interface__["data"][0]
    address = array.__array_interface__["data"][0]
    layout = FileLayout(Path(), start + address, array.shape, array.strides, array.dtype)
    return (found.st_dev, found.st_ino), *layout.extent()


def give_pages_back(array: _Array) -> None:
    """Let the pages of a mapped array go, with nothing lost; they come back when next asked for.

    A page that is mapped counts as the process's memory once it was touched.
    """
    mapped = map_behind(array)
    if mapped is None or array.size == 0:
        return
    address = array.__array_interface__["data"][0]
    low, high = FileLayout(Path(), address, array.shape, array.strides, array.dtype).extent()
    start = mapped.__array_interface__["data"][0] - mapped.offset % mmap.ALLOCATIONGRANULARITY
    first = (low - start) // mmap.PAGESIZE * mmap.PAGESIZE
    advice = _PAGEOUT if mapped.mode == "c" else mmap.MADV_DONTNEED
    with suppress(OSError, ValueError, AttributeError):  # they may go later, at the kernel's wish
        mapped.base.madvise(advice, first, high - start - first)
