# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax bench``: this package against its peers and against the memory.

The benchmark is no part of the wheel; it lies in the folder ``benchmarks`` of a clone.
"""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.standard_output import check_open
from onnx_argmax.cli.tables import show_line

__all__ = ["PARTS", "BenchJob", "run_benchmark"]

PARTS: Final = ("cases", "sweep", "growth", "data_kinds", "memory")
"""What can be measured; ``benchmarks.main`` has the same names."""

_PACKAGE: Final = "benchmarks"
_MARK: Final = Path(_PACKAGE, "cases.py")


@dataclass(frozen=True, slots=True)
class BenchJob:
    """What ``onnx-argmax bench`` was asked for."""

    patterns: Sequence[str]
    threads: Sequence[int]
    level: str | None
    quick: bool
    parts: Sequence[str]
    json: Path | None
    picture: Path | None
    folder: Path | None


def run_benchmark(job: BenchJob, arguments: Sequence[str]) -> None:
    """Find the benchmark and run it; ``arguments`` of the command are shown with the figures.

    Raises
    ------
    CommandError
        When there is no clone here, or a file could not be written.
    """
    if job.json is None:
        check_open()
    for option, path in (("--json", job.json), ("--picture", job.picture)):
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"{option}: {path}: no such folder: {path.absolute().parent}")
    main = _main_of(_clone(job.folder))
    settings = main.Settings(
        patterns=job.patterns,
        threads=job.threads,
        level=job.level,
        quick=job.quick,
        parts=job.parts,
        json=job.json,
        picture=job.picture,
        command=shlex.join(["onnx-argmax", *arguments]),
    )
    for path in main.main(settings):
        show_line(f"written: {path}")


def _clone(folder: Path | None) -> Path:
    here = Path.cwd()
    places = [folder.absolute()] if folder is not None else [here, *here.parents]
    for place in places:
        if (place / _MARK).is_file():
            return place
    where = f"in {folder}" if folder is not None else f"in {here} or above it"
    raise CommandError(
        f"there is no {_MARK} {where}: the benchmark is not installed with the package; run it "
        "from a clone of the repository, or name the clone with --folder"
    )


def _main_of(clone: Path) -> Any:
    sys.path.insert(0, str(clone))
    try:
        return importlib.import_module(f"{_PACKAGE}.main")
    finally:
        sys.path.remove(str(clone))
