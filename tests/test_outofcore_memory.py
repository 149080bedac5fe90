# SPDX-License-Identifier: Apache-2.0
"""The memory of a walk, measured from outside, on files much larger than it may take.

Each measurement is a process of its own: what one call gave back to the allocator, the next one
takes again without its being seen.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from programs import run_program

MIB: Final = 1 << 20
SHAPE: Final = (128, 512, 1024)
"""Of 256 MiB as float32, of which nothing is on the disk."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="needs /proc/self/clear_refs of Linux"
)

SETUP: Final = """
    import resource
    from pathlib import Path
    import numpy as np
    from onnx_argmax import outofcore
    from peak import peak_bytes, sparse_npy
    folder, limit, axis, arguments = Path({folder!r}), {limit}, {axis}, {{"threads": 2}}
    outofcore.argmax(np.zeros((3, 4)))  # whatever is imported late is
"""
CALL: Final = """
    taken = peak_bytes(
        lambda: outofcore.argmax(data, axis, False, memory_limit=limit, **arguments)
    )
    assert taken <= limit, f"{taken / 2**20:.1f} MiB of {limit / 2**20:.0f}"
"""


def run(*parts: str, folder: Path, limit: int, axis: int | None = 0) -> None:
    """Run the parts of a program behind the usual beginning."""
    setup = SETUP.format(folder=str(folder), limit=limit, axis=axis)
    run_program("".join(map(textwrap.dedent, (setup, *parts))))


SPARSE: Final = """
    shape = {shape}
    sparse_npy(folder / "data.npy", shape, "f4", fortran={fortran})
    if axis is not None:
        kept = tuple(n for position, n in enumerate(shape) if position != axis)
        arguments["out"] = np.memmap(folder / "out.bin", "i8", "w+", shape=kept)
"""


def check_file(
    data: str, folder: Path, *, fortran: bool, limit: int, axis: int | None, shape: object = SHAPE
) -> None:
    sparse = SPARSE.format(shape=shape, fortran=fortran)
    run(sparse, f"data = {data}\n", CALL, folder=folder, limit=limit, axis=axis)


every_axis = pytest.mark.parametrize("axis", [0, 1, 2, None])
both_orders = pytest.mark.parametrize("fortran", [False, True], ids=["c_order", "fortran_order"])


@pytest.mark.parametrize("limit", [16 * MIB, 64 * MIB], ids=["16_MiB", "64_MiB"])
@every_axis
@both_orders
def test_files(fortran: bool, axis: int | None, limit: int, tmp_path: Path) -> None:
    data = "folder / 'data.npy'"
    check_file(data, tmp_path, fortran=fortran, limit=limit, axis=axis)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@every_axis
@both_orders
def test_maps(mode: str, fortran: bool, axis: int | None, tmp_path: Path) -> None:
    data = f"np.load(folder / 'data.npy', mmap_mode={mode!r})"
    check_file(data, tmp_path, fortran=fortran, limit=16 * MIB, axis=axis)


@both_orders
def test_map_of_a_file_gone(fortran: bool, tmp_path: Path) -> None:
    """Only the map itself leads to it: its pages are given back. In long runs, that is: of short
    ones the kernel maps a large page around each, more than was asked for."""
    data = "np.load(folder / 'data.npy', mmap_mode='r')\n(folder / 'data.npy').unlink()"
    check_file(data, tmp_path, fortran=fortran, limit=32 * MIB, axis=0 if fortran else 2)


@pytest.mark.large
@every_axis
@both_orders
def test_larger_file(fortran: bool, axis: int | None, tmp_path: Path) -> None:
    data = "folder / 'data.npy'"
    shape = (1024, 1024, 1024)  # with a result of 8 MiB
    check_file(data, tmp_path, fortran=fortran, limit=16 * MIB, axis=axis, shape=shape)


def test_written_pages_of_a_map_stay_and_others_do_not_come(tmp_path: Path) -> None:
    made = """
        sparse_npy(folder / "data.npy", (64, 1 << 22), "u1")
        data = np.load(folder / "data.npy", mmap_mode="c")
        data[:, ::100_000] = 1
        data[63, 100_000] = 2
        arguments["dtype"] = "u1"
    """
    after = """
        assert data[:, ::100_000].min() == 1
        found = outofcore.argmax(data, 0, False, memory_limit=limit)
        assert found[100_000] == 63
        assert found.sum() == 63
    """
    run(made, CALL, after, folder=tmp_path, limit=48 * MIB)


def test_a_large_result(tmp_path: Path) -> None:
    """It counts, unless it goes to a map."""
    made = """
        sparse_npy(folder / "data.npy", (16, 16 << 20), "u1")
        data = folder / "data.npy"
    """
    run(made, CALL, folder=tmp_path, limit=160 * MIB)
    out = """
        arguments["out"] = np.memmap(folder / "out.bin", "i8", "w+", shape=(16 << 20,))
    """
    run(made, out, CALL, folder=tmp_path, limit=16 * MIB)
    assert not np.memmap(tmp_path / "out.bin", np.int64, "r").any()


@pytest.mark.parametrize("axis", [0, 2])
def test_under_a_limit_of_the_system(axis: int, tmp_path: Path) -> None:
    """More is not to be had; the stacks of threads count whole there, used or not."""
    limited = """
        lines = Path("/proc/self/status").read_text().splitlines()
        before = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmData:"))
        stacks = 4 * (8 << 20)
        most = before + limit + stacks
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        data = folder / "data.npy"
    """
    sparse = SPARSE.format(shape=SHAPE, fortran=False)
    run(sparse, limited, CALL, folder=tmp_path, limit=24 * MIB, axis=axis)


# Stores, whose own copies count.

FILL: Final = """
    generator = np.random.default_rng(0)
    part = (side, stored.shape[1])
    for start in range(0, stored.shape[0], side):
        some = generator.random(part, np.float32) if {random} else np.full(part, start, np.float32)
        stored[start : start + side] = some
"""
compressible = pytest.mark.parametrize("random", [False, True], ids=["compressible", "random"])


@compressible
@pytest.mark.parametrize(
    ("chunk_mib", "limit"), [(1, 64 * MIB), (4, 64 * MIB), (16, 128 * MIB)], ids=str
)
@pytest.mark.parametrize("version", [2, 3])
def test_zarr(version: int, chunk_mib: int, limit: int, random: bool, tmp_path: Path) -> None:
    pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    made = f"""
        import zarr
        side = {int((chunk_mib * MIB / 4) ** 0.5)}
        stored = zarr.create_array(
            folder / "data.zarr",
            shape=(3 * side, 2 * side),
            chunks=(side, side),
            dtype="f4",
            zarr_format={version},
        )
    """
    # In a process of its own, since what it takes can be taken again.
    run(made, FILL.format(random=random), folder=tmp_path, limit=limit)
    opened = """
        import zarr
        data = zarr.open_array(folder / "data.zarr", mode="r")
        data[:1, :1]
    """
    run(opened, CALL, folder=tmp_path, limit=limit)


@compressible
@pytest.mark.parametrize("chunk_mib", [1, 8])
def test_hdf5(chunk_mib: int, random: bool, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    made = f"""
        import h5py
        side = {int((chunk_mib * MIB / 4) ** 0.5)}
        stored = h5py.File(folder / "data.h5", "w").create_dataset(
            "data",
            (3 * side, 2 * side),
            "f4",
            chunks=(side, side),
            compression="gzip",
            compression_opts=1,
        )
    """
    end = "stored.file.close()\n"
    run(made, FILL.format(random=random), end, folder=tmp_path, limit=1)
    opened = """
        import h5py
        data = h5py.File(folder / "data.h5", "r")["data"]
        data[:1, :1]
    """
    run(opened, CALL, folder=tmp_path, limit=64 * MIB)


OPENED: Final = {
    "by_path": "data = folder / 'data.h5'\n",
    "dataset": "import h5py\ndata = h5py.File(folder / 'data.h5', 'r')['data']\n",
    "dataset_in_use": "import h5py\ndata = h5py.File(folder / 'data.h5')['data']\ndata[:1, :1]\n",
}
"""Ways to a dataset of HDF5: by us, who import its library then, and by the caller."""


@pytest.mark.parametrize("opened", OPENED)
@pytest.mark.parametrize("limit", [32 * MIB, 64 * MIB], ids=["32_MiB", "64_MiB"])
@pytest.mark.parametrize("chunks", [(512, 512), (1, 100)], ids=str)
def test_what_hdf5_takes_itself(
    chunks: tuple[int, int], limit: int, opened: str, tmp_path: Path
) -> None:
    """Its cache of decompressed chunks, what it holds for each chunk, and its own code."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    shape, dtype = ((8 * 512, 1024), "f4") if chunks == (512, 512) else ((30, 80_000), "u1")
    made = f"""
        import h5py
        side = 512
        stored = h5py.File(folder / "data.h5", "w").create_dataset(
            "data", {shape}, {dtype!r}, chunks={chunks}, compression="gzip", compression_opts=1
        )
    """
    fill = FILL.format(random=True) if dtype == "f4" else "stored[...] = 0\n"
    run(made, fill, "stored.file.close()\n", folder=tmp_path, limit=1)
    run(OPENED[opened], CALL, folder=tmp_path, limit=limit)


def test_a_cache_of_hdf5_that_the_caller_made_larger(tmp_path: Path) -> None:
    """It takes in all 16 MiB, in buffers of up to twice the size."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    made = """
        import h5py
        side = 512
        stored = h5py.File(folder / "data.h5", "w").create_dataset(
            "data", (8 * side, 1024), "f4", chunks=(side, side), compression="gzip"
        )
    """
    fill = FILL.format(random=True)
    run(made, fill, "stored.file.close()\n", folder=tmp_path, limit=1)
    opened = """
        import h5py
        data = h5py.File(folder / "data.h5", rdcc_nbytes=64 << 20)["data"]
        try:
            outofcore.argmax(data, axis, False, memory_limit=limit)
        except ValueError as error:
            assert str(error).endswith("the least that works is 40 MiB"), error
        else:
            raise AssertionError
        limit = 40 << 20
    """
    run(opened, CALL, folder=tmp_path, limit=32 * MIB)


def test_where_hdf5_keeps_many_chunks(tmp_path: Path) -> None:
    """In the least memory that works, most of which is what it caches of its index."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    made = """
        import h5py
        with h5py.File(folder / "data.h5", "w") as file:
            stored = file.create_dataset("data", (300, 200_000), "u1", chunks=(10, 100))
            for start in range(0, 300, 10):
                stored[start : start + 10] = 0
    """
    run(made, folder=tmp_path, limit=1)
    opened = """
        import h5py
        data = folder / "data.h5"
        try:
            outofcore.argmax(data, axis, False, memory_limit=limit)
        except ValueError as error:
            number, unit = str(error).split()[-2:]
            limit = int(number) * {"KiB": 1 << 10, "MiB": 1 << 20}[unit]
        assert limit < 32 << 20
    """
    run(opened, CALL, folder=tmp_path, limit=4 * MIB)


def test_what_zarr_takes_itself(tmp_path: Path) -> None:
    pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    made = """
        import zarr
        side = 512
        stored = zarr.create_array(
            folder / "data.zarr", shape=(4 * side, 2 * side), chunks=(side, side), dtype="f4"
        )
    """
    run(made, FILL.format(random=True), folder=tmp_path, limit=1)
    run("data = folder / 'data.zarr'\n", CALL, folder=tmp_path, limit=26 * MIB)


@pytest.mark.parametrize("store", ["zarr", "h5py"])
@pytest.mark.parametrize(("chunk_mib", "limit"), [(1, 40 * MIB), (4, 80 * MIB)], ids=str)
@pytest.mark.parametrize("shape", [(40, 1 << 22), (1 << 22, 4)], ids=str)
def test_out_in_a_store(
    shape: tuple[int, int], chunk_mib: int, limit: int, store: str, tmp_path: Path
) -> None:
    pytest.importorskip(store, reason=f"{store} is not installed")
    made = f"""
        import {store}
        data = folder / "data.npy"
        sparse_npy(data, {shape}, "u1")
        how = {{"shape": ({max(shape)},), "chunks": ({chunk_mib * MIB // 8},), "dtype": "i8"}}
    """
    create = {
        "zarr": "out = zarr.create_array(folder / 'out.zarr', **how)\n",
        "h5py": "file = h5py.File(folder / 'out.h5', 'w')\n"
        "out = file.create_dataset('out', compression='gzip', compression_opts=1, **how)\n",
    }
    first = "out[:1] = 0\narguments['out'] = out\n"
    axis = shape.index(min(shape))
    run(made, create[store], first, CALL, folder=tmp_path, limit=limit, axis=axis)


# More elements than 32 bits number.


@pytest.mark.parametrize("length", [2**31 + 10, pytest.param(2**32 + 10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("axis", [0, None])
def test_long_axes(length: int, axis: int | None, tmp_path: Path) -> None:
    made = f"""
        data, length = folder / "data.npy", {length}
        sparse_npy(data, (length,), "u1")

        def mark(*places):
            with data.open("r+b") as file:
                for place in places:
                    file.seek(data.stat().st_size - length + place)
                    file.write(b"\\x01")

        def call(last):
            return int(outofcore.argmax(data, axis, False, last, memory_limit=limit))

        assert call(True) == length - 1
        mark(length - 1)
        assert call(False) == length - 1
        mark(2**31, length - 2)
        assert call(False) == 2**31
        assert call(True) == length - 1
    """
    run(made, folder=tmp_path, limit=32 * MIB, axis=axis)
