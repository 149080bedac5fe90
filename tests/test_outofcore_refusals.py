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

from onnx_argmax import _stores, outofcore
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
    (tmp_path / "data.npy.zip").write_bytes(b"PK\x03\x04 and more")
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
        ("text.npy", ValueError, r"pass numpy.memmap\(...\) of plain bytes, and of any other"),
        ("empty.npy/data.npy", OSError, "empty.npy/data.npy: no such file: .* FILE.h5:DATASET"),
        (
            "data.npy.zip",
            ValueError,
            r"a zip archive, .*; pass numpy.load\(...\)\[NAME\] of a .npz",
        ),
    ):
        refused(tmp_path / name, error, words)
        refused(str(tmp_path / name), error, words)
        refused(_BytesPath(tmp_path / name), error, words)
    refused("", ValueError, "'': the path is empty; allowed are FILE.npy")


class _BytesPath(os.PathLike[bytes]):
    """A path as bytes, as a ``DirEntry`` of a folder that was named so is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


def test_a_folder_that_holds_stores(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    words = "a folder, and not that of a Zarr array; Zarr's in it: none; allowed are FILE.npy"
    refused(tmp_path, ValueError, words)
    for number in range(12):
        zarr.create_group(tmp_path / f"{number:02}")
    refused(tmp_path, ValueError, "Zarr's in it: .*/00, .*/09 and 2 more; allowed are FILE.npy")


def test_names_with_what_ends_the_name_of_a_file(tmp_path: Path) -> None:
    """A colon behind ``.h5``, in the name of a folder, of a dataset, or of both."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    folder = tmp_path / "run.h5:second"
    folder.mkdir()
    for path in (tmp_path / "data.h5", folder / "data.NC"):
        with h5py.File(path, "w") as file:
            file["a.h5:b"], file["group.hdf5:x/y"], file["plain"] = [0, 1], [0, 0, 1], [1]
        for name, index in (("a.h5:b", 1), ("group.hdf5:x/y", 2), ("plain", 0)):
            assert outofcore.argmax(f"{path}:{name}", 0, False) == index
        refused(f"{path}:none.h5:b", ValueError, "no dataset 'none.h5:b' in it; it holds 'a.h5:b'")
        refused(f"{path}:", ValueError, "no dataset '' in it; it holds 'a.h5:b'")
    np.save(folder / "data.npy", [3, 4])
    assert outofcore.argmax(folder / "data.npy", 0, False) == 1
    for name, missing in (
        ("none.h5:a.h5:b", "none.h5"),
        ("run.h5:second/none.npy", "run.h5:second/none.npy"),
        ("run.h5:second/none.h5:a.h5:b", "run.h5:second/none.h5"),
        ("run.h5:third/none.h5:a", "run.h5"),
    ):
        refused(tmp_path / name, FileNotFoundError, f"^{tmp_path}/{missing}: no such file")
    refused(f"{folder}/:x", FileNotFoundError, "no such file")


def test_npy_of_types_outside_the_contract(tmp_path: Path) -> None:
    for dtype, error, words in (
        (object, ValueError, "pickled Python objects"),
        (np.complex64, TypeError, "element type complex64 .*no order"),
        ("M8[s]", TypeError, "element type datetime64"),
        ("m8[s]", TypeError, "element type timedelta64"),
        ("S3", TypeError, "strings have no numeric order"),
        ("U3", TypeError, "strings have no numeric order"),
        ("i4,f4", TypeError, "element type"),
        ("V2", TypeError, r"if NumPy saved bfloat16 so: pass data.view\(ml_dtypes.bfloat16\)"),
        ("V4", TypeError, "element type"),
    ):
        np.save(tmp_path / "data.npy", np.zeros((2, 3), dtype))
        refused(tmp_path / "data.npy", error, words)
        if dtype is not object:
            stored = "a block at a time: onnx_argmax.outofcore.argmax_blocks takes these$"
            refused(tmp_path / "data.npy", error, stored)
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
    words = r"the block \[\d+:\d+, \d+:\d+\] cannot be read: .*truncated: it ends after 6130"
    for is_mapped in (False, True):
        is_cut.clear()
        np.save(path, np.zeros((200, 10), np.float32))
        given = np.load(path, mmap_mode="r") if is_mapped else path
        with small_blocks(40, 1):
            named = f"^data: {words}" if is_mapped else f"^data: {path}: {words}"
            refused(given, OSError, named, axis=axis, threads=threads, progress=cut)
        del given


def test_hdf5_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file.create_group("group")
        refused(file["group"], TypeError, r"got Group; pass one array .* as data\[NAME\]: none")
    refused(file, ValueError, "data: this File of h5py is closed; open its file again")
    refused(path, ValueError, "it holds none; name one")
    with h5py.File(path, "w") as file:
        file["one"], file["group/two"] = DATA, DATA
        file["text"] = "some text"
        file["nothing"] = h5py.Empty("f4")
        file["complex"] = np.zeros(3, complex)
        file["gone"] = h5py.SoftLink("/nowhere")
        file["outer/inner/three"] = DATA
        file["outer/link"], file["outer/loop"] = h5py.SoftLink("/one"), file["outer"]
        file["elsewhere"] = h5py.ExternalLink("nowhere.h5", "/x")
        file["type"] = np.dtype("f4")
        refused(file["nothing"], TypeError, "the dataset '/nothing' of .*data.h5 is null .*Empty")
        refused(file["outer"], TypeError, "got Group; .*: 'inner/three'$")
        closed = file["one"]
    refused(closed, ValueError, "data: this Dataset of h5py is closed; open its file again")
    refused(path, ValueError, "name one, as .*data.h5:NAME")
    refused(f"{path}:nothing", TypeError, "the dataset '/nothing' of .*data.h5 is null")
    refused(f"{path}:three", ValueError, "no dataset 'three' in it; it holds .*'group/two'")
    refused(f"{path}:gone", ValueError, "no dataset 'gone' in it: it is a link to '/nowhere', not")
    words = (
        "no dataset 'elsewhere' in it: it is a link to '/x' in the file 'nowhere.h5', not found"
    )
    refused(f"{path}:elsewhere", ValueError, words)
    words = "'outer/' is no dataset but a group; pass one .*data.h5:outer/NAME: 'inner/three'$"
    refused(f"{path}:outer/", ValueError, words)
    refused(f"{path}:type", ValueError, "'type' is no dataset; the file holds 'complex', 'elsewh")
    refused(f"{path}:\0", ValueError, "no dataset '.*' in it")
    refused(f"{path}:text", TypeError, "element type object")
    refused(f"{path}:complex", TypeError, "element type complex128")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(f"{path}:one", OSError, "data.h5: HDF5 cannot open it")
    path.write_bytes(b"\x89HDF\r\n\x1a\nno more")
    refused(path, OSError, "HDF5 cannot open it")


def test_a_file_whose_only_dataset_is_in_another_one(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "far.h5", "w") as file:
        file["x"] = [1, 5]
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["link"] = h5py.ExternalLink("far.h5", "/x")
    assert outofcore.argmax(tmp_path / "data.h5", 0, False) == 1
    (tmp_path / "far.h5").unlink()
    refused(tmp_path / "data.h5", ValueError, "it is a link to '/x' in the file 'far.h5', not fou")


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_groups(version: int, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    path = tmp_path / "group.zarr"
    group = zarr.create_group(path, zarr_format=version)
    refused(path, ValueError, "a Zarr group; pass the path of an array in it: none$")
    for name in ("a/b/c", *(f"z/y{number:02}" for number in range(11))):
        group.create_array(name, shape=(2,), chunks=(1,), dtype="i4")
    words = "'a/b/c', 'z/y00', .*'z/y08' and 2 more$"
    plain = words.replace("'", "")
    refused(path, ValueError, f"a Zarr group; pass the path of an array in it: {plain}")
    refused(
        group, TypeError, rf"got Group; pass one array that it holds, as data\[NAME\]: {words}"
    )
    refused(path / "a", ValueError, "group.zarr/a: a Zarr group; pass .*: b/c$")


@pytest.mark.parametrize("version", [2, 3])
def test_names_that_a_group_lacks(version: int, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    path = tmp_path / "group.zarr"
    zarr.create_group(path, zarr_format=version).create_array("a/b", shape=(2,), dtype="i4")
    for name in (f"{path}:a/b", f"{path}/c", f"{path}/c/d"):
        words = f"{name}: no such array; {path} is Zarr's, and .* in it are: {path}/a/b$"
        refused(name, FileNotFoundError, words)
    refused(f"{path}/a/b:c", FileNotFoundError, f"{path}/a/b is a Zarr array itself, which has no")
    words = f"{path}/a/c: no such array; {path}/a is Zarr's, and .* in it are: {path}/a/b$"
    refused(path / "a/c", FileNotFoundError, words)


@pytest.mark.parametrize("url", ["s3://bucket/scores.zarr", "https://host/scores.npy"])
def test_urls(url: str) -> None:
    refused(url, ValueError, f"^{url}: a URL, which is not opened here; pass the array that zarr")


def test_a_list_of_names_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    monkeypatch.setattr(_stores, "_MOST_LOOKED_AT", 12)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        for number in range(12):
            file[f"{number:02}"] = DATA
        refused(file, TypeError, "'00', .*'09' and 2 more$")
        file["12"] = DATA
        refused(file, TypeError, "'00', .*'09' and many more$")


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
        f"data: {tmp_path / 'data.zarr'}: the block [{low}:{low + 3}, {high}:{min(high + 3, 10)}] "
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
    words = rf"data: {path}: the block \[6:9, 3:6\] \(chunk 2, 1\) cannot be read: OSError: "
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
    words = r"lazy and would be computed whole; pass xarray\.apply_ufunc\(onnx_argmax\.argmax"
    refused(lazy, TypeError, words)
    held = xarray.Dataset({"inner": ("x", [1, 2])})
    refused(held, TypeError, r"got Dataset; pass one array that it holds, as data\[NAME\]")


@pytest.mark.parametrize("dtype", [np.complex64, "M8[s]", object, "S3", "U3", "i4,i4"])
def test_objects_of_types_outside_the_contract(dtype: Any) -> None:
    refused(Sliced(np.zeros((2, 3), dtype)), TypeError, "element type")


class InChunks(Sliced):
    """Of chunks as an object may have them, which says them itself."""

    def __init__(self, array: Array, chunks: Any) -> None:
        super().__init__(array)
        self.said = chunks

    @property
    def chunks(self) -> Any:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said

    def __setitem__(self, box: Any, values: Any) -> None:
        self.array[box] = values


@pytest.mark.parametrize(
    "chunks",
    [
        ((6, 6), (5, 5)),
        ((5, 5, 2), (10,)),
        ((12,), 4),
        [5, 3],
        np.array([5, 3]),
        (np.int64(50), 10**30),
        None,
    ],
    ids=lambda chunks: type(chunks).__name__,
)
def test_chunks_of_one_size_for_each_axis(chunks: Any) -> None:
    found = outofcore.argmax(InChunks(DATA, chunks), 1)
    assert np.array_equal(found, fast_argmax(DATA, 1))
    out = InChunks(np.full(DATA.shape, -1, np.int64), chunks)
    outofcore.argmax(DATA[..., None], 2, False, out=out)
    assert (out.array == 0).all()


@pytest.mark.parametrize(
    "chunks",
    [
        "auto",
        "23",
        b"23",
        True,
        5,
        0,
        (),
        (4,),
        (4, 5, 1),
        (0, 5),
        (-1, 5),
        (4, None),
        (None, None),
        ("4", "5"),
        (4.0, 5.0),
        (True, 5),
        (float("nan"), 5),
        {0: 4, 1: 5},
        iter((4, 5)),
        ((6, 5, 1), (5, 5)),
        ((5, 7), (5, 5)),
        ((6, 6), (5, 4)),
        ((6, 6), ()),
        ((6, 6), "auto"),
        ((6, 6), (0, 10)),
        NotImplementedError("of a grid without a rule"),
    ],
    ids=lambda chunks: type(chunks).__name__,
)
def test_chunks_that_say_no_size(chunks: Any) -> None:
    came = "NotImplementedError: of a grid" if isinstance(chunks, Exception) else ""
    words = rf"chunks of this InChunks are {came}.*; allowed are None and one positive integer .*"
    refused(InChunks(DATA, chunks), TypeError, f"data: {words}; pass an object without chunks")
    out = InChunks(np.full(DATA.shape, -1, np.int64), chunks)
    refused(DATA[..., None], TypeError, f"out: {words}", axis=2, keepdims=False, out=out)
    assert (out.array == -1).all()


def test_a_great_many_chunks_are_not_all_in_the_message() -> None:
    chunks = (tuple(range(1, 100_000)), (10,))
    with pytest.raises(TypeError, match="allowed are None and one") as caught:
        outofcore.argmax(InChunks(DATA, chunks))
    assert len(str(caught.value)) < 500


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


@pytest.mark.parametrize("axis", [0, 1, None])
def test_the_least_that_works_is_worth_its_time(axis: int | None) -> None:
    """Its blocks are not as small as an element."""
    data = np.zeros((512, 512), np.float32)
    seen: list[outofcore.Progress] = []
    outofcore.argmax(
        Sliced(data), axis, memory_limit=least_named(Sliced(data), axis), progress=seen.append
    )
    assert seen[-1].blocks <= 2 * data.nbytes // (64 << 10)


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

    words = (
        r"1024 MiB is too little for .*, whose result takes 8192 GiB of it: out= .* or a narrower "
    )
    refused(Vast(), ValueError, words + r"dtype= needs less; the least that works is \d+ GiB$")


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
