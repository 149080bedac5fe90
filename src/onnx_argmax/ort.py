# SPDX-License-Identifier: Apache-2.0
"""ArgMax for ONNX Runtime: an execution provider that runs the ArgMax nodes of any model.

The provider is a library that ONNX Runtime loads (:func:`get_library_path`), so the model stays
as it is, and other languages use it too. It takes every element type of the operator, gives the
answers of this package's contract, and works on ONNX Runtime's own threads.

It needs ``onnxruntime`` 1.24 or later, and :func:`claimed_nodes` also ``onnx``; asking for names
and paths needs neither.

Examples
--------
>>> import numpy as np
>>> import onnx.parser
>>> from onnx_argmax.ort import InferenceSession
>>> model = onnx.parser.parse_model('''
...     <ir_version: 8, opset_import: ["" : 13]>
...     classify (uint16[N, 3] scores) => (int64[N] labels) {
...         labels = ArgMax <axis = 1, keepdims = 0> (scores)
...     }
... ''')
>>> session = InferenceSession(model)
>>> (labels,) = session.run(None, {"scores": np.array([[1, 3, 2], [9, 8, 7]], np.uint16)})
>>> labels.tolist()
[1, 0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx_argmax._extras import raise_not_installed
from onnx_argmax._ort_library import (
    devices,
    get_ep_name,
    get_ep_names,
    get_library_path,
    register,
    unregister,
)
from onnx_argmax._ort_options import session_options

if TYPE_CHECKING:
    from onnx_argmax._ort_claims import NodeClaim, claimed_nodes
    from onnx_argmax._ort_session import InferenceSession

__all__ = [
    "InferenceSession",
    "NodeClaim",
    "claimed_nodes",
    "devices",
    "get_ep_name",
    "get_ep_names",
    "get_library_path",
    "register",
    "session_options",
    "unregister",
]


def __getattr__(name: str) -> Any:
    # These need onnxruntime, or onnx, to be imported.
    if name == "InferenceSession":
        from onnx_argmax._ort_session import InferenceSession

        return InferenceSession
    if name in ("NodeClaim", "claimed_nodes"):
        try:
            from onnx_argmax import _ort_claims
        except ModuleNotFoundError as error:
            raise_not_installed(error, f"{__name__}.{name}")
        return getattr(_ort_claims, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
