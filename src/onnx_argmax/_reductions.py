# SPDX-License-Identifier: Apache-2.0
"""What is asked of a walk over blocks: checked arguments, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_argmax._arguments import axis_index, flag, normalize_axis, result_shape
from onnx_argmax._boxes import Box, lengths_of, whole_box
from onnx_argmax._element_types import ElementType
from onnx_argmax._partial import partial_dtype
from onnx_argmax._results import check_out, new_result_dtype

__all__ = ["Reduction"]


@dataclass(frozen=True, slots=True)
class Reduction:
    """One reduction of an array of a shape."""

    shape: tuple[int, ...]
    """Of the data."""
    axis: int | None
    """The reduced axis, counted from the first; None for the flattened array (C order)."""
    keepdims: bool
    select_last_index: bool
    result_dtype: np.dtype[Any]
    result_shape: tuple[int, ...]

    @classmethod
    def checked(
        cls,
        shape: Sequence[int],
        axis: Any,
        keepdims: Any,
        select_last_index: Any,
        dtype: Any,
        out: Any,
    ) -> Reduction:
        """From the arguments of the array function; ``out`` is what is written through, or None.

        Raises
        ------
        TypeError, ValueError
            As the array function.
        """
        whole = tuple(shape)
        position = None if axis is None else normalize_axis(axis_index(axis), len(whole))
        keep = flag("keepdims", keepdims)
        last = flag("select_last_index", select_last_index)
        wanted = result_shape(whole, position, keep)
        found = (
            new_result_dtype(dtype, whole, position)
            if out is None
            else check_out(out, dtype, wanted, whole, position)
        )
        return cls(whole, position, keep, last, found, wanted)

    def partial_dtype(self, element_type: ElementType) -> np.dtype[Any]:
        """Dtype of partial results."""
        along = self.shape if self.axis is None else self.shape[self.axis : self.axis + 1]
        return partial_dtype(element_type, math.prod(along))

    def reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the partial results of a box of a shape: 1 in place of what is reduced."""
        return tuple(1 if self.axis in (None, axis) else n for axis, n in enumerate(shape))

    def result_lengths(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the part of the result that a box of the data has."""
        return lengths_of(self.result_box(whole_box(lengths)))

    def result_box(self, box: Box) -> Box:
        """Where in the result the indices of a box of the data go."""
        one = slice(0, 1)
        if self.axis is None:
            return (one,) * len(self.shape) if self.keepdims else ()
        kept = (one,) if self.keepdims and self.shape else ()
        return (*box[: self.axis], *kept, *box[self.axis + 1 :])
