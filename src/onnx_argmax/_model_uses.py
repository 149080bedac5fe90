# SPDX-License-Identifier: Apache-2.0
"""What each ArgMax of a model is given: attributes, element type and shape, call by call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import onnx
import onnx.helper
import onnx.inliner
import onnx.shape_inference

from onnx_argmax._model_nodes import declared_types, tensor_shape
from onnx_argmax._model_scopes import ArgMaxNode, Scope, argmax_nodes, model_scopes
from onnx_argmax.operator import Dimension

__all__ = ["MOST_NODES", "Use", "drop_weights", "nodes_written_out", "uses_of"]

MOST_NODES: Final = 1_000_000
"""Nodes of a model whose functions are written out at each call. More come out of functions that
call one another many times over, which a small file can do without end."""

_LARGEST_SHAPE_BYTES: Final = 4096
"""Shape inference reads tensors that are shapes, axes or sizes, none of which is longer."""

_Attributes = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Use:
    """What one ArgMax is given; in a function, by one of the calls or several that agree."""

    attributes: _Attributes
    """Names and values as the node, or the function's call, sets them."""
    linked: tuple[str, ...]
    """Names of attributes that a function's caller sets, where no call was followed."""
    kind: str
    """Kind of the input: ``"tensor_type"``, ``"sequence_type"``...; empty where unknown."""
    element_type: int | None
    """Number in ``TensorProto.DataType``; None where unknown."""
    shape: tuple[Dimension, ...] | None
    """None where the rank is unknown."""


def drop_weights(model: onnx.ModelProto) -> None:
    """Take the data of large tensors out of a model, which then says that it lies elsewhere."""
    for scope in model_scopes(model):
        tensors = [*scope.body.initializer] if isinstance(scope.body, onnx.GraphProto) else []
        for node in scope.body.node:
            for attribute in node.attribute:
                tensors += ([attribute.t] if attribute.HasField("t") else []) + [
                    *attribute.tensors
                ]
        for tensor in tensors:
            if tensor.ByteSize() > _LARGEST_SHAPE_BYTES:
                kept = onnx.TensorProto(
                    name=tensor.name, dims=tensor.dims, data_type=tensor.data_type
                )
                kept.data_location = onnx.TensorProto.EXTERNAL
                tensor.CopyFrom(kept)


def uses_of(model: onnx.ModelProto) -> list[list[Use]]:
    """For each ArgMax node of a model, in the order of :func:`argmax_nodes`, what it is given.

    Types and shapes come from onnx's inference, which runs on a copy in which the model's
    functions are written out where they are called; so a node of a function has a use for each
    way in which it is called. It has none where no call of it was found, and every node has one
    where the functions could not be followed.
    """
    tagged = onnx.ModelProto()
    tagged.CopyFrom(model)
    scopes = model_scopes(tagged)
    nodes = argmax_nodes(scopes)
    for tag, found in enumerate(nodes):
        found.node.doc_string = str(tag)
    for scope in scopes:
        _declare_external(scope.body)
    whole = _inlined(tagged, scopes)
    known = _dimension_names(model_scopes(whole))
    found_out = model_scopes(_inferred(whole))
    if whole is tagged:
        found_out += [scope for scope in scopes if scope.function is not None]
    uses: list[list[Use]] = [[] for _ in nodes]
    for scope, types in _types_of_scopes(found_out):
        for node in argmax_nodes([scope]):
            found = uses[int(node.node.doc_string)]
            use = _use(node, types, known)
            if use not in found:
                found.append(use)
    return uses


def _declare_external(body: onnx.GraphProto | onnx.FunctionProto) -> None:
    """Leave of tensors whose data lies elsewhere what they are: inference gives up at a shape
    that it cannot read, but not at one that it does not know."""
    if not isinstance(body, onnx.GraphProto):
        return
    for position in reversed(range(len(body.initializer))):
        tensor = body.initializer[position]
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            body.value_info.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
            del body.initializer[position]


def _inlined(model: onnx.ModelProto, scopes: Iterable[Scope]) -> onnx.ModelProto:
    """The model with its functions written out; where that cannot be, itself without them."""
    if model.functions:
        try:
            if nodes_written_out(model, scopes) <= MOST_NODES:
                return onnx.inliner.inline_local_functions(model)
        except Exception:  # a cycle, a call of what is not there: whatever onnx refuses it for
            pass
        # Inference would follow every call that is too much to write out.
        del model.functions[:]
    return model


def nodes_written_out(model: onnx.ModelProto, scopes: Iterable[Scope]) -> float:
    """Nodes of the model with every function written out; infinite where they go in a circle."""
    bodies: dict[str | None, list[onnx.NodeProto]] = {}
    for scope in scopes:
        bodies.setdefault(scope.function, []).extend(scope.body.node)
    by_call: dict[tuple[str, str], list[str | None]] = {}
    for scope in scopes:
        body = scope.body
        if isinstance(body, onnx.FunctionProto):
            by_call.setdefault((body.domain, body.name), []).append(scope.function)
    known: dict[str | None, float] = {}

    def count(name: str | None) -> float:
        if name not in known:
            known[name] = float("inf")  # while it is counted: a function that calls itself
            known[name] = sum(
                1 + sum(map(count, by_call.get((node.domain, node.op_type), ())))
                for node in bodies[name]
            )
        return known[name]

    return count(None)


def _inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    for data_prop in (True, False):
        try:
            return onnx.shape_inference.infer_shapes(model, data_prop=data_prop)
        except Exception:  # a model that is not valid: what it declares is still there
            pass
    return model


def _dimension_names(scopes: Iterable[Scope]) -> set[str]:
    """Names that the model itself gives to dimensions; inference makes up others."""
    return {
        dimension.dim_param
        for scope in scopes
        for declared in declared_types(scope.body).values()
        if declared.HasField("tensor_type")
        for dimension in declared.tensor_type.shape.dim
        if dimension.dim_param
    }


def _types_of_scopes(
    scopes: Iterable[Scope],
) -> Iterable[tuple[Scope, Mapping[str, onnx.TypeProto]]]:
    types: dict[Scope, Mapping[str, onnx.TypeProto]] = {}
    for scope in scopes:
        outer = types[scope.outer] if scope.outer is not None else {}
        types[scope] = {**outer, **declared_types(scope.body)}
        yield scope, types[scope]


def _use(found: ArgMaxNode, types: Mapping[str, onnx.TypeProto], known: set[str]) -> Use:
    node = found.node
    declared = types.get(node.input[0]) if node.input else None
    kind = "" if declared is None else declared.WhichOneof("value") or ""
    tensor = declared.tensor_type if declared is not None and kind == "tensor_type" else None
    shape = None if tensor is None else tensor_shape(tensor)
    if shape is not None:
        shape = tuple(None if isinstance(d, str) and d not in known else d for d in shape)
    return Use(
        attributes=tuple((a.name, _value(a)) for a in node.attribute if not a.ref_attr_name),
        linked=tuple(a.name for a in node.attribute if a.ref_attr_name),
        kind=kind,
        element_type=None if tensor is None else tensor.elem_type or None,
        shape=shape,
    )


def _value(attribute: onnx.AttributeProto) -> Any:
    try:
        return onnx.helper.get_attribute_value(attribute)
    except Exception:  # of a kind that onnx does not know
        return f"of kind number {attribute.type}"
