# SPDX-License-Identifier: Apache-2.0
"""What ArgMax of a large Dask array costs: tasks, bytes moved, memory, time; beside Dask's own.

    python -m benchmarks.dask_cost FOLDER [--gigabytes 20] [--repeats 1] [--json FILE]

on a cluster of two worker processes of one thread and 2 GiB each, over TCP. The arrays are larger
than the memory of all workers: random ones that are made chunk by chunk, and a Zarr array in the
folder whose chunk files are links to a few, removed afterwards. Results are compared before they
are timed: along an axis both give the first index; of the flattened array Dask's is the first in
the order of its chunks.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

from onnx_argmax._element_types import element_type_of_dtype
from onnx_argmax._partial import partial_dtype
from onnx_argmax.dask import argmax, check_workers

_WORKERS: Final = 2
_MEMORY: Final = "2GiB"
_DISTINCT_CHUNKS: Final = 5


@dataclass(frozen=True)
class Cost:
    """Of one reduction."""

    tasks: int
    partial_bytes: int
    """Of all partial results that the blocks give."""
    moved_bytes: float
    """Expected, with the result on its way to the client: of each merge the first partial result
    stays where it is, and each other one lies on another worker with a chance of (w - 1) / w."""


def model(data: Any, axis: int | None, *, split_every: int = 4, workers: int = _WORKERS) -> Cost:
    """The cost model of docs/dask.md."""
    counts = data.numblocks
    along = math.prod(counts) if axis is None else counts[axis]
    lines = math.prod(counts) // along
    length = data.size if axis is None else data.shape[axis]
    element_type = element_type_of_dtype(data.dtype)
    assert element_type is not None
    size = partial_dtype(element_type, length).itemsize
    positions = 1 if axis is None else data.size // data.shape[axis]
    blocks = math.prod(counts)
    elsewhere = (workers - 1) / workers
    # compute() has one worker put the blocks of the result together, then the client takes it.
    result_bytes = 8 * positions * (1 + (elsewhere if lines > 1 else 0))
    if along == 1:
        return Cost(blocks, 0, result_bytes)
    merges, moved, left = 0, 0, along
    while left > 1:
        groups = -(-left // split_every)
        merges += groups - (left % split_every == 1 and groups > 1)
        moved += left - groups
        left = groups
    per_part = positions // lines * size
    return Cost(
        blocks + lines * merges,
        blocks * per_part,
        lines * moved * per_part * elsewhere + result_bytes,
    )


@contextmanager
def _cluster() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=_WORKERS,
            threads_per_worker=1,
            memory_limit=_MEMORY,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
        check_workers(client)
        yield client


def _moved(dask_worker: Any) -> int:
    return dask_worker.transfer_outgoing_bytes_total


def _peak(dask_worker: Any) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise LookupError("VmHWM")


def _forget_peak(dask_worker: Any) -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _zarr_array(folder: Path, size: int) -> Any:
    """Chunks of 100 MB, of which a few are written and the others are links to them."""
    rows, columns = 6250, 4000
    chunks = size // (rows * columns * 4)
    path = folder / "onnx-argmax-large.zarr"
    stored = zarr.create_array(
        str(path), shape=(chunks * rows, columns), chunks=(rows, columns), dtype="f4",
        compressors=None,
    )  # fmt: skip
    generator = np.random.default_rng(0)
    for i in range(_DISTINCT_CHUNKS):
        stored[i * rows : (i + 1) * rows] = generator.random((rows, columns), np.float32)
    for i in range(_DISTINCT_CHUNKS, chunks):
        link = path / "c" / str(i) / "0"
        link.parent.mkdir()
        link.symlink_to(path / "c" / str(i % _DISTINCT_CHUNKS) / "0")
    return da.from_zarr(str(path))


def _arrays(folder: Path, size: int) -> Iterator[tuple[str, Any, int | None]]:
    generator = da.random.default_rng(0)
    columns = 4000
    rows = size // (4 * columns)
    long = generator.random((rows, columns), dtype=np.float32, chunks=(6250, columns))
    wide = generator.random((500, size // 2000), dtype=np.float32, chunks=(50, 500_000))
    stored = _zarr_array(folder, size)
    yield "random, long chunks, axis 0", long, 0
    yield "random, long chunks, axis 1", long, 1
    yield "random, wide chunks, axis 0", wide, 0
    yield "Zarr, axis 0", stored, 0
    yield "Zarr, axis 1", stored, 1
    yield "Zarr, flattened", stored, None


def _timed(client: Client, build: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    client.run(_forget_peak)
    before = sum(client.run(_moved).values())
    start = time.perf_counter()
    result = build().compute()
    seconds = time.perf_counter() - start
    return result, {
        "seconds": seconds,
        "moved_bytes": sum(client.run(_moved).values()) - before,
        "peak_bytes": max(client.run(_peak).values()),
    }


def _tasks(result: Any, data: Any) -> int:
    return len(result.__dask_graph__()) - len(data.__dask_graph__())


def _compare(
    client: Client, name: str, data: Any, axis: int | None, repeats: int
) -> dict[str, Any]:
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    equal = True
    for _ in range(repeats):
        result, ours = _timed(client, lambda: argmax(data, axis, keepdims=False))
        other, own = _timed(client, lambda: da.argmax(data, axis=axis))
        equal = equal and np.array_equal(result, other)
        assert equal or axis is None, name
        pairs.append((ours, own))
    if axis is None:  # the larger index of two equal elements is Dask's mistake, never ours
        assert int(result) <= int(other)
        values = data.reshape(-1)[[int(result), int(other)]].compute()
        assert values[0] == values[1], name

    def median(of: int, key: str) -> float:
        return statistics.median(pair[of][key] for pair in pairs)

    ratio = statistics.median(ours["seconds"] / own["seconds"] for ours, own in pairs)
    record = {
        "name": name,
        "shape": data.shape,
        "chunk": data.chunksize,
        "bytes": data.nbytes,
        "tasks": _tasks(argmax(data, axis), data),
        "dask_tasks": _tasks(da.argmax(data, axis=axis), data),
        "model": asdict(model(data, axis)),
        "moved_bytes": median(0, "moved_bytes"),
        "dask_moved_bytes": median(1, "moved_bytes"),
        "peak_bytes": max(ours["peak_bytes"] for ours, _ in pairs),
        "dask_peak_bytes": max(own["peak_bytes"] for _, own in pairs),
        "seconds": median(0, "seconds"),
        "dask_seconds": median(1, "seconds"),
        "ratio": ratio,
        "dask_is_right": equal,
    }
    print(
        f"{name:28} {data.nbytes / 1e9:5.1f} GB  tasks {record['tasks']} (model "
        f"{record['model']['tasks']}, Dask {record['dask_tasks']})  moved MB "
        f"{record['moved_bytes'] / 1e6:.1f} (model {record['model']['moved_bytes'] / 1e6:.1f}, "
        f"Dask {record['dask_moved_bytes'] / 1e6:.1f})  peak MiB "
        f"{record['peak_bytes'] / 2**20:.0f} ({record['dask_peak_bytes'] / 2**20:.0f})  "
        f"time {ratio:.2f} of Dask's ({data.nbytes / record['seconds'] / 1e9:.2f} GB/s)"
        f"{'' if equal else '; Dask takes another of the equal elements'}",
        flush=True,
    )
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    records: list[dict[str, Any]] = []
    try:
        with _cluster() as client:
            for name, data, axis in _arrays(options.folder, int(options.gigabytes * 1e9)):
                records.append(_compare(client, name, data, axis, options.repeats))
    finally:
        shutil.rmtree(options.folder / "onnx-argmax-large.zarr", ignore_errors=True)
    if options.json is not None:
        options.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
