# SPDX-License-Identifier: Apache-2.0
"""The caller's inputs held against what a model declares, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import numpy as np
import onnx
import onnx.helper

from onnx_argmax._element_types import element_type_of_dtype
from onnx_argmax.operator import element_type_name

__all__ = ["check_inputs", "input_names"]

Array: TypeAlias = np.ndarray[Any, Any]


def input_names(model: onnx.ModelProto) -> list[str]:
    """Names of the inputs that a caller has to give: graph inputs without an initializer."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    initialized |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    return [value.name for value in model.graph.input if value.name not in initialized]


def check_inputs(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs as the model takes them.

    Parameters
    ----------
    model : onnx.ModelProto
        The model; types and shapes are those its graph inputs declare.
    inputs : mapping of str to array
        An array for each input's name. An input that has an initializer may be left out. A
        sequence is a list of arrays, an absent optional None.

    Returns
    -------
    dict of str to array
        The same values, in the order of the graph's inputs. Only three things change: raw
        two-byte items (``|V2``, which is how NumPy's files keep bfloat16) and onnx's older
        structured ``uint16`` become ml_dtypes' bfloat16 where the model says bfloat16, both as
        views; a byte-swapped array is brought into native order; a NumPy scalar becomes an array.

    Raises
    ------
    TypeError
        For a value that is no array, and for another element type than the declared one.
    ValueError
        For a name the model lacks, a missing input, another rank, another length of a
        dimension, and for one symbolic dimension with two lengths.
    """
    declared = {value.name: value.type for value in model.graph.input}
    unknown = [name for name in inputs if name not in declared]
    if unknown:
        raise ValueError(
            f"inputs: the model has no input {_quoted(unknown)}; its inputs are "
            f"{_quoted(declared)}"
        )
    missing = [name for name in input_names(model) if name not in inputs]
    if missing:
        raise ValueError(
            f"inputs: no array is given for {_quoted(missing)}; the model needs "
            f"{_quoted(input_names(model))}"
        )
    lengths: dict[str, tuple[int, str]] = {}
    return {
        name: _checked(f"input {name!r}", type_proto, inputs[name], lengths)
        for name, type_proto in declared.items()
        if name in inputs
    }


def _checked(
    what: str, declared: onnx.TypeProto, value: Any, lengths: dict[str, tuple[int, str]]
) -> Any:
    match declared.WhichOneof("value"):
        case "tensor_type":
            return _checked_tensor(what, declared.tensor_type, value, lengths)
        case "sequence_type":
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"{what}: a list of arrays is needed, got {type(value).__name__}")
            element = declared.sequence_type.elem_type
            return [
                # Elements of a sequence may differ in what one symbolic dimension stands for.
                _checked(f"{what}, element {position}", element, item, {})
                for position, item in enumerate(cast("list[Any]", value))
            ]
        case "optional_type":
            if value is None:
                return None
            return _checked(what, declared.optional_type.elem_type, value, lengths)
        case _:  # maps and sparse tensors are the evaluator's own objects
            return value


def _checked_tensor(
    what: str,
    declared: onnx.TypeProto.Tensor,
    value: Any,
    lengths: dict[str, tuple[int, str]],
) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array is not taken; pass value.filled(...)")
    if not isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(
            f"{what}: a NumPy array is needed, got {type(value).__name__}; "
            "pass numpy.asarray(value)"
        )
    array = _as_declared_type(what, declared.elem_type, np.asarray(cast("Array", value)))
    if declared.HasField("shape"):
        _check_shape(what, declared.shape, array.shape, lengths)
    return array


def _as_declared_type(what: str, elem_type: int, array: Array) -> Array:
    if elem_type == onnx.TensorProto.STRING:
        if array.dtype.kind not in "OSUT":
            raise TypeError(f"{what}: strings are needed, got an array of {array.dtype}")
        return array
    wanted = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
    if elem_type == onnx.TensorProto.BFLOAT16 and _is_raw_bfloat16(array.dtype):
        return array.view(wanted)
    native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    if native != wanted:
        raise TypeError(
            f"{what}: the model takes {element_type_name(elem_type)}, NumPy's {wanted.name}, got "
            f"{array.dtype}; {_next_step(elem_type, array.dtype, wanted)}"
        )
    return array.astype(native, copy=False)


def _is_raw_bfloat16(dtype: np.dtype[Any]) -> bool:
    if dtype.fields is None:
        return dtype == np.dtype("V2")
    found = element_type_of_dtype(dtype)
    return found is not None and found.tensor_proto == onnx.TensorProto.BFLOAT16


def _next_step(elem_type: int, found: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    if elem_type == onnx.TensorProto.BFLOAT16 and found == np.uint16:
        return "if these are the bits of bfloat16, pass value.view(ml_dtypes.bfloat16)"
    if found.kind in "biuf" and elem_type != onnx.TensorProto.BFLOAT16:
        return f"pass value.astype({wanted.name!r}) if no value changes by it"
    return "pass an array of that type"


def _check_shape(
    what: str,
    declared: onnx.TensorShapeProto,
    shape: tuple[int, ...],
    lengths: dict[str, tuple[int, str]],
) -> None:
    words = _shape_words(declared)
    if len(declared.dim) != len(shape):
        raise ValueError(
            f"{what}: the model takes rank {len(declared.dim)}, shape {words}, got rank "
            f"{len(shape)}, shape {shape}"
        )
    for axis, (dimension, length) in enumerate(zip(declared.dim, shape, strict=True)):
        # Some exporters write a length that is not known as a negative one.
        fixed = dimension.HasField("dim_value") and dimension.dim_value >= 0
        if fixed and dimension.dim_value != length:
            raise ValueError(
                f"{what}: the model takes shape {words}, got {shape}: axis {axis} must have "
                f"length {dimension.dim_value}"
            )
        if dimension.dim_param:
            known, where = lengths.setdefault(
                dimension.dim_param, (length, f"{what}, axis {axis}")
            )
            if known != length:
                raise ValueError(
                    f"{what}: axis {axis} of shape {shape} is {dimension.dim_param!r}, which has "
                    f"length {known} in {where}"
                )


def _shape_words(declared: onnx.TensorShapeProto) -> str:
    words = [
        str(dimension.dim_value)
        if dimension.HasField("dim_value") and dimension.dim_value >= 0
        else dimension.dim_param or "?"
        for dimension in declared.dim
    ]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def _quoted(names: Any) -> str:
    return ", ".join(repr(name) for name in names) or "none"
