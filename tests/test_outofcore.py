# SPDX-License-Identifier: Apache-2.0
"""Arrays of every kind of storage, walked in small blocks: the answer is the oracle's."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layouts import byte_swapped
from onnx_argmax import outofcore
from onnx_argmax._block_plan import Block, BlockPlan, Needs
from onnx_argmax._block_sources import FileSource, MemorySource, block_source
from onnx_argmax._element_types import ElementType
from oracle import Array, fast_argmax, oracle_argmax
from samples import ALL_TYPES, from_bits, random_elements, type_id, type_named
from stored import SOURCES, Sliced, nothing_left, small_blocks, takes
from strategies import arrays

every_source = pytest.mark.parametrize("name", SOURCES)
every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
SHAPES = [(), (1,), (23,), (7, 6), (1, 9), (9, 1), (5, 4, 6), (3, 1, 4, 5)]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_left():
        yield


def every_reduction(rank: int) -> Iterator[tuple[int | None, bool, bool]]:
    """axis, keepdims, select_last_index"""
    axes = [None, *range(-1, max(rank, 1) - 1)]
    return itertools.product(axes, (False, True), (False, True))


def check(source: Any, data: Array, *, threads: int = 2, **limits: Any) -> None:
    for axis, keepdims, last in every_reduction(data.ndim):
        steps: list[outofcore.Progress] = []
        found = outofcore.argmax(
            source, axis, keepdims, last, threads=threads, progress=steps.append, **limits
        )
        expected = fast_argmax(data, axis, keepdims, last)
        case = f"{data.shape}, axis={axis}, keepdims={keepdims}, last={last}"
        assert found.dtype == np.int64
        assert found.shape == expected.shape, case
        assert np.array_equal(found, expected), case
        check_steps(steps, data)


def check_steps(steps: list[outofcore.Progress], data: Array) -> None:
    assert [step.blocks_done for step in steps] == list(range(1, len(steps) + 1))
    done = [step.bytes_done for step in steps]
    assert done == sorted(done)
    assert {(step.blocks, step.bytes) for step in steps} == {(len(steps), data.nbytes)}
    assert done[-1] == data.nbytes


@every_type
@every_source
def test_sources(name: str, element_type: ElementType, tmp_path: Path) -> None:
    first = ALL_TYPES.index(element_type)  # another three of the shapes for each type
    for number, shape in enumerate((*SHAPES, *SHAPES)[first % len(SHAPES) :][:3]):
        data = random_elements(element_type, shape, number)
        if not takes(name, data.dtype):
            continue
        (tmp_path / str(number)).mkdir()
        with (
            SOURCES[name](tmp_path / str(number), data) as source,
            small_blocks(data.itemsize * (1, 7, 16)[number % 3], along_axis=1 + number % 3),
        ):
            check(source, data, threads=(1, 2, 7)[number % 3])


@pytest.mark.parametrize("block_bytes", [1, 24, 100, 4 << 20])
@every_source
def test_sizes_of_blocks(name: str, block_bytes: int, tmp_path: Path) -> None:
    data = random_elements(type_named("float32"), (5, 6, 4), 0)
    along_axis = 1 if block_bytes < 100 else 32
    with SOURCES[name](tmp_path, data) as source, small_blocks(block_bytes, along_axis):
        check(source, data)


@every_source
def test_other_byte_order(name: str, tmp_path: Path) -> None:
    data = byte_swapped(random_elements(type_named("int16"), (8, 9), 0))
    if name.startswith("zarr_3") or name == "zarr_path":
        return  # Zarr 3 keeps the elements, not the byte order
    with SOURCES[name](tmp_path, data) as source, small_blocks():
        check(source, data)


@every_source
def test_small_limit_of_memory(name: str, tmp_path: Path) -> None:
    data = random_elements(type_named("float64"), (40, 50), 0)
    with SOURCES[name](tmp_path, data) as source:
        check(source, data, memory_limit="4 MiB")


@given(st.data(), arrays(), st.integers(1, 300), st.sampled_from([1, 2, 32]))
def test_any_array(draws: st.DataObject, data: Array, block_bytes: int, along: int) -> None:
    """Of any layout, with any chunks, or none."""
    axis = draws.draw(st.one_of(st.none(), st.integers(0, max(data.ndim, 1) - 1)))
    if 0 in (data.shape if axis is None else data.shape[axis : axis + 1]):
        return
    keepdims, last = draws.draw(st.booleans()), draws.draw(st.booleans())
    chunks = tuple(draws.draw(st.integers(1, max(n, 1) + 1)) for n in data.shape)
    threads = draws.draw(st.sampled_from([1, 2, 7]))
    expected = oracle_argmax(data, axis, keepdims, last)
    with small_blocks(block_bytes, along):
        for source in (data, Sliced(data), Sliced(data, chunks)):
            found = outofcore.argmax(source, axis, keepdims, last, threads=threads)
            assert found.shape == expected.shape
            assert np.array_equal(found, expected)


# What the blocks are.


def test_every_element_is_read_once() -> None:
    data = random_elements(type_named("int32"), (11, 13, 5), 0)
    for axis, chunks in itertools.product((None, 0, 1, 2), (None, (4, 5, 2), (11, 13, 5))):
        source = Sliced(data, chunks)
        with small_blocks(400, 3):
            outofcore.argmax(source, axis, threads=2)
        times = np.zeros(data.shape, int)
        for box in source.boxes:
            times[box] += 1
            if chunks is not None:  # whole chunks
                for part, chunk, whole in zip(box, chunks, data.shape, strict=True):
                    assert part.start % chunk == 0
                    assert part.stop % chunk == 0 or part.stop == whole
        assert (times == 1).all()


@pytest.mark.parametrize("chunks", [None, (3, 4, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_blocks_come_tile_by_tile_in_the_order_of_storage(
    order: tuple[int, ...], chunks: tuple[int, ...] | None
) -> None:
    """So that few tiles are open at once, and a disk goes forward."""
    shape = (8, 9, 10)
    for axis, lengths in itertools.product((0, 1, 2, None), ((3, 4, 2), (8, 1, 5), (1, 9, 10))):
        needs = Needs(
            shape=shape,
            axis=axis,
            order=order,
            chunk=chunks or (1, 1, 1),
            element_bytes=4,
            partial_bytes=8,
            result_bytes=8,
            memory_bytes=math.prod,
            workers=2,
        )
        plan = BlockPlan(needs, lengths, 2)
        blocks = [plan.block(number) for number in range(plan.blocks)]
        assert [block.tile for block in blocks] == sorted(block.tile for block in blocks)
        assert {block.tile for block in blocks} == set(range(plan.tiles))

        def place(block: Block, kept: bool, of: Needs = needs) -> list[int]:
            return [block.box[a].start for a in of.order if of.is_reduced(a) is not kept]

        places = [(place(block, True), place(block, False)) for block in blocks]
        assert places == sorted(places)
        times = np.zeros(shape, int)
        for block in blocks:
            times[block.box] += 1
            tile = plan.tile_box(block.tile)
            assert all(
                t.start <= b.start < b.stop <= t.stop for t, b in zip(tile, block.box, strict=True)
            )
        assert (times == 1).all()


@pytest.mark.parametrize("name", [n for n in SOURCES if n.startswith(("memmap", "view"))])
def test_maps_are_read_past_the_map(name: str, tmp_path: Path) -> None:
    """Whatever view of one: a page that it shows would count as memory."""
    data = random_elements(type_named("int16"), (5, 6), 0)
    with SOURCES[name](tmp_path, data) as source:
        found, _ = block_source(source)
        try:
            assert isinstance(found, MemorySource if "gone" in name else FileSource)
        finally:
            found.close()


def test_ties_across_blocks_and_tiles() -> None:
    """All equal, so that only the index decides, whichever block is merged first."""
    data = np.zeros((17, 19), np.uint8)
    for axis, last, threads in itertools.product((None, 0, 1), (False, True), (1, 2, 7)):
        with small_blocks(8, 2):
            found = outofcore.argmax(Sliced(data), axis, False, last, threads=threads)
        assert np.array_equal(found, fast_argmax(data, axis, False, last))


@pytest.mark.parametrize("late", [0, 2, 5])
def test_blocks_that_come_late(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block is merged after all others, and wins or loses by its index alone."""
    data = np.ones((12, 3), np.int8)
    others_done = threading.Event()
    read = MemorySource.read

    def read_late(self: MemorySource, box: Any, buffer: memoryview) -> Array:
        if box[0].start == 2 * late:
            assert others_done.wait(60)
        return read(self, box, buffer)

    def progress(step: outofcore.Progress) -> None:
        if step.blocks_done == step.blocks - 1:
            others_done.set()

    monkeypatch.setattr(MemorySource, "read", read_late)
    for last in (False, True):
        others_done.clear()
        with small_blocks(6, 2):
            found = outofcore.argmax(data, 0, False, last, threads=2, progress=progress)
        assert found.tolist() == [11 if last else 0] * 3


def test_empty_arrays(tmp_path: Path) -> None:
    for shape, axis in [((0, 3), 1), ((3, 0), 0), ((2, 0, 3), 2), ((0, 0, 1), 2)]:
        data = np.zeros(shape, np.float32)
        np.save(tmp_path / "data.npy", data)
        for source in (data, Sliced(data), tmp_path / "data.npy"):
            found = outofcore.argmax(source, axis, False)
            assert found.shape == fast_argmax(data, axis, False).shape
            with pytest.raises(ValueError, match="length 0"):
                outofcore.argmax(source, shape.index(0))


# Of each kind, what is its own.


def test_chunks_that_were_never_written(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    data = np.full((8, 9), 5, np.int32)
    data[3, 4], data[4, 3] = 4, 6
    for version in (2, 3):
        stored = zarr.create_array(
            tmp_path / f"{version}.zarr",
            shape=data.shape,
            chunks=(3, 3),
            dtype="i4",
            fill_value=5,
            zarr_format=version,
        )
        stored[3:6, 3:6] = data[3:6, 3:6]
        with small_blocks(36):
            check(stored, data)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        for name, extra in (("chunked", {"chunks": (3, 3)}), ("plain", {})):
            stored = file.create_dataset(name, data.shape, "i4", fillvalue=5, **extra)
            with small_blocks(36):
                check(stored, np.full_like(data, 5))  # nothing of it is in the file
            stored[...] = data
            with small_blocks(36):
                check(stored, data)


def test_dataset_that_was_never_written_in_a_file_open_for_reading(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("data", (4, 3), "f4", fillvalue=7)
    check(tmp_path / "data.h5", np.full((4, 3), 7, np.float32))


def test_floats_that_hdf5_widens(tmp_path: Path) -> None:
    """bfloat16 in the file, float32 as h5py gives it: the file must not be read past HDF5."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    narrow = h5py.h5t.IEEE_F32LE.copy()
    narrow.set_fields(15, 7, 8, 0, 7)
    narrow.set_size(2)
    narrow.set_ebias(127)
    data = np.array([[1, -2, 4], [0.5, 8, -16]], np.float32)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        space = h5py.h5s.create_simple(data.shape)
        h5py.Dataset(h5py.h5d.create(file.id, b"data", narrow, space))[...] = data
    check(tmp_path / "data.h5", data)


def test_dataset_of_a_file_that_was_replaced(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    for name, values in (("data.h5", [1, 3, 2]), ("other.h5", [3, 1, 2])):
        with h5py.File(tmp_path / name, "w") as file:
            file["data"] = np.array(values, np.int64)
    with h5py.File(tmp_path / "data.h5", "r") as file:
        (tmp_path / "other.h5").replace(tmp_path / "data.h5")
        assert outofcore.argmax(file["data"], 0, False) == 1


def test_map_of_a_file_that_was_replaced(tmp_path: Path) -> None:
    np.array([1, 3, 2], np.int64).tofile(tmp_path / "data.bin")
    mapped = np.memmap(tmp_path / "data.bin", np.int64, "r")
    np.array([3, 1, 2], np.int64).tofile(tmp_path / "other.bin")
    (tmp_path / "other.bin").replace(tmp_path / "data.bin")
    assert outofcore.argmax(mapped, 0, False) == 1


def test_map_that_was_written(tmp_path: Path) -> None:
    """To the file, and to this process's pages alone."""
    np.zeros((100, 100), np.int64).tofile(tmp_path / "data.bin")
    for mode in ("r+", "c"):
        mapped = np.memmap(tmp_path / "data.bin", np.int64, mode, shape=(100, 100))
        mapped[7, 50] = 3 if mode == "r+" else 0
        mapped[60, 9] = 9
        data = np.array(mapped)
        check(mapped, data)
        assert np.array_equal(mapped, data), "the pages' contents went with the pages"


def test_arrays_that_repeat_their_elements(tmp_path: Path) -> None:
    np.array([3, 5, 5, 1], np.int16).tofile(tmp_path / "data.bin")
    mapped = np.memmap(tmp_path / "data.bin", np.int16, "r")
    for view in (
        np.broadcast_to(mapped, (6, 4), subok=True),
        np.broadcast_to(mapped[:, None], (4, 6), subok=True),
        np.lib.stride_tricks.sliding_window_view(mapped, 2, subok=True),
        np.broadcast_to(mapped[1:2], (3, 5, 2), subok=True),
    ):
        with small_blocks(8):
            check(view, np.array(view))


def test_a_file_with_one_dataset_needs_no_name(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "data.hdf5", "w") as file:
        file["deep/down"] = np.arange(5)
    assert outofcore.argmax(tmp_path / "data.hdf5", 0, False) == 4
    assert outofcore.argmax(f"{tmp_path}/data.hdf5:/deep/down", 0, False) == 4


def test_an_array_within_a_zarr_group(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    group = zarr.create_group(tmp_path / "group.zarr")
    group.create_array("inner", shape=(5,), chunks=(2,), dtype="i4")[...] = np.arange(5)
    assert outofcore.argmax(tmp_path / "group.zarr" / "inner", 0, False) == 4


def test_arrays_of_other_libraries_that_are_in_memory() -> None:
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    data = random_elements(type_named("float32"), (6, 7), 0)
    with small_blocks():
        check(xarray.DataArray(data), data)


# Arguments.


def test_defaults_are_those_of_the_array_function() -> None:
    data = np.array([[1, 2], [1, 3]], np.int8)
    assert outofcore.argmax(data).tolist() == [[0, 1]]


def test_memory_limits_of_every_spelling() -> None:
    data = np.arange(10)
    for limit in (1 << 24, np.int64(1 << 24), "16 MiB", "16MiB", "0.5 GiB", "20 MB", " 99999999 "):
        assert outofcore.argmax(data, memory_limit=limit) == 9


def test_narrow_results() -> None:
    data = random_elements(type_named("float32"), (100, 7), 0)
    expected = fast_argmax(data, 0)
    for dtype in (np.int8, "uint8", np.int16, "uint16", np.int32, np.uint32, "int64", np.uint64):
        with small_blocks(100):
            found = outofcore.argmax(data, dtype=dtype)
        assert found.dtype == dtype
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads(threads: int, tmp_path: Path) -> None:
    """Each block's reduction may use several, and each worker its own."""
    data = random_elements(type_named("int16"), (300, 200), 0)
    np.save(tmp_path / "data.npy", data)
    for block_bytes in (500, 30_000, 4 << 20):
        with small_blocks(block_bytes, 32):
            check(tmp_path / "data.npy", data, threads=threads)


def test_callers_at_once(tmp_path: Path) -> None:
    data = random_elements(type_named("float32"), (60, 70), 0)
    np.save(tmp_path / "data.npy", data)

    def work(number: int) -> bool:
        axis = (0, 1, None)[number % 3]
        found = outofcore.argmax(tmp_path / "data.npy", axis, threads=1 + number % 3)
        return np.array_equal(found, fast_argmax(data, axis))

    with small_blocks(300), ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(40)))


class StopError(Exception):
    pass


@pytest.mark.parametrize("at", [1, 2, 9])
def test_an_exception_in_progress_ends_the_call(at: int, tmp_path: Path) -> None:
    data = random_elements(type_named("int32"), (50, 40), 0)
    np.save(tmp_path / "data.npy", data)
    seen: list[outofcore.Progress] = []

    def stop(progress: outofcore.Progress) -> None:
        assert threading.current_thread() is threading.main_thread()
        seen.append(progress)
        if progress.blocks_done == at:
            raise StopError

    for axis in (0, 1, None):
        seen.clear()
        with small_blocks(200, 5), nothing_left(), pytest.raises(StopError):
            outofcore.argmax(tmp_path / "data.npy", axis, threads=3, progress=stop)
        assert len(seen) == at


def test_bits_beyond_true() -> None:
    data = from_bits(type_named("bool"), [0, 2, 1, 255])
    with small_blocks(1, 1):
        check(data, data)
