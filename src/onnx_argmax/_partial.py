# SPDX-License-Identifier: Apache-2.0
"""Partial results, and the one merge of them.

The partial result of a part of an array is, for each position, the largest element's key (an
integer whose order is the contract's) and that element's index in the whole array; the lowest key
and an index of -1 say that nothing was looked at yet. They lie in a NumPy array of pairs, which
can be sliced, sent to another process and stored like any other.

The core merges (``src/core/partial.h``): the larger key, of equal ones the lower index, or the
higher with ``select_last_index``. Only indices of the whole array are compared, so that neither
the order of merging nor the shape of the parts has a say.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from onnx_argmax import _native
from onnx_argmax._arrays import Source
from onnx_argmax._element_types import ElementType

__all__ = ["Partials", "merge", "nothing", "partial_dtype", "partials_of"]

Partials = np.ndarray[Any, Any]

_KEY: Final = "ordered_key"
_INDEX: Final = "index"


def partial_dtype(element_type: ElementType, length: int) -> np.dtype[Any]:
    """Dtype of the partial results of an axis (or flattened array) of ``length`` elements.

    A key of 4 bytes, of 8 where the elements have 8, and an index of 4 bytes where these number
    the axis, else of 8: mostly half of what pairs of 8 bytes each would be, in memory and on the
    wire. Narrower ones would save more, but pairs of 4 and 4 bytes are merged as one number.
    """
    key = "u4" if element_type.dtype_name == "uint32" else f"i{max(element_type.itemsize, 4)}"
    index = "i4" if length - 1 <= np.iinfo(np.int32).max else "i8"
    return np.dtype([(_KEY, key), (_INDEX, index)])


def nothing(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Partials:
    """Partial results of nothing yet, into which any others can be merged."""
    return np.full(shape, np.array((np.iinfo(dtype[_KEY]).min, -1), dtype))


def partials_of(
    block: Source,
    offset: tuple[int, ...],
    whole: tuple[int, ...],
    axis: int | None,
    select_last_index: bool,
    *,
    threads: int = 1,
    out: Partials | None = None,
) -> Partials:
    """Reduce one block of an array.

    Parameters
    ----------
    block : Source
        The block's elements. It may be empty.
    offset : tuple of int
        Where in the whole array the block's first element lies.
    whole : tuple of int
        Shape of the whole array.
    axis : int or None
        The reduced axis, normalized; None for the flattened array (C order).
    select_last_index : bool
        Of equal elements take the last.
    threads : int, default 1
        Most threads to use.
    out : array of partial results, optional
        Where they go: of the shape of the result and of :func:`partial_dtype`'s type.

    Returns
    -------
    array of partial results
        Of the block's shape with length 1 in place of the reduced axis, or of every axis; the
        indices are those of the whole array.
    """
    length = _length(whole, axis)
    if out is None:
        shape = tuple(
            1 if axis is None or position == axis else n for position, n in enumerate(block.shape)
        )
        out = np.empty(shape, partial_dtype(block.element_type, length))
    if 0 in block.shape:
        out[...] = nothing((), out.dtype)
        return out
    _native.argmax_partials(
        block.memory,
        block.element_type.tensor_proto,
        block.byte_swapped,
        -1 if axis is None else axis,
        select_last_index,
        out,
        0 if axis is None else (offset[axis] if offset else 0),
        threads,
    )
    if axis is None and block.shape != whole:
        indices = out[_INDEX]
        within = np.unravel_index(int(indices[(0,) * indices.ndim]), block.shape)
        place = tuple(int(i) + start for i, start in zip(within, offset, strict=True))
        indices[...] = _flat_index(place, whole)
    return out


def merge(
    into: Partials, other: Partials, element_type: ElementType, select_last_index: bool
) -> None:
    """Merge partial results into others of the same shape, each into its like."""
    _native.merge_partials(into, other, element_type.tensor_proto, select_last_index)


def _length(shape: tuple[int, ...], axis: int | None) -> int:
    return math.prod(shape if axis is None else shape[axis : axis + 1])


def _flat_index(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
    # NumPy's own numbers at most 2**63 elements in all, also where an axis is 0 or 1 long.
    index = 0
    for i, n in zip(place, shape, strict=True):
        index = index * n + i
    return index
