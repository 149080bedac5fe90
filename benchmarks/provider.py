# SPDX-License-Identifier: Apache-2.0
"""The execution provider beside ONNX Runtime's own CPU provider, on models of one ArgMax.

``python -m benchmarks.provider`` from a clone, with the extras ``onnx``, ``onnxruntime`` and
``cli``. Both have the same session options, and input and output bound to memory.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import cpus
from benchmarks.cases import Case, chosen
from benchmarks.document import case_record
from benchmarks.part import Part
from benchmarks.peers.with_onnxruntime import WithOnnxRuntime, WithProvider
from benchmarks.probes import Prober
from benchmarks.progress import shown
from benchmarks.report import circumstances, write
from benchmarks.run import CaseResult, run_case
from benchmarks.tables import Table, seconds

__all__ = ["main"]

TARGETS: Final = {
    "class-map/1x19x1024x2048/f32": 0.3,
    "token/32x128256/f32": 0.3,
    "token/32x128256/f16": 0.2,
    "interleaved/1024x2048x19/f32": 0.5,
    "call/8x128/f32": 1.1,
}
"""The provider's time over the CPU provider's, at most."""

_CASES: Final = ("class-map/1x19x1024x2048/*", "token/32x128256/*", *TARGETS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.provider", description=__doc__)
    parser.add_argument(
        "--case", action="append", metavar="GLOB", help="only cases of that name; repeatable"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    given = parser.parse_args(arguments)
    try:
        cases = chosen(given.case or _CASES, quick=False)
    except ValueError as error:
        parser.error(str(error))
    words = sys.argv[1:] if arguments is None else arguments
    peer = WithOnnxRuntime()
    peer.load()
    about = circumstances(shlex.join(["python", "-m", "benchmarks.provider", *words]), [peer], {})
    others = cpus.Others()
    results = [result for case in shown("cases", cases, _name) for result in _run(case, peer)]
    about["others_share"] = others.share()
    part = Part("provider", [case_record(result) for result in results], (_table(results),))
    for path in write([part], about, given.json, None):
        print(f"written: {path}")


def _name(case: Case) -> str:
    return case.name


def _run(case: Case, peer: WithOnnxRuntime) -> list[CaseResult]:
    ours = WithProvider()
    ours.load()
    threads = sorted({1, cpus.available()}, reverse=True)
    return list(run_case(case, threads, [peer], {}, Prober(), ours.prepare))


def _table(results: Sequence[CaseResult]) -> Table:
    rows: list[tuple[str, ...]] = []
    for result in results:
        theirs = result.peers[WithOnnxRuntime.name].timing
        ratio = None if theirs is None else result.ours.median / theirs.median
        target = TARGETS.get(result.case.name)
        verdict = "" if target is None or ratio is None else "met" if ratio <= target else "MISSED"
        rows.append(
            (
                result.case.name,
                str(result.threads),
                seconds(result.ours.median),
                "no kernel" if theirs is None else seconds(theirs.median),
                "" if ratio is None else f"{ratio:.2f}",
                "" if target is None else f"{target:.2f} {verdict}",
                "" if result.of_limit is None else f"{result.of_limit:.2f}",
            )
        )
    columns = ("case", "threads", "ours", "CPU provider", "ratio", "at most", "of limit")
    return Table("The provider beside ONNX Runtime's CPU provider", columns, rows, apart=True)


if __name__ == "__main__":
    main()
