# SPDX-License-Identifier: Apache-2.0
"""Small models around one ArgMax, for every door that takes models.

Each has one input ``data`` and one output ``reduced``, and its ArgMax is called ``labels``, so
that whatever stands around the node, the same feed gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import onnx
import onnx.helper
from onnx import TensorProto

__all__ = [
    "AROUND",
    "Shape",
    "argmax_model",
    "argmax_node",
    "in_function",
    "in_if",
    "in_loop",
    "in_scan",
    "model_of",
    "saved",
]

Shape: TypeAlias = Sequence[int | str | None] | None
"""Dimensions of an input: lengths, names, None for unknown ones; None where the rank is."""

# The first IR version with model-local functions.
_IR_VERSION: Final = 8
_FUNCTION_DOMAIN: Final = "local"


def argmax_node(**attributes: Any) -> onnx.NodeProto:
    """The node alone."""
    return onnx.helper.make_node("ArgMax", ["data"], ["reduced"], name="labels", **attributes)


def argmax_model(
    elem_type: int = TensorProto.FLOAT,
    shape: Shape = (None, None),
    *,
    opset: int = 13,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one ArgMax with just the attributes given; nothing of it is checked.

    Parameters
    ----------
    elem_type : int
        Number of the input's element type in ``TensorProto.DataType``.
    shape : sequence of int, str or None; or None
        Dimensions of the input; None as a whole where the rank is unknown.
    opset : int
        Operator set of the model, which says the version of ArgMax.
    **attributes
        Attributes of the node.
    """
    rank = None if shape is None else len(shape)
    if rank and not attributes.get("keepdims", 1):
        rank -= 1
    return model_of(
        [argmax_node(**attributes)],
        inputs=[onnx.helper.make_tensor_value_info("data", elem_type, shape)],
        outputs=[
            onnx.helper.make_tensor_value_info(
                "reduced", TensorProto.INT64, None if rank is None else [None] * rank
            )
        ],
        opset=opset,
    )


def model_of(
    nodes: Iterable[onnx.NodeProto],
    *,
    inputs: Iterable[onnx.ValueInfoProto],
    outputs: Iterable[onnx.ValueInfoProto],
    initializers: Iterable[onnx.TensorProto] = (),
    functions: Iterable[onnx.FunctionProto] = (),
    opset: int = 13,
) -> onnx.ModelProto:
    """A model of any nodes, with the oldest IR version that has what these tests use."""
    opsets = [onnx.helper.make_opsetid("", opset)]
    if functions := list(functions):
        opsets.append(onnx.helper.make_opsetid(_FUNCTION_DOMAIN, 1))
    newest = onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True)
    graph = onnx.helper.make_graph(
        list(nodes), "graph", list(inputs), list(outputs), list(initializers)
    )
    return onnx.helper.make_model(
        graph, functions=functions, opset_imports=opsets, ir_version=max(_IR_VERSION, newest)
    )


def in_if(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same ArgMax in both branches of an If."""
    branches: dict[str, Any] = {
        name: onnx.helper.make_graph(
            model.graph.node, name, [], [_called(model.graph.output[0], "reduced")]
        )
        for name in ("then_branch", "else_branch")
    }
    return _around(
        model,
        [onnx.helper.make_node("If", ["if_yes"], ["reduced"], name="if", **branches)],
        [onnx.helper.make_tensor("if_yes", TensorProto.BOOL, (), [True])],
    )


def in_loop(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same ArgMax in the body of a Loop that runs twice."""
    body = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["go"], ["go_on"]), *_renamed(model, "after")],
        "body",
        [
            onnx.helper.make_tensor_value_info("step", TensorProto.INT64, ()),
            onnx.helper.make_tensor_value_info("go", TensorProto.BOOL, ()),
            _called(model.graph.output[0], "before"),
        ],
        [
            onnx.helper.make_tensor_value_info("go_on", TensorProto.BOOL, ()),
            _called(model.graph.output[0], "after"),
        ],
    )
    loop = onnx.helper.make_node(
        "Loop", ["times", "loop_yes", "loop_start"], ["reduced"], name="loop", body=body
    )
    return _around(
        model,
        [loop],
        [
            onnx.helper.make_tensor("times", TensorProto.INT64, (), [2]),
            onnx.helper.make_tensor("loop_yes", TensorProto.BOOL, (), [True]),
            onnx.helper.make_tensor("loop_start", TensorProto.INT64, (), [0]),
        ],
    )


def in_scan(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same ArgMax in the body of a Scan over two steps; needs opset 9 or later.

    Older releases of onnx's evaluator let its body see nothing outside, so the data comes as a
    state called ``kept``; they also need as many states as scanned inputs.
    """
    kept, kept_on = (_called(model.graph.input[0], name) for name in ("kept", "kept_on"))
    idle, step, more, idle_on = (
        onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, ())
        for name in ("idle", "step", "more", "idle_on")
    )
    nodes = _renamed(model, "after")
    for node in nodes:
        node.input[:] = ["kept" if name == "data" else name for name in node.input]
    body = onnx.helper.make_graph(
        [
            *nodes,
            onnx.helper.make_node("Identity", ["kept"], ["kept_on"]),
            onnx.helper.make_node("Add", ["step", "more"], ["idle_on"]),
        ],
        "body",
        [kept, idle, step, more],
        [kept_on, idle_on, _called(model.graph.output[0], "after")],
    )
    scan = onnx.helper.make_node(
        "Scan",
        ["data", "scan_start", "steps", "steps"],
        ["scanned", "idled", "both"],
        name="scan",
        body=body,
        num_scan_inputs=2,
    )
    return _around(
        model,
        [scan, onnx.helper.make_node("Gather", ["both", "second"], ["reduced"], axis=0)],
        [
            onnx.helper.make_tensor("scan_start", TensorProto.FLOAT, (), [0.0]),
            onnx.helper.make_tensor("steps", TensorProto.FLOAT, (2,), [0.0, 0.0]),
            onnx.helper.make_tensor("second", TensorProto.INT64, (), [1]),
        ],
    )


def in_function(model: onnx.ModelProto, *, opset: int | None = None) -> onnx.ModelProto:
    """The same ArgMax in a model-local function, which takes the attributes from its caller.

    ``opset`` is that of the function where it is not the model's.
    """
    (node,) = model.graph.node
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    call = onnx.helper.make_node("Pick", ["data"], ["reduced"], "call", domain=_FUNCTION_DOMAIN)
    call.attribute.extend(node.attribute)
    for attribute in inner.attribute:
        name, kind = attribute.name, attribute.type
        attribute.Clear()
        attribute.name, attribute.type, attribute.ref_attr_name = name, kind, name
    function = onnx.helper.make_function(
        _FUNCTION_DOMAIN,
        "Pick",
        ["data"],
        ["reduced"],
        [inner],
        [onnx.helper.make_opsetid("", opset or model.opset_import[0].version)],
        [attribute.name for attribute in node.attribute],
    )
    return _around(model, [call], functions=[function])


AROUND: Final[dict[str, Callable[[onnx.ModelProto], onnx.ModelProto]]] = {
    "graph": lambda model: model,
    "if": in_if,
    "loop": in_loop,
    "scan": in_scan,
    "function": in_function,
    "function in a loop in an if": lambda model: in_if(in_loop(in_function(model))),
}
"""Every place where a node can stand, for parametrized tests."""


def _around(
    model: onnx.ModelProto,
    nodes: Iterable[onnx.NodeProto],
    initializers: Iterable[onnx.TensorProto] = (),
    functions: Iterable[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    return model_of(
        nodes,
        inputs=model.graph.input,
        outputs=model.graph.output,
        initializers=[*model.graph.initializer, *initializers],
        functions=[*model.functions, *functions],
        opset=model.opset_import[0].version,
    )


def _renamed(model: onnx.ModelProto, output: str) -> list[onnx.NodeProto]:
    """The nodes, their output called otherwise: a body must not use a name from outside."""
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        nodes.append(onnx.NodeProto())
        nodes[-1].CopyFrom(node)
        nodes[-1].output[:] = [output]
    return nodes


def _called(like: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    """The same type under another name."""
    value = onnx.ValueInfoProto()
    value.CopyFrom(like)
    value.name = name
    return value


def saved(path: Path, model: onnx.ModelProto) -> Path:
    """Write a model to its file; give the file."""
    path.write_bytes(model.SerializeToString())
    return path
