# SPDX-License-Identifier: Apache-2.0
"""The array function: every check, then one call of the core."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnx_argmax import _native
from onnx_argmax._arguments import (
    axis_index,
    flag,
    normalize_axis,
    result_shape,
    thread_count,
)
from onnx_argmax._arrays import is_dask_array, source, writable_view
from onnx_argmax._results import check_out, new_result_dtype

__all__ = ["argmax"]


def argmax(
    data: Any,
    axis: Any = 0,
    keepdims: Any = True,
    select_last_index: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """Index of the largest element along an axis, as ONNX ArgMax defines it.

    Parameters
    ----------
    data : array
        Any array of float32, float64, float16, bfloat16, an integer type of 8 to 64 bits, or
        bool, in the CPU's memory: NumPy (ml_dtypes' bfloat16 included), whatever speaks DLPack
        (PyTorch, JAX, array-api-strict...), the buffer protocol or ``__array__``. Strides of
        every kind, read-only and byte-swapped arrays are read in place, without a copy. A Dask
        array goes to :func:`onnx_argmax.dask.argmax`.
    axis : int or None, default 0
        Axis to reduce, in ``[-rank, rank - 1]``. None reduces the flattened array (C order).
    keepdims : bool, default True
        Keep the reduced axis with length 1 (with ``axis=None``: every axis).
    select_last_index : bool, default False
        Of equal maxima take the last index instead of the first.
    dtype : integer dtype, default int64
        Element type of the result, refused where the axis is longer than it can number.
    out : array, optional
        Array that takes the result: of the result's shape, of any strides, of an integer type
        (``dtype``, where that is given too), not overlapping ``data``.
    threads : int, optional
        Most threads this call may use; by default :func:`onnx_argmax.get_num_threads`. For a
        Dask array: most threads of one task, 1 by default.

    Returns
    -------
    array
        Indices, int64 unless ``dtype`` or ``out`` says otherwise, of the shape of ``data``
        without the axis, or with length 1 there. The kind of array is that of ``data`` (or
        ``out`` itself), a Dask array's being lazy; what is no array library's own array gives a
        NumPy array.

    Raises
    ------
    TypeError
        For data of another element type, on a device, masked, or lazy in another object than a
        Dask array; for an axis that is no integer; for a ``dtype`` or ``out`` that is not of an
        integer type; for an ``out`` beside a Dask array.
    ValueError
        For an axis of length 0; for an axis out of range
        (:class:`numpy.exceptions.AxisError`); for an ``out`` of the wrong shape, read-only or
        overlapping ``data``; for a result type too narrow for the axis; for ``threads`` below 1.

    Notes
    -----
    The order is total, the same on every door of this package, and bit for bit independent of
    layout, instruction set and number of threads. For floats: NaN of any sign and payload above
    everything and equal among themselves, as in NumPy and in ONNX's reference evaluator; -0.0
    equal to +0.0; subnormals in full. The defaults are those of the operator, version 13.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx_argmax import argmax
    >>> argmax(np.array([[2, 1], [3, 10]], dtype=np.float32), axis=1, keepdims=False)
    array([0, 1])
    >>> argmax(np.array([[2, 2], [3, 10]], dtype=np.float32), axis=1, select_last_index=True)
    array([[1],
           [1]])
    """
    if dtype is None:
        result = _native.argmax_plain(data, axis, keepdims, select_last_index, out, threads)
        if result is not None:
            return result
    if is_dask_array(data):
        return _of_dask(data, axis, keepdims, select_last_index, dtype, out, threads)
    taken = source(data)
    position = None if axis is None else normalize_axis(axis_index(axis), len(taken.shape))
    keep = flag("keepdims", keepdims)
    last = flag("select_last_index", select_last_index)
    most_threads = 0 if threads is None else thread_count(threads)
    shape = result_shape(taken.shape, position, keep)
    result = _result_array(dtype, out, shape, taken.shape, position)
    _native.argmax(
        taken.memory,
        taken.element_type.tensor_proto,
        taken.byte_swapped,
        -1 if position is None else position,
        last,
        result,
        most_threads,
    )
    return taken.restore(result) if out is None else out


def _of_dask(
    data: Any,
    axis: Any,
    keepdims: Any,
    select_last_index: Any,
    dtype: Any,
    out: Any,
    threads: int | None,
) -> Any:
    if out is not None:
        raise TypeError(
            "out: the result of a Dask array is lazy, so there is nothing to write yet; "
            "pass the result and out to dask.array.store"
        )
    from onnx_argmax import dask

    return dask.argmax(
        data,
        axis,
        keepdims,
        select_last_index,
        dtype=dtype,
        threads=1 if threads is None else threads,
    )


def _result_array(
    dtype: Any,
    out: Any,
    shape: tuple[int, ...],
    data_shape: tuple[int, ...],
    axis: int | None,
) -> np.ndarray[Any, Any]:
    if out is None:
        return np.empty(shape, new_result_dtype(dtype, data_shape, axis))
    view = writable_view(out)
    check_out(view, dtype, shape, data_shape, axis)
    return view
