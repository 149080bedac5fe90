# SPDX-License-Identifier: Apache-2.0
"""How much memory the libraries of stores take: measured, since they do not say."""

from __future__ import annotations

import math
import sys
from typing import Any, Final

import numpy as np

__all__ = [
    "handling_bytes",
    "held_bytes",
    "import_bytes",
    "is_known",
    "library_of",
    "loaded_libraries",
]

_COPIES: Final = {"zarr": 7, "h5py": 5}
"""How often a box is in memory at most as one of these libraries reads it. At once there are 3 of
Zarr and 2 of HDF5: compressed, decompressed, put together. What is freed stays with the process
for a while: the allocator keeps what is smaller than the largest that was freed, a heap for each
thread, and Zarr decompresses in threads of its own. Measured are up to 6.8 and 4.7, with chunks of
1 to 16 MiB that compress well or not at all."""

_COPIES_ELSEWHERE: Final = 3

_BYTES_OF_A_CHUNK: Final = {"zarr": 2560, "h5py": 7 << 10}
"""What these libraries hold for each chunk of a box besides its elements. Of Zarr 60,000 chunks of
10 elements took 121 MiB, 30,000 took 70 MiB; of HDF5, in 1 to 4 dimensions, 40,000 chunks of 100
elements took 267 MiB, 10,000 took 67 to 71 MiB."""

_LIBRARY_BYTES: Final = {"zarr": 1 << 20, "h5py": 2 << 20}
"""What they take once for reading at all: measured are 0.2 MiB more than the walk itself, and 1.1
MiB where the file is opened too."""

_BYTES_OF_AN_INDEX_ENTRY: Final = 300
_MOST_BYTES_OF_INDEX: Final = 32 << 20
"""HDF5 caches where the chunks of a dataset lie in the file, up to so much by its own default. Of
60,000 chunks this took 17 MiB, of 600,000 it took 26 MiB."""

_IMPORT_BYTES: Final = {"zarr": 16 << 20, "h5py": 14 << 20}
"""What importing them takes, measured as up to 14.4 and 13.2 MiB; the call takes it that is the
first of a process to need one."""


def loaded_libraries() -> frozenset[str]:
    """Libraries of stores that this process has imported."""
    return frozenset(_COPIES.keys() & sys.modules.keys())


def import_bytes(before: frozenset[str]) -> int:
    """Most memory that importing the libraries of stores took since :func:`loaded_libraries`."""
    return sum(_IMPORT_BYTES[name] for name in loaded_libraries() - before)


def handling_bytes(store: Any, lengths: tuple[int, ...]) -> int:
    """Most memory that reading or writing a box of whole chunks takes, the box included."""
    library = library_of(store)
    elements = _COPIES.get(library, _COPIES_ELSEWHERE) * _bytes(lengths, np.dtype(store.dtype))
    if library not in _BYTES_OF_A_CHUNK or store.chunks is None:
        return elements
    # Within a shard each chunk counts.
    counts = (-(-n // max(1, c)) for n, c in zip(lengths, store.chunks, strict=True))
    return elements + _BYTES_OF_A_CHUNK[library] * math.prod(counts)


def held_bytes(store: Any) -> int:
    """Most memory that the library of a store takes besides that of the boxes."""
    library = library_of(store)
    if library != "h5py" or store.chunks is None:
        return _LIBRARY_BYTES.get(library, 0)
    chunks = math.prod(-(-n // c) for n, c in zip(store.shape, store.chunks, strict=True))
    index = min(_BYTES_OF_AN_INDEX_ENTRY * chunks, _MOST_BYTES_OF_INDEX)
    return _LIBRARY_BYTES[library] + index + _cache_bytes(store)


def _cache_bytes(store: Any) -> int:
    """Of HDF5's cache of chunks, which belongs to a dataset as it was opened.

    By default it has 8 MiB since HDF5 2.0, and 1 MiB before. Chunks that are larger than all of it
    do not go there. A decompressed one has up to twice its size there: HDF5 doubles the memory for
    it until it fits.
    """
    _, most, _ = store.id.get_access_plist().get_chunk_cache()
    if _bytes(store.chunks, store.dtype) > most:
        return 0
    is_filtered = store.id.get_create_plist().get_nfilters() > 0
    return (2 if is_filtered else 1) * min(most, _bytes(store.shape, store.dtype))


def library_of(store: Any) -> str:
    """Name of the library whose object this is."""
    return type(store).__module__.partition(".")[0]


def is_known(store: Any) -> bool:
    """Whether its library is one of these, of which it is known that threads may read at once."""
    return library_of(store) in _COPIES


def _bytes(lengths: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(lengths) * dtype.itemsize
