# SPDX-License-Identifier: Apache-2.0
"""The rules for results: element type, width, and the caller's ``out``."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

__all__ = ["check_out", "new_result_dtype", "result_dtype"]

_RESULT_DTYPES: Final = tuple(
    np.dtype(name)
    for name in ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
)
_INT64: Final = _RESULT_DTYPES[0]


def new_result_dtype(dtype: Any, data_shape: tuple[int, ...], axis: int | None) -> np.dtype[Any]:
    """Element type of a result that is made anew: ``dtype``, or int64.

    Raises
    ------
    TypeError
        When it is no integer type.
    ValueError
        When it is too narrow for the axis.
    """
    found = _INT64 if dtype is None else result_dtype("dtype", dtype)
    _check_width("dtype", found, data_shape, axis)
    return found


def check_out(
    out: Any, dtype: Any, shape: tuple[int, ...], data_shape: tuple[int, ...], axis: int | None
) -> np.dtype[Any]:
    """Check what takes the result, by its shape and dtype; give its dtype.

    Parameters
    ----------
    out : object
        What has ``shape`` and ``dtype``; where it has ``flags``, they tell whether it is
        writeable.
    dtype : object
        What the caller asked for; None for nothing.
    shape : tuple of int
        Shape of the result.
    data_shape : tuple of int
        Shape of the data.
    axis : int or None
        The reduced axis, normalized; None for the flattened array.

    Raises
    ------
    TypeError
        When one of the types is no integer type.
    ValueError
        When the shape is another, the type another one than asked for or too narrow for the axis,
        or the array is read-only.
    """
    wanted = None if dtype is None else result_dtype("dtype", dtype)
    found = result_dtype("out", out.dtype)
    if wanted not in (None, found):
        raise ValueError(f"out: its element type is {found}, but dtype asks for {wanted}")
    if tuple(out.shape) != shape:
        keeps = len(out.shape) < len(shape)
        hint = "; pass keepdims=False for a result without the axis" if keeps else ""
        raise ValueError(
            f"out: its shape is {tuple(out.shape)}, but the result's is {shape}{hint}"
        )
    flags = getattr(out, "flags", None)
    if getattr(out, "read_only", False) or not getattr(flags, "writeable", True):
        raise ValueError("out: the array is read-only; pass one that can be written")
    _check_width("out", found, data_shape, axis)
    return found


def result_dtype(argument: str, dtype: Any) -> np.dtype[Any]:
    """An integer dtype in native byte order.

    Raises
    ------
    TypeError
        When it is another one.
    """
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
    length = math.prod(data_shape if axis is None else data_shape[axis : axis + 1])
    if length - 1 > np.iinfo(dtype).max:
        raise ValueError(
            f"{argument}: {dtype} numbers at most {np.iinfo(dtype).max + 1} elements, "
            f"but the reduced axis has {length}; take a wider type"
        )
