# SPDX-License-Identifier: Apache-2.0
"""Arrays that are read a box at a time, whatever holds them."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import threading
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from onnx_argmax._arrays import is_dask_array
from onnx_argmax._arrays import source as array_source
from onnx_argmax._boxes import Box, box_text, lengths_of
from onnx_argmax._element_types import ElementType
from onnx_argmax._linear_file import FileLayout, LinearFile
from onnx_argmax._mapped_files import file_behind, give_pages_back, map_behind
from onnx_argmax._private_map import PrivateMapFile
from onnx_argmax._store_chunks import chunk_of
from onnx_argmax._store_memory import handling_bytes, held_bytes, is_known, library_of
from onnx_argmax._stores import arrays_in

__all__ = [
    "BlockSource",
    "FileSource",
    "MemorySource",
    "ObjectSource",
    "block_source",
    "where_it_fails",
]

_Array = np.ndarray[Any, Any]


class BlockSource(Protocol):
    """An array that gives boxes of its elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: tuple[int, ...]
    """The axes from the outermost in storage to the innermost."""
    chunk: tuple[int, ...]
    """What the storage reads at once at least; 1 along every axis where it is any box."""
    held_bytes: int
    """Most memory that the storage's library takes besides that of the boxes."""

    def buffer_bytes(self, lengths: tuple[int, ...]) -> int:
        """Bytes of the buffer that :meth:`read` wants for a box of so many elements."""
        ...

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        """Most memory that reading such a box takes, the buffer and the box itself included."""
        ...

    def read(self, box: Box, buffer: memoryview) -> Any:
        """The elements of a box, perhaps as a view of the buffer. Threads may read at once."""
        ...

    def done_with(self, block: Any) -> None:
        """Told when a box's elements are not needed any more."""
        ...

    def close(self) -> None:
        """Let go of what was opened for reading; the caller's own object stays open."""
        ...


def block_source(data: Any, view: np.dtype[Any] | None = None) -> tuple[BlockSource, ElementType]:
    """A source of an object's boxes, and its element type.

    Parameters
    ----------
    data : object
        A NumPy array or memory map, a Zarr array, an h5py dataset, a :class:`FileLayout`, or
        anything else with ``shape``, ``dtype`` and slicing.
    view : dtype, optional
        What to take the items for, of the same size.

    Raises
    ------
    TypeError
        When it is none of these, lazy, or of an element type outside the contract.
    """
    if isinstance(data, FileLayout):
        found: BlockSource = FileSource(LinearFile(_viewed(data, view)))
    elif isinstance(data, np.ndarray):
        found = _source_of_array(data if view is None else data.view(view))
    else:
        _refuse_what_is_no_array(data)
        layout = _file_of_dataset(data)
        found = (
            ObjectSource(data, *_described(data), view)
            if layout is None
            else FileSource(LinearFile(_viewed(layout, view)))
        )
    try:
        if found.dtype.subdtype is not None:
            raise TypeError(f"data: its items are arrays themselves ({found.dtype})")
        element_type = array_source(np.empty((0,), found.dtype)).element_type
    except TypeError as error:
        found.close()
        if isinstance(data, np.ndarray):
            raise
        raise TypeError(
            f"{error}, a block at a time: onnx_argmax.outofcore.argmax_blocks takes these"
        ) from None
    return found, element_type


def _source_of_array(array: _Array) -> BlockSource:
    array_source(array[(slice(0, 0),) * array.ndim])  # refuses a masked one, whose mask would go
    plain = array.view(np.ndarray)
    layout = file_behind(plain)
    if layout is not None:
        return FileSource(LinearFile(layout))
    layout = file_behind(plain, copy_on_write=True)
    if layout is not None:
        with suppress(OSError):  # a kernel that does not tell which pages differ
            return FileSource(PrivateMapFile(layout, map_behind(plain)))
    return MemorySource(plain)


@dataclass(slots=True)
class MemorySource:
    """An array in memory, or mapped in a way that the file does not stand for."""

    array: _Array
    shape: tuple[int, ...] = field(init=False)
    dtype: np.dtype[Any] = field(init=False)
    order: tuple[int, ...] = field(init=False)
    chunk: tuple[int, ...] = field(init=False)
    held_bytes: int = field(default=0, init=False)
    _is_mapped: bool = field(init=False)

    def __post_init__(self) -> None:
        self.shape, self.dtype = self.array.shape, self.array.dtype
        self.order = FileLayout(Path(), 0, self.shape, self.array.strides, self.dtype).order()
        self.chunk = (1,) * len(self.shape)
        self._is_mapped = map_behind(self.array) is not None

    def buffer_bytes(self, lengths: tuple[int, ...]) -> int:
        return 0

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        return _bytes(lengths, self.dtype) if self._is_mapped else 0

    def read(self, box: Box, buffer: memoryview) -> _Array:
        return self.array[box]

    def done_with(self, block: Any) -> None:
        if self._is_mapped:
            give_pages_back(block)

    def close(self) -> None:
        pass


@dataclass(slots=True)
class FileSource:
    """An array that lies in a file as it is."""

    file: LinearFile
    shape: tuple[int, ...] = field(init=False)
    dtype: np.dtype[Any] = field(init=False)
    order: tuple[int, ...] = field(init=False)
    chunk: tuple[int, ...] = field(init=False)
    held_bytes: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        layout = self.file.layout
        self.shape, self.dtype = layout.shape, layout.dtype
        self.order = layout.order()
        self.chunk = (1,) * len(self.shape)

    def buffer_bytes(self, lengths: tuple[int, ...]) -> int:
        return self.file.buffer_bytes(lengths)

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        return self.file.buffer_bytes(lengths)

    def read(self, box: Box, buffer: memoryview) -> _Array:
        return self.file.read(box, buffer)

    def done_with(self, block: Any) -> None:
        pass

    def close(self) -> None:
        self.file.close()


@dataclass(slots=True)
class ObjectSource:
    """Whatever has shape, dtype and slicing; a Zarr array or an h5py dataset, for example."""

    data: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunk: tuple[int, ...]
    view: np.dtype[Any] | None
    order: tuple[int, ...] = field(init=False)
    held_bytes: int = field(init=False)
    _stored: np.dtype[Any] = field(init=False)
    _turn: AbstractContextManager[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.order = tuple(range(len(self.shape)))
        self.held_bytes = held_bytes(self.data)
        self._stored = self.dtype
        if self.view is not None:
            self.dtype = _same_size(self.dtype, self.view)
        self._turn = nullcontext() if is_known(self.data) else threading.Lock()

    def buffer_bytes(self, lengths: tuple[int, ...]) -> int:
        return 0

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        return handling_bytes(self.data, lengths)

    def read(self, box: Box, buffer: memoryview) -> _Array:
        with self._turn:
            block = np.asanyarray(self.data[box])  # a mask must not go unseen
        # A single element comes in native byte order, whatever the array's is.
        native = block.dtype.newbyteorder("="), self._stored.newbyteorder("=")
        if block.shape != lengths_of(box) or native[0] != native[1]:
            raise ValueError(
                f"it came with shape {block.shape} and dtype {block.dtype} instead of "
                f"{lengths_of(box)} and {self._stored}"
            )
        return block if self.view is None else block.view(self.view)

    def done_with(self, block: Any) -> None:
        pass

    def close(self) -> None:
        pass


def where_it_fails(source: BlockSource, box: Box) -> str:
    """A box that could not be read, for a message: its first chunk that cannot, where the storage
    has chunks and one is to blame."""
    if all(n == 1 for n in source.chunk):
        return box_text(box)
    numbers = [
        range(part.start // n, -(-part.stop // n))
        for part, n in zip(box, source.chunk, strict=True)
    ]
    for number in itertools.product(*numbers):
        ends = zip(number, source.chunk, source.shape, strict=True)
        chunk = tuple(slice(i * n, min((i + 1) * n, whole)) for i, n, whole in ends)
        try:
            source.read(chunk, memoryview(bytearray(source.buffer_bytes(lengths_of(chunk)))))
        except Exception:
            return f"{box_text(chunk)} (chunk {', '.join(map(str, number))})"
    return box_text(box)


def _bytes(lengths: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(lengths) * dtype.itemsize


def _viewed(layout: FileLayout, view: np.dtype[Any] | None) -> FileLayout:
    if view is None:
        return layout
    dtype = _same_size(layout.dtype, view)
    return dataclasses.replace(layout, dtype=dtype)


def _same_size(dtype: np.dtype[Any], view: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.itemsize != view.itemsize:
        raise TypeError(f"data: items of {dtype} cannot be taken for {view}, of another size")
    return view


def _refuse_what_is_no_array(data: Any) -> None:
    if is_dask_array(data):
        raise TypeError(
            "data: an array of Dask is reduced by Dask: pass it to onnx_argmax.dask.argmax"
        )
    if hasattr(data, "__dask_graph__") and data.__dask_graph__() is not None:
        array_source(data)  # says what to do with it, and computes nothing
    if library_of(data) == "h5py" and not data:
        raise ValueError(
            f"data: this {type(data).__name__} of h5py is closed; open its file again"
        )
    next_step = "blocks of a stream go to onnx_argmax.outofcore.argmax_blocks"
    if isinstance(data, (list, tuple)):
        next_step = "arrays that make up one are blocks for onnx_argmax.outofcore.argmax_blocks"
    if hasattr(data, "keys"):
        next_step = "pass one array that it holds, as data[NAME]"
        if is_known(data):
            next_step += f": {arrays_in(data)}"
    if isinstance(data, (list, tuple)) or not all(
        hasattr(data, name) for name in ("shape", "dtype", "__getitem__")
    ):
        raise TypeError(
            "data: an array with shape, dtype and slicing, or the path of one, is needed, got "
            f"{type(data).__name__}; {next_step}"
        )


def _described(data: Any) -> tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]]:
    """Shape, dtype and chunk of an object of another library."""
    _refuse_null(data)
    try:
        shape = tuple(int(n) for n in data.shape)
        dtype = np.dtype(data.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"data: {type(data).__name__} has a shape or dtype that NumPy does not know "
            f"({error}); an array in memory goes to onnx_argmax.argmax"
        ) from error
    return shape, dtype, chunk_of("data", data, shape)


def _refuse_null(data: Any) -> None:
    if library_of(data) == "h5py" and data.shape is None:
        raise TypeError(
            f"data: the dataset {data.name!r} of {data.file.filename} is null (h5py.Empty): it "
            "has a type, but no shape and no elements; pass one that was given an array"
        )


def _file_of_dataset(data: Any) -> FileLayout | None:
    """Where a dataset of h5py lies in its file, if it does so as it is, and nobody writes."""
    if library_of(data) != "h5py" or not hasattr(data, "is_virtual"):
        return None
    import h5py

    file = data.file
    plain = data.chunks is None and not data.is_virtual and not data.external
    if not plain or file.mode != "r" or file.driver != "sec2" or data.dtype.metadata:
        return None
    # A float of another width or with other fields is widened as HDF5 reads it.
    if data.id.get_type() != h5py.h5t.py_create(data.dtype):
        return None
    offset = data.id.get_offset()
    if offset is None:  # nothing was written yet
        return None
    path = Path(file.filename)
    if not _is_open_as(path, file.id.get_vfd_handle()):
        return None
    return FileLayout.dense(path, offset, data.shape, data.dtype)


def _is_open_as(path: Path, descriptor: int) -> bool:
    """Whether the path still leads to the file that was opened."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
