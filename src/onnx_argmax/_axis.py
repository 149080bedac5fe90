# SPDX-License-Identifier: Apache-2.0
"""The rule for ``axis``, written once for every door."""

from __future__ import annotations

import operator as _python_operator

import numpy as np

__all__ = ["axis_index", "normalize_axis"]


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
        f"axis {axis} is out of range for data of rank {rank}: "
        f"allowed is {-axes} to {axes - 1}"
    )
