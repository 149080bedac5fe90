# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies: arrays in which ties, NaNs, signed zeros and odd layouts are common."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from layouts import byte_swapped, strided
from onnx_argmax._element_types import ElementType
from oracle import Array
from samples import ALL_TYPES, SPECIAL_BITS, bits_dtype, from_bits

__all__ = ["arrays", "axes", "element_types", "elements", "laid_out", "shapes"]

_STEPS = st.sampled_from([1, 1, 1, 2, -1, -2, 3])


def element_types() -> st.SearchStrategy[ElementType]:
    """One of the element types of the array function."""
    return st.sampled_from(ALL_TYPES)


def shapes(*, max_rank: int = 6, max_elements: int = 160) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of rank 0 to ``max_rank``; 0 and 1 are common sides."""

    def side(rank: int) -> int:
        return max(2, round(max_elements ** (1 / max(rank, 1))))

    return st.integers(0, max_rank).flatmap(
        lambda rank: st.tuples(
            *[st.one_of(st.integers(1, side(rank)), st.integers(0, 2)) for _ in range(rank)]
        )
    )


def elements(element_type: ElementType, shape: tuple[int, ...]) -> st.SearchStrategy[Array]:
    """Values from the special ones and from all bit patterns, with many ties."""
    limit = 2 ** (8 * element_type.itemsize) - 1
    special = st.sampled_from(SPECIAL_BITS[element_type])
    bits = st_numpy.arrays(
        bits_dtype(element_type),
        shape,
        elements=st.one_of(special, special, st.integers(0, limit)),
        fill=special,
    )
    return bits.map(lambda drawn: from_bits(element_type, drawn))


@st.composite
def laid_out(draw: st.DrawFn, values: Array) -> Array:
    """The values in any layout: permuted, stepped, reversed, misaligned, swapped, broadcast."""
    rank = values.ndim
    if draw(st.booleans()):
        values = byte_swapped(values)
    array = strided(
        values,
        order=draw(st.permutations(range(rank))),
        steps=[draw(_STEPS) for _ in range(rank)],
        misalignment=draw(st.integers(0, values.dtype.itemsize - 1)),
    )
    if draw(st.booleans()):
        repeated = [draw(st.integers(0, 3)) == 0 and length > 0 for length in array.shape]
        one = tuple(slice(0, 1) if again else slice(None) for again in repeated)
        array = np.broadcast_to(array[(*one, ...)], array.shape)
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    """An array of any element type, shape and layout."""
    element_type = draw(element_types())
    values = draw(elements(element_type, draw(shapes())))
    return draw(laid_out(values))


def axes(rank: int) -> st.SearchStrategy[Any]:
    """Mostly an axis that is right; also None, NumPy integers, and what must be refused."""
    right = st.integers(-max(rank, 1), max(rank, 1) - 1)
    return st.one_of(
        right,
        right,
        right.map(np.int64),
        st.none(),
        st.sampled_from([rank + 1, -rank - 2, 2**63 - 1, -(2**63), 2**100]),
        st.sampled_from([True, np.False_, 0.0, "0", (0,), [0, 1]]),
    )
