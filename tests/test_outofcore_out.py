# SPDX-License-Identifier: Apache-2.0
"""What takes the result of a walk: arrays, memory maps, stores; and what must not."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_argmax import outofcore
from onnx_argmax._block_gathering import Begun, GatheringTarget, begun_at_most
from onnx_argmax._block_targets import block_target
from oracle import Array, fast_argmax
from programs import run_program
from samples import random_elements, type_named
from stored import Sliced, nothing_left, small_blocks

DATA = random_elements(type_named("float32"), (7, 9, 5), 3)

Make: TypeAlias = Callable[[Path, tuple[int, ...], str], Any]


def _strided(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    return np.full([2 * n for n in shape], 77, dtype)[
        (*(slice(None, None, -2) for _ in shape), ...)
    ]


def _fortran(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    return np.full(shape, 77, dtype, order="F")


def _map(mode: Any) -> Make:
    def make(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
        np.full(shape, 77, dtype).tofile(folder / "out.bin")
        return np.memmap(folder / "out.bin", dtype, mode, shape=shape)

    return make


def _map_of_a_file_gone(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    mapped = _map("r+")(folder, shape, dtype)
    (folder / "out.bin").unlink()
    return mapped


def _view_of_map(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    around = tuple(3 * n for n in shape)[::-1]
    mapped = np.memmap(folder / "out.bin", dtype, "w+", 5, around, "F")
    mapped[...] = 77
    return mapped.T[(*(slice(None, None, -3) for _ in shape),)]


def _npy(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    return np.lib.format.open_memmap(folder / "out.npy", "w+", dtype, shape)


def _zarr(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    chunks = tuple(max(1, n // 2) for n in shape)
    return zarr.create_array(folder / "out.zarr", shape=shape, chunks=chunks, dtype=dtype)


def _hdf5(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    extra = {"chunks": tuple(max(1, n // 2) for n in shape), "compression": "gzip"}
    return h5py.File(folder / "out.h5", "w").create_dataset("out", shape, dtype, **extra)


def _tensor(folder: Path, shape: tuple[int, ...], dtype: str) -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.empty(shape[::-1], dtype=getattr(torch, dtype)).permute(
        tuple(reversed(range(len(shape))))
    )


OUTS: Final[dict[str, Make]] = {
    "c_order": lambda folder, shape, dtype: np.full(shape, 77, dtype),
    "fortran": _fortran,
    "strided": _strided,
    "map_r+": _map("r+"),
    "map_c": _map("c"),
    "map_of_a_file_gone": _map_of_a_file_gone,
    "view_of_map": _view_of_map,
    "npy": _npy,
    "zarr": _zarr,
    "hdf5": _hdf5,
    "tensor": _tensor,
}


@pytest.mark.parametrize("name", OUTS)
def test_outs(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", DATA)
    for number, (axis, keepdims, last) in enumerate(
        itertools.product((0, 1, 2, None), (False, True), (False, True))
    ):
        expected = fast_argmax(DATA, axis, keepdims, last)
        if expected.shape == () and name in ("zarr", "hdf5", "view_of_map", "map_r+", "map_c"):
            continue  # of rank 0 they are made in another way, or not at all
        folder = tmp_path / str(number)
        folder.mkdir()
        dtype = ("int64", "int32", "uint16", "int16")[number % 4]
        out = OUTS[name](folder, expected.shape, dtype)
        with small_blocks(40, 2), nothing_left():
            found = outofcore.argmax(
                tmp_path / "data.npy", axis, keepdims, last, out=out, threads=1 + number % 3
            )
        assert found is out
        written = np.asarray(out[...])
        assert written.dtype == dtype
        assert np.array_equal(written, expected)
        if name == "hdf5":
            out.file.close()


def test_what_a_map_of_the_result_does_not_show_is_kept(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "out.bin", np.int32, "w+", shape=(20, 3))
    mapped[...] = -7
    with small_blocks(40, 2):
        outofcore.argmax(DATA, 2, False, out=mapped[2:16:2, 1:2].repeat(9, 1))  # a copy
        assert (mapped == -7).all()
        outofcore.argmax(DATA[:, :1], 2, False, out=mapped[2:16:2, 1:2])
    expected = np.full((20, 3), -7)
    expected[2:16:2, 1:2] = fast_argmax(DATA[:, :1], 2, False)
    assert np.array_equal(mapped, expected)
    assert np.array_equal(np.fromfile(tmp_path / "out.bin", np.int32).reshape(20, 3), expected)


# What is refused; nothing is written then.


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros((1, 9, 4), np.int64), ValueError, "its shape is"),
        (np.zeros((9, 5), np.int64), ValueError, "keepdims=False"),
        (np.zeros((1, 9, 5), np.float32), TypeError, "an index has one of the types"),
        (np.zeros((1, 9, 5), ">i4"), TypeError, "native byte order"),
        (np.zeros((1, 9, 5), bool), TypeError, "an index has one of the types"),
        (np.broadcast_to(np.int64(0), (1, 9, 5)), ValueError, "read-only"),
        (np.ma.zeros((1, 9, 5), np.int64), TypeError, "masked"),
        ([0] * 45, TypeError, "takes boxes by assignment"),
        ("out.npy", TypeError, "takes boxes by assignment"),
        (np.int64(3), TypeError, "takes boxes by assignment"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refused(out: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        outofcore.argmax(DATA, out=out)
    with pytest.raises(error, match=words):
        outofcore.argmax_blocks([((0, 0, 0), DATA)], DATA.shape, out=out)


def test_types_that_are_too_narrow_or_disagree() -> None:
    data = np.zeros((300, 2), np.int8)
    for arguments in ({"out": np.zeros((1, 2), np.uint8)}, {"dtype": np.int8}):
        with pytest.raises(ValueError, match="take a wider type"):
            outofcore.argmax(data, **arguments)
    with pytest.raises(ValueError, match="dtype asks for int32"):
        outofcore.argmax(data, out=np.zeros((1, 2), np.int64), dtype=np.int32)


def test_read_only_stores(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    _zarr(tmp_path, (1, 9, 5), "int64")
    with pytest.raises(ValueError, match="read-only"):
        outofcore.argmax(DATA, out=zarr.open(tmp_path / "out.zarr", mode="r"))
    np.zeros((1, 9, 5), np.int64).tofile(tmp_path / "out.bin")
    with pytest.raises(ValueError, match="read-only"):
        outofcore.argmax(DATA, out=np.memmap(tmp_path / "out.bin", np.int64, "r", shape=(1, 9, 5)))


def overlapping(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """data and out of shape (1, 64), of which out is a part."""
    memory = np.arange(80)
    yield "memory", memory[None, :64], memory[None, 16:]
    yield "between the elements", memory[None, 0:80:2], memory[None, 1:80:2]
    path = folder / "data.bin"
    memory.tofile(path)
    for mode in ("r", "r+", "c"):
        data = np.memmap(path, np.int64, mode)[None, :64]
        yield f"two maps, {mode}", data, np.memmap(path, np.int64, "r+")[None, 16:]
        yield f"two maps of which one is a link, {mode}", data, _linked(path)[None, 16:]
    np.save(folder / "data.npy", memory[None])
    out = np.load(folder / "data.npy", mmap_mode="r+")
    yield "a path and a map", folder / "data.npy", out


def _linked(path: Path) -> Array:
    link = path.with_name("link.bin")
    if not link.exists():
        link.hardlink_to(path)
    return np.memmap(link, np.int64, "r+")


def test_overlap(tmp_path: Path) -> None:
    for name, data, out in overlapping(tmp_path):
        before = out.tobytes()
        # In blocks so small that none overlaps its own part of the result.
        with small_blocks(8, 1), pytest.raises(ValueError, match="out: its memory overlaps"):
            outofcore.argmax(data, 0, out=out)
        assert out.tobytes() == before, name


def test_neighbours_do_not_overlap(tmp_path: Path) -> None:
    np.arange(80).tofile(tmp_path / "data.bin")
    for mode in ("r", "r+", "c"):
        data = np.memmap(tmp_path / "data.bin", np.int64, mode)[None, :40]
        out = np.memmap(tmp_path / "data.bin", np.int64, "r+")[None, 40:]
        out[...] = -7
        outofcore.argmax(data, 0, out=out)
        assert (out == 0).all()


def test_a_store_does_not_take_its_own_reduction(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    made = _zarr(tmp_path, (1, 9), "int64")
    made[...] = 5
    again = zarr.open_array(tmp_path / "out.zarr", mode="r+")
    for data in (made, again, tmp_path / "out.zarr"):
        with pytest.raises(ValueError, match="out: its memory overlaps"):
            outofcore.argmax(data, out=made)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["data"] = made[...]
        with pytest.raises(ValueError, match="out: its memory overlaps"):
            outofcore.argmax(file["data"], out=file["data"])
        assert (file["data"][...] == 5).all()
    assert (made[...] == 5).all()


def test_chunks_of_a_store_count_to_the_memory(tmp_path: Path) -> None:
    """They are written whole, however small the blocks."""
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    length = 1 << 22
    out = zarr.create_array(
        tmp_path / "out.zarr", shape=(length,), chunks=(length // 2,), dtype="int64"
    )
    data = np.zeros((1, length), np.int8)
    words = r"with the chunks of out, \(2097152,\) of 16 MiB each: they are written whole, which "
    with pytest.raises(ValueError, match=words + "takes .*; the least that works is") as caught:
        outofcore.argmax(data, 0, False, out=out, memory_limit="64 MiB")
    least = str(caught.value).rpartition(" is ")[2]
    outofcore.argmax(data, 0, False, out=out, memory_limit=least)


def test_chunks_of_out_are_blamed_for_their_own_memory_alone(tmp_path: Path) -> None:
    out = InChunks((1 << 16,), (1 << 10,))
    with pytest.raises(ValueError, match=r"for an array of shape \(1, 65536\); the least that"):
        outofcore.argmax(np.zeros((1, 1 << 16), np.int8), 0, False, out=out, memory_limit="99 KiB")


class InChunks:
    """Takes boxes by assignment, and counts for each chunk how often it is written.

    A box that is a part of a chunk alone is an error where ``whole`` says so.
    """

    dtype = np.dtype(np.int64)

    def __init__(self, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
        self.shape, self.chunks = shape, chunks
        self.array = np.full(shape, -1, self.dtype)
        self.writes: Counter[tuple[int, ...]] = Counter()

    def __setitem__(self, box: Any, indices: Array) -> None:
        assert (self.array[box] == -1).all(), "it is written twice"
        self.array[box] = indices
        chunks = zip(box, self.chunks, strict=True)
        ranges = (range(part.start // n, -(-part.stop // n)) for part, n in chunks)
        self.writes.update(itertools.product(*ranges))

    def times(self) -> set[int]:
        """How often a chunk was written."""
        numbers = (range(-(-n // c)) for n, c in zip(self.shape, self.chunks, strict=True))
        return {self.writes[number] for number in itertools.product(*numbers)}


@given(st.data())
def test_each_chunk_of_out_is_written_once(draws: st.DataObject) -> None:
    """However blocks, chunks of the data and chunks of ``out`` lie to each other."""
    lengths = st.lists(st.integers(1, 9), min_size=2, max_size=3)
    data = random_elements(type_named("int8"), tuple(draws.draw(lengths)), 0)
    axis = draws.draw(st.integers(0, data.ndim - 1))
    keepdims = draws.draw(st.booleans())
    expected = fast_argmax(data, axis, keepdims)

    def chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(draws.draw(st.integers(1, n + 1)) for n in shape)

    source = draws.draw(st.sampled_from([data, np.asfortranarray(data)]))
    if draws.draw(st.booleans()):
        source = Sliced(source, chunks(data.shape))
    out = InChunks(expected.shape, chunks(expected.shape))
    along, threads = draws.draw(st.integers(1, 9)), draws.draw(st.sampled_from([1, 2, 5]))
    with small_blocks(draws.draw(st.integers(1, 100)), along):
        outofcore.argmax(source, axis, keepdims, out=out, threads=threads)
    assert np.array_equal(out.array, expected)
    assert out.times() == {1}


@given(st.data())
def test_chunks_that_are_begun_take_no_more_than_was_planned(draws: st.DataObject) -> None:
    """Boxes are begun in order, and so many at once may end in any order."""
    lengths = draws.draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    shape = tuple(lengths)
    chunk = tuple(draws.draw(st.integers(1, n)) for n in shape)
    box = tuple(draws.draw(st.integers(1, n)) for n in shape)
    workers = draws.draw(st.integers(1, 4))
    out = InChunks(shape, chunk)
    target = GatheringTarget(block_target(out), shape, chunk, out.dtype)
    most = begun_at_most(shape, chunk, box, workers)
    starts = itertools.product(*(range(0, n, b) for n, b in zip(shape, box, strict=True)))
    boxes = [
        tuple(slice(i, min(i + b, n)) for i, b, n in zip(start, box, shape, strict=True))
        for start in starts
    ]
    while boxes:
        part = boxes.pop(draws.draw(st.integers(0, min(workers, len(boxes)) - 1)))
        target.write(part, np.zeros(tuple(p.stop - p.start for p in part), out.dtype))
        assert target.begun().elements <= most.elements
        assert target.begun().chunks <= most.chunks
    assert out.times() == {1}
    assert target.begun() == Begun(0, 0)


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_chunk_of_zarr_is_encoded_once(axis: int, sharded: bool) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")

    class Counting(zarr.storage.MemoryStore):  # pyright: ignore
        """Counts what becomes of the files of chunks."""

        def __init__(self) -> None:
            super().__init__()
            self.written: Counter[str] = Counter()
            self.read: Counter[str] = Counter()

        async def set(self, key: str, *arguments: Any, **more: Any) -> None:
            self.written[key] += 1
            await super().set(key, *arguments, **more)

        async def get(self, key: str, *arguments: Any, **more: Any) -> Any:
            self.read[key] += 1
            return await super().get(key, *arguments, **more)

    store = Counting()
    how = {"chunks": (5,), "shards": (10,)} if sharded else {"chunks": (10,)}
    data = random_elements(type_named("float32"), (61, 57), 4)
    expected = fast_argmax(data, axis, False)
    out = zarr.create_array(store, shape=expected.shape, dtype="i8", fill_value=-1, **how)
    store.written.clear()
    store.read.clear()
    with small_blocks(100, 4):
        outofcore.argmax(data, axis, False, out=out, threads=2)
    assert np.array_equal(out[...], expected)
    assert {store.written[f"c/{number}"] for number in range(-(-len(expected) // 10))} == {1}
    assert sum(store.written.values()) == -(-len(expected) // 10)


def test_chunks_of_out_are_written_in_parts_where_memory_is_short() -> None:
    """A row of them would be begun before one is whole: 32 MiB."""
    data = np.zeros((1, 64, 1 << 16))
    for limit, once in (("60 MiB", True), ("20 MiB", False)):
        out = InChunks(data.shape[1:], (64, 16))
        outofcore.argmax(data, 0, False, out=out, memory_limit=limit)
        assert (out.array == 0).all()
        assert (out.times() == {1}) is once


# What fails while it is written.


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    """The system sets a limit on the size of a file, and says so as it does of a full disk."""
    done = run_program(
        f"""
        import resource
        import numpy as np
        from onnx_argmax import outofcore
        from stored import Sliced, nothing_left, small_blocks
        data = np.zeros((4, 4096), np.int8)
        np.zeros(4096, np.int64).tofile("{tmp_path}/out.bin")
        out = np.memmap("{tmp_path}/out.bin", np.int64, "r+", shape=(1, 4096))
        resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
        with small_blocks(4096, 4), nothing_left():
            try:
                outofcore.argmax(data, 0, out=out)
            except OSError as error:
                print(error)
            else:
                raise AssertionError
        """
    )
    assert "out: the block [0:1, 2048:" in done.stdout
    assert "cannot be written: File too large" in done.stdout


class FullError(Exception):
    pass


def test_an_out_that_fails_names_the_block() -> None:
    class Full:
        shape, dtype = (1, 9, 5), np.dtype(np.int64)

        def __setitem__(self, box: Any, values: Any) -> None:
            if box[1].start >= 4:
                raise FullError("no more")

    with (
        small_blocks(40, 7),
        pytest.raises(OSError, match=r"out: the block \[0:1, 4:5, \d:\d\] .* FullError: no more"),
    ):
        outofcore.argmax(DATA, out=Full(), threads=1)
