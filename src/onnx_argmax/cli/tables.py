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
_LEAST_WIDTH: Final = 40
"""Columns of a terminal that says that it has fewer, or none: text has to go somewhere."""


@dataclass(frozen=True, slots=True)
class Values:
    """The elements of an array in a cell, abbreviated when there are many."""

    array: np.ndarray[Any, Any]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self._text(options.max_width))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        longest = max(map(len, self._text(options.max_width).splitlines()))
        return Measurement(min(longest, _NARROWEST), longest)

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
    """Print a table; text is shown as it is, whatever a name in it holds."""
    table = Table(
        title=_text(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_header=any(columns),
    )
    for name in columns:
        table.add_column(_text(name), overflow="fold")
    for row in rows:
        table.add_row(*(_text(cell) if isinstance(cell, str) else cell for cell in row))
    show(table)


def show_line(text: str) -> None:
    """Print text as it is; no line is broken."""
    show(_text(text), soft_wrap=True)


def show(what: RenderableType, *, soft_wrap: bool = False) -> None:
    """Print what Rich can draw."""
    # Made at each call, to write to what standard output is then.
    console = Console(highlight=False)
    console.width = max(console.width, _LEAST_WIDTH)
    with written():
        console.print(what, soft_wrap=soft_wrap)


def _text(text: str) -> Text:
    return Text(escaped(text))
