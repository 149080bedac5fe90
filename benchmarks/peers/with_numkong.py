# SPDX-License-Identifier: Apache-2.0
"""NumKong; it uses one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.base import Prepared, Task, UnsupportedError, native_copy

__all__ = ["WithNumKong"]


class WithNumKong:
    name = "NumKong"
    distribution = "numkong"

    def load(self) -> None:
        import numkong

        self._numkong: Any = numkong

    def prepare(self, task: Task) -> Prepared:
        numkong = self._numkong
        if task.select_last_index:
            raise UnsupportedError("no such option")
        readable, copy = native_copy(task)
        flat = readable.reshape(-1) if task.axis is None else readable
        axis = None if flat.ndim == 1 else task.axis
        found: list[Any] = [None]
        # NumPy's buffers of ml_dtypes' bfloat16 carry no type that NumKong knows.
        options: dict[str, Any] = {}
        if flat.dtype.name == "bfloat16":
            flat, options = flat.view(np.uint16), {"dtype": "bfloat16"}

        def call() -> None:
            if copy is not None:
                copy()
            found[0] = numkong.argmax(flat, axis, **options)
            if found[0] is None:
                raise UnsupportedError("gives no index where all elements are NaN")
            if task.result != "int64":
                found[0] = np.asarray(found[0]).astype(task.result)

        return Prepared(call, lambda: np.asarray(found[0]), copies=copy is not None)
