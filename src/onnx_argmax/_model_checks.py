# SPDX-License-Identifier: Apache-2.0
"""Whether a model, or a node by itself, is valid: by the contract and by onnx's checker."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import onnx
import onnx.checker
import onnx.external_data_helper
import onnx.helper
import onnx.inliner
import onnx.shape_inference

from onnx_argmax._model_nodes import check_nodes
from onnx_argmax._model_scopes import model_scopes
from onnx_argmax._model_uses import MOST_NODES, nodes_written_out

__all__ = ["MOST_MESSAGE_BYTES", "check_model", "check_node", "external_tensors", "one_line"]

MOST_MESSAGE_BYTES: Final = 2**31 - 1
"""A protobuf message counts its bytes in a signed 32-bit integer."""
_INVALID: Final = "not a valid ONNX model"
_ELEMENT_TYPES: Final = frozenset(onnx.TensorProto.DataType.values())


def check_model(
    model: onnx.ModelProto, *, name: str = "model", path: Path | None = None
) -> onnx.ModelProto:
    """Check a model: its ArgMax nodes by the contract, everything by onnx's checker.

    onnx's type inference runs too, through the model's functions, so that a node whose input has
    a type it does not take is found. Its shape inference is not strict: what it cannot infer is
    no error, and an ArgMax of a tensor of rank 0 is accepted, as the contract has it (ONNX
    Runtime's loader refuses that). A graph input of unknown rank is accepted as well.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    name : str
        What an error calls it: the file's path, where there is one.
    path : path, optional
        The model's file, for one that is too large to be checked with all its data: ``model``
        has not read its external data then, and the checker reads the file itself.

    Returns
    -------
    onnx.ModelProto
        The model; or a copy of it where it names the default domain ``ai.onnx`` or, being older
        than IR version 3, imports no operator set, both said in the way all tools understand.

    Raises
    ------
    ValueError
        When the model is invalid, too large to be checked in memory, or lacks its external data.
    TypeError
        When an ArgMax takes an element type that its version lacks.
    """
    if not model.ir_version or not model.HasField("graph"):
        raise ValueError(f"{name}: not an ONNX model: it has no IR version or no graph")
    if path is None:
        _check_data(model, name)
    model = _in_todays_words(model)
    written = nodes_written_out(model, model_scopes(model)) if model.functions else 0
    if MOST_NODES < written < float("inf"):  # onnx itself names those that go in a circle
        raise ValueError(
            f"{name}: its functions call one another so often that they are {written} nodes "
            f"where they are called; up to {MOST_NODES} are taken"
        )
    # Before the checker, whose words for an attribute's fault name neither node nor opset.
    check_nodes(model, name)
    with _invalid(name):
        _check_input_types(model)
        onnx.checker.check_model(  # pyright: ignore[reportUnknownMemberType]
            path or _with_every_shape(model)
        )
        whole = onnx.inliner.inline_local_functions(model) if model.functions else model
        inferred = onnx.shape_inference.infer_shapes(whole)
    check_nodes(inferred, name)
    with _invalid(name):
        onnx.shape_inference.infer_shapes(whole, check_type=True)
    return model


@contextmanager
def _invalid(name: str) -> Generator[None]:
    # ValidationError and InferenceError are no ValueErrors, and what onnx throws besides is
    # any of Python's own.
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise ValueError(f"{name}: {_INVALID}: {one_line(error)}") from error


def _check_input_types(model: onnx.ModelProto) -> None:
    """onnx's checker takes any number for an element type, of which no array could be made."""
    for value in model.graph.input:
        for number in _element_types(value.type):
            if number == onnx.TensorProto.UNDEFINED or number not in _ELEMENT_TYPES:
                raise ValueError(
                    f"input {value.name!r} has the element type number {number}; one of "
                    "TensorProto.DataType from FLOAT on is needed"
                )


def _element_types(declared: onnx.TypeProto) -> Iterator[int]:
    match declared.WhichOneof("value"):
        case "tensor_type":
            yield declared.tensor_type.elem_type
        case "sequence_type":
            yield from _element_types(declared.sequence_type.elem_type)
        case "optional_type":
            yield from _element_types(declared.optional_type.elem_type)
        case _:  # maps and sparse tensors are the evaluator's own objects
            pass


def check_node(
    node: onnx.NodeProto, opset_import: Iterable[onnx.OperatorSetIdProto], known: Iterable[str]
) -> None:
    """Check a node by itself, as :func:`check_model` checks those of a model.

    Parameters
    ----------
    node : onnx.NodeProto
        The node.
    opset_import : iterable of onnx.OperatorSetIdProto
        The operator sets it is of.
    known : iterable of str
        Names of the values that it, and a graph inside it, may use.

    Raises
    ------
    ValueError
        When the node is invalid.
    TypeError
        When an ArgMax takes an element type that its version lacks.
    """
    graph = onnx.GraphProto(name="node", node=[node])
    check_nodes(onnx.ModelProto(graph=graph, opset_import=opset_import), "node")
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {entry.domain: entry.version for entry in opset_import}
    # The checker learns what a graph inside the node may capture from inputs of a graph around
    # it, which must have a type; it does not look at which.
    anything = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, ())
    graph.input.extend(onnx.helper.make_value_info(name, anything) for name in known)
    try:
        onnx.checker.check_graph(graph, context)
    except onnx.checker.ValidationError as error:
        raise ValueError(f"node: not a valid ONNX node: {one_line(error)}") from error


def external_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor of the model, in any graph or function, whose data lies in another file."""
    stack: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    while stack:
        scope = stack.pop()
        tensors: list[onnx.TensorProto] = []
        if isinstance(scope, onnx.GraphProto):
            tensors.extend(scope.initializer)
            for sparse in scope.sparse_initializer:
                tensors += (sparse.values, sparse.indices)
        for node in scope.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    tensors.append(attribute.t)
                tensors.extend(attribute.tensors)
                if attribute.HasField("g"):
                    stack.append(attribute.g)
                stack.extend(attribute.graphs)
        yield from filter(onnx.external_data_helper.uses_external_data, tensors)


def one_line(error: Exception) -> str:
    """The words of onnx's errors, which run over several lines."""
    return "; ".join(part for line in str(error).splitlines() if (part := line.strip()))


def _check_data(model: onnx.ModelProto, name: str) -> None:
    for tensor in external_tensors(model):
        raise ValueError(
            f"{name}: the data of tensor {tensor.name!r} lies in an external file that has not "
            "been read; pass the model's path, or load it with onnx.load"
        )
    if model.ByteSize() > MOST_MESSAGE_BYTES:
        raise ValueError(
            f"{name}: {model.ByteSize()} bytes are more than the 2 GiB that can be checked in "
            "memory; save it with onnx.save(..., save_as_external_data=True) and pass its path"
        )


def _in_todays_words(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the default domain as ``""`` and with an operator set, copied if changed.

    The specification lets a model say ``ai.onnx`` for the default domain, which onnx's checker
    takes in imports and its evaluator does not know. Before IR version 3 there were no imports:
    every operator is of the first operator set.
    """
    imports_nothing = not model.opset_import and model.ir_version < 3
    scopes = (model, *model.functions)
    if not imports_nothing and not any(
        entry.domain == "ai.onnx" for scope in scopes for entry in scope.opset_import
    ):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    if imports_nothing:
        changed.ir_version = 3
        changed.opset_import.add(domain="", version=1)
    for scope in (changed, *changed.functions):
        for entry in scope.opset_import:
            entry.domain = "" if entry.domain == "ai.onnx" else entry.domain
    return changed


def _with_every_shape(model: onnx.ModelProto) -> onnx.ModelProto:
    """For the checker alone, which wants a shape of every graph input and output, though a
    tensor of unknown rank is valid; it does not look at what the shape is."""
    values = [*model.graph.input, *model.graph.output]
    if all(_has_shape(value.type) for value in values):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for value in (*changed.graph.input, *changed.graph.output):
        if not _has_shape(value.type):
            value.type.tensor_type.shape.SetInParent()
    return changed


def _has_shape(type_proto: onnx.TypeProto) -> bool:
    return not type_proto.HasField("tensor_type") or type_proto.tensor_type.HasField("shape")
