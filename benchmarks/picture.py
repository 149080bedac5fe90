# SPDX-License-Identifier: Apache-2.0
"""Pictures by matplotlib, drawn without a display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.run import CaseResult

__all__ = ["Curve", "draw_cases", "draw_curves"]

Curve = Sequence[tuple[float, float]]
"""Points, by rising x."""

_COLOURS = ("#0b5394", "#e69138", "#38761d", "#a61c00", "#674ea7", "#45818e")


def draw_cases(path: Path, results: Sequence[CaseResult], caption: str) -> None:
    """A bar for each case and number of threads: our time over the best peer's and the limit's."""
    names = list(dict.fromkeys(result.case.name for result in results))
    threads = sorted({result.threads for result in results})
    places = {name: len(names) - 1 - number for number, name in enumerate(names)}
    thickness = 0.8 / len(threads)
    figure = _figure(13, 1.8 + 0.24 * len(names))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for number, count in enumerate(threads):
        chosen = [result for result in results if result.threads == count]
        shift = 0.4 - thickness * (number + 0.5)
        for axes, what in ((left, "of_best"), (right, "of_limit")):
            bars = [
                (places[result.case.name] + shift, getattr(result, what))
                for result in chosen
                if getattr(result, what) is not None
            ]
            # On the logarithmic axis bars begin at 1, so that both ways look alike.
            base = 1 if what == "of_best" else 0
            axes.barh(
                [place for place, _ in bars],
                [value - base for _, value in bars],
                thickness,
                left=base,
                color=_COLOURS[number],
                label=f"{count} thread{'s' if count > 1 else ''}",
            )
    left.set_xscale("log")
    left.set_yticks(list(places.values()), list(places), fontsize=7)
    left.set_ylim(-0.7, len(names) - 0.3)
    left.set_title("our time over the best peer's (left of the line: faster)", fontsize=9)
    right.set_title("share of the limit (1: as fast as reading the bytes)", fontsize=9)
    for axes in (left, right):
        axes.axvline(1, color="black", linewidth=0.8)
        axes.grid(axis="x", linewidth=0.3)
    right.legend(loc="lower right", fontsize=8)
    _save(figure, path, caption)


def draw_curves(
    path: Path,
    panels: Mapping[str, Mapping[str, Curve]],
    caption: str,
    *,
    labels: tuple[str, str],
    logarithmic: bool = False,
) -> None:
    """Panels one above the other, with named curves in each."""
    figure = _figure(11, 0.8 + 2.9 * len(panels))
    rows = figure.subplots(len(panels), 1, squeeze=False)
    for (axes,), (title, curves) in zip(rows, panels.items(), strict=True):
        for number, (name, points) in enumerate(curves.items()):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=_COLOURS[number % len(_COLOURS)],
                linewidth=1,
                marker="." if len(points) < 60 else None,
                label=name,
            )
        # Widths are close together in groups that lie far apart.
        if logarithmic or min(x for points in curves.values() for x, _ in points) > 100:
            axes.set_xscale("log")
        axes.set_yscale("log" if logarithmic else "linear")
        if not logarithmic:
            axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel(labels[0], fontsize=8)
        axes.set_ylabel(labels[1], fontsize=8)
        axes.grid(linewidth=0.3)
        axes.legend(fontsize=7)
    _save(figure, path, caption)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure((width, height), layout="constrained")


def _save(figure: Any, path: Path, caption: str) -> None:
    figure.supxlabel(caption, fontsize=7)
    part = path.with_name(f".{path.name}.part")
    figure.savefig(part, dpi=110, format=path.suffix.lstrip(".") or "png")
    part.replace(path)
