# SPDX-License-Identifier: Apache-2.0
"""The chunks of a store, as it says them itself."""

from __future__ import annotations

import operator
import reprlib
from typing import Any

import numpy as np

__all__ = ["chunk_of"]


def chunk_of(argument: str, store: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """What a store reads or writes at once at least; 1 along every axis where it is any box.

    Parameters
    ----------
    argument
        Its name in a message.
    store
        Anything whose ``chunks`` (or ``shards``, which are files of several chunks, opened and
        indexed once for all of them) are None, not there, or one size for each axis. A tuple of
        sizes for an axis, as Dask has it, counts as one size where only the last is smaller.
    shape
        Of the store.

    Raises
    ------
    TypeError
        When they are anything else.
    """
    name = "chunks"
    try:
        name = "chunks" if getattr(store, "shards", None) is None else "shards"
        chunks: Any = getattr(store, name, None)
    except Exception as error:  # what an object raises when it is asked is its own
        came = f"{type(error).__name__}: {error}"
        raise _strange_chunks(argument, store, shape, name, came) from error
    if chunks is None:
        return (1,) * len(shape)
    try:
        if not isinstance(chunks, (tuple, list, np.ndarray)):
            raise TypeError
        return tuple(_size_of_chunks(c, n) for c, n in zip(chunks, shape, strict=True))
    except Exception as error:
        came = reprlib.repr(chunks)
        raise _strange_chunks(argument, store, shape, name, came) from error


def _strange_chunks(
    argument: str, store: Any, shape: tuple[int, ...], name: str, came: str
) -> TypeError:
    return TypeError(
        f"{argument}: {name} of this {type(store).__name__} are {came}; allowed are None and one "
        f"positive integer for each axis of its shape {shape}; pass an object without {name}, "
        "which is read and written by any box"
    )


def _size_of_chunks(size: Any, whole: int) -> int:
    """Of chunks along an axis; an error of any class for what says no such size."""
    if isinstance(size, (tuple, list)):
        sizes = [operator.index(n) for n in size]
        if sum(sizes) != whole or {*sizes[:-1]} - {sizes[0]} or sizes[-1] > sizes[0]:
            raise ValueError
        size = sizes[0]
    if isinstance(size, bool) or operator.index(size) < min(1, whole):
        raise ValueError
    return max(1, min(operator.index(size), whole))
