# SPDX-License-Identifier: Apache-2.0
"""Dask's distributed engine: worker processes over TCP, lost workers, little memory, versions."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import onnx_argmax
from onnx_argmax.dask import argmax, check_workers
from oracle import Array, fast_argmax
from samples import ALL_TYPES, NAN_BITS, from_bits, random_elements, type_id, type_named

# What distributed itself warns of as it starts and stops.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Creating scratch directories"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def _cluster(**options: Any) -> LocalCluster:
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=":0",
        **options,
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with _cluster(memory_limit="1GiB") as cluster, Client(cluster) as made:
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


def _slowly(block: Array) -> Array:
    time.sleep(0.05)
    return block


@pytest.mark.parametrize("axis", [0, None])
def test_a_worker_is_killed_in_the_middle(client: Client, axis: int | None) -> None:
    data = np.random.default_rng(0).integers(0, 4, (60, 80)).astype(np.float32)
    data[41, 7] = np.nan
    chunked = da.from_array(data, chunks=(6, 8)).map_blocks(_slowly, dtype=data.dtype)
    future = client.compute(argmax(chunked, axis))
    time.sleep(0.7)
    assert not future.done()
    killed = next(iter(client.run(os.getpid).values()))
    os.kill(killed, signal.SIGKILL)
    assert np.array_equal(future.result(timeout=60), fast_argmax(data, axis))
    client.wait_for_workers(2, timeout=60)  # its nanny started another one
    assert killed not in client.run(os.getpid).values()


def _spilled_bytes(dask_worker: Any) -> int:
    return dask_worker.data.spilled_total.memory


def test_chunks_beyond_the_memory_limit_are_spilled() -> None:
    data = da.random.default_rng(0).random((40_000, 2000), dtype=np.float32, chunks=(2500, 2000))
    with _cluster(memory_limit="300MiB") as cluster, Client(cluster) as client:
        kept = client.persist(data)  # 320 MB; each worker gives up what is beyond 180 MiB
        result = argmax(kept, 0, keepdims=False).compute()
        assert sum(client.run(_spilled_bytes).values()) > 0
        expected = da.argmax(kept, axis=0).compute()
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
