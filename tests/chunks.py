# SPDX-License-Identifier: Apache-2.0
"""Arrays cut into boxes, and the partial results of these, for the tests of the merge."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from onnx_argmax._arrays import source
from onnx_argmax._element_types import ElementType, element_type_of_dtype
from onnx_argmax._partial import Partials, merge, nothing, partial_dtype, partials_of
from oracle import Array
from strategies import arrays, element_types, elements, laid_out

__all__ = [
    "Box",
    "Reduction",
    "block_of",
    "chunked_arrays",
    "chunkings",
    "offset_of",
    "reductions",
]

Box: TypeAlias = tuple[slice, ...]
"""A slice for each axis, with begin and end."""


def block_of(array: Array, box: Box) -> Array:
    """View of a box; of rank 0 too, where an index without the dots would give a scalar."""
    return array[(*box, ...)]


def offset_of(box: Box) -> tuple[int, ...]:
    """Where in the array the box's first element lies."""
    return tuple(part.start for part in box)


@dataclass(frozen=True)
class Reduction:
    """What is asked of an array of which only parts are seen."""

    element_type: ElementType
    whole: tuple[int, ...]
    axis: int | None
    select_last_index: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its partial results."""
        axes = self.whole if self.axis is None else self.whole[self.axis : self.axis + 1]
        return partial_dtype(self.element_type, math.prod(axes))

    @property
    def result_shape(self) -> tuple[int, ...]:
        return tuple(
            1 if self.axis in (None, axis) else length for axis, length in enumerate(self.whole)
        )

    def nothing(self) -> Partials:
        """The whole result before the first part."""
        return nothing(self.result_shape, self.dtype)

    def place(self, result: Partials, box: Box) -> Partials:
        """View of the whole result in which those of a box belong."""
        one = slice(0, 1)
        kept = (one if self.axis in (None, axis) else part for axis, part in enumerate(box))
        return block_of(result, tuple(kept))

    def part(
        self,
        block: Any,
        offset: tuple[int, ...],
        threads: int = 1,
        *,
        out: Partials | None = None,
    ) -> Partials:
        """Partial results of the block that lies at an offset."""
        taken = source(block)
        assert taken.element_type is self.element_type
        return partials_of(
            taken,
            offset,
            self.whole,
            self.axis,
            self.select_last_index,
            threads=threads,
            out=out,
        )

    def merge(self, into: Partials, other: Partials) -> None:
        merge(into, other, self.element_type, self.select_last_index)


def reductions(data: Array) -> st.SearchStrategy[Reduction]:
    """Of an array along every axis and along none, for either end."""
    element_type = element_type_of_dtype(data.dtype)
    assert element_type is not None
    axis = st.one_of(st.none(), st.integers(0, max(data.ndim, 1) - 1))
    return st.builds(Reduction, st.just(element_type), st.just(data.shape), axis, st.booleans())


@st.composite
def chunked_arrays(draw: st.DrawFn) -> Array:
    """Arrays as the other strategies draw them, most of them large enough to be cut."""
    if draw(st.integers(0, 3)) == 0:
        return draw(arrays())
    rank = draw(st.integers(1, 4))
    side = st.integers(1, {1: 100, 2: 12, 3: 6, 4: 4}[rank])
    shape = tuple(draw(st.lists(side, min_size=rank, max_size=rank)))
    return draw(laid_out(draw(elements(draw(element_types()), shape))))


def chunkings(shape: tuple[int, ...]) -> st.SearchStrategy[list[Box]]:
    """Boxes in any order that together are an array of this shape, empty ones among them."""
    whole = tuple(slice(0, length) for length in shape)
    return st.one_of(_grids(shape), _cut_apart(whole)).flatmap(st.permutations)


@st.composite
def _grids(draw: st.DrawFn, shape: tuple[int, ...]) -> list[Box]:
    """Every axis is cut by itself, as storage and Dask have it; often between all elements."""
    parts: list[list[slice]] = []
    boxes = 1
    for length in shape:
        most = 24 // boxes
        if length <= most and draw(st.booleans()):
            cuts = list(range(1, length))
        else:
            places = st.lists(st.integers(0, length), min_size=min(1, most - 1), max_size=4)
            cuts = sorted(draw(places)[: most - 1])
        parts.append([slice(*edges) for edges in itertools.pairwise([0, *cuts, length])])
        boxes *= len(parts[-1])
    return list(itertools.product(*parts))


@st.composite
def _cut_apart(draw: st.DrawFn, whole: Box) -> list[Box]:
    """One box after the other is cut in two, so that borders need not meet."""
    boxes = [whole]
    for _ in range(draw(st.sampled_from([1, 2, 3, 5, 8])) if whole else 0):
        box = boxes.pop(draw(st.integers(0, len(boxes) - 1)))
        axis = draw(st.integers(0, len(box) - 1))
        begin, end = box[axis].start, box[axis].stop
        middle = (begin + end) // 2
        cut = draw(st.one_of(st.just(middle), st.integers(begin, end)))
        for part in (slice(begin, cut), slice(cut, end)):
            boxes.append((*box[:axis], part, *box[axis + 1 :]))
    return boxes
