# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's CPU device, with input and output in the caller's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import cpus
from benchmarks.peers.base import Prepared, Task, UnsupportedError, native_copy
from benchmarks.peers.onnx_model import model_of, output_shape, rank_kept

__all__ = ["WithOpenVino"]


_LONGEST_ROW = 1 << 26
"""Compiling takes time by the length of a row; for 2^27 that is from 4 s to a minute."""


class WithOpenVino:
    name = "OpenVINO"
    distribution = "openvino"

    def load(self) -> None:
        import onnx  # noqa: F401  # the model is made with it
        import openvino

        self._openvino: Any = openvino
        self._core = openvino.Core()
        # Its threads are as many as there are processors when it first runs; later, there may
        # be fewer for a while.
        tiny = Task(np.zeros((1, 2), np.float32), 1, False, "int64", False, cpus.available())
        self.prepare(tiny).call()

    def prepare(self, task: Task) -> Prepared:
        openvino = self._openvino
        if task.length > _LONGEST_ROW:
            raise UnsupportedError(
                "not asked: to compile a model for so long a row takes too long"
            )
        try:
            compiled = self._core.compile_model(
                self._core.read_model(model_of(task)),
                "CPU",
                {
                    "INFERENCE_NUM_THREADS": task.threads,
                    "ENABLE_CPU_PINNING": False,  # benchmarks.cpus does it for everybody
                    "PERFORMANCE_HINT": "LATENCY",
                    "INFERENCE_PRECISION_HINT": "f32",  # or it may round floats to bfloat16
                },
            )
        except RuntimeError as error:
            raise UnsupportedError(_short(error)) from error
        readable, copy = native_copy(task)
        flat = readable.reshape(rank_kept(task)[0])
        if task.data.dtype.name == "bfloat16":
            tensor = openvino.Tensor(flat.view(np.uint16), flat.shape, openvino.Type.bf16)
        else:
            tensor = openvino.Tensor(flat, shared_memory=True)
        result = np.empty(output_shape(task), task.result)
        request = compiled.create_infer_request()
        request.set_input_tensor(tensor)
        request.set_output_tensor(openvino.Tensor(result, shared_memory=True))

        memory = flat, result  # the request refers to it without keeping it

        def infer() -> object:
            if copy is not None:
                copy()
            request.infer()
            return memory

        return Prepared(infer, lambda: result, copies=copy is not None)


def _short(error: RuntimeError) -> str:
    """The last line of a report that begins with where in OpenVINO it was written."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
