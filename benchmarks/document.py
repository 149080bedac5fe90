# SPDX-License-Identifier: Apache-2.0
"""The JSON document: no digit that means nothing, a line a record, so that two can be compared."""

from __future__ import annotations

import json
from typing import Any, Final

from benchmarks.measure import Timing
from benchmarks.run import CaseResult, PeerResult
from benchmarks.targets import Verdict

__all__ = ["KEY", "as_text", "case_record", "target_record"]

KEY: Final = {
    "timing": "seconds a call: median, first quartile, third quartile, fastest; then the rounds",
    "peers": "a timing, or why there is none; 'breaks' names what of the contract the peer "
    "breaks on other data, 'wrong' marks a wrong answer on the case's own data, 'copies' one that "
    "had to copy the data first, in the time",
    "of_best": "our median over that of 'best_peer', the fastest peer with a right answer",
    "of_limit": "the limit's median over ours",
    "sweep": "[elements, seconds a byte]",
}
"""What the document's names mean; it begins with them."""

_DIGITS: Final = 4
"""Significant ones: more than a spread of a per mille, which no time here has, could use."""


def as_text(document: dict[str, Any]) -> str:
    """The document, a record or a list of numbers a line."""
    return _lines(document, "") + "\n"


def _lines(value: Any, indent: str) -> str:
    inner = indent + " "
    if isinstance(value, dict) and any(isinstance(v, dict | list) for v in value.values()):
        rows = [f"{inner}{json.dumps(key)}: {_lines(v, inner)}" for key, v in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return (
            "[\n" + ",\n".join(f"{inner}{_one_line(record)}" for record in value) + f"\n{indent}]"
        )
    return _one_line(value)


def _one_line(value: Any) -> str:
    return json.dumps(_rounded(value), separators=(",", ":"), ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value


def case_record(result: CaseResult) -> dict[str, Any]:
    """One case on a number of threads."""
    case = result.case
    return {
        "case": case.name,
        "threads": result.threads,
        "shape": case.shape,
        "dtype": case.dtype,
        "axis": case.axis,
        "layout": case.layout,
        "select_last_index": case.select_last_index,
        "result": case.result,
        "read_bytes": result.read_bytes,
        "result_bytes": result.result_bytes,
        "ours": _timing(result.ours),
        "limit": None if result.limit is None else _timing(result.limit),
        "limit_kind": result.limit_kind,
        "peers": {name: _peer(peer) for name, peer in result.peers.items()},
        "best_peer": result.best_peer,
        "of_best": result.of_best,
        "of_limit": result.of_limit,
    }


def _peer(peer: PeerResult) -> list[float] | str | dict[str, Any]:
    if peer.timing is None:
        return peer.reason
    marks = {"breaks": list(peer.breaks), "wrong": not peer.right, "copies": peer.copies}
    kept = {name: mark for name, mark in marks.items() if mark}
    timing = _timing(peer.timing)
    return {"timing": timing, **kept} if kept else timing


def _timing(timing: Timing) -> list[float]:
    return [timing.median, timing.low, timing.high, timing.fastest, timing.rounds]


def target_record(verdict: Verdict) -> dict[str, Any]:
    """A target and whether it was met; what was measured stands with the case."""
    return {
        "case": verdict.result.case.name,
        "threads": verdict.result.threads,
        "of_best": verdict.target.of_best,
        "of_limit": verdict.target.of_limit,
        "met": verdict.met,
    }
