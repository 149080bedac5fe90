# SPDX-License-Identifier: Apache-2.0
"""Peak memory beyond the input and the result, for every case, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import ours
from benchmarks.cases import CASES, Case
from benchmarks.data import dtype_of
from benchmarks.layouts import arrange
from benchmarks.part import Part
from benchmarks.peers.base import Task
from benchmarks.progress import shown
from benchmarks.tables import Table
from onnx_argmax import argmax, set_num_threads

__all__ = ["MOST_PER_THREAD", "run"]

MOST_PER_THREAD: Final = 1 << 20
"""Bytes that a call may take for each thread beyond input and result."""

_SHOWN: Final = 12
_RESET_PEAK: Final = "5"


def run(cases: Sequence[Case], threads: Sequence[int]) -> Part:
    """Measure with the kernel's own account of the process (Linux).

    Raises
    ------
    OSError
        Where the kernel keeps no such account.
    """
    jobs = [(case, count) for case in cases for count in threads]
    found: list[dict[str, object]] = []
    path = os.pathsep.join([str(Path(__file__).resolve().parent.parent), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.memory"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for case, count in shown("memory", jobs, lambda job: job[0].name):
            print(json.dumps([case.name, count]), file=process.stdin, flush=True)
            answer = process.stdout.readline()
            if not answer:
                raise OSError("the process that measures memory ended early")
            extra = json.loads(answer)
            found.append({"case": case.name, "threads": count, "bytes": extra})
        process.stdin.close()
    return Part("memory", found, (_table(found),))


def _table(found: list[dict]) -> Table:
    worst = sorted(found, key=lambda one: one["bytes"] / one["threads"], reverse=True)
    rows = [
        (
            one["case"],
            str(one["threads"]),
            f"{one['bytes'] / 1024:.0f}",
            "met" if one["bytes"] < MOST_PER_THREAD * one["threads"] else "MISSED",
        )
        for one in worst[:_SHOWN]
    ]
    note = f"the {len(rows)} highest of {len(found)}; the target is 1024 KiB a thread"
    columns = ("case", "threads", "KiB beyond input and result", "target")
    return Table("Memory", columns, rows, (note,))


def _serve() -> None:
    """Answer each case on standard input from a child made for it alone."""
    by_name = {case.name: case for case in CASES}
    for line in sys.stdin:
        name, threads = json.loads(line)
        child = os.fork()
        if child == 0:
            print(_extra_bytes(by_name[name], threads), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            sys.exit(1)


def _extra_bytes(case: Case, threads: int) -> int:
    arranged = arrange(case.layout, case.shape, dtype_of(case.dtype))
    arranged.memory.fill(0)  # every page is there; what is in it takes no memory
    set_num_threads(threads)
    task = Task(arranged.view, case.axis, case.select_last_index, case.result, False, threads)
    prepared = ours.prepare(task)
    prepared.result().fill(0)
    argmax(np.zeros(1, np.uint8), out=np.zeros(1, np.int64))  # what is loaded once
    Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    before = _status("VmRSS")
    prepared.call()
    return max(0, _status("VmHWM") - before)


def _status(field: str) -> int:
    text = Path("/proc/self/status").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
    if found is None:
        raise OSError(f"/proc/self/status has no {field}")
    return int(found[1]) * 1024


if __name__ == "__main__":
    _serve()
