# SPDX-License-Identifier: Apache-2.0
"""NumPy; it uses one thread."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.base import Prepared, Task, narrowed, result_shape

__all__ = ["WithNumPy"]


class WithNumPy:
    name = "NumPy"
    distribution = "numpy"

    def load(self) -> None:
        pass  # the benchmark needs it itself

    def prepare(self, task: Task) -> Prepared:
        if task.overhead:
            data, axis = task.data, task.axis
            return Prepared(lambda: np.argmax(data, axis), lambda: np.argmax(data, axis))
        wide = np.empty(result_shape(task), np.int64)
        call, result = narrowed(task, lambda: self._argmax(task, wide), wide)
        return Prepared(call, lambda: result)

    @staticmethod
    def _argmax(task: Task, out: np.ndarray) -> None:
        if task.select_last_index:
            np.argmax(np.flip(task.data, task.axis), task.axis, out=out)
            np.subtract(task.length - 1, out, out=out)
        else:
            np.argmax(task.data, task.axis, out=out)
