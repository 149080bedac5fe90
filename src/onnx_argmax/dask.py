# SPDX-License-Identifier: Apache-2.0
"""ArgMax of Dask arrays: lazily, block by block, on any of Dask's schedulers."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from onnx_argmax._arguments import result_shape, thread_count
from onnx_argmax._arrays import source
from onnx_argmax._dask_graph import tasks_of
from onnx_argmax._dask_tasks import Job, only_numpy
from onnx_argmax._dask_workers import check_workers
from onnx_argmax._element_types import ElementType
from onnx_argmax._extras import raise_not_installed
from onnx_argmax._reductions import Reduction

try:
    import dask.array as da
    from dask import config
    from dask.array.core import Array
    from dask.array.utils import meta_from_array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph
except ModuleNotFoundError as error:
    raise_not_installed(error, __name__)

__all__ = ["argmax", "check_workers"]

_SPLIT_EVERY: Final = 4
"""As in Dask's own reductions."""


def argmax(
    data: Array,
    axis: Any = 0,
    keepdims: Any = True,
    select_last_index: Any = False,
    *,
    dtype: Any = None,
    split_every: int | None = None,
    threads: int = 1,
) -> Array:
    """Index of the largest element along an axis of a Dask array, as ONNX ArgMax defines it.

    Nothing is computed, and no block is looked at, before the result is asked for.

    Parameters
    ----------
    data : dask.array.Array
        Of float32, float64, float16, bfloat16, an integer type of 8 to 64 bits, or bool, in
        blocks that are NumPy arrays, of known sizes.
    axis : int or None, default 0
        Axis to reduce, in ``[-rank, rank - 1]``. None reduces the flattened array (C order of
        the whole array, however it is cut into chunks).
    keepdims : bool, default True
        Keep the reduced axis with length 1 (with ``axis=None``: every axis).
    select_last_index : bool, default False
        Of equal maxima take the last index instead of the first.
    dtype : integer dtype, default int64
        Element type of the result, refused where the axis is longer than it can number.
    split_every : int, optional
        Most partial results that one task merges, at least 2; by default Dask's setting
        ``split_every``, or 4.
    threads : int, default 1
        Most native threads of one task. Dask runs as many tasks at once as it has threads, so
        that more is of use only where tasks are fewer than cores.

    Returns
    -------
    dask.array.Array
        Indices, of the shape of ``data`` without the axis, or with length 1 there. The chunks of
        the other axes are those of ``data``. Use :func:`dask.array.store` to write them
        somewhere.

    Raises
    ------
    TypeError
        For what is no Dask array; for data of another element type, or in blocks of another
        library or with masks; for an axis that is no integer; for a ``dtype`` that is not of an
        integer type.
    ValueError
        For unknown chunk sizes; for an axis of length 0; for an axis out of range
        (:class:`numpy.exceptions.AxisError`); for a result type too narrow for the axis; for a
        ``split_every`` below 2; for ``threads`` below 1. As tasks run: for a block of another
        shape or type than the array declares.
    RuntimeError
        As tasks run: on a worker that has another version of this package.

    Notes
    -----
    The answer is the array function's, bit for bit, whatever the chunks and the scheduler. Each
    block becomes partial results (a key and an index, each of 4 or 8 bytes, for each position); a
    tree merges these by comparing indices of the whole array. A block that has the whole axis is
    reduced at once.

    Examples
    --------
    >>> import dask.array as da
    >>> from onnx_argmax.dask import argmax
    >>> scores = da.from_array([[2, 7, 1], [3, 1, 9]], chunks=(1, 2))
    >>> argmax(scores, axis=1, keepdims=False).compute()
    array([1, 2])
    >>> argmax(scores, axis=1).chunks
    ((1, 1), (1,))
    """
    element_type = _element_type(data)
    reduction = Reduction.checked(data.shape, axis, keepdims, select_last_index, dtype, None)
    job = Job(
        element_type.tensor_proto,
        reduction.shape,
        reduction.axis,
        reduction.keepdims,
        reduction.select_last_index,
        reduction.result_dtype.name,
        thread_count(threads),
    )
    most_parts = _split_every(split_every)
    token = tokenize(data, job.text(), most_parts)
    name = f"onnx-argmax-{token}"
    tasks = tasks_of(job, data.name, data.chunks, name=name, token=token, split_every=most_parts)
    graph = HighLevelGraph.from_collections(
        name,
        tasks,
        dependencies=[data],  # pyright: ignore[reportArgumentType] - stricter than Dask's arrays
    )
    kept = result_shape(data.chunks, job.axis, job.keepdims)
    result_chunks = tuple((1,) if sizes == 1 else sizes for sizes in kept)
    return Array(graph, name, result_chunks, dtype=reduction.result_dtype)


def _element_type(data: Any) -> ElementType:
    """Element type of the blocks, where they can be read."""
    if not isinstance(data, Array):
        if isinstance(data, da.Array):
            raise TypeError(
                "data: Dask's query planning for arrays is not supported; turn it off by "
                'dask.config.set({"array.query-planning": False}) before dask.array is imported'
            )
        raise TypeError(
            f"data: a Dask array is needed, got {type(data).__name__}; pass "
            "dask.array.from_array(data), or use onnx_argmax.argmax for an array in memory"
        )
    meta = meta_from_array(data)
    if not isinstance(meta, np.ndarray) or isinstance(meta, np.ma.MaskedArray):
        kind: type = type(meta)
        raise TypeError(
            f"data: its blocks are {kind.__module__}.{kind.__qualname__}; {only_numpy(kind)}"
        )
    element_type = source(np.empty(0, data.dtype)).element_type
    if any(math.isnan(length) for length in data.shape):
        raise ValueError(
            f"data: the sizes of its chunks are not known (its shape is {data.shape}), and "
            "indices are counted by them; call data.compute_chunk_sizes() first"
        )
    return element_type


def _split_every(split_every: object) -> int:
    where, next_step = "split_every", ""
    if split_every is None:
        split_every = config.get("split_every", None) or _SPLIT_EVERY
        where, next_step = "Dask's setting split_every", "; pass split_every=4 beside it"
    if isinstance(split_every, bool) or not isinstance(split_every, (int, np.integer)):
        raise TypeError(
            f"{where}: an integer is needed, got {split_every!r} of type "
            f"{type(split_every).__name__}; one number says how many partial results a task "
            f"merges, along whatever axis{next_step}"
        )
    if split_every < 2:
        raise ValueError(f"{where}: at least 2 is needed, got {split_every}{next_step}")
    return int(split_every)
