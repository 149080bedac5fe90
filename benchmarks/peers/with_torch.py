# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import Array
from benchmarks.peers.base import (
    Prepared,
    Task,
    UnsupportedError,
    narrowed,
    native_copy,
    result_shape,
)

__all__ = ["WithTorch"]


class WithTorch:
    name = "PyTorch"
    distribution = "torch"

    def load(self) -> None:
        import torch

        self._torch: Any = torch

    def prepare(self, task: Task) -> Prepared:
        torch = self._torch
        if task.select_last_index:
            raise UnsupportedError("no such option, and torch.flip copies")
        torch.set_num_threads(task.threads)
        readable, copy = native_copy(task, any_strides=True)
        data, axis = self._tensor(readable), task.axis
        if task.overhead:
            return Prepared(
                lambda: torch.argmax(data, axis), lambda: torch.argmax(data, axis).numpy()
            )
        wide = np.empty(result_shape(task), np.int64)
        out = torch.from_numpy(wide)

        def argmax() -> None:
            if copy is not None:
                copy()
            torch.argmax(data, axis, out=out)

        call, result = narrowed(task, argmax, wide)
        return Prepared(call, lambda: result, copies=copy is not None)

    def _tensor(self, data: Array) -> Any:
        if data.dtype.name == "bfloat16":
            return self._torch.from_numpy(data.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(data)
