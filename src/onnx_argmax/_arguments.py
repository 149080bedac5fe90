# SPDX-License-Identifier: Apache-2.0
"""The rules for arguments, written once for every door."""

from __future__ import annotations

import operator as _python_operator
from typing import Final, TypeVar

import numpy as np

__all__ = ["axis_index", "flag", "normalize_axis", "result_shape", "thread_count"]

_Dimension = TypeVar("_Dimension")

_MOST_THREADS: Final = 2**31 - 1
"""What the core can count; a call starts no more threads than its work is worth."""


def axis_index(axis: object) -> int:
    """One integer axis from any object with ``__index__``; bool is refused.

    Raises
    ------
    TypeError
        When ``axis`` is no integer, a bool (which would silently mean 0 or 1), or several axes.
    """
    if not isinstance(axis, (bool, np.bool_)):
        try:
            return _python_operator.index(axis)  # pyright: ignore[reportArgumentType]
        except TypeError:
            pass
    hint = "; to reduce several axes at once, reshape them into one first"
    raise TypeError(
        f"axis: one integer is needed, got {axis!r} of type {type(axis).__name__}"
        + (hint if isinstance(axis, (tuple, list)) else "")
    )


def normalize_axis(axis: int, rank: int) -> int:
    """Axis in ``[0, max(rank, 1) - 1]`` for an axis in ``[-rank, rank - 1]``.

    Rank 0 counts as one element along one axis, so 0 and -1 are its axes (the contract follows
    NumPy, PyTorch and the reference evaluator there).

    Raises
    ------
    numpy.exceptions.AxisError
        (a ValueError and an IndexError) when the axis is out of range.
    """
    axes = max(rank, 1)
    if -axes <= axis < axes:
        return axis % axes
    raise np.exceptions.AxisError(
        f"axis {axis} is out of range for data of rank {rank}: allowed is {-axes} to {axes - 1}"
    )


def result_shape(
    shape: tuple[_Dimension, ...], axis: int | None, keepdims: bool
) -> tuple[_Dimension | int, ...]:
    """Shape of the result; ``axis`` is normalized, None for the flattened array.

    Dimensions may be names or unknown, as in a model: only a length of 0 is looked for.

    Raises
    ------
    ValueError
        When there is nothing to choose from: the reduced axis has length 0.
    """
    if 0 in (shape if axis is None else shape[axis : axis + 1]):
        what = "the flattened array" if axis is None else f"axis {axis}"
        raise ValueError(
            f"data: {what} of shape {shape} has length 0, so it has no largest element; "
            "at least one element is needed along the reduced axis"
        )
    if axis is None:
        return (1,) * len(shape) if keepdims else ()
    if not shape:
        return ()
    return (*shape[:axis], 1, *shape[axis + 1 :]) if keepdims else shape[:axis] + shape[axis + 1 :]


def flag(argument: str, value: object) -> bool:
    """0 is false and any other integer true, as ONNX Runtime takes the attribute."""
    if value is True or value is False:
        return value
    try:
        return bool(_python_operator.index(value))  # pyright: ignore[reportArgumentType]
    except TypeError:
        if isinstance(value, np.bool_):
            return bool(value)
        raise TypeError(
            f"{argument}: a bool or an integer is needed, got {value!r} "
            f"of type {type(value).__name__}"
        ) from None


def thread_count(threads: object) -> int:
    """A number of threads, checked. The errors are those of ``set_num_threads``."""
    try:
        if isinstance(threads, bool):
            raise TypeError
        count = _python_operator.index(threads)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise TypeError(
            f"threads: an integer is needed, got {threads!r} of type {type(threads).__name__}"
        ) from None
    if count < 1:
        raise ValueError(f"threads: at least 1 is needed, got {count}")
    return min(count, _MOST_THREADS)
