# SPDX-License-Identifier: Apache-2.0
"""Whole chunks of a store put together from the boxes of a result, so that each is written once.

What is written to a part of a chunk alone is read, decoded, changed, encoded and written whole.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onnx_argmax._block_targets import BlockTarget
from onnx_argmax._boxes import Box, box_at, lengths_of

__all__ = ["Begun", "GatheringTarget", "begun_at_most", "most_at_once"]

_Array = np.ndarray[Any, Any]


class Begun(NamedTuple):
    """Chunks of a store that are begun and not whole."""

    elements: int
    chunks: int


def begun_at_most(
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    lengths: tuple[int, ...],
    workers: int,
) -> Begun:
    """What is begun and not whole at most at any time.

    Parameters
    ----------
    shape, chunk
        Of the store, its axes from the one that boxes go along last to the one they go along
        first.
    lengths
        Of a box, of which the store is written in such an order.
    workers
        Boxes that are on their way at once.
    """
    axes = list(zip(shape, chunk, lengths, strict=True))
    ends = [n % c != 0 and n < whole for whole, c, n in axes]
    if not any(ends):
        return Begun(0, 0)
    # Outside of the first axis along which boxes end within chunks, a box's own chunks are whole
    # before others begin; inside of it, a layer of chunks is begun by one row and ended by the
    # next.
    first = ends.index(True)
    outside, inside = axes[:first], axes[first + 1 :]
    layer = math.prod(n for _, _, n in outside) * min(axes[first][:2])
    layer *= math.prod(whole for whole, _, _ in inside)
    touched = math.prod(min(whole, (-(-n // c) + 1) * c) for whole, c, n in axes)
    whole_ones = math.prod(whole if n == whole else max(0, n // c - 1) * c for whole, c, n in axes)
    layer_chunks = math.prod(-(-n // c) for _, c, n in outside)
    layer_chunks *= math.prod(-(-whole // c) for whole, c, _ in inside)
    touched_chunks = math.prod(-(-n // c) + 1 for _, c, n in axes)
    return Begun(layer + workers * (touched - whole_ones), layer_chunks + workers * touched_chunks)


def most_at_once(
    shape: tuple[int, ...], chunk: tuple[int, ...], lengths: tuple[int, ...]
) -> tuple[int, ...]:
    """What is written at once at most: one chunk, or those that a box of such lengths holds."""
    return tuple(
        min(whole, -(-n // c) * c) for whole, c, n in zip(shape, chunk, lengths, strict=True)
    )


@dataclass(slots=True)
class _Chunk:
    indices: _Array
    missing: int
    """Elements that did not come yet."""


class GatheringTarget:
    """A target that writes to another one in whole chunks, each once.

    Parameters
    ----------
    target
        What takes them. Not closed with this one.
    shape, chunk, dtype
        Of the store that it writes to.
    """

    def __init__(
        self,
        target: BlockTarget,
        shape: tuple[int, ...],
        chunk: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        self._target, self._shape, self._chunk, self._dtype = target, shape, chunk, dtype
        self._begun: dict[tuple[int, ...], _Chunk] = {}

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        """Most memory that writing a box takes, without the chunks that were begun before."""
        return self._target.memory_bytes(most_at_once(self._shape, self._chunk, lengths))

    def memory(self, box: Box) -> _Array | None:
        """None: every box is written by :meth:`write`."""
        return None

    def write(self, box: Box, indices: _Array) -> None:
        """Take the indices of a box; one thread at a time, and each element once."""
        inner = self._whole_chunks_in(box)
        if all(part.start < part.stop for part in inner):
            self._target.write(inner, indices[_within(inner, box)])
        for number in self._chunks_of(box):
            chunk = self._box_of(number)
            if not _holds(inner, chunk):
                self._gather(number, chunk, box, indices)

    def begun(self) -> Begun:
        """The chunks that are begun and not whole."""
        return Begun(sum(part.indices.size for part in self._begun.values()), len(self._begun))

    def close(self) -> None:
        """Let go of chunks that are not whole, as they are after an error alone."""
        self._begun.clear()

    def _gather(self, number: tuple[int, ...], chunk: Box, box: Box, indices: _Array) -> None:
        begun = self._begun.get(number)
        if begun is None:
            lengths = lengths_of(chunk)
            begun = _Chunk(np.empty(lengths, self._dtype), math.prod(lengths))
            self._begun[number] = begun
        common = tuple(
            slice(max(a.start, b.start), min(a.stop, b.stop))
            for a, b in zip(chunk, box, strict=True)
        )
        begun.indices[_within(common, chunk)] = indices[_within(common, box)]
        begun.missing -= math.prod(lengths_of(common))
        if begun.missing == 0:
            del self._begun[number]
            self._target.write(chunk, begun.indices)

    def _whole_chunks_in(self, box: Box) -> Box:
        """The chunks that lie in a box whole; along some axis there may be none."""
        return tuple(
            slice(-(-part.start // n) * n, whole if part.stop == whole else part.stop // n * n)
            for part, n, whole in zip(box, self._chunk, self._shape, strict=True)
        )

    def _chunks_of(self, box: Box) -> Iterator[tuple[int, ...]]:
        pairs = zip(box, self._chunk, strict=True)
        return itertools.product(*(range(p.start // n, -(-p.stop // n)) for p, n in pairs))

    def _box_of(self, number: tuple[int, ...]) -> Box:
        offset = tuple(i * n for i, n in zip(number, self._chunk, strict=True))
        ends = zip(offset, self._chunk, self._shape, strict=True)
        return box_at(offset, tuple(min(n, whole - start) for start, n, whole in ends))


def _within(box: Box, other: Box) -> tuple[Any, ...]:
    """Where a box lies in another one that holds it; an index that gives an array in any case."""
    moved = (slice(a.start - b.start, a.stop - b.start) for a, b in zip(box, other, strict=True))
    return (*moved, ...)


def _holds(box: Box, other: Box) -> bool:
    return all(a.start <= b.start and b.stop <= a.stop for a, b in zip(box, other, strict=True))
