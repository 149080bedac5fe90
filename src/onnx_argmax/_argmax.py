# SPDX-License-Identifier: Apache-2.0
"""The array function: every check, then one call of the core."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from onnx_argmax import _native
from onnx_argmax._arguments import (
    axis_index,
    flag,
    normalize_axis,
    result_shape,
    thread_count,
)
from onnx_argmax._arrays import source, writable_view

__all__ = ["argmax"]

_RESULT_DTYPES: Final = tuple(
    np.dtype(name)
    for name in ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
)
_INT64: Final = _RESULT_DTYPES[0]


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
        every kind, read-only and byte-swapped arrays are read in place, without a copy.
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
        Most threads this call may use; by default :func:`onnx_argmax.get_num_threads`.

    Returns
    -------
    array
        Indices, int64 unless ``dtype`` or ``out`` says otherwise, of the shape of ``data``
        without the axis, or with length 1 there. The kind of array is that of ``data`` (or
        ``out`` itself); what is no array library's own array gives a NumPy array.

    Raises
    ------
    TypeError
        For data of another element type, on a device, masked or lazy; for an axis that is no
        integer; for a ``dtype`` or ``out`` that is not of an integer type.
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


def _result_array(
    dtype: Any,
    out: Any,
    shape: tuple[int, ...],
    data_shape: tuple[int, ...],
    axis: int | None,
) -> np.ndarray[Any, Any]:
    wanted = None if dtype is None else _result_dtype("dtype", dtype)
    if out is None:
        wanted = wanted or _INT64
        _check_width("dtype", wanted, data_shape, axis)
        return np.empty(shape, wanted)
    view = writable_view(out)
    found = _result_dtype("out", view.dtype)
    if wanted not in (None, found):
        raise ValueError(f"out: its element type is {found}, but dtype asks for {wanted}")
    if view.shape != shape:
        keeps = len(view.shape) < len(shape)
        hint = "; pass keepdims=False for a result without the axis" if keeps else ""
        raise ValueError(f"out: its shape is {view.shape}, but the result's is {shape}{hint}")
    if not view.flags.writeable:
        raise ValueError("out: the array is read-only; pass one that can be written")
    _check_width("out", found, data_shape, axis)
    return view


def _result_dtype(argument: str, dtype: Any) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except (
        TypeError,
        ValueError,
        SyntaxError,
    ):  # a dtype of another library: torch.uint8, for example
        name = str(dtype).rpartition(".")[2]
        found = next((d for d in _RESULT_DTYPES if d.name == name), None)
    if found not in _RESULT_DTYPES:
        allowed = ", ".join(d.name for d in _RESULT_DTYPES)
        raise TypeError(
            f"{argument}: an index has one of the types {allowed} in native byte order, "
            f"got {dtype if found is None else found}"
        )
    assert found is not None
    return found


def _check_width(
    argument: str, dtype: np.dtype[Any], data_shape: tuple[int, ...], axis: int | None
) -> None:
    length = 1
    for dimension in data_shape if axis is None else data_shape[axis : axis + 1]:
        length *= dimension
    if length - 1 > np.iinfo(dtype).max:
        raise ValueError(
            f"{argument}: {dtype} numbers at most {np.iinfo(dtype).max + 1} elements, "
            f"but the reduced axis has {length}; take a wider type"
        )
