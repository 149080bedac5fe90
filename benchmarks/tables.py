# SPDX-License-Identifier: Apache-2.0
"""Tables on the terminal, and the same ones as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.measure import ROUNDS, Timing
from benchmarks.run import CaseResult, PeerResult
from benchmarks.targets import EVERY_OTHER, Verdict

__all__ = ["Table", "case_tables", "seconds", "show", "show_note", "target_table"]


_NOTES_ON_OURS: Final = (
    "ours: median and half the distance of the quartiles. of limit: the limit's time over ours. "
    "of best: ours over the best peer's whose answer is right.",
)


@dataclass(frozen=True)
class Table:
    """Text, the first column to the left and the others to the right."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: tuple[str, ...] = ()
    apart: bool = False
    """Whether the terminal has the first column's text on a line of its own, above the rows that
    have it in common: for long text and many columns."""

    def markdown(self) -> str:
        """The table as a page shows it."""
        lines = [f"| {' | '.join(self.columns)} |"]
        lines.append("| --- |" + " ---: |" * (len(self.columns) - 1))
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join([*lines, "", *self.notes])


def show(table: Table) -> None:
    """Print a table."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    from onnx_argmax.cli import tables

    if table.apart:
        for line in _lines(table):
            tables.show_line(line)
    else:
        rich = RichTable(
            title=table.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
        )
        for number, name in enumerate(table.columns):
            rich.add_column(name, justify="left" if number == 0 else "right", overflow="fold")
        for row in table.rows:
            rich.add_row(*map(Text, row))
        tables.show(rich)
    for note in table.notes:
        show_note(note)


def show_note(text: str) -> None:
    """Print a line of text."""
    from rich.text import Text

    from onnx_argmax.cli import tables

    tables.show(Text(text))


def _lines(table: Table) -> Iterator[str]:
    widths = [max(map(len, cells)) for cells in zip(table.columns, *table.rows, strict=True)][1:]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))

    yield table.title
    yield ""
    yield line(table.columns[1:])
    yield "─" * len(line(table.columns[1:]))
    name = None
    for row in table.rows:
        if row[0] != name:
            name = row[0]
            yield name
        yield line(row[1:])
    yield ""


def seconds(value: float) -> str:
    """A time with three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        if value * factor >= 1 or unit == "ns":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError


def case_tables(results: Sequence[CaseResult]) -> tuple[Table, Table]:
    """Ours, and the peers that are there: one row for each case and number of threads."""
    names = list(dict.fromkeys(name for result in results for name in result.peers))
    there = [name for name in names if not all(_absent(r.peers.get(name)) for r in results)]
    ours = [
        (
            result.case.name,
            str(result.threads),
            _timing(result.ours),
            "" if result.limit is None else seconds(result.limit.median),
            _number(result.of_limit),
            result.best_peer or "none",
            _number(result.of_best),
        )
        for result in results
    ]
    peers = [
        (
            result.case.name,
            str(result.threads),
            *(_peer(result.peers.get(name, PeerResult())) for name in there),
        )
        for result in results
    ]
    columns = ("case", "threads", "ours", "limit", "of limit", "best peer", "of best")
    return (
        Table("Cases", columns, ours, _NOTES_ON_OURS, apart=True),
        Table("Peers", ("case", "threads", *there), peers, _notes(results, names), apart=True),
    )


def target_table(verdicts: Iterable[Verdict]) -> Table:
    """The targets of the design, and every other case that misses its own."""
    rows = [
        (
            verdict.result.case.name,
            str(verdict.result.threads),
            _number(verdict.result.of_best),
            _number(verdict.target.of_best),
            verdict.result.best_peer or "none",
            _number(verdict.result.of_limit),
            _number(verdict.target.of_limit),
            "met" if verdict.met else "MISSED",
        )
        for verdict in verdicts
        if verdict.target is not EVERY_OTHER or not verdict.met
    ]
    columns = (
        "case",
        "threads",
        "of best",
        "at most",
        "best peer",
        "of limit",
        "at least",
        "target",
    )
    return Table("Targets, and cases slower than a peer", columns, rows, apart=True)


def _timing(timing: Timing) -> str:
    return f"{seconds(timing.median)} ±{timing.spread * 50:.0f}%"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _peer(peer: PeerResult) -> str:
    if peer.timing is None:
        return "absent" if _absent(peer) else "no"
    marks = "" if peer.right else " WRONG"
    marks += " c" if peer.copies else ""
    few = "~" if peer.timing.rounds < ROUNDS else ""
    return f"{few}{seconds(peer.timing.median)}{marks}"


def _absent(peer: PeerResult | None) -> bool:
    return peer is None or peer.reason.startswith("absent")


def _notes(results: Sequence[CaseResult], names: Sequence[str]) -> tuple[str, ...]:
    lines = [
        "c: the peer must copy the data first. ~: far from the best, so of fewer rounds. "
        "WRONG: not the contract's answer on these data. no: does not take it.",
    ]
    for name in names:
        peers = [(r.case, r.peers[name]) for r in results if name in r.peers]
        for what in ("ties", "zeros", "NaN"):
            types = sorted({case.dtype for case, peer in peers if what in peer.breaks})
            if types:
                lines.append(f"{name}: wrong on {what} in other data, for {', '.join(types)}")
        reasons: dict[str, list[str]] = {}
        for case, peer in peers:
            if peer.reason:
                reasons.setdefault(peer.reason, []).append(case.name)
        for reason, cases in reasons.items():
            unique = list(dict.fromkeys(cases))
            more = f" and {len(unique) - 1} more" if len(unique) > 1 else ""
            lines.append(f"{name}: {reason} ({unique[0]}{more})")
    return tuple(lines)
