# SPDX-License-Identifier: Apache-2.0
"""An array in a copy-on-write map: what was written lies in this process's pages, the rest in the
file, and is read there, since a page of the file that the map shows counts as memory."""

from __future__ import annotations

import mmap
import os
from typing import Any, Final

import numpy as np

from onnx_argmax._boxes import Box
from onnx_argmax._linear_file import FileLayout, LinearFile

__all__ = ["PrivateMapFile"]

_Array = np.ndarray[Any, Any]

# Of an entry of /proc/self/pagemap, in the kernel's Documentation/admin-guide/mm/pagemap.rst.
_PRESENT: Final = np.uint64(1 << 63)
_SWAPPED: Final = np.uint64(1 << 62)
_OF_FILE: Final = np.uint64(1 << 61)

_ENTRY_BYTES: Final = 8
_ENTRIES_AT_ONCE: Final = 1 << 16


class PrivateMapFile(LinearFile):
    """The file of a map of the mode ``"c"``, with the pages that differ from it.

    Parameters
    ----------
    layout
        Where the array lies in the file.
    mapped
        The ``numpy.memmap`` whose base is the map itself.

    Raises
    ------
    OSError
        When the kernel does not tell which pages differ.
    """

    def __init__(self, layout: FileLayout, mapped: Any) -> None:
        super().__init__(layout)
        within = mapped.offset % mmap.ALLOCATIONGRANULARITY
        self._start = mapped.offset - within
        """Byte of the file at which the map begins."""
        self._bytes = np.frombuffer(mapped.base, np.uint8)
        address = mapped.__array_interface__["data"][0] - within
        try:
            self._pages = _private_pages(address, len(self._bytes))
        except OSError:
            self.close()
            raise

    def read(self, box: Box, buffer: memoryview) -> _Array:
        elements = super().read(box, buffer)
        for run, place in self.runs_of(box, buffer) if len(self._pages) else ():
            low = place - self._start
            high = low + len(run)
            ends = np.searchsorted(self._pages, [low // mmap.PAGESIZE, -(-high // mmap.PAGESIZE)])
            for page in self._pages[slice(*ends)].tolist():
                begin = max(low, page * mmap.PAGESIZE)
                end = min(high, (page + 1) * mmap.PAGESIZE)
                run[begin - low : end - low] = self._bytes[begin:end].data
        return elements


def _private_pages(address: int, size: int) -> _Array:
    """Numbers of the pages of a map that are not its file's, ascending."""
    found: list[_Array] = []
    pages = -(-size // mmap.PAGESIZE)
    file = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    try:
        for first in range(0, pages, _ENTRIES_AT_ONCE):
            count = min(_ENTRIES_AT_ONCE, pages - first)
            place = (address // mmap.PAGESIZE + first) * _ENTRY_BYTES
            read = os.pread(file, count * _ENTRY_BYTES, place)
            if len(read) < count * _ENTRY_BYTES:
                raise OSError("/proc/self/pagemap tells nothing of the map")
            entries = np.frombuffer(read, np.uint64)
            own = (entries & _SWAPPED != 0) | (entries & (_PRESENT | _OF_FILE) == _PRESENT)
            found.append(np.flatnonzero(own) + first)
    finally:
        os.close(file)
    return np.concatenate(found)
