# SPDX-License-Identifier: Apache-2.0
"""The benchmark as one call; ``onnx-argmax bench`` is its command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import cpus, data_kinds, growth, memory, sweep
from benchmarks.cases import Case, chosen
from benchmarks.part import Part
from benchmarks.peers import Peer, present
from benchmarks.probes import Prober
from benchmarks.progress import shown
from benchmarks.report import cases_part, circumstances, write
from benchmarks.run import CaseResult, run_case
from onnx_argmax import _native

__all__ = ["PARTS", "Settings", "main"]

PARTS: Final = ("cases", "sweep", "growth", "data_kinds", "memory")


@dataclass(frozen=True)
class Settings:
    """What was asked for."""

    patterns: Sequence[str] = ()
    threads: Sequence[int] = ()
    """Each number is measured; by default one, and all processors."""
    level: str | None = None
    quick: bool = False
    parts: Sequence[str] = ("cases",)
    json: Path | None = None
    picture: Path | None = None
    command: str = ""
    """As it is to be shown with the figures."""


def main(settings: Settings) -> list[Path]:
    """Measure, print the tables, write the files; give what was written.

    Raises
    ------
    ValueError
        For a pattern that matches no case, an unknown level, or more threads than processors.
    benchmarks.run.WrongAnswerError
        When this package's own answer is wrong.
    """
    cases = chosen(settings.patterns, quick=settings.quick)
    threads = _threads(settings.threads)
    before = _native.get_level()
    if settings.level is not None:
        _native.set_level(settings.level)
    try:
        peers, absent = present() if "cases" in settings.parts else ([], {})
        makers: dict[str, Callable[[], Part]] = {
            "cases": lambda: cases_part(_measured(cases, threads, peers, absent)),
            "sweep": lambda: sweep.run(quick=settings.quick),
            "growth": lambda: growth.run(threads, quick=settings.quick),
            "data_kinds": lambda: data_kinds.run(quick=settings.quick),
            "memory": lambda: memory.run(cases, threads),
        }
        about = circumstances(settings.command, peers, absent)
        others = cpus.Others()
        parts = [makers[name]() for name in PARTS if name in settings.parts]
        about["others_share"] = others.share()
        return write(parts, about, settings.json, settings.picture)
    finally:
        _native.set_level(before)


def _measured(
    cases: Sequence[Case], threads: Sequence[int], peers: Sequence[Peer], absent: dict[str, str]
) -> list[CaseResult]:
    prober = Prober()
    return [
        result
        for case in shown("cases", cases, lambda case: case.name)
        for result in run_case(case, threads, peers, absent, prober)
    ]


def _threads(wanted: Sequence[int]) -> list[int]:
    most = cpus.available()
    for count in wanted:
        if not 1 <= count <= most:
            raise ValueError(
                f"--threads: {count} cannot be measured on {most} processors; "
                f"a number from 1 to {most} is needed"
            )
    return sorted(set(wanted or (1, most)), reverse=True)
