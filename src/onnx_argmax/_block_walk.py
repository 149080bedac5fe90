# SPDX-License-Identifier: Apache-2.0
"""The walk over an array's blocks: threads that each read a block, reduce it and merge it.

While one waits for the storage the others work, so that reading ahead needs no thread of its own,
and what was read is reduced while it lies in the cache of the processor that read it.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from onnx_argmax import _native
from onnx_argmax._arguments import result_shape
from onnx_argmax._arrays import Source
from onnx_argmax._arrays import source as array_source
from onnx_argmax._block_plan import Block, BlockPlan
from onnx_argmax._block_sources import BlockSource, where_it_fails
from onnx_argmax._block_targets import BlockTarget
from onnx_argmax._boxes import Box, box_text, lengths_of, offset_of
from onnx_argmax._element_types import ElementType
from onnx_argmax._gate import Gate, ShutError
from onnx_argmax._partial import Partials, merge, nothing, partials_of
from onnx_argmax._reductions import Reduction

__all__ = ["BlockWalk", "Finished", "Journal", "Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a walk is."""

    blocks: int
    """Of the array."""
    blocks_done: int
    bytes: int
    """Of the array's elements."""
    bytes_done: int


@dataclass(slots=True)
class Finished:
    """What is done of a walk, from which another one can go on."""

    blocks: set[int] = field(default_factory=set)
    """Numbers of the blocks that are in the result or in the states."""
    states: dict[int, Partials] = field(default_factory=dict)
    """Partial results of the tiles that are not whole, by number."""


class Journal(Protocol):
    """Keeps what is finished while a walk goes on."""

    def is_due(self) -> bool:
        """Whether it is time to keep."""
        ...

    def keep(self, finished: Finished) -> None:
        """Keep; nothing of it changes meanwhile."""
        ...


@dataclass(slots=True)
class _Tile:
    state: Partials
    missing: int
    """Blocks that are not merged yet."""


class BlockWalk:
    """One walk.

    Parameters
    ----------
    source, target
        What is read and what is written.
    plan
        The blocks.
    reduction
        What is asked for.
    threads
        Native threads in all.
    progress
        Called in the calling thread after each block.
    journal
        Told in the calling thread what is finished, and once more when the walk ends.
    finished
        What another walk of the same plan has finished.
    """

    def __init__(
        self,
        source: BlockSource,
        target: BlockTarget,
        plan: BlockPlan,
        reduction: Reduction,
        *,
        threads: int,
        progress: Callable[[Progress], None] | None = None,
        journal: Journal | None = None,
        finished: Finished | None = None,
    ) -> None:
        self._source, self._target = source, target
        self._plan, self._reduction = plan, reduction
        self._threads = max(1, threads // plan.workers)
        self._progress, self._journal = progress, journal
        finished = finished or Finished()
        self._finished = finished
        merged = Counter(number // plan.parts for number in finished.blocks)
        self._tiles = {
            number: _Tile(state, plan.parts - merged[number])
            for number, state in finished.states.items()
        }
        self._done = len(finished.blocks)
        self._bytes_done = sum(self._bytes(plan.block(number)) for number in finished.blocks)
        self._numbers = (n for n in range(plan.blocks) if n not in finished.blocks)
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._stopped = threading.Event()
        self._gate = Gate()
        self._events: SimpleQueue[Block | BaseException | None] = SimpleQueue()

    def run(self) -> None:
        """Reduce every block.

        Whatever it ends with, nothing is written or merged afterwards. A second interrupt, as the
        first one is dealt with, ends the waiting for workers that read; what these read is
        dropped.

        Raises
        ------
        OSError
            When a block cannot be read, a result cannot be written, or the system starts no
            thread.
        """
        workers: list[threading.Thread] = []
        try:
            try:
                for number, tile in list(self._tiles.items()):  # broken off as it was written
                    if tile.missing == 0:
                        self._write_state(number, tile)
                self._start(workers)
                self._wait_for(len(workers))
            finally:
                self._stopped.set()
                for worker in workers:
                    if worker.ident is not None:
                        worker.join()
        except BaseException:
            try:
                self._gate.shut()
            finally:
                self._keep()
            raise
        self._keep()

    def _start(self, workers: list[threading.Thread]) -> None:
        """Start as many as the plan has, or as the system lets: one does all in more time."""
        for number in range(self._plan.workers):
            name = f"onnx-argmax block reader {number}"
            worker = threading.Thread(target=self._work, name=name, daemon=True)
            workers.append(worker)
            try:
                worker.start()
            except RuntimeError as error:
                workers.pop()
                if workers:
                    return
                raise OSError(
                    f"threads: the system starts none to read with ({error}); end other programs, "
                    "or raise the limit of threads and processes (ulimit -u)"
                ) from error

    def _wait_for(self, running: int) -> None:
        done, bytes_done = self._done, self._bytes_done
        whole = self._source.dtype.itemsize * math.prod(self._reduction.shape)
        while running:
            event = self._events.get()
            if event is None:
                running -= 1
            elif isinstance(event, BaseException):
                raise event
            else:
                done += 1
                bytes_done += self._bytes(event)
                if self._progress is not None:
                    self._progress(Progress(self._plan.blocks, done, whole, bytes_done))
                if self._journal is not None and self._journal.is_due():
                    with self._lock:
                        self._journal.keep(self._snapshot())

    def _bytes(self, block: Block) -> int:
        return self._source.dtype.itemsize * math.prod(lengths_of(block.box))

    def _keep(self) -> None:
        if self._journal is not None:
            self._journal.keep(self._snapshot())

    def _snapshot(self) -> Finished:
        self._finished.states = {number: tile.state for number, tile in self._tiles.items()}
        return self._finished

    def _work(self) -> None:
        try:
            buffer = memoryview(bytearray(self._source.buffer_bytes(self._plan.lengths)))
            while not self._stopped.is_set():
                with self._lock:
                    number = next(self._numbers, None)
                if number is None:
                    break
                block = self._plan.block(number)
                self._reduce(block, buffer)
                self._events.put(block)
        except ShutError:
            return
        except BaseException as error:
            self._events.put(error)
        self._events.put(None)

    def _reduce(self, block: Block, buffer: memoryview) -> None:
        elements, data = self._read(block.box, buffer)
        with self._gate:
            if self._plan.parts == 1:
                self._reduce_whole(block, elements, data)
            else:
                self._reduce_part(block, elements, data)

    def _reduce_whole(self, block: Block, elements: Any, data: Source) -> None:
        box = self._result_box(block.tile)
        memory = self._target.memory(box)
        indices = self._indices_of(data, memory)
        self._source.done_with(elements)
        if memory is None:
            self._write(box, indices)
        with self._lock:
            self._finished.blocks.add(block.number)

    def _reduce_part(self, block: Block, elements: Any, data: Source) -> None:
        reduction = self._reduction
        partials = partials_of(
            data,
            offset_of(block.box),
            reduction.shape,
            reduction.axis,
            reduction.select_last_index,
            threads=self._threads,
        )
        self._source.done_with(elements)
        with self._lock:
            self._gate.check()
            tile = self._merge(block, partials, data.element_type)
            is_whole = tile.missing == 0  # asked later, the next worker to merge would see it too
        if is_whole:
            self._write_state(block.tile, tile)

    def _write_state(self, number: int, tile: _Tile) -> None:
        box = self._result_box(number)
        self._write(box, tile.state["index"].reshape(lengths_of(box)))
        with self._lock:
            del self._tiles[number]

    def _merge(self, block: Block, partials: Partials, element_type: ElementType) -> _Tile:
        tile = self._tiles.get(block.tile)
        if tile is None:
            tile = _Tile(nothing(partials.shape, partials.dtype), self._plan.parts)
            self._tiles[block.tile] = tile
        merge(tile.state, partials, element_type, self._reduction.select_last_index)
        tile.missing -= 1
        self._finished.blocks.add(block.number)
        return tile

    def _read(self, box: Box, buffer: memoryview) -> tuple[Any, Source]:
        try:
            elements = self._source.read(box, buffer)
        except MemoryError:
            raise
        except Exception as error:
            where = where_it_fails(self._source, box)
            raise OSError(
                f"data: the block {where} cannot be read: {type(error).__name__}: {error}"
            ) from error
        return elements, array_source(elements)

    def _indices_of(
        self, data: Source, memory: np.ndarray[Any, Any] | None
    ) -> np.ndarray[Any, Any]:
        reduction = self._reduction
        if memory is None:
            shape = result_shape(data.shape, reduction.axis, reduction.keepdims)
            memory = np.empty(shape, reduction.result_dtype)
        _native.argmax(
            data.memory,
            data.element_type.tensor_proto,
            data.byte_swapped,
            -1 if reduction.axis is None else reduction.axis,
            reduction.select_last_index,
            memory,
            self._threads,
        )
        return memory

    def _result_box(self, tile: int) -> Box:
        return self._reduction.result_box(self._plan.tile_box(tile))

    def _write(self, box: Box, indices: np.ndarray[Any, Any]) -> None:
        with self._writing:
            self._gate.check()
            try:
                self._target.write(box, indices.astype(self._reduction.result_dtype, copy=False))
            except MemoryError:
                raise
            except Exception as error:
                reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
                raise OSError(
                    f"out: the block {box_text(box)} cannot be written: {reason}"
                ) from error
