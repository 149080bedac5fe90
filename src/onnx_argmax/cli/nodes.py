# SPDX-License-Identifier: Apache-2.0
"""The ArgMax nodes of a model, wherever they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx

from onnx_argmax._model_nodes import is_argmax
from onnx_argmax.operator import DOMAIN, Version, version_for_opset

__all__ = ["ArgMaxNode", "argmax_nodes"]


@dataclass(frozen=True, slots=True)
class ArgMaxNode:
    """An ArgMax node."""

    name: str
    """The node's name, or its output's where it has none."""
    place: str
    """The graph or function it is in."""
    opset: int
    version: Version


def argmax_nodes(model: onnx.ModelProto) -> list[ArgMaxNode]:
    """Every ArgMax node of the graph, of the bodies of If, Loop and Scan, and of functions."""
    found = list(_nodes_of(model.graph, "graph", _opset(model)))
    for function in model.functions:
        place = f"function {function.domain}.{function.name}"
        found += _nodes_of(function, place, _opset(function))
    return found


def _nodes_of(
    scope: onnx.GraphProto | onnx.FunctionProto, place: str, opset: int
) -> Iterator[ArgMaxNode]:
    for node in scope.node:
        name = node.name or f"(output {', '.join(node.output)})"
        if is_argmax(node):
            yield ArgMaxNode(name, place, opset, version_for_opset(opset))
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else []
            for graph in (*graphs, *attribute.graphs):
                inner = f"{place}, {attribute.name} of {node.op_type} {name}"
                yield from _nodes_of(graph, inner, opset)


def _opset(scope: onnx.ModelProto | onnx.FunctionProto) -> int:
    # The checker refuses an ArgMax where the default domain is not imported.
    return next((entry.version for entry in scope.opset_import if entry.domain == DOMAIN), 1)
