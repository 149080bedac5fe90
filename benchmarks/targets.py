# SPDX-License-Identifier: Apache-2.0
"""What the design asks of the speed, as data, and whether it is met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from benchmarks.run import CaseResult

__all__ = ["EVERY_OTHER", "TARGETS", "Target", "Verdict", "verdicts"]


@dataclass(frozen=True)
class Target:
    """For the cases that a pattern names."""

    cases: str
    of_best: float
    """Our time over the best peer's, at most."""
    of_limit: float | None
    """The limit's time over ours, at least."""


TARGETS: Final = (
    Target("class-map/1x19x1024x2048/f32", 0.7, 0.65),
    Target("class-map/1x19x1024x2048/f16", 0.5, 0.6),
    Target("class-map/1x19x1024x2048/bf16", 0.15, 0.5),
    Target("class-map/1x19x1024x2048/u8", 0.15, 0.5),
    Target("class-map/1x19x1024x2048/i8", 0.15, 0.5),
    Target("class-map/1x150x512x512/f32", 0.4, 0.65),
    Target("token/32x128256/f32", 1.0, 0.8),
    Target("token/32x128256/f16", 0.15, 0.7),
    Target("token/32x128256/bf16", 0.15, 0.7),
    Target("interleaved/1024x2048x19/f32", 0.6, 0.6),
    Target("classifier/1000000x10/f32", 0.5, 0.45),
    Target("classifier/1024x1000/f32", 1.0, 0.7),
    Target("square/4096x4096/f32", 0.1, 0.65),
    Target("row/2^24/*", 1.0, 0.8),
    Target("call/8x128/f32", 1.0, None),
)

EVERY_OTHER: Final = Target("*", 1.0, None)
"""Never slower than the best peer."""


@dataclass(frozen=True)
class Verdict:
    """A target held against what was measured."""

    target: Target
    result: CaseResult

    @property
    def best_met(self) -> bool:
        return self.result.of_best is None or self.result.of_best <= self.target.of_best

    @property
    def limit_met(self) -> bool:
        wanted, found = self.target.of_limit, self.result.of_limit
        return wanted is None or found is None or found >= wanted

    @property
    def met(self) -> bool:
        return self.best_met and self.limit_met


def verdicts(results: Iterable[CaseResult], targets: Sequence[Target] = TARGETS) -> list[Verdict]:
    """One verdict for each result: by its own target, or as every other case."""
    return [
        Verdict(next((t for t in targets if fnmatchcase(r.case.name, t.cases)), EVERY_OTHER), r)
        for r in results
    ]
