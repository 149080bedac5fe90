# SPDX-License-Identifier: Apache-2.0
"""Whether the names in a model are text."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import onnx

__all__ = ["check_names"]

_Name: TypeAlias = tuple[str, object]
"""What it is the name of, and the name: a str, or protobuf's bytes where it is not UTF-8."""


def check_names(model: onnx.ModelProto, what: str) -> None:
    """Refuse a model with a name that is not UTF-8, which ONNX asks of every one.

    protobuf's Python package parses such a name and gives bytes for it.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, of which nothing is checked yet.
    what : str
        What an error calls it.

    Raises
    ------
    ValueError
        At the first such name.
    """
    for kind, name in _names(model):
        if isinstance(name, bytes):
            escaped = reprlib.repr(name).removeprefix("b")
            raise ValueError(
                f"{what}: the name {escaped} of {kind} is not UTF-8, as every name in ONNX is; "
                "rename it where the model was made"
            )


def _names(model: onnx.ModelProto) -> Iterator[_Name]:
    yield from _each("an operator set", (entry.domain for entry in model.opset_import))
    yield from _in_graph(model.graph)
    for function in model.functions:
        yield from _each("a function", (function.name, function.domain, function.overload))
        yield from _each("an operator set", (entry.domain for entry in function.opset_import))
        yield from _each("an input", function.input)
        yield from _each("an output", function.output)
        yield from _each("an attribute", function.attribute)
        yield from _each("an attribute", (entry.name for entry in function.attribute_proto))
        yield from _of_values("a value", function.value_info)
        yield from _in_nodes(function.node)


def _in_graph(graph: onnx.GraphProto) -> Iterator[_Name]:
    yield "a graph", graph.name
    yield from _of_values("an input", graph.input)
    yield from _of_values("an output", graph.output)
    yield from _of_values("a value", graph.value_info)
    yield from _each("an initializer", (tensor.name for tensor in graph.initializer))
    yield from _each("an initializer", (t.values.name for t in graph.sparse_initializer))
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[_Name]:
    for node in nodes:
        yield "a node", node.name
        yield from _each("an operator", (node.op_type, node.domain, node.overload))
        yield from _each("an input", node.input)
        yield from _each("an output", node.output)
        for attribute in node.attribute:
            yield from _each("an attribute", (attribute.name, attribute.ref_attr_name))
            if attribute.HasField("g"):
                yield from _in_graph(attribute.g)
            for graph in attribute.graphs:
                yield from _in_graph(graph)


def _of_values(kind: str, values: Iterable[onnx.ValueInfoProto]) -> Iterator[_Name]:
    for value in values:
        yield kind, value.name
        yield from _each("a dimension", _dimensions(value.type))


def _dimensions(declared: onnx.TypeProto) -> Iterator[str]:
    match declared.WhichOneof("value"):
        case "tensor_type":
            yield from (dimension.dim_param for dimension in declared.tensor_type.shape.dim)
        case "sequence_type":
            yield from _dimensions(declared.sequence_type.elem_type)
        case "optional_type":
            yield from _dimensions(declared.optional_type.elem_type)
        case _:  # nobody looks at the shapes in the others
            pass


def _each(kind: str, names: Iterable[str]) -> Iterator[_Name]:
    for name in names:
        yield kind, name
