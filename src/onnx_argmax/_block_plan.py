# SPDX-License-Identifier: Apache-2.0
"""Which boxes of an array are read, in which order, and by how many workers, in what memory.

A tile is a box of the result; its blocks are the boxes of the array that it is reduced from, one
behind the other along the reduced axis. Blocks are numbered tile by tile, in the order of storage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from onnx_argmax._block_gathering import begun_at_most, most_at_once
from onnx_argmax._block_sources import BlockSource
from onnx_argmax._block_targets import ArrayTarget, BlockTarget
from onnx_argmax._boxes import Box, box_at
from onnx_argmax._element_types import ElementType
from onnx_argmax._memory_size import size_text
from onnx_argmax._reductions import Reduction

__all__ = ["Block", "BlockPlan", "Needs", "TooLittleMemoryError", "make_plan", "plan_of"]

_BLOCK_BYTES: Final = 8 << 20
"""What the workers hold stays in a cache, from which the core reads it. A file of 4 GiB in the
system's cache on two processors, against reading it from end to end: blocks of 1 MiB take 1.07 of
that time, of 4 MiB 0.96, of 8 MiB 0.80, of 16 MiB 0.82 to 1.5; a third worker only takes turns."""

_LEAST_BLOCK_BYTES: Final = 64 << 10
"""Below this, the time that a block takes is not spent on its elements. Chunks may be smaller."""

_LEAST_ALONG_AXIS: Final = 64
"""Elements along the reduced axis between two merges, where a block can have so many: with fewer
the merges cost more, with more the runs get shorter, and each run takes a microsecond besides
what its bytes take. Of the time to read a file of 8 GiB from end to end, with 16, 32, 64, 128 and
256: 1.13, 1.12, 1.09, 1.36 and 1.54 in rows of 16,384 float64; 1.26, 1.25, 1.28, 1.39 and 1.71 in
rows of 2 million float32; 1.13, 1.14, 1.12, 1.40 and 1.64 in rows of 131,072 uint8."""

_MOST_WORKERS: Final = 256
"""A number of threads beyond any machine's use would only take time and memory to plan."""

_WORKER_BYTES: Final = 768 << 10
"""A thread: its stack and what the core keeps for it."""


_BEGUN_CHUNK_BYTES: Final = 512
"""What a chunk of the target takes that is begun, besides its elements: its array, its number, its
place in a table. Measured are some 300."""


class TooLittleMemoryError(ValueError):
    """A memory limit below the least that works, which is ``least_bytes``."""

    def __init__(self, message: str, least_bytes: int) -> None:
        super().__init__(message)
        self.least_bytes = least_bytes


def _nothing(lengths: tuple[int, ...]) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Needs:
    """What a walk over an array is made of."""

    shape: tuple[int, ...]
    axis: int | None
    """The reduced axis; None where the array is flattened."""
    order: tuple[int, ...]
    """The axes from the outermost in storage to the innermost."""
    chunk: tuple[int, ...]
    """What the storage reads at once at least."""
    element_bytes: int
    partial_bytes: int
    result_bytes: int
    """Of one index."""
    memory_bytes: Callable[[tuple[int, ...]], int]
    """Most memory that reading a box of so many elements takes."""
    workers: int
    """At most."""
    writing_bytes: Callable[[tuple[int, ...]], int] = _nothing
    """Most memory that writing the result of a box takes beyond a copy of it."""
    held_bytes: int = 0
    """Most memory that the storage's library takes besides."""
    result_chunk: tuple[int, ...] = ()
    """What the target writes at once at least, with 1 in place of a reduced axis; empty where it
    is any box."""

    def is_reduced(self, axis: int) -> bool:
        return self.axis is None or axis == self.axis

    def positions(self, lengths: tuple[int, ...]) -> int:
        """Elements of the result of a box."""
        return math.prod(n for axis, n in enumerate(lengths) if not self.is_reduced(axis))

    def parts(self, lengths: tuple[int, ...]) -> int:
        """Blocks of a tile."""
        pairs = enumerate(zip(self.shape, lengths, strict=True))
        return math.prod(-(-whole // n) for axis, (whole, n) in pairs if self.is_reduced(axis))

    def gathering_bytes(self, lengths: tuple[int, ...], workers: int) -> int:
        """Most memory that writing takes where whole chunks of the target are gathered first."""
        chunk = self.result_chunk
        kept = [axis for axis in self.order if not self.is_reduced(axis)]
        whole, chunks, box = (
            tuple(of[axis] for axis in kept) for of in (self.shape, chunk, lengths)
        )
        begun = begun_at_most(whole, chunks, box, workers)
        held = begun.elements * self.result_bytes + begun.chunks * _BEGUN_CHUNK_BYTES
        return held + self.writing_bytes(most_at_once(self.shape, chunk, lengths))

    def least_memory(
        self, lengths: tuple[int, ...], workers: int, *, gathers: bool = False
    ) -> int:
        """Bytes that a walk in blocks of so many elements takes at most."""
        positions = self.positions(lengths)
        block = self.memory_bytes(lengths)
        result = 2 * positions * self.result_bytes  # once more on its way out
        writing = (  # by one worker at a time
            self.gathering_bytes(lengths, workers) if gathers else self.writing_bytes(lengths)
        )
        if self.parts(lengths) == 1:
            return workers * (block + result + _WORKER_BYTES) + writing + self.held_bytes
        # Each worker has a block's partial result, and may stand in a tile of its own.
        partial = positions * self.partial_bytes
        tiles = (workers + 1) * partial + result + writing
        return workers * (block + partial + _WORKER_BYTES) + tiles + self.held_bytes


@dataclass(frozen=True, slots=True)
class Block:
    """A box of the array."""

    number: int
    tile: int
    box: Box


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """The blocks of an array."""

    needs: Needs
    lengths: tuple[int, ...]
    """Elements of a block along each axis, fewer at the end of one."""
    workers: int
    gathers: bool = False
    """Whether there is memory for whole chunks of the target, which are then written once."""

    @property
    def parts(self) -> int:
        """Blocks of a tile."""
        return self.needs.parts(self.lengths)

    @property
    def tiles(self) -> int:
        """Tiles of the result."""
        return math.prod(self._counts(axis) for axis in self._axes(reduced=False))

    @property
    def blocks(self) -> int:
        """Blocks of the array."""
        return self.tiles * self.parts

    def block(self, number: int) -> Block:
        """The block of a number."""
        tile, part = divmod(number, self.parts)
        at = {**self._places(tile, reduced=False), **self._places(part, reduced=True)}
        return Block(number, tile, self._box(at))

    def tile_box(self, tile: int) -> Box:
        """The box of a tile, with the reduced axis (or every axis) whole."""
        return tuple(
            slice(0, self.needs.shape[axis]) if self.needs.is_reduced(axis) else part
            for axis, part in enumerate(self._box(self._places(tile, reduced=False)))
        )

    def _box(self, at: dict[int, int]) -> Box:
        offset = tuple(at.get(axis, 0) * n for axis, n in enumerate(self.lengths))
        lengths = tuple(
            min(n, whole - start)
            for n, whole, start in zip(self.lengths, self.needs.shape, offset, strict=True)
        )
        return box_at(offset, lengths)

    def _counts(self, axis: int) -> int:
        return -(-self.needs.shape[axis] // self.lengths[axis])

    def _axes(self, *, reduced: bool) -> Iterator[int]:
        """From the innermost in storage to the outermost."""
        inner_first = reversed(self.needs.order)
        return (axis for axis in inner_first if self.needs.is_reduced(axis) == reduced)

    def _places(self, number: int, *, reduced: bool) -> dict[int, int]:
        at: dict[int, int] = {}
        for axis in self._axes(reduced=reduced):
            number, at[axis] = divmod(number, self._counts(axis))
        return at


def plan_of(
    source: BlockSource,
    element_type: ElementType,
    reduction: Reduction,
    threads: int,
    memory_limit: int,
    *,
    result_bytes: int = 0,
    taken_bytes: int = 0,
    target: BlockTarget | None = None,
) -> BlockPlan:
    """Blocks of a source that are reduced in at most so many bytes of memory.

    The source has no axis of length 0. Each of so many threads reads and reduces; where there
    is but one, a second one reads meanwhile. The whole result counts to the memory with
    ``result_bytes``, what is taken besides with ``taken_bytes``, and so does what writing its
    boxes to the target takes.

    Raises
    ------
    TooLittleMemoryError
        When the least that works is more; the message says how much that is.
    """

    def writing_bytes(lengths: tuple[int, ...]) -> int:
        return 0 if target is None else target.memory_bytes(reduction.result_lengths(lengths))

    result_chunk: tuple[int, ...] = ()
    if isinstance(target, ArrayTarget) and max(target.chunk, default=1) > 1:
        result_chunk = _along_data(reduction, target.chunk)
    needs = Needs(
        shape=source.shape,
        axis=reduction.axis if source.shape else None,
        order=source.order,
        chunk=source.chunk,
        element_bytes=source.dtype.itemsize,
        partial_bytes=reduction.partial_dtype(element_type).itemsize,
        result_bytes=reduction.result_dtype.itemsize,
        memory_bytes=source.memory_bytes,
        held_bytes=source.held_bytes,
        writing_bytes=writing_bytes,
        result_chunk=result_chunk,
        workers=min(max(threads, 2), _MOST_WORKERS),
    )
    return make_plan(needs, memory_limit, taken_bytes + result_bytes, result_bytes)


def _along_data(reduction: Reduction, chunk: tuple[int, ...]) -> tuple[int, ...]:
    """Chunk of a result along the axes of the data, with 1 in place of the reduced one."""
    axis = reduction.axis
    if axis is None:
        return (1,) * len(reduction.shape)
    behind = axis + 1 if reduction.keepdims else axis
    return (*chunk[:axis], 1, *chunk[behind:])


def make_plan(
    needs: Needs, memory_limit: int, taken_bytes: int = 0, result_bytes: int = 0
) -> BlockPlan:
    """Blocks that are reduced in at most so many bytes of memory; no axis has length 0.

    Of the limit, ``taken_bytes`` are taken already, ``result_bytes`` of these by the result.

    Raises
    ------
    TooLittleMemoryError
        When the least that works is more; the message says how much that is.
    """
    targets = [_BLOCK_BYTES >> shift for shift in range(3)]
    choices = [(target, workers) for workers in range(needs.workers, 1, -1) for target in targets]
    target = _BLOCK_BYTES
    while target >= _LEAST_BLOCK_BYTES:
        choices.append((target, 1))
        target //= 2
    found: list[tuple[int, BlockPlan]] = []
    for gathers in (True, False) if needs.result_chunk else (False,):
        for target, workers in choices:
            lengths = _block_lengths(needs, target)
            blocks = BlockPlan(needs, lengths, workers).blocks
            plan = BlockPlan(needs, lengths, min(workers, blocks), gathers)
            memory = taken_bytes + needs.least_memory(lengths, plan.workers, gathers=gathers)
            if memory <= memory_limit:
                return plan
            found.append((memory, plan))
    least, plan = min(found, key=lambda pair: pair[0])
    what = "an array" if max(needs.chunk, default=1) == 1 else f"chunks of {needs.chunk} in one"
    raise TooLittleMemoryError(
        f"memory_limit: {size_text(memory_limit)} is too little for {what} of shape "
        f"{needs.shape}{_beside_chunks_of_out(plan, least)}{_with_result(result_bytes, least)}; "
        f"the least that works is {size_text(least)}",
        least,
    )


def _with_result(result_bytes: int, memory: int) -> str:
    """Words for a result in memory, where it takes most of it."""
    if 2 * result_bytes < memory:
        return ""
    return (
        f", whose result takes {size_text(result_bytes)} of it: out= (a memory map, a Zarr array) "
        "or a narrower dtype= needs less"
    )


def _beside_chunks_of_out(plan: BlockPlan, memory: int) -> str:
    """Words for the chunks of ``out``, where a plan takes most of its memory for them."""
    needs = plan.needs
    of_blocks = replace(needs, writing_bytes=_nothing, result_chunk=())
    for_out = memory - of_blocks.least_memory(plan.lengths, plan.workers)
    if not needs.result_chunk or 2 * for_out < memory:
        return ""
    chunk = tuple(n for axis, n in enumerate(needs.result_chunk) if not needs.is_reduced(axis))
    size = size_text(math.prod(chunk) * needs.result_bytes)
    return (
        f" with the chunks of out, {chunk} of {size} each: they are written whole, which takes "
        f"{size_text(for_out)} of it, and less where they are smaller"
    )


def _block_lengths(needs: Needs, target_bytes: int) -> tuple[int, ...]:
    """About so many bytes, whole chunks, in long runs of the storage."""
    lengths = list(needs.chunk)
    target = max(1, target_bytes // needs.element_bytes)

    def grow(axis: int, most: int) -> bool:
        """Whether the axis is whole then."""
        chunk, whole = needs.chunk[axis], needs.shape[axis]
        others = math.prod(n for other, n in enumerate(lengths) if other != axis)
        chunks = max(min(target // others, most, whole) // chunk, 1)
        # What would be left behind the last whole chunk comes along.
        wanted = whole if (chunks + 1) * chunk > whole else chunks * chunk
        lengths[axis] = max(lengths[axis], wanted)
        return lengths[axis] == whole

    if needs.axis is not None:
        grow(needs.axis, _LEAST_ALONG_AXIS)
    for axis in reversed(needs.order):
        if not grow(axis, needs.shape[axis]):
            break
    return tuple(lengths)
