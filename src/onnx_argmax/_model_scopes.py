# SPDX-License-Identifier: Apache-2.0
"""The graphs and functions of a model as scopes of names, and the ArgMax nodes in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import onnx

from onnx_argmax.operator import DOMAIN, NAME

__all__ = ["ArgMaxNode", "Scope", "argmax_nodes", "as_text", "model_scopes"]

_DOMAINS = (DOMAIN, "ai.onnx")
"""The default domain, by both of its names."""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The main graph, a model-local function, or a graph that is an attribute of a node."""

    body: onnx.GraphProto | onnx.FunctionProto
    place: str
    """Where it lies, in words: ``graph, then_branch of If (node 3)``."""
    opset: int | None
    """Operator set of the default domain; None where the model or function imports none."""
    function: str | None
    """Name of the model-local function that it is or lies in."""
    outer: Scope | None = None
    """The scope around it, whose names it sees."""
    owner: int = 0
    """Position of the node in the scope around it that has this graph as an attribute."""
    children: list[Scope] = field(default_factory=list["Scope"])


@dataclass(frozen=True, slots=True, eq=False)
class ArgMaxNode:
    """An ArgMax node and where it stands."""

    node: onnx.NodeProto
    position: int
    """Of the node among those of its scope."""
    scope: Scope

    @property
    def label(self) -> str:
        """The node's name; its position and output where it has none."""
        outputs = ", ".join(map(as_text, self.node.output))
        return as_text(self.node.name) or f"(node {self.position}, output {outputs})"


def as_text(name: str | bytes) -> str:
    """A name of a model's; protobuf has it as bytes where it is not UTF-8."""
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


def model_scopes(model: onnx.ModelProto) -> list[Scope]:
    """Every scope of a model, nothing of which is checked; each after the one around it."""
    found = list(_with_inner(Scope(model.graph, "graph", _opset(model), None)))
    for function in model.functions:
        overload = f":{function.overload}" if function.overload else ""
        name = f"{function.domain}.{function.name}{overload}"
        found += _with_inner(Scope(function, f"function {name}", _opset(function), name))
    return found


def argmax_nodes(scopes: list[Scope]) -> list[ArgMaxNode]:
    """The ArgMax nodes of the scopes, in order."""
    return [
        ArgMaxNode(node, position, scope)
        for scope in scopes
        for position, node in enumerate(scope.body.node)
        if node.op_type == NAME and node.domain in _DOMAINS
    ]


def _with_inner(scope: Scope) -> Iterator[Scope]:
    yield scope
    for position, node in enumerate(scope.body.node):
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else []
            for graph in (*graphs, *attribute.graphs):
                place = f"{scope.place}, {attribute.name} of {node.op_type} " + (
                    as_text(node.name) or f"(node {position})"
                )
                inner = Scope(graph, place, scope.opset, scope.function, scope, position)
                scope.children.append(inner)
                yield from _with_inner(inner)


def _opset(scope: onnx.ModelProto | onnx.FunctionProto) -> int | None:
    # Before IR version 3 there were no imports: every operator is of the first operator set.
    first = 1 if isinstance(scope, onnx.ModelProto) and scope.ir_version < 3 else None
    return next((i.version for i in scope.opset_import if i.domain in _DOMAINS), first)
