# SPDX-License-Identifier: Apache-2.0
"""What a contender is asked, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks.data import Array

__all__ = [
    "Peer",
    "Prepared",
    "Task",
    "UnsupportedError",
    "narrowed",
    "native_copy",
    "result_shape",
]


class UnsupportedError(Exception):
    """The peer does not take the case; the message says why."""


@dataclass(frozen=True)
class Task:
    """One ArgMax, without keeping the reduced axis."""

    data: Array
    axis: int | None
    select_last_index: bool
    result: str
    """Element type of the result."""
    overhead: bool
    """A plain call with a new result; elsewhere the result is written to the same memory."""
    threads: int

    @property
    def length(self) -> int:
        """Elements along the reduced axis."""
        return self.data.size if self.axis is None else self.data.shape[self.axis]


@dataclass(frozen=True)
class Prepared:
    """A call that is ready to be timed."""

    call: Callable[[], object]
    result: Callable[[], Array]
    """What the last call gave, of any shape of the right size."""
    copies: bool = False
    """Whether the call begins with a copy, as the peer cannot read the data where they are."""


class Peer(Protocol):
    """Another ArgMax."""

    name: str
    distribution: str
    """Name of the installed distribution, whose version is reported."""

    def load(self) -> None:
        """Import what is needed; ImportError where it is absent."""
        ...

    def prepare(self, task: Task) -> Prepared:
        """Make everything ready but the call itself.

        Raises
        ------
        UnsupportedError
            When the peer cannot do it.
        """
        ...


def result_shape(task: Task) -> tuple[int, ...]:
    """Shape of the result."""
    if task.axis is None:
        return ()
    axis = task.axis % task.data.ndim
    return task.data.shape[:axis] + task.data.shape[axis + 1 :]


def native_copy(
    task: Task, *, any_strides: bool = False
) -> tuple[Array, Callable[[], object] | None]:
    """Data that a peer without odd strides and byte orders can read.

    They are the task's own data where that will do. Otherwise a contiguous array and the call
    that copies the data into it, to be timed with the rest, since the user pays for it too.
    """
    data = task.data
    readable = data.flags.c_contiguous or (any_strides and min(data.strides) >= 0)
    if data.dtype.isnative and readable:
        return data, None
    copy = np.empty(data.shape, data.dtype.newbyteorder("="))
    return copy, lambda: np.copyto(copy, data)


def narrowed(
    task: Task, call: Callable[[], object], wide: Array
) -> tuple[Callable[[], object], Array]:
    """Follow a call whose result is int64 by the cast to the type that the task wants."""
    if task.result == wide.dtype.name:
        return call, wide
    narrow = np.empty(wide.shape, task.result)

    def both() -> None:
        call()
        np.copyto(narrow, wide, casting="unsafe")

    return both, narrow
