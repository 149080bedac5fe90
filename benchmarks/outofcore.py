# SPDX-License-Identifier: Apache-2.0
"""A file larger than memory, along every axis: time and memory beside reading it from end to end.

    python -m benchmarks.outofcore FOLDER [--gibibytes 16] [--memory "64 MiB"] [--json FILE]

makes a file of random bytes in the folder (it is removed afterwards) and reduces it as arrays of
several shapes and types, each in a process of its own. Cold is without the file in the system's
cache; warm is the median of five runs, each beside a read of the same file, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax import outofcore

_PIECE: Final = 64 << 20
_READ_BYTES: Final = 4 << 20
_REPEATS: Final = 5


@dataclass(frozen=True)
class Case:
    """The file as an array, and the axis that is reduced."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    """-1 for what is left of the file."""
    axis: int | None
    order: str = "C"


CASES: Final = (
    Case("square, axis 0", "float32", (65536, -1), 0),
    Case("square, axis 1", "float32", (65536, -1), 1),
    Case("square, flattened", "float32", (65536, -1), None),
    Case("square, Fortran order, axis 0", "float32", (-1, 65536), 0, "F"),
    Case("square, Fortran order, axis 1", "float32", (-1, 65536), 1, "F"),
    Case("square, Fortran order, flattened", "float32", (-1, 65536), None, "F"),
    Case("16 planes, axis 0", "float32", (16, -1, 16384), 0),
    Case("16 planes, axis 1", "float32", (16, -1, 16384), 1),
    Case("16 planes, axis 2", "float32", (16, -1, 16384), 2),
    Case("rows of 32, axis 1", "float32", (-1, 32), 1),
    Case("one long row", "float32", (-1,), 0),
    Case("one long row", "uint8", (-1,), 0),
    Case("wide, axis 0", "float16", (1024, -1), 0),
)


def _mapped(path: Path, case: Case) -> np.ndarray[Any, Any]:
    flat = np.memmap(path, case.dtype, "r")
    return flat.reshape(case.shape, order=case.order)  # pyright: ignore[reportCallIssue]


def _read_all(path: Path) -> float:
    buffer = memoryview(bytearray(_READ_BYTES))
    start = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - start


def _forget(path: Path) -> None:
    """Take the file out of the system's cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _resident(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def _check(data: np.ndarray[Any, Any], case: Case, result: np.ndarray[Any, Any]) -> None:
    """Against NumPy, on some positions; of a single one whether nothing in front is as large."""
    if case.axis is None or data.ndim == 1:
        found = int(result.flat[0])
        place = np.unravel_index(found, data.shape)
        bits = data[place]
        assert np.isnan(bits) if data.dtype.kind == "f" else bits == np.iinfo(data.dtype).max
        row = tuple(slice(i, i + 1) for i in place[:-1])
        before = data[(*row, slice(max(0, place[-1] - (1 << 20)), place[-1]))]
        assert not (np.isnan(before) if data.dtype.kind == "f" else before == bits).any()
        return
    positions = np.random.default_rng(0)
    for _ in range(20):
        at = tuple(
            slice(None) if axis == case.axis else int(positions.integers(n))
            for axis, n in enumerate(data.shape)
        )
        kept = tuple(0 if axis == case.axis else i for axis, i in enumerate(at))
        assert np.argmax(np.asarray(data[at])) == result[kept]


def _measure(path: Path, case: Case, memory: str) -> dict[str, Any]:
    data = _mapped(path, case)

    def run() -> tuple[float, np.ndarray[Any, Any]]:
        start = time.perf_counter()
        result = outofcore.argmax(data, case.axis, dtype="int64", out=out, memory_limit=memory)
        return time.perf_counter() - start, result

    wanted = [1 if case.axis in (None, axis) else n for axis, n in enumerate(data.shape)]
    out = np.empty(wanted, np.int64)
    out.fill(-1)  # its pages are there before memory is looked at
    _forget(path)
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    cold, result = run()
    peak = _resident("VmHWM") - before
    _forget(path)
    cold_read = _read_all(path)
    _check(data, case, result)
    turns = [(run()[0], _read_all(path)) for _ in range(_REPEATS)]
    return {
        **asdict(case),
        "bytes": data.nbytes,
        "peak_bytes": peak,
        "cold_s": cold,
        "cold_read_s": cold_read,
        "warm_s": statistics.median(ours for ours, _ in turns),
        "warm_read_s": statistics.median(read for _, read in turns),
        "warm_ratio": statistics.median(ours / read for ours, read in turns),
    }


def _make_file(path: Path, size: int) -> None:
    generator = np.random.default_rng(0)
    with path.open("wb") as file:
        for _ in range(0, size, _PIECE):
            file.write(generator.bytes(_PIECE))
        os.fsync(file.fileno())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gibibytes", type=int, default=16)
    parser.add_argument("--memory", default="64 MiB")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = options.folder / "onnx-argmax-large-file.bin"
    if options.case is not None:
        print(json.dumps(_measure(path, CASES[options.case], options.memory)))
        return
    records: list[dict[str, Any]] = []
    try:
        _make_file(path, options.gibibytes << 30)
        _read_all(path)
        print(f"{'case':34} {'peak MiB':>8} {'cold':>6} {'warm':>6}  of the time to read it")
        for number, case in enumerate(CASES):
            command = [sys.executable, "-m", "benchmarks.outofcore", str(options.folder)]
            command += ["--memory", options.memory, "--case", str(number)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            record = json.loads(done.stdout)
            records.append(record)
            print(
                f"{case.name + ', ' + case.dtype:34} {record['peak_bytes'] / 2**20:8.1f} "
                f"{record['cold_s'] / record['cold_read_s']:6.2f} {record['warm_ratio']:6.2f}  "
                f"(read: cold {record['bytes'] / record['cold_read_s'] / 1e9:.1f}, warm "
                f"{record['bytes'] / record['warm_read_s'] / 1e9:.1f} GB/s)",
                flush=True,
            )
    finally:
        path.unlink(missing_ok=True)
    if options.json is not None:
        options.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
