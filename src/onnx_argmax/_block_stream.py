# SPDX-License-Identifier: Apache-2.0
"""Blocks that come one by one, merged into the partial results of the whole array."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from onnx_argmax._arrays import Source
from onnx_argmax._arrays import source as array_source
from onnx_argmax._block_walk import Progress
from onnx_argmax._boxes import Box, box_at
from onnx_argmax._coverage import Coverage
from onnx_argmax._element_types import ElementType
from onnx_argmax._memory_size import size_text
from onnx_argmax._partial import Partials, merge, nothing, partials_of
from onnx_argmax._reductions import Reduction

__all__ = ["BlockStream"]


class BlockStream:
    """The reduction of an array whose blocks are added one by one.

    Parameters
    ----------
    reduction
        What is asked for.
    memory_limit
        Most bytes that the partial results may take.
    threads
        Most threads to use.
    progress
        Called after each block.
    """

    def __init__(
        self,
        reduction: Reduction,
        memory_limit: int,
        *,
        threads: int,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._reduction, self._memory_limit = reduction, memory_limit
        self._threads, self._progress = threads, progress
        self._coverage = Coverage(reduction.shape)
        self._element_type: ElementType | None = None
        self._state: Partials | None = None
        self._blocks = self._elements = 0

    def add(self, pair: tuple[Sequence[int], Any]) -> None:
        """Merge one block, given as its offset and its elements.

        Raises
        ------
        TypeError
            When it is no such pair, its elements are no array of the contract, or of another
            element type than the others.
        ValueError
            When it reaches beyond the array, or the partial results take too much memory.
        """
        start, block = self._taken_apart(pair)
        data = self._source(block)
        box = self._box(start, data.shape)
        state = self._state_for(data.element_type)
        self._coverage.add(box)
        if 0 not in data.shape:
            reduction = self._reduction
            partials = partials_of(
                data,
                tuple(part.start for part in box),
                reduction.shape,
                reduction.axis,
                reduction.select_last_index,
                threads=self._threads,
            )
            place = tuple(
                slice(None) if reduction.axis in (None, axis) else part
                for axis, part in enumerate(box)
            )
            merge(state[(*place, ...)], partials, data.element_type, reduction.select_last_index)
        self._report(math.prod(data.shape), data.element_type.itemsize)

    def add_all(self, blocks: Iterable[tuple[Sequence[int], Any]]) -> None:
        """Merge every block of an iterable; each is let go before the next one is asked for.

        Raises
        ------
        TypeError, ValueError
            As for :meth:`add`, and when it is no iterable of blocks. What it raises itself comes
            as it is, with a note that says after which block.
        """
        pairs = _pairs(blocks)
        while True:
            try:
                pair = next(pairs)
            except StopIteration:
                return
            except Exception as error:
                error.add_note(f"blocks: raised when block number {self._blocks} was asked for")
                raise
            self.add(pair)
            del pair  # or it would live on while the next one is made

    def indices(self) -> np.ndarray[Any, Any]:
        """The result, of its shape.

        Raises
        ------
        ValueError
            When elements are missing, or came more than once.
        """
        self._coverage.check()
        reduction = self._reduction
        if self._state is None:  # no block came, and none was needed
            return np.empty(reduction.result_shape, reduction.result_dtype)
        indices = self._state["index"].astype(reduction.result_dtype)
        return indices.reshape(reduction.result_shape)

    def _taken_apart(self, pair: Any) -> tuple[tuple[int, ...], Any]:
        try:
            offset, block = pair
        except (TypeError, ValueError):
            raise TypeError(
                f"blocks: block number {self._blocks} is a {type(pair).__name__}, and no pair of "
                "an offset (an integer for each axis) and an array"
            ) from None
        try:
            return tuple(map(operator.index, offset)), block
        except TypeError:
            raise TypeError(
                f"blocks: the offset of block number {self._blocks} is {reprlib.repr(offset)} of "
                f"type {type(offset).__name__}; an integer for each axis is needed, as in (0,)"
            ) from None

    def _source(self, block: Any) -> Source:
        try:
            return array_source(block)
        except TypeError as error:
            text = str(error).removeprefix("data: ")
            raise TypeError(f"blocks: block number {self._blocks}: {text}") from error

    def _box(self, start: tuple[int, ...], lengths: tuple[int, ...]) -> Box:
        shape = self._reduction.shape
        fits = len(start) == len(shape) == len(lengths) and all(
            i >= 0 and i + n <= whole for i, n, whole in zip(start, lengths, shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"blocks: block number {self._blocks} of shape {lengths} at offset {start} does "
                f"not lie in an array of shape {shape}"
            )
        return box_at(start, lengths)

    def _state_for(self, element_type: ElementType) -> Partials:
        if self._state is None:
            dtype = self._reduction.partial_dtype(element_type)
            shape = self._reduction.reduced(self._reduction.shape)
            needed = math.prod(shape) * (dtype.itemsize + self._reduction.result_dtype.itemsize)
            if needed > self._memory_limit:
                raise ValueError(
                    f"memory_limit: the partial results of shape {shape} take "
                    f"{size_text(needed)}, and {size_text(self._memory_limit)} are left for them; "
                    "raise the limit, or reduce boxes of the result one by one"
                )
            self._element_type, self._state = element_type, nothing(shape, dtype)
        if element_type is not self._element_type:
            raise TypeError(
                f"blocks: block number {self._blocks} is of type {element_type.dtype_name}, the "
                f"ones before of {self._element_type and self._element_type.dtype_name}; all must "
                "be of one type"
            )
        return self._state

    def _report(self, elements: int, itemsize: int) -> None:
        self._blocks += 1
        self._elements += elements
        if self._progress is not None:
            whole = math.prod(self._reduction.shape) * itemsize
            self._progress(Progress(0, self._blocks, whole, self._elements * itemsize))


def _pairs(blocks: Any) -> Iterator[Any]:
    allowed = "blocks: an iterable of pairs (offset, block) is needed, got"
    if isinstance(blocks, Mapping):
        raise TypeError(
            f"{allowed} a {type(blocks).__name__}; pass blocks.items() where its keys are offsets"
        )
    if hasattr(blocks, "shape") or isinstance(blocks, (str, bytes)):
        raise TypeError(
            f"{allowed} {type(blocks).__name__}; an array, or the path of one, goes to "
            "onnx_argmax.outofcore.argmax"
        )
    if isinstance(blocks, (tuple, list)) and len(blocks) == 2 and _is_offset(blocks[0]):
        raise TypeError(f"{allowed} one pair alone; pass a list of it: [(offset, block)]")
    try:
        return iter(blocks)
    except TypeError as error:
        raise TypeError(
            f"{allowed} {type(blocks).__name__}; pass a list of them, or a generator"
        ) from error


def _is_offset(first: Any) -> bool:
    try:
        return all(operator.index(n) >= 0 for n in first)
    except TypeError:
        return False
