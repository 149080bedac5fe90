# SPDX-License-Identifier: Apache-2.0
"""ArgMax of arrays larger than memory: memory maps, ``.npy`` files, Zarr, HDF5, block streams.

The answer is that of :func:`onnx_argmax.argmax`, bit for bit, in a stated amount of memory.
"""

from __future__ import annotations

import math
import operator
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import ExitStack
from typing import Any

import numpy as np

from onnx_argmax._arguments import thread_count
from onnx_argmax._block_gathering import GatheringTarget
from onnx_argmax._block_plan import BlockPlan, plan_of
from onnx_argmax._block_sources import block_source
from onnx_argmax._block_stream import BlockStream
from onnx_argmax._block_targets import ArrayTarget, block_target, out_view, refuse_overlap
from onnx_argmax._block_walk import BlockWalk, Progress
from onnx_argmax._boxes import whole_box
from onnx_argmax._build import get_num_threads
from onnx_argmax._memory_size import bytes_of, size_text
from onnx_argmax._reductions import Reduction
from onnx_argmax._store_memory import import_bytes, loaded_libraries
from onnx_argmax._stores import opened_store

__all__ = ["Progress", "argmax", "argmax_blocks"]


def argmax(
    data: Any,
    axis: Any = 0,
    keepdims: Any = True,
    select_last_index: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
    threads: int | None = None,
    memory_limit: int | str = "1 GiB",
    progress: Callable[[Progress], None] | None = None,
) -> Any:
    """Index of the largest element along an axis of an array that need not fit in memory.

    Parameters
    ----------
    data : array, str or path
        A ``numpy.memmap`` (or a view of one), a Zarr array (version 2 or 3), an h5py dataset, or
        anything with ``shape``, ``dtype`` and slicing; or a path: ``FILE.npy``, the folder of a
        Zarr array, ``FILE.h5:DATASET``. Of the element types of :func:`onnx_argmax.argmax`, in
        either byte order.
    axis, keepdims, select_last_index, dtype
        As for :func:`onnx_argmax.argmax`.
    out : array, optional
        What takes the result, box by box as it is found: a memory map, a Zarr array, an h5py
        dataset or a NumPy array, of the result's shape and an integer type, not overlapping
        ``data``.
    threads : int, optional
        Most threads that read and reduce; by default :func:`onnx_argmax.get_num_threads`. Where
        that is 1, another one reads meanwhile.
    memory_limit : int or str, default "1 GiB"
        Most memory that the call may take beyond what the process has: bytes, or a text such as
        ``"512 MiB"``. The result counts where it is not ``out``. Less makes smaller blocks.
    progress : callable, optional
        Called with a :class:`Progress` after each block, in the calling thread. What it raises
        ends the call.

    Returns
    -------
    array
        Indices: a NumPy array, or ``out``.

    Raises
    ------
    TypeError, ValueError
        As for :func:`onnx_argmax.argmax`; a ValueError also for a memory limit below the least
        that works, which the message tells, and for a file that is truncated or damaged.
    OSError
        For a block that cannot be read or written; the message says which.

    Notes
    -----
    Whole chunks of ``out`` are put together before they are written, where the limit has room for
    those that are begun; else a chunk is read, changed and written for each block that lies in it.

    The array is read once, a block at a time, in the order of its storage: whole chunks of a
    store, long runs of a file, some 8 MiB each where chunks are not larger. An array that lies in
    its file as it is (a ``.npy``, a memory map, an HDF5 dataset that is neither chunked nor
    compressed) is read from the file, past the map, whose pages would count as memory.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from onnx_argmax import outofcore
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "scores.npy")
    >>> np.save(path, np.array([[2, 1], [3, 10]], dtype=np.float32))
    >>> outofcore.argmax(path, axis=1, keepdims=False, memory_limit="16 MiB")
    array([0, 1])
    >>> folder.cleanup()
    """
    limit = bytes_of("memory_limit", memory_limit)
    _check_progress(progress)
    loaded = loaded_libraries()
    with ExitStack() as stack:
        path = os.fsdecode(data) if isinstance(data, (str, os.PathLike)) else None
        if path is not None:
            data = stack.enter_context(opened_store(path))
        source, element_type = block_source(data)
        stack.callback(source.close)
        view = None if out is None else out_view(out)
        reduction = Reduction.checked(source.shape, axis, keepdims, select_last_index, dtype, view)
        most_threads = get_num_threads() if threads is None else thread_count(threads)
        target = None
        if view is not None:
            target = block_target(view)
            stack.callback(target.close)
            refuse_overlap(source, target)
        plan: BlockPlan | None = None
        if 0 not in source.shape:
            plan = plan_of(
                source,
                element_type,
                reduction,
                most_threads,
                limit,
                result_bytes=_result_bytes(reduction) if view is None else 0,
                taken_bytes=import_bytes(loaded),
                target=target,
            )
        if target is None:
            out = np.empty(reduction.result_shape, reduction.result_dtype)
            target = block_target(out)
            stack.callback(target.close)
        if plan is None:
            return out
        if plan.gathers and isinstance(target, ArrayTarget):
            target = GatheringTarget(
                target, reduction.result_shape, target.chunk, reduction.result_dtype
            )
        walk = BlockWalk(source, target, plan, reduction, threads=most_threads, progress=progress)
        try:
            walk.run()
        except OSError as error:
            if path is None or not str(error).startswith("data: "):
                raise
            raise OSError(f"data: {path}: {str(error).removeprefix('data: ')}") from error
    return out


def argmax_blocks(
    blocks: Iterable[tuple[Sequence[int], Any]],
    shape: Sequence[int],
    axis: Any = 0,
    keepdims: Any = True,
    select_last_index: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
    threads: int | None = None,
    memory_limit: int | str = "1 GiB",
    progress: Callable[[Progress], None] | None = None,
) -> Any:
    """The same of blocks that come one by one, in any order and of any shapes.

    Parameters
    ----------
    blocks : iterable of (offset, block)
        Where a block's first element lies in the array, an integer for each axis, and the block:
        any array that :func:`onnx_argmax.argmax` takes. All are of one element type, and together
        they hold every element once. A block is let go before the next one is asked for.
    shape : sequence of int
        Shape of the whole array.
    axis, keepdims, select_last_index, dtype, out, memory_limit
        As for :func:`argmax`. The partial results of the whole result count to the memory, 8 to
        16 bytes for each of its elements; the blocks do not.
    threads : int, optional
        Most threads to use; by default :func:`onnx_argmax.get_num_threads`.
    progress : callable, optional
        Called with a :class:`Progress` after each block, whose ``blocks`` is 0: how many come is
        not known.

    Returns
    -------
    array
        Indices: a NumPy array, or ``out``.

    Raises
    ------
    TypeError, ValueError
        As for :func:`argmax`; a ValueError also for a block outside the array, and where elements
        are missing or came more than once.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx_argmax import outofcore
    >>> halves = [((2,), np.array([7, 9])), ((0,), np.array([9, 1]))]
    >>> outofcore.argmax_blocks(halves, shape=(4,), keepdims=False)
    array(0)
    """
    limit = bytes_of("memory_limit", memory_limit)
    _check_progress(progress)
    view = None if out is None else out_view(out)
    reduction = Reduction.checked(_lengths(shape), axis, keepdims, select_last_index, dtype, view)
    most_threads = get_num_threads() if threads is None else thread_count(threads)
    if view is None:
        out = view = _new_result(reduction, limit)
        limit -= out.nbytes
    stream = BlockStream(reduction, limit, threads=most_threads, progress=progress)
    stream.add_all(blocks)
    indices = stream.indices()
    target = block_target(view)
    try:
        target.write(whole_box(reduction.result_shape), indices)
    finally:
        target.close()
    return out


def _result_bytes(reduction: Reduction) -> int:
    return math.prod(reduction.result_shape) * reduction.result_dtype.itemsize


def _new_result(reduction: Reduction, limit: int) -> Any:
    needed = _result_bytes(reduction)
    if needed > limit:
        raise ValueError(
            f"memory_limit: the result of shape {reduction.result_shape} and type "
            f"{reduction.result_dtype} takes {size_text(needed)} alone, more than "
            f"{size_text(limit)}; pass out= (a memory map, a Zarr array), a narrower dtype= or a "
            "higher limit"
        )
    return np.empty(reduction.result_shape, reduction.result_dtype)


def _lengths(shape: Any) -> tuple[int, ...]:
    try:
        # Of these Python makes integers too, and not those that were meant.
        if isinstance(shape, (str, bytes, Mapping, Set)) or any(
            isinstance(n, bool) for n in shape
        ):
            raise TypeError
        lengths = tuple(map(operator.index, shape))
    except TypeError:
        raise TypeError(
            f"shape: an integer for each axis is needed, got {reprlib.repr(shape)} of type "
            f"{type(shape).__name__}; pass a tuple such as (1000, 300)"
        ) from None
    if any(n < 0 for n in lengths):
        raise ValueError(f"shape: a length cannot be negative, got {lengths}")
    return lengths


def _check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise TypeError(
            "progress: a function that takes a Progress is needed, got "
            f"{progress!r} of type {type(progress).__name__}"
        )
