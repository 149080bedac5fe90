# SPDX-License-Identifier: Apache-2.0
"""One case: data, right answer, contenders checked, then all of them timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks import cpus, ours
from benchmarks.cases import Case
from benchmarks.data import Array, dtype_of, fill
from benchmarks.expected import expected
from benchmarks.layouts import Arranged, arrange
from benchmarks.limit import fastest_limit, limit_calls
from benchmarks.measure import Timing, interleaved
from benchmarks.peers import Peer, Prepared, Task, UnsupportedError, prepared
from benchmarks.probes import Prober

__all__ = ["CaseResult", "PeerResult", "Prepare", "WrongAnswerError", "run_case"]

_OURS = "onnx-argmax"

Prepare = Callable[[Task], Prepared]


class WrongAnswerError(Exception):
    """This package's own answer is wrong, so no time of it means anything."""


@dataclass(frozen=True)
class PeerResult:
    """What a peer did with a case."""

    timing: Timing | None = None
    reason: str = ""
    """Why there is no time."""
    right: bool = True
    """Whether the answer on the case's own data is the contract's; otherwise it is no rival."""
    breaks: tuple[str, ...] = ()
    """What of the contract the peer breaks on other data of the type: "ties", "NaN"..."""
    copies: bool = False
    """Whether the data had to be copied first, in the time."""


@dataclass(frozen=True)
class CaseResult:
    """One case on a number of threads."""

    case: Case
    threads: int
    read_bytes: int
    result_bytes: int
    ours: Timing
    limit: Timing | None
    """None where the call's overhead is measured, of which reading is no part."""
    limit_kind: str
    peers: dict[str, PeerResult] = field(default_factory=dict)

    @property
    def best_peer(self) -> str | None:
        """The fastest peer whose answer is right."""
        times = {
            name: peer.timing.median
            for name, peer in self.peers.items()
            if peer.timing is not None and peer.right
        }
        return min(times, key=times.__getitem__, default=None)

    @property
    def of_best(self) -> float | None:
        """Our time over the best peer's."""
        best = self.best_peer
        timing = None if best is None else self.peers[best].timing
        return None if timing is None else self.ours.median / timing.median

    @property
    def of_limit(self) -> float | None:
        """The limit's time over ours: 1 is as fast as reading."""
        return None if self.limit is None else self.limit.median / self.ours.median


def run_case(
    case: Case,
    threads: Sequence[int],
    peers: Sequence[Peer],
    absent: dict[str, str],
    prober: Prober,
    prepare: Prepare = ours.prepare,
) -> Iterator[CaseResult]:
    """Measure a case on each number of threads, in one process and on the same data.

    ``prepare`` makes this package's own call ready.

    Raises
    ------
    WrongAnswerError
        When this package's answer is not the contract's.
    """
    arranged = arrange(case.layout, case.shape, dtype_of(case.dtype))
    fill(arranged.memory, arranged.view, case.axis, case.kind)
    wanted = expected(arranged.view, case.axis, select_last_index=case.select_last_index)
    for count in threads:
        with cpus.only(count):
            yield _measure(case, count, arranged, wanted, peers, absent, prober, prepare)


def _measure(
    case: Case,
    threads: int,
    arranged: Arranged,
    wanted: Array,
    peers: Sequence[Peer],
    absent: dict[str, str],
    prober: Prober,
    prepare: Prepare,
) -> CaseResult:
    task = Task(
        arranged.view, case.axis, case.select_last_index, case.result, case.overhead, threads
    )
    mine = prepare(task)
    mine.call()
    if not _gives(mine, wanted):
        raise WrongAnswerError(f"{case.name} on {threads} threads: the answer is wrong")
    results = {name: PeerResult(reason=reason) for name, reason in absent.items()}
    ready: dict[str, Prepared] = {}
    known: dict[str, float] = {}
    for peer in peers:
        try:
            made, known[peer.name] = prepared(peer, task)
        except UnsupportedError as error:
            results[peer.name] = PeerResult(reason=str(error))
        else:
            ready[peer.name] = made
            results[peer.name] = PeerResult(
                right=_gives(made, wanted), breaks=prober.broken(peer, case), copies=made.copies
            )
    small = np.empty(wanted.shape, case.result)
    limits = {} if case.overhead else limit_calls(arranged.read_bytes, small, threads)
    timings = interleaved(
        {_OURS: mine.call, **limits, **{name: made.call for name, made in ready.items()}},
        rivals=ready.keys(),
        known=known,
    )
    for name in ready:
        found = results[name]
        results[name] = PeerResult(timings[name], "", found.right, found.breaks, found.copies)
    kind, limit = fastest_limit({name: timings[name] for name in limits}) if limits else ("", None)
    return CaseResult(
        case,
        threads,
        arranged.read_bytes.nbytes,
        small.nbytes,
        timings[_OURS],
        limit,
        kind,
        results,
    )


def _gives(made: Prepared, wanted: Array) -> bool:
    found = made.result()
    return found.size == wanted.size and bool(np.array_equal(found.reshape(wanted.shape), wanted))
