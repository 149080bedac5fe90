# SPDX-License-Identifier: Apache-2.0
"""The same elements in everything that the out-of-core walk reads, and small blocks for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias
from unittest import mock

import numpy as np
import pytest

from layouts import poison, strided
from onnx_argmax import _block_plan
from oracle import Array

__all__ = [
    "SOURCES",
    "Sliced",
    "Stored",
    "descriptors",
    "nothing_left",
    "small_blocks",
    "takes",
]

Stored: TypeAlias = Callable[[Path, Array], AbstractContextManager[Any]]
"""Stores an array in an empty folder, and gives what the walk is to read meanwhile."""


@contextmanager
def small_blocks(block_bytes: int = 64, along_axis: int = 2) -> Iterator[None]:
    """Walk in blocks of so many bytes, so that a small array has many of them."""
    with mock.patch.multiple(
        _block_plan,
        _BLOCK_BYTES=block_bytes,
        _LEAST_BLOCK_BYTES=1,
        _LEAST_ALONG_AXIS=along_axis,
    ):
        yield


def descriptors() -> dict[str, str]:
    """Open files of this process, by descriptor; no sockets and the like, as Zarr's loop has."""
    found: dict[str, str] = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the listing's own
            found[name] = os.readlink(f"/proc/self/fd/{name}")
    return {name: path for name, path in found.items() if path.startswith("/")}


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fail if what runs within leaves a file open or a reader running."""
    before = descriptors()
    yield
    # What an earlier test left to the garbage collector may go meanwhile; and where one chunk
    # fails, Zarr's own threads may still be reading others.
    until = time.monotonic() + 10
    while not descriptors().items() <= before.items() and time.monotonic() < until:
        time.sleep(0.01)
    assert descriptors().items() <= before.items()
    readers = [t.name for t in threading.enumerate() if t.name.startswith("onnx-argmax")]
    assert readers == []


class Sliced:
    """An object with shape, dtype and slicing, and no more."""

    def __init__(self, array: Array, chunks: tuple[int, ...] | None = None) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        if chunks is not None:
            self.chunks = chunks
        self.boxes: list[Any] = []

    def __getitem__(self, box: Any) -> Any:
        self.boxes.append(box)
        return self.array[box]


def some_chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Chunks that divide nothing evenly where that can be."""
    return tuple(max(1, (n + 1) // 3) for n in shape)


# In files as they are.


@contextmanager
def _npy(folder: Path, array: Array) -> Generator[Any]:
    np.save(folder / "data.npy", array)
    yield folder / "data.npy"


@contextmanager
def _npy_fortran(folder: Path, array: Array) -> Generator[Any]:
    np.save(folder / "data.npy", np.array(array, order="F"))
    yield str(folder / "data.npy")


def _in_a_file(path: Path, array: Array, around: int) -> Callable[[str], Array]:
    """Write the memory of an array to a file, and give what maps it the same way.

    Its first and last byte are the array's. So many bytes lie before it.
    """
    low, high = np.lib.array_utils.byte_bounds(array)
    address = array.__array_interface__["data"][0]
    size = high - low
    memory = bytearray(size)
    within = np.ndarray(array.shape, array.dtype, memory, address - low, array.strides)
    gap = poison(array.dtype)
    memory[:] = (gap * (size // len(gap) + 1))[:size]
    within[...] = array
    path.write_bytes(b"\x7f" * around + memory + b"\x7f")

    def mapped(mode: str) -> Array:
        whole = np.memmap(path, np.uint8, mode, around)  # pyright: ignore
        first = whole[address - low : address - low + array.itemsize].view(array.dtype)
        return np.lib.stride_tricks.as_strided(
            first, array.shape, array.strides, subok=True, writeable=mode != "r"
        )

    return mapped


def _memmap(mode: str) -> Stored:
    @contextmanager
    def stored(folder: Path, array: Array) -> Generator[Any]:
        yield _in_a_file(folder / "data.bin", np.array(array, order="C"), 4096)(mode)

    return stored


def _view(**how: Any) -> Stored:
    """A view of a map: axes in another order, steps of other sizes and signs, misaligned."""

    @contextmanager
    def stored(folder: Path, array: Array) -> Generator[Any]:
        rank = array.ndim
        steps = [how.get("steps", [1])[axis % len(how.get("steps", [1]))] for axis in range(rank)]
        order = range(rank)[::-1] if how.get("transposed") else range(rank)
        laid_out = strided(array, order=order, steps=steps)
        yield _in_a_file(folder / "data.bin", laid_out, how.get("offset", 0))(how.get("mode", "r"))

    return stored


@contextmanager
def _memmap_of_a_file_gone(folder: Path, array: Array) -> Generator[Any]:
    mapped = _in_a_file(folder / "data.bin", np.array(array, order="C"), 0)("r")
    (folder / "data.bin").unlink()
    yield mapped


# In memory.


@contextmanager
def _in_memory(folder: Path, array: Array) -> Generator[Any]:
    yield strided(array, order=range(array.ndim)[::-1], steps=(-2,) * array.ndim)


@contextmanager
def _sliced(folder: Path, array: Array) -> Generator[Any]:
    yield Sliced(array)


@contextmanager
def _sliced_in_chunks(folder: Path, array: Array) -> Generator[Any]:
    yield Sliced(array, some_chunks(array.shape))


# In stores.


def _zarr(*, version: int, sharded: bool = False, by_path: bool = False) -> Stored:
    @contextmanager
    def stored(folder: Path, array: Array) -> Generator[Any]:
        zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
        chunks = some_chunks(array.shape)
        extra = {"shards": tuple(2 * n for n in chunks)} if sharded and array.ndim else {}
        made = zarr.create_array(
            folder / "data.zarr",
            shape=array.shape,
            chunks=chunks,
            dtype=array.dtype,
            zarr_format=version,
            **extra,
        )
        made[...] = array
        yield folder / "data.zarr" if by_path else made

    return stored


def _hdf5(*, by_path: bool = False, mode: str = "r", userblock: int = 0, **how: Any) -> Stored:
    @contextmanager
    def stored(folder: Path, array: Array) -> Generator[Any]:
        h5py = pytest.importorskip("h5py", reason="h5py is not installed")
        path = folder / "data.h5"
        chunked = {"chunks": some_chunks(array.shape)} if how and array.ndim else {}
        with h5py.File(path, "w", userblock_size=userblock) as file:
            extra = {**how, **chunked} if array.ndim else {}
            file.create_dataset("group/data", data=array, **extra)
        if by_path:
            yield f"{path}:group/data"
            return
        with h5py.File(path, mode) as file:
            yield file["group/data"]

    return stored


@contextmanager
def _hdf5_virtual(folder: Path, array: Array) -> Generator[Any]:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(folder / "part.h5", "w") as file:
        file["data"] = array
    layout = h5py.VirtualLayout(array.shape, array.dtype)
    if array.ndim:
        layout[...] = h5py.VirtualSource(folder / "part.h5", "data", array.shape)
    with h5py.File(folder / "data.h5", "w") as file:
        if array.ndim:
            file.create_virtual_dataset("data", layout)
        else:
            file["data"] = array
    with h5py.File(folder / "data.h5", "r") as file:
        yield file["data"]


SOURCES: Final[dict[str, Stored]] = {
    "npy": _npy,
    "npy_fortran": _npy_fortran,
    "memmap_r": _memmap("r"),
    "memmap_r+": _memmap("r+"),
    "memmap_c": _memmap("c"),
    "memmap_of_a_file_gone": _memmap_of_a_file_gone,
    "view_every_second": _view(steps=[2]),
    "view_reversed": _view(steps=[-1]),
    "view_transposed": _view(transposed=True),
    "view_misaligned": _view(offset=13),
    "view_alternating": _view(steps=[1, -2, 3, -1], offset=1, transposed=True),
    "view_with_far_steps": _view(steps=[-300, 1]),
    "view_c_alternating": _view(steps=[-2, 1, -3], mode="c"),
    "in_memory": _in_memory,
    "object": _sliced,
    "object_in_chunks": _sliced_in_chunks,
    "zarr_2": _zarr(version=2),
    "zarr_3": _zarr(version=3),
    "zarr_3_sharded": _zarr(version=3, sharded=True),
    "zarr_path": _zarr(version=3, by_path=True),
    "hdf5": _hdf5(),
    "hdf5_path": _hdf5(by_path=True),
    "hdf5_userblock": _hdf5(userblock=1024),
    "hdf5_open_for_writing": _hdf5(mode="r+"),
    "hdf5_chunked": _hdf5(chunks=True),
    "hdf5_gzip": _hdf5(by_path=True, compression="gzip"),
    "hdf5_shuffle": _hdf5(compression="gzip", shuffle=True, fletcher32=True),
    "hdf5_virtual": _hdf5_virtual,
}
"""Every kind of source, by its name in a test."""


def takes(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether a kind of source can hold a type: bfloat16 is known to arrays in memory alone,
    and Zarr 3 stores in the byte order that it likes."""
    if name.startswith(("npy", "zarr", "hdf5")):
        return dtype.name != "bfloat16"
    return True
