# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime, its CPU provider or this package's, with input and output bound to memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.base import Prepared, Task, UnsupportedError, native_copy
from benchmarks.peers.onnx_model import (
    INPUT,
    OUTPUT,
    element_type,
    model_of,
    output_shape,
    rank_kept,
)

__all__ = ["WithOnnxRuntime", "WithProvider"]

_ONLY_FATAL = 4


class WithOnnxRuntime:
    name = "ONNX Runtime"
    distribution = "onnxruntime"

    def load(self) -> None:
        import onnx  # noqa: F401  # the model is made with it
        import onnxruntime

        self._runtime: Any = onnxruntime

    def _session(self, model: bytes, options: Any) -> Any:
        return self._runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def prepare(self, task: Task) -> Prepared:
        runtime = self._runtime
        options = runtime.SessionOptions()
        options.intra_op_num_threads = task.threads
        options.log_severity_level = _ONLY_FATAL
        # Its threads spin while a run lasts, as ever, but not on into the next one's turn.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        try:
            session = self._session(model_of(task), options)
        except Exception as error:  # its exceptions have no common class of their own
            raise UnsupportedError(str(error).splitlines()[0]) from error
        readable, copy = native_copy(task)
        flat = readable.reshape(rank_kept(task)[0])
        if task.data.dtype.name == "bfloat16":
            value = runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(
                flat.view(np.uint16), element_type(task.data.dtype)
            )
        else:
            value = runtime.OrtValue.ortvalue_from_numpy(flat)
        result = np.empty(output_shape(task), task.result)
        binding = session.io_binding()
        binding.bind_ortvalue_input(INPUT, value)
        out = runtime.OrtValue.ortvalue_from_numpy(result)
        binding.bind_ortvalue_output(OUTPUT, out)

        memory = flat, result  # the binding refers to it without keeping it

        def run() -> object:
            if copy is not None:
                copy()
            session.run_with_iobinding(binding)
            return memory

        return Prepared(run, lambda: result, copies=copy is not None)


class WithProvider(WithOnnxRuntime):
    """The same sessions, with this package's provider in front of the CPU one."""

    name = "onnx-argmax in ONNX Runtime"

    def _session(self, model: bytes, options: Any) -> Any:
        from onnx_argmax.ort import InferenceSession

        return InferenceSession(model, options)
