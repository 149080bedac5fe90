# SPDX-License-Identifier: Apache-2.0
"""This package, called as the peers are."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.base import Prepared, Task, result_shape
from onnx_argmax import argmax

__all__ = ["prepare"]


def prepare(task: Task) -> Prepared:
    """The call; the number of threads is the process's own setting (``benchmarks.cpus``)."""
    data, axis, last = task.data, task.axis, task.select_last_index
    if task.overhead:
        return Prepared(lambda: argmax(data, axis, False), lambda: argmax(data, axis, False))
    out = np.empty(result_shape(task), task.result)
    return Prepared(lambda: argmax(data, axis, False, last, out=out), lambda: out)
