# SPDX-License-Identifier: Apache-2.0
"""Ways to lay lines of elements into one array, such that each kernel of the core is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from layouts import Allocate, byte_swapped, strided
from oracle import Array

__all__ = ["ARRANGEMENTS", "Arrangement"]


@dataclass(frozen=True)
class Arrangement:
    """Where lines go in an array, and which of its axes runs along them."""

    axis: int
    """1: each line is a row; 0: each line is a column."""
    steps: tuple[int, int] = (1, 1)
    """Of the array's two axes, as :func:`layouts.strided` takes them."""
    misalignment: int = 0
    swapped: bool = False
    columns: int = 0
    """Unless 0, the array is (groups, elements, columns), so that a line is a short column."""

    def arrange(self, lines: Array, allocate: Allocate = bytearray) -> Array:
        """Array that holds the (count, length) lines; the last group is filled up."""
        if self.swapped:
            lines = byte_swapped(lines)
        if self.columns:
            groups = -(-len(lines) // self.columns)
            filled = np.resize(lines, (groups * self.columns, lines.shape[1]))
            grouped = filled.reshape(groups, self.columns, -1).transpose(0, 2, 1)
            return strided(grouped, steps=(1, *self.steps), allocate=allocate)
        return strided(
            lines if self.axis else lines.T,
            steps=self.steps,
            misalignment=self.misalignment,
            allocate=allocate,
        )


ARRANGEMENTS: Final = {
    "rows": Arrangement(1),
    "rows_apart": Arrangement(1, steps=(2, 1)),
    "rows_backward": Arrangement(1, steps=(1, -1)),
    "rows_upside_down": Arrangement(1, steps=(-1, 1)),
    "rows_misaligned": Arrangement(1, misalignment=1),
    "rows_byte_swapped": Arrangement(1, swapped=True),
    "rows_every_second": Arrangement(1, steps=(1, 2)),
    "rows_every_third_backward": Arrangement(1, steps=(2, -3)),
    "columns": Arrangement(0),
    "columns_apart": Arrangement(0, steps=(2, 1)),
    "columns_backward": Arrangement(0, steps=(-1, 1)),
    "columns_right_to_left": Arrangement(0, steps=(1, -1)),
    "columns_misaligned": Arrangement(0, misalignment=1),
    "columns_byte_swapped": Arrangement(0, swapped=True),
    "columns_every_second": Arrangement(0, steps=(1, 2)),
    "folded_2": Arrangement(1, columns=2),
    "folded_3": Arrangement(1, columns=3),
    "folded_5": Arrangement(1, columns=5),
    "folded_16": Arrangement(1, columns=16),
    "folded_33": Arrangement(1, columns=33),
    "folded_5_backward": Arrangement(1, columns=5, steps=(-1, 1)),
    "folded_3_right_to_left": Arrangement(1, columns=3, steps=(1, -1)),
    "folded_5_apart": Arrangement(1, columns=5, steps=(2, 1)),
    "folded_3_byte_swapped": Arrangement(1, columns=3, swapped=True),
}
