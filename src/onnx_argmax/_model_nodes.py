# SPDX-License-Identifier: Apache-2.0
"""The ArgMax nodes of a model, found in every graph and function and checked before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import onnx
import onnx.helper

from onnx_argmax.operator import (
    DOMAIN,
    NAME,
    Dimension,
    version_for_opset,
)

__all__ = [
    "check_nodes",
    "declared_types",
    "is_argmax",
    "node_attributes",
    "node_words",
    "tensor_shape",
    "with_prefix",
]

_QUANTIZING: Final = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")


def is_argmax(node: onnx.NodeProto) -> bool:
    """Whether the node is the operator of this package."""
    return node.op_type == NAME and node.domain == DOMAIN


def node_words(node: onnx.NodeProto, opset: int) -> str:
    """What an error calls the node: its name, or its output where it has none."""
    return f"{_called(node)} ({node.op_type}, opset {opset})"


def _called(node: onnx.NodeProto) -> str:
    return f"node {node.name!r}" if node.name else f"node of output {', '.join(node.output)!r}"


def node_attributes(node: onnx.NodeProto) -> dict[str, object]:
    """Attributes of the node as Python values; 0 stands for one that a function's caller sets."""
    return {
        attribute.name: 0
        if attribute.ref_attr_name
        else onnx.helper.get_attribute_value(attribute)
        for attribute in node.attribute
    }


def with_prefix(prefix: str, error: TypeError | ValueError) -> TypeError | ValueError:
    """The error with the words of where it arose, of the same kind."""
    for kind in (TypeError, np.exceptions.AxisError):
        if isinstance(error, kind):
            return kind(f"{prefix}: {error}")
    return ValueError(f"{prefix}: {error}")


def check_nodes(model: onnx.ModelProto, name: str) -> None:
    """Check every ArgMax of a model on which shape inference has run.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, its known types and shapes in ``value_info``.
    name : str
        What an error calls the model.

    Raises
    ------
    TypeError
        For an element type that the node's version lacks.
    ValueError
        For an attribute that the node's version lacks or that has another kind, an axis out of
        range, a reduced axis of length 0, a quantised index, and an attribute outside of a
        function that refers to one of a caller's.
    """
    _check_scope(model.graph, _opset(model.opset_import), {}, name, has_caller=False)
    for function in model.functions:
        _check_scope(function, _opset(function.opset_import), {}, name, has_caller=True)


def _opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int | None:
    return next((entry.version for entry in imports if entry.domain == DOMAIN), None)


def _check_scope(
    scope: onnx.GraphProto | onnx.FunctionProto,
    opset: int | None,
    outer: Mapping[str, onnx.TypeProto],
    name: str,
    *,
    has_caller: bool,
) -> None:
    types = {**outer, **declared_types(scope)}
    indices: set[str] = set()
    for node in scope.node:
        if not has_caller:
            _refuse_references(node, name)
        quantizes = node.op_type in _QUANTIZING and node.domain == DOMAIN
        if quantizes and node.input and node.input[0] in indices:
            raise ValueError(
                f"{name}: node {node.name!r} ({node.op_type}) takes {node.input[0]!r}, the output "
                "of an ArgMax: that is an index, which cannot be quantised; take the pair of "
                "QuantizeLinear and DequantizeLinear behind the ArgMax out of the model"
            )
        if is_argmax(node) and opset is not None:
            _check_node(node, opset, types, name)
            indices.update(node.output)
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else []
            for graph in (*graphs, *attribute.graphs):
                _check_scope(graph, opset, types, name, has_caller=has_caller)


def _refuse_references(node: onnx.NodeProto, name: str) -> None:
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            raise ValueError(
                f"{name}: {_called(node)} ({node.op_type}): attribute {attribute.name!r} refers "
                f"to {attribute.ref_attr_name!r} of a function's caller, but the node is in no "
                "function; give it a value"
            )


def _check_node(
    node: onnx.NodeProto, opset: int, types: Mapping[str, onnx.TypeProto], name: str
) -> None:
    version = version_for_opset(opset)
    where = f"{name}: {node_words(node, opset)}"
    try:
        attributes = version.check_attributes(node_attributes(node))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
    declared = types.get(node.input[0]) if node.input else None
    if declared is None or not declared.HasField("tensor_type"):
        return
    tensor = declared.tensor_type
    # An attribute that a function's caller sets is not known here; the run checks it.
    linked = any(attribute.ref_attr_name for attribute in node.attribute)
    try:
        version.infer(
            tensor.elem_type or None, None if linked else tensor_shape(tensor), attributes
        )
    except (TypeError, ValueError) as error:
        raise with_prefix(f"{where}: input {node.input[0]!r}", error) from error


def declared_types(scope: onnx.GraphProto | onnx.FunctionProto) -> dict[str, onnx.TypeProto]:
    """Types of a scope's values, by name, as far as it says or shape inference has found out."""
    values = list(scope.value_info)
    types: dict[str, onnx.TypeProto] = {}
    if isinstance(scope, onnx.GraphProto):
        values += (*scope.output, *scope.input)
        for tensor in scope.initializer:
            types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return types | {value.name: value.type for value in values}


def tensor_shape(tensor: onnx.TypeProto.Tensor) -> tuple[Dimension, ...] | None:
    """Dimensions of a tensor; None as a whole where not even the rank is known."""
    if not tensor.HasField("shape"):
        return None
    return tuple(
        dimension.dim_value
        # Some exporters write a length that is not known as a negative one.
        if dimension.HasField("dim_value") and dimension.dim_value >= 0
        else dimension.dim_param or None
        for dimension in tensor.shape.dim
    )
