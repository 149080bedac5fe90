# SPDX-License-Identifier: Apache-2.0
"""Dask's distributed engine: worker processes over TCP, lost workers, little memory, versions."""

from __future__ import annotations

import os
import pkgutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import onnx_argmax
from onnx_argmax.dask import argmax, check_workers
from oracle import Array, fast_argmax
from samples import ALL_TYPES, NAN_BITS, from_bits, random_elements, type_id, type_named

# On a slow disk, distributed says that making its folders takes long; it warns of nothing else.
pytestmark = pytest.mark.filterwarnings("ignore:Creating scratch directories")


def _cluster(n_workers: int = 2, **options: Any) -> LocalCluster:
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=":0",
        **options,
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    # So long does a worker try to reach one that was killed, where it is not told before.
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        _cluster(memory_limit="1GiB") as cluster,
        Client(cluster) as made,
    ):
        yield made


def _check(client: Client, data: Array, chunks: tuple[int, int]) -> None:
    """Every axis, first and last index, in one go."""
    chunked = da.from_array(data, chunks=chunks)
    asked = [(axis, last) for axis in (0, 1, None) for last in (False, True)]
    results = [argmax(chunked, axis, select_last_index=last) for axis, last in asked]
    for (axis, last), result in zip(asked, client.gather(client.compute(results)), strict=True):
        assert np.array_equal(result, fast_argmax(data, axis, True, last))


def test_workers_are_processes_over_tcp(client: Client) -> None:
    addresses = client.run(os.getpid)
    assert len(set(addresses.values()) - {os.getpid()}) == 2
    assert all(address.startswith("tcp://127.0.0.1:") for address in addresses)
    assert check_workers(client) == onnx_argmax.__version__


@pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
def test_every_type(client: Client, element_type: Any) -> None:
    data = random_elements(element_type, (13, 17), seed=0)
    _check(client, data, (5, 4))


def test_ties_and_nan_over_chunk_borders(client: Client) -> None:
    float32 = type_named("float32")
    nans = from_bits(float32, NAN_BITS[float32][:6])
    data = np.zeros((12, 12), np.float32)
    data[3:9:2, 2:8:3] = nans.reshape(3, 2)
    for chunks in ((5, 5), (12, 2), (7, 12)):
        _check(client, data, chunks)


_GATE = (2, 3)


def _told(block: Array, block_id: tuple[int, int], folder: Path) -> Array:
    """The block, once told in the folder who has it; one block waits there for its permission."""
    name = "-".join(map(str, (*block_id, os.getpid(), time.monotonic_ns())))
    (folder / name).touch()
    deadline = time.monotonic() + 60
    while block_id == _GATE and not (folder / "go").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return block


def _runs(folder: Path) -> list[tuple[tuple[int, int], int]]:
    """Block and process of each run."""
    parts = (path.name.split("-") for path in folder.iterdir() if path.name != "go")
    return [((int(row), int(column)), int(process)) for row, column, process, _ in parts]


@pytest.mark.parametrize("axis", [0, None])
@pytest.mark.parametrize("victim", ["runs a task", "holds partial results"])
def test_a_worker_is_killed_in_the_middle(
    client: Client, victim: str, axis: int | None, tmp_path: Path
) -> None:
    data = np.random.default_rng(0).integers(0, 4, (60, 80)).astype(np.float32)
    data[41, 7] = np.nan
    chunked = da.from_array(data, chunks=(6, 8))
    told = chunked.map_blocks(_told, folder=tmp_path, meta=np.empty((0, 0), np.float32))
    processes = set(client.run(os.getpid).values())
    future = client.compute(argmax(told, axis))
    deadline = time.monotonic() + 60
    while len(runs := _runs(tmp_path)) < 50 or _GATE not in dict(runs):
        assert time.monotonic() < deadline, runs
        time.sleep(0.01)
    waiting = dict(runs)[_GATE]
    killed = waiting if victim == "runs a task" else (processes - {waiting}).pop()
    os.kill(killed, signal.SIGKILL)
    (tmp_path / "go").touch()
    assert np.array_equal(future.result(timeout=60), fast_argmax(data, axis))
    times = Counter(block for block, _ in _runs(tmp_path))
    assert len(times) == chunked.npartitions
    assert max(times.values()) > 1  # what was lost was done again
    client.wait_for_workers(2, timeout=60)  # its nanny started another one
    assert killed not in client.run(os.getpid).values()


_ROWS, _COLUMNS, _BLOCKS = 2048, 8192, 30


def _rows_of_largest(number: int) -> Array:
    """Where in each column of its own a block has the largest element."""
    return (np.arange(number, _COLUMNS, _BLOCKS) * 31) % _ROWS


def _large(block_id: tuple[int, int]) -> Array:
    """16 MiB, with the largest elements in columns of its own and of the block before."""
    number = block_id[0]
    block = np.full((_ROWS, _COLUMNS), 1, np.uint8)
    for own in range(max(number - 1, 0), number + 1):
        block[_rows_of_largest(own), np.arange(own, _COLUMNS, _BLOCKS)] = 2
    return block


def _spilled_bytes(dask_worker: Any) -> int:
    return dask_worker.data.spilled_total.memory


def test_chunks_beyond_the_memory_limit_are_spilled(tmp_path: Path) -> None:
    chunks = ((_ROWS,) * _BLOCKS, (_COLUMNS,))
    data = da.map_blocks(_large, meta=np.empty((0, 0), np.uint8), chunks=chunks)
    limit = 400 << 20
    options = {"n_workers": 1, "memory_limit": limit, "local_directory": str(tmp_path)}
    with _cluster(**options) as cluster, Client(cluster) as client:
        kept = client.persist(data)
        result = argmax(kept, 0, keepdims=False).compute()
        spilled = sum(client.run(_spilled_bytes).values())
    assert spilled > data.nbytes - limit > 0
    expected = np.empty(_COLUMNS, np.int64)
    for number in range(_BLOCKS):
        expected[number::_BLOCKS] = number * _ROWS + _rows_of_largest(number)
    assert np.array_equal(result, expected)


def _become(version: str) -> None:
    from onnx_argmax import _build, _dask_tasks

    onnx_argmax.__version__ = version  # type: ignore[misc]
    _dask_tasks._build.__version__ = _build.__version__ = version  # type: ignore[misc]


def test_a_worker_of_another_version_is_told(client: Client) -> None:
    worker = next(iter(client.run(os.getpid)))
    client.run(_become, "9.9", workers=[worker])
    try:
        with pytest.raises(RuntimeError, match=rf"{worker} has version 9\.9.*pip install"):
            check_workers(client)
        chunked = da.from_array(np.arange(10), chunks=2)
        with pytest.raises(RuntimeError, match=r"version \S+ built this graph.* has 9\.9"):
            client.compute(argmax(chunked), workers=[worker]).result(timeout=60)
    finally:
        client.run(_become, onnx_argmax.__version__, workers=[worker])
    assert check_workers(client) == onnx_argmax.__version__


class _Hidden:
    """Finds no onnx_argmax."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "onnx_argmax":
            raise ModuleNotFoundError(f"No module named {name!r}", name="onnx_argmax")


def _lose_the_package() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnx_argmax"]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Hidden())  # type: ignore[arg-type]


def test_a_worker_without_the_package_is_told(client: Client) -> None:
    worker = next(iter(client.run(os.getpid)))
    client.run(_lose_the_package, workers=[worker])
    with pytest.raises(RuntimeError, match=rf"{worker} lacks it.*restart them"):
        check_workers(client)
    chunked = da.from_array(np.arange(11), chunks=2)
    with pytest.raises(ModuleNotFoundError, match="onnx_argmax"):
        client.compute(argmax(chunked), workers=[worker]).result(timeout=60)
    assert worker in client.run(os.getpid)  # it lives, and takes other work
    client.restart(timeout=60)
    assert check_workers(client) == onnx_argmax.__version__


def test_clusters_that_cannot_be_checked() -> None:
    with (
        _cluster(n_workers=0) as cluster,
        Client(cluster) as client,
        pytest.raises(RuntimeError, match=r"no worker yet; call client\.wait_for_workers"),
    ):
        check_workers(client)
    with pytest.raises(TypeError, match=r"asynchronous client.*distributed\.Client\("):
        check_workers(SimpleNamespace(asynchronous=True))


def test_a_worker_that_cannot_load_the_package_is_named() -> None:
    answers = {"tcp://10.0.0.1:1": ImportError("GLIBC_2.38 not found")}
    client = SimpleNamespace(asynchronous=False, run=lambda *_, **__: answers)
    words = r"worker tcp://10\.0\.0\.1:1 cannot import it \(ImportError: GLIBC_2\.38 not found\)"
    with pytest.raises(RuntimeError, match=words):
        check_workers(client)


_HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "onnx_argmax":
            raise ModuleNotFoundError(f"No module named {name!r}", name="onnx_argmax")

sys.meta_path.insert(0, Hidden())
"""


@contextmanager
def _running(program: str, *options: str) -> Iterator[None]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--host=127.0.0.1"]
    with subprocess.Popen(
        [*command, "--no-dashboard", *options], stderr=subprocess.DEVNULL
    ) as made:
        try:
            yield
        finally:
            made.terminate()


def test_the_scheduler_needs_no_package(tmp_path: Path) -> None:
    address = f"--scheduler-file={tmp_path / 'scheduler.json'}"
    hiding = tmp_path / "hiding.py"
    hiding.write_text(_HIDING)
    data = random_elements(type_named("float16"), (13, 17), seed=0)
    with (
        _running("scheduler", address, "--port=0", f"--preload={hiding}"),
        _running("worker", address, "--nthreads=1", f"--local-directory={tmp_path}"),
        Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout=60) as client,
    ):
        with pytest.raises(ModuleNotFoundError, match="onnx_argmax"):
            client.run_on_scheduler(pkgutil.resolve_name, "onnx_argmax:__version__")
        client.wait_for_workers(1, timeout=60)
        assert check_workers(client) == onnx_argmax.__version__
        _check(client, data, (5, 4))
