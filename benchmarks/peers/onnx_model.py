# SPDX-License-Identifier: Apache-2.0
"""The model that the ONNX runtimes are given: ArgMax, and a Cast where the result is narrow."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.base import Task
from onnx_argmax._element_types import element_type_of_dtype

__all__ = ["INPUT", "OUTPUT", "element_type", "model_of", "output_shape", "rank_kept"]

INPUT = "data"
OUTPUT = "reduced"


def element_type(dtype: np.dtype) -> int:
    """Number of a dtype in ``onnx.TensorProto.DataType``."""
    found = element_type_of_dtype(dtype)
    assert found is not None
    return found.tensor_proto


def rank_kept(task: Task) -> tuple[tuple[int, ...], int]:
    """Shape that the model takes, and the axis: the flattened array where that is None."""
    if task.axis is None:
        return (task.data.size,), 0
    return task.data.shape, task.axis


def output_shape(task: Task) -> tuple[int, ...]:
    """Shape that the model gives; it keeps the reduced axis, so that no rank is 0."""
    shape, axis = rank_kept(task)
    axis %= len(shape)
    return (*shape[:axis], 1, *shape[axis + 1 :])


def model_of(task: Task) -> bytes:
    """The model, serialized."""
    from onnx import helper

    shape, axis = rank_kept(task)
    narrow = task.result != "int64"
    nodes = [
        helper.make_node(
            "ArgMax",
            [INPUT],
            ["wide" if narrow else OUTPUT],
            axis=axis,
            keepdims=1,
            select_last_index=int(task.select_last_index),
        )
    ]
    result = element_type(np.dtype(task.result))
    if narrow:
        nodes.append(helper.make_node("Cast", ["wide"], [OUTPUT], to=result))
    graph = helper.make_graph(
        nodes,
        "argmax",
        [helper.make_tensor_value_info(INPUT, element_type(task.data.dtype), shape)],
        [helper.make_tensor_value_info(OUTPUT, result, output_shape(task))],
    )
    opset = helper.make_opsetid("", 13)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
