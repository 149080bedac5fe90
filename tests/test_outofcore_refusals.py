# SPDX-License-Identifier: Apache-2.0
"""What cannot be read, and memory that is not enough: what is said of it."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnx_argmax import outofcore
from onnx_argmax._linear_file import LinearFile
from oracle import Array, fast_argmax
from samples import random_elements, type_named
from stored import SOURCES, Sliced, nothing_left, small_blocks

DATA = random_elements(type_named("float32"), (12, 10), 1)


def refused(source: Any, error: type[BaseException], words: str, **arguments: Any) -> None:
    with nothing_left(), pytest.raises(error, match=words):
        outofcore.argmax(source, **arguments)


# Paths.


def test_paths_that_lead_to_no_array(tmp_path: Path) -> None:
    (tmp_path / "empty.npy").touch()
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "magic.npy").write_bytes(b"\x93NUMPY\x09\x00")
    (tmp_path / "header.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    for name, error, words in (
        ("missing.npy", FileNotFoundError, "missing.npy: no such file"),
        ("missing.zarr", FileNotFoundError, "missing.zarr: no such file"),
        ("missing.h5:data", FileNotFoundError, "missing.h5: no such file"),
        ("empty.npy", ValueError, r"neither a .npy file nor HDF5; allowed are FILE\.npy"),
        ("text.npy", ValueError, r"neither a .npy file nor HDF5"),
        ("magic.npy", ValueError, "not a .npy file, or a damaged one"),
        ("header.npy", ValueError, "not a .npy file, or a damaged one"),
        ("folder", ValueError, "a folder, and not that of a Zarr array"),
        ("pipe.npy", OSError, "a pipe"),
        ("\0", ValueError, "no file can have this name|embedded null"),
        ("empty.npy/data.npy", OSError, "empty.npy/data.npy"),
    ):
        refused(tmp_path / name, error, words)
        refused(str(tmp_path / name), error, words)


def test_npy_of_types_outside_the_contract(tmp_path: Path) -> None:
    for dtype, error, words in (
        (object, ValueError, "pickled Python objects"),
        (np.complex64, TypeError, "element type complex64 .*no order"),
        ("M8[s]", TypeError, "element type datetime64"),
        ("m8[s]", TypeError, "element type timedelta64"),
        ("S3", TypeError, "strings have no numeric order"),
        ("U3", TypeError, "strings have no numeric order"),
        ("i4,f4", TypeError, "element type"),
        ("V2", TypeError, "element type"),
    ):
        np.save(tmp_path / "data.npy", np.zeros((2, 3), dtype))
        refused(tmp_path / "data.npy", error, words)
        if dtype is not object:
            refused(np.load(tmp_path / "data.npy", mmap_mode="r"), TypeError, words)


def test_truncated_npy(tmp_path: Path) -> None:
    path = tmp_path / "data.npy"
    np.save(path, DATA)
    size = path.stat().st_size
    mapped = np.load(path, mmap_mode="r")
    os.truncate(path, size - 1)
    words = f"truncated: it has {size - 1} bytes, but its array .* reaches byte {size}"
    refused(path, ValueError, words)
    words = f"truncated: it ends after {size - 1} bytes, but its array reaches byte {size}"
    refused(mapped, ValueError, words)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_npy_that_is_truncated_during_the_walk(
    axis: int | None, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.npy"
    is_cut = threading.Event()
    read = LinearFile.read

    def read_after_the_cut(self: LinearFile, box: Any, buffer: memoryview) -> Array:
        if box[0].stop > 150:
            assert is_cut.wait(60)
        return read(self, box, buffer)

    def cut(progress: outofcore.Progress) -> None:
        if progress.blocks_done == 1:
            os.truncate(path, 128 + 150 * 40 + 2)
            is_cut.set()

    monkeypatch.setattr(LinearFile, "read", read_after_the_cut)
    words = r"data: the block \[\d+:\d+, \d+:\d+\] cannot be read: .*truncated: it ends after 6130"
    for is_mapped in (False, True):
        is_cut.clear()
        np.save(path, np.zeros((200, 10), np.float32))
        given = np.load(path, mmap_mode="r") if is_mapped else path
        with small_blocks(40, 1):
            refused(given, OSError, words, axis=axis, threads=threads, progress=cut)
        del given


def test_hdf5_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file.create_group("group")
        refused(file["group"], TypeError, "an array with shape, dtype and slicing")
    refused(path, ValueError, "it holds no dataset")
    with h5py.File(path, "w") as file:
        file["one"], file["group/two"] = DATA, DATA
        file["text"] = "some text"
        file["nothing"] = h5py.Empty("f4")
        file["complex"] = np.zeros(3, complex)
        file["gone"] = h5py.SoftLink("/nowhere")
        refused(file["nothing"], TypeError, "a shape or dtype that NumPy does not know")
    refused(path, ValueError, "name one, as .*data.h5:NAME")
    refused(f"{path}:three", ValueError, "no dataset 'three' in it; it holds .*'group/two'")
    refused(f"{path}:gone", ValueError, "no dataset 'gone' in it")
    refused(f"{path}:group", ValueError, "'group' is no dataset")
    refused(f"{path}:text", TypeError, "element type object")
    refused(f"{path}:complex", TypeError, "element type complex128")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(f"{path}:one", OSError, "data.h5: HDF5 cannot open it")
    path.write_bytes(b"\x89HDF\r\n\x1a\nno more")
    refused(path, OSError, "HDF5 cannot open it")


def test_zarr_folders(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    group = zarr.create_group(tmp_path / "group.zarr")
    group.create_array("inner", shape=(2,), chunks=(1,), dtype="i4")
    refused(tmp_path / "group.zarr", ValueError, "a Zarr group; pass .* an array in it: inner")
    refused(group, TypeError, "an array with shape, dtype and slicing")
    zarr.create_array(tmp_path / "data.zarr", shape=(2,), chunks=(1,), dtype="c8")
    refused(tmp_path / "data.zarr", TypeError, "element type complex64")
    (tmp_path / "data.zarr" / "zarr.json").write_text("{")
    refused(tmp_path / "data.zarr", ValueError, "Zarr cannot open it")


# Chunks that cannot be read.


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("chunk", [(0, 0), (1, 2), (3, 3)])
def test_damaged_chunk_of_zarr(version: int, chunk: tuple[int, int], tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    stored = zarr.create_array(
        tmp_path / "data.zarr",
        shape=DATA.shape,
        chunks=(3, 3),
        dtype="f4",
        zarr_format=version,
        compressors=zarr.codecs.ZstdCodec() if version == 3 else "auto",
    )
    stored[...] = DATA
    if version == 2:
        damaged = tmp_path / "data.zarr" / f"{chunk[0]}.{chunk[1]}"
    else:
        damaged = tmp_path / "data.zarr" / "c" / str(chunk[0]) / str(chunk[1])
    whole = damaged.read_bytes()
    damaged.write_bytes(b"\xff" * len(whole))
    low, high = 3 * chunk[0], 3 * chunk[1]
    words = re.escape(
        f"data: the block [{low}:{low + 3}, {high}:{min(high + 3, 10)}] "
        f"(chunk {chunk[0]}, {chunk[1]}) cannot be read: "
    )
    for axis in (0, 1, None):
        for block_bytes in (36, 200, 4 << 20):
            with small_blocks(block_bytes, 1):
                refused(tmp_path / "data.zarr", OSError, words, axis=axis)


def test_damaged_chunk_of_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        stored = file.create_dataset("data", data=DATA, chunks=(3, 3), compression="gzip")
        found = next(
            info
            for info in map(stored.id.get_chunk_info, range(stored.id.get_num_chunks()))
            if info.chunk_offset == (6, 3)
        )
    with path.open("r+b") as file:
        file.seek(found.byte_offset)
        file.write(b"\xff" * found.size)
    words = r"data: the block \[6:9, 3:6\] \(chunk 2, 1\) cannot be read: OSError: "
    for block_bytes in (36, 4 << 20):
        with small_blocks(block_bytes, 1):
            refused(path, OSError, words)


# Objects.


@pytest.mark.parametrize("data", [[[1, 2], [3]], (1, 2), 5, 2.5, None, b"data.npy", {}, range(3)])
def test_objects_that_are_no_arrays(data: Any) -> None:
    refused(data, TypeError, "data: an array with shape, dtype and slicing, or the path of one")


def test_arrays_that_belong_elsewhere() -> None:
    refused(np.ma.zeros((2, 3)), TypeError, "masked")
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    refused(torch.zeros(3), TypeError, "an array in memory goes to onnx_argmax.argmax")


def test_lazy_arrays() -> None:
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    refused(da.zeros((4, 4), chunks=2), TypeError, "pass it to onnx_argmax.dask.argmax")
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    lazy = xarray.DataArray(da.zeros((4, 4), chunks=2))
    refused(lazy, TypeError, "Dask")


@pytest.mark.parametrize("dtype", [np.complex64, "M8[s]", object, "S3", "U3", "i4,i4"])
def test_objects_of_types_outside_the_contract(dtype: Any) -> None:
    refused(Sliced(np.zeros((2, 3), dtype)), TypeError, "element type")


def test_chunks_of_several_sizes() -> None:
    data = Sliced(DATA)
    data.chunks = ((6, 6), (5, 5))  # pyright: ignore
    refused(data, TypeError, "chunks of Sliced are of several sizes")


class BreakError(Exception):
    pass


def test_an_object_that_raises() -> None:
    class Broken(Sliced):
        def __getitem__(self, box: Any) -> Any:
            if box[0].start == 8:
                raise BreakError("worn out")
            return super().__getitem__(box)

    words = r"data: the block \[8:10, 0:10\] cannot be read: BreakError: worn out"
    with small_blocks(80, 2), pytest.raises(OSError, match=words) as caught:
        outofcore.argmax(Broken(DATA), 1)
    assert isinstance(caught.value.__cause__, BreakError)
    words = r"\[8:12, 0:5\] \(chunk 2, 0\) cannot be read: BreakError"
    with small_blocks(80, 2):
        refused(Broken(DATA, (4, 5)), OSError, words)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda block: block[:-1], r"it came with shape \(\d+, \d+\)"),
        (lambda block: block.astype(np.float64), "and dtype float64 instead of"),
        (lambda block: block[0, 0], r"it came with shape \(\) and dtype float32"),
        (lambda block: None, "and dtype object instead of"),
        (lambda block: block.T[:2], "it came with shape"),
    ],
)
def test_an_object_that_gives_something_else(wrong: Any, words: str) -> None:
    class Wrong(Sliced):
        def __getitem__(self, box: Any) -> Any:
            return wrong(super().__getitem__(box))

    with small_blocks(120, 3):
        refused(Wrong(np.ones((12, 10), np.float32)), OSError, words)


def test_no_memory_is_said_as_such() -> None:
    class Large(Sliced):
        def __getitem__(self, box: Any) -> Any:
            raise MemoryError

    with nothing_left(), pytest.raises(MemoryError):
        outofcore.argmax(Large(DATA))


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"memory_limit": None}, TypeError, "memory_limit: allowed are an integer of bytes and"),
        ({"memory_limit": 1e9}, TypeError, "got 1000000000.0 of type float"),
        ({"memory_limit": True}, TypeError, "of type bool"),
        ({"memory_limit": b"1 GiB"}, TypeError, "of type bytes"),
        ({"memory_limit": ""}, ValueError, "'' is no amount of memory"),
        ({"memory_limit": "much"}, ValueError, "'much' is no amount of memory"),
        ({"memory_limit": "1 GiBs"}, ValueError, "is no amount of memory"),
        ({"memory_limit": "-1 GiB"}, ValueError, "is no amount of memory"),
        ({"memory_limit": "1e9"}, ValueError, "is no amount of memory"),
        ({"memory_limit": 0}, ValueError, "at least 1 byte is needed"),
        ({"memory_limit": -5}, ValueError, "at least 1 byte is needed"),
        ({"memory_limit": "0.1 B"}, ValueError, "at least 1 byte is needed"),
        ({"progress": "bar"}, TypeError, "progress: a function that takes a Progress"),
        ({"axis": 2}, np.exceptions.AxisError, "axis 2 is out of range for data of rank 2"),
        ({"axis": True}, TypeError, "axis: one integer is needed"),
        ({"axis": (0, 1)}, TypeError, "reshape them into one first"),
        ({"keepdims": "no"}, TypeError, "keepdims: a bool or an integer"),
        ({"select_last_index": 0.5}, TypeError, "select_last_index: a bool or an integer"),
        ({"dtype": "float32"}, TypeError, "dtype: an index has one of the types"),
        ({"threads": 0}, ValueError, "threads: at least 1"),
        ({"threads": 1.0}, TypeError, "threads: an integer"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments: dict[str, Any], error: Any, words: str) -> None:
    source = Sliced(DATA)
    refused(source, error, words, **arguments)
    assert source.boxes == [], "it was read before everything was checked"


def test_a_limit_beyond_every_float() -> None:
    assert outofcore.argmax(DATA, None, False, memory_limit="9" * 400 + ".5 GiB") >= 0


# Memory that is not enough.


def least_named(source: Any, axis: int | None, **arguments: Any) -> str:
    """What the message says is the least that works."""
    with pytest.raises(ValueError, match="the least that works is") as caught:
        outofcore.argmax(source, axis, memory_limit=5000, **arguments)
    found = re.search(r"5000 B is too little .*; the least that works is (.*)$", str(caught.value))
    assert found is not None, caught.value
    return found[1]


@pytest.mark.parametrize("name", ["npy", "npy_fortran", "memmap_c", "object_in_chunks", "zarr_3"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_the_least_that_works_does(name: str, axis: int | None, tmp_path: Path) -> None:
    data = random_elements(type_named("float32"), (300, 200), 0)
    with SOURCES[name](tmp_path, data) as source:
        least = least_named(source, axis)
        found = outofcore.argmax(source, axis, memory_limit=least)
        assert np.array_equal(found, fast_argmax(data, axis))
        number, unit = least.split()
        less = f"{int(number) - 1} {unit}"
        with pytest.raises(ValueError, match=f"{less} is too little .* least that works is"):
            outofcore.argmax(source, axis, memory_limit=less)


def test_one_chunk_is_too_large() -> None:
    class Vast:
        """Of chunks that nobody reads."""

        shape, dtype, chunks = (1 << 20, 1 << 20), np.dtype(np.float64), (1 << 15, 1 << 15)

        def __getitem__(self, box: Any) -> Array:
            raise AssertionError

    words = r"1024 MiB is too little for chunks of \(32768, 32768\) in one of shape .* is \d+ GiB"
    refused(Vast(), ValueError, words)


def test_the_result_alone_is_too_large() -> None:
    class Vast:
        shape, dtype = (2, 1 << 40), np.dtype(np.int8)

        def __getitem__(self, box: Any) -> Array:
            raise AssertionError

    words = r"the result of shape \(1, 1099511627776\) and type int64 takes 8192 GiB alone, more "
    refused(Vast(), ValueError, words + "than 1024 MiB; pass out=")


def test_the_result_and_its_way_count() -> None:
    data = np.zeros((1, 3_000_000), np.int8)
    with pytest.raises(ValueError, match="the least that works is") as caught:
        outofcore.argmax(data, 0, memory_limit="23 MiB")
    least = str(caught.value).rpartition(" is ")[2]
    assert outofcore.argmax(data, 0, memory_limit=least).shape == data.shape


def test_slices_with_masks() -> None:
    """As those of netCDF4's variables are."""
    data = np.array([[1, -999, 9e36]], np.float32)
    masked = np.ma.masked_equal(data, np.float32(9e36))

    class Variable(Sliced):
        def __getitem__(self, box: Any) -> Any:
            return masked[box]

    refused(Variable(data), TypeError, "a masked array is not taken")


def test_items_that_are_arrays(tmp_path: Path) -> None:
    header = {"descr": ("<f4", (2,)), "fortran_order": False, "shape": (3,)}
    path = tmp_path / "odd.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(24))
    refused(path, TypeError, "its items are arrays themselves")


def test_more_threads_than_any_machine_has() -> None:
    assert outofcore.argmax(np.eye(5), 1, False, threads=10**12).tolist() == [0, 1, 2, 3, 4]


def test_out_that_is_the_source_by_another_path(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    stored = zarr.create_array(str(tmp_path / "a.zarr"), shape=(5, 1), chunks=(2, 1), dtype="i8")
    stored[:] = 7
    (tmp_path / "b.zarr").symlink_to(tmp_path / "a.zarr")
    out = zarr.open_array(str(tmp_path / "b.zarr"), mode="r+")
    with pytest.raises(ValueError, match=r"out: its memory overlaps"):
        outofcore.argmax(stored, axis=1, out=out)
    assert (stored[:] == 7).all()
