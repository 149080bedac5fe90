# SPDX-License-Identifier: Apache-2.0
"""An ArgMax behind the scores of a model that ends without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray
from onnx import TensorProto

__all__ = ["AS_BFLOAT16", "AS_FLOAT16", "AS_UINT16", "LABELS", "Conversion", "with_argmax"]

LABELS: Final = "labels"


@dataclass(frozen=True)
class Conversion:
    """What is done to the scores before their ArgMax."""

    elem_type: int
    dtype: np.dtype[Any]
    factor: float = 1
    """Probabilities are spread over the range of an integer type by it."""

    def __str__(self) -> str:
        return self.dtype.name

    def of(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The same by NumPy."""
        return (scores * scores.dtype.type(self.factor)).astype(self.dtype)


# Types for which ONNX Runtime's CPU provider has no kernel.
AS_BFLOAT16: Final = Conversion(TensorProto.BFLOAT16, np.dtype(ml_dtypes.bfloat16))
AS_FLOAT16: Final = Conversion(TensorProto.FLOAT16, np.dtype(np.float16))
AS_UINT16: Final = Conversion(TensorProto.UINT16, np.dtype(np.uint16), 65535)


def with_argmax(
    model: onnx.ModelProto,
    scores: str,
    axis: int,
    *,
    conversion: Conversion | None = None,
    keep_scores: bool = True,
    **attributes: int,
) -> onnx.ModelProto:
    """A copy of the model whose first output, ``labels``, is the ArgMax of one of its values.

    Parameters
    ----------
    model : onnx.ModelProto
        Any model with float scores in its main graph.
    scores : str
        Name of the value, of element type float32.
    axis : int
        Axis of the classes.
    conversion : Conversion, optional
        What is done to the scores first.
    keep_scores : bool
        Whether the scores are the second output; else the labels are the only one.
    **attributes
        Further attributes of the ArgMax; ``keepdims`` is 0.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    if conversion is not None:
        graph.initializer.append(
            onnx.numpy_helper.from_array(np.array(conversion.factor, np.float32), "label_factor")
        )
        graph.node.extend(
            [
                onnx.helper.make_node("Mul", [scores, "label_factor"], ["label_scaled"]),
                onnx.helper.make_node(
                    "Cast", ["label_scaled"], ["label_scores"], to=conversion.elem_type
                ),
            ]
        )
    reduced = scores if conversion is None else "label_scores"
    graph.node.append(
        onnx.helper.make_node(
            "ArgMax", [reduced], [LABELS], LABELS, axis=axis, keepdims=0, **attributes
        )
    )
    del graph.output[:]
    graph.output.append(onnx.helper.make_tensor_value_info(LABELS, TensorProto.INT64, None))
    if keep_scores:
        graph.output.append(onnx.helper.make_tensor_value_info(scores, TensorProto.FLOAT, None))
    return copy
