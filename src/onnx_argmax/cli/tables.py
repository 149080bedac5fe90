# SPDX-License-Identifier: Apache-2.0
"""Readable tables and lines on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from onnx_argmax.cli.errors import escaped
from onnx_argmax.cli.standard_output import written

__all__ = ["Cell", "Values", "show", "show_line", "show_table"]

_WHOLE_UP_TO: Final = 64
"""Elements of an array that are all shown in a table."""
_AT_EACH_END_OF_ONE: Final = 16
"""Elements shown at each end of a longer axis, where it is the only one: a list of labels."""
_AT_EACH_END: Final = 2
_NARROWEST: Final = 20
_LONGEST_WORD: Final = 30
_BETWEEN: Final = 3
"""Columns between two of a table."""
_LEAST_WIDTH: Final = 40
"""Columns of a terminal that says that it has fewer, or none: text has to go somewhere."""


@dataclass(frozen=True, slots=True)
class Values:
    """The elements of an array in a cell, abbreviated when there are many."""

    array: np.ndarray[Any, Any]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self._text(options.max_width))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.least_width(), self._width(options.max_width))

    def least_width(self) -> int:
        """Columns that it needs to be read with ease."""
        return min(self._width(_NARROWEST), _NARROWEST)

    def _width(self, most: int) -> int:
        return max(map(len, self._text(most).splitlines()))

    def _text(self, width: int) -> str:
        only_one = self.array.ndim <= 1
        return escaped(
            np.array2string(
                self.array,
                max_line_width=width,
                precision=4,
                threshold=_WHOLE_UP_TO,
                edgeitems=_AT_EACH_END_OF_ONE if only_one else _AT_EACH_END,
            )
        )


Cell: TypeAlias = str | Values


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table; text is shown as it is, whatever a name in it holds.

    Where the terminal is too narrow for the words in it, each row is a table of two columns.
    """
    widths = [
        max(map(_least_width, cells)) for cells in zip(columns, *map(tuple, rows), strict=True)
    ]
    if len(columns) > 2 and sum(widths) + _BETWEEN * len(widths) > _console().width:
        for row in rows:
            show(_table(title, ("", ""), [*zip(columns, row, strict=True)], [0, 0]))
    else:
        show(_table(title, columns, rows, widths))


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], widths: Sequence[int]
) -> Table:
    table = Table(
        title=_text(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_header=any(columns),
    )
    for name, width in zip(columns, widths, strict=True):
        table.add_column(_text(name), overflow="fold", min_width=width if any(columns) else None)
    for row in rows:
        table.add_row(*(_text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _least_width(cell: Cell) -> int:
    """Columns that a cell needs to be read with ease: its longest word's, if not too many."""
    if isinstance(cell, Values):
        return cell.least_width()
    return min(max(map(len, escaped(cell).split()), default=0), _LONGEST_WORD)


def show_line(text: str) -> None:
    """Print text as it is; no line is broken."""
    show(_text(text), soft_wrap=True)


def show(what: RenderableType, *, soft_wrap: bool = False) -> None:
    """Print what Rich can draw."""
    with written():
        _console().print(what, soft_wrap=soft_wrap)


def _console() -> Console:
    # Made at each call, to write to what standard output is then.
    console = Console(highlight=False)
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def _text(text: str) -> Text:
    return Text(escaped(text))
