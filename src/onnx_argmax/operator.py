# SPDX-License-Identifier: Apache-2.0
"""ONNX ArgMax as data: its four versions, their attributes and element types, and inference.

Everything here follows the operator's own documentation; a test holds it against onnx's schemas.
onnx itself is not needed, so a compiler or a graph tool can use this module with NumPy alone.

Examples
--------
>>> from onnx_argmax.operator import version_for_opset
>>> version = version_for_opset(19)
>>> version.since_version
13
>>> version.infer("float", ("N", 19, "H", "W"), {"axis": 1, "keepdims": 0})
TensorType(element_type=tensor(int64), shape=('N', 'H', 'W'))
"""

from __future__ import annotations

import operator as _python_operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from onnx_argmax._arguments import axis_index, flag, normalize_axis, result_shape
from onnx_argmax._element_types import (
    BOOL,
    ELEMENT_TYPES,
    ElementType,
    element_type_of_dtype,
    element_type_of_tensor_proto,
    names,
)

__all__ = [
    "DOMAIN",
    "INPUT_NAME",
    "NAME",
    "OUTPUT_ELEMENT_TYPE",
    "OUTPUT_NAME",
    "VERSIONS",
    "Attribute",
    "Attributes",
    "Dimension",
    "ElementType",
    "ElementTypeLike",
    "TensorType",
    "Version",
    "element_type_name",
    "get_version",
    "version_for_opset",
]

NAME: Final = "ArgMax"
"""The operator's name, a node's ``op_type``."""
DOMAIN: Final = ""
"""The operator's domain: ONNX's default one, also written ``ai.onnx``."""
INPUT_NAME: Final = "data"
"""The operator's name for its one input."""
OUTPUT_NAME: Final = "reduced"
"""The operator's name for its one output."""

Dimension: TypeAlias = int | str | None
"""A dimension: its length, the name of a symbolic one, or None where nothing is known."""

ElementTypeLike: TypeAlias = ElementType | np.dtype[Any] | type | str | int
"""An element type by the table's row, a dtype, a name (ONNX's, with or without ``tensor(...)``,
or NumPy's) or a number of ``onnx.TensorProto.DataType``. ``"float"`` is ONNX's: float32."""

# What ONNX knows and no version of the operator takes: number, ONNX's name, NumPy's or
# ml_dtypes' name, and what to do instead.
_WIDEN_FLOAT: Final = "Cast it to float16 or float first, which loses nothing"
_CAST_FLOAT: Final = "Cast it to float first, which loses nothing"
_WIDEN_INTEGER: Final = "Cast it to int8 or uint8 first, which loses nothing"
_ENCODE: Final = "strings have no numeric order: encode them as integers first"
_REAL: Final = "complex numbers have no order: take the magnitude or the real part"
_OTHER_TYPES: Final = (
    (8, "string", "object", _ENCODE),
    (BOOL.tensor_proto, BOOL.name, BOOL.dtype_name, "view as uint8, or Cast to it (False < True)"),
    (14, "complex64", "complex64", _REAL),
    (15, "complex128", "complex128", _REAL),
    (17, "float8e4m3fn", "float8_e4m3fn", _WIDEN_FLOAT),
    (18, "float8e4m3fnuz", "float8_e4m3fnuz", _WIDEN_FLOAT),
    (19, "float8e5m2", "float8_e5m2", _WIDEN_FLOAT),
    (20, "float8e5m2fnuz", "float8_e5m2fnuz", _WIDEN_FLOAT),
    (21, "uint4", "uint4", _WIDEN_INTEGER),
    (22, "int4", "int4", _WIDEN_INTEGER),
    (23, "float4e2m1", "float4_e2m1fn", _WIDEN_FLOAT),
    (24, "float8e8m0", "float8_e8m0fnu", _CAST_FLOAT),
    (25, "uint2", "uint2", _WIDEN_INTEGER),
    (26, "int2", "int2", _WIDEN_INTEGER),
    (27, "float6e2m3", "float6_e2m3fn", _WIDEN_FLOAT),
    (28, "float6e3m2", "float6_e3m2fn", _WIDEN_FLOAT),
)
_OTHER_BY_NUMBER: Final = {row[0]: row for row in _OTHER_TYPES}
_NUMBER_BY_NAME: Final = (
    {row[2]: row[0] for row in _OTHER_TYPES}
    | {entry.dtype_name: entry.tensor_proto for entry in ELEMENT_TYPES}
    # ONNX's own names last, so that they win.
    | {row[1]: row[0] for row in _OTHER_TYPES}
    | {entry.name: entry.tensor_proto for entry in ELEMENT_TYPES}
)

OUTPUT_ELEMENT_TYPE: Final = ELEMENT_TYPES[6]
"""Element type of the result on every version: int64."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a version."""

    name: str
    type: str
    """Name in ``onnx.AttributeProto.AttributeType``; ``"INT"`` for all of this operator."""
    default: int
    """Value where a node leaves the attribute out; none is required."""
    description: str


@dataclass(frozen=True, slots=True)
class Attributes:
    """Checked attributes of one node, defaults filled in."""

    axis: int = 0
    """As the node says it: negative values are not wrapped, which needs the rank."""
    keepdims: bool = True
    select_last_index: bool = False


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape of a tensor, as far as they are known."""

    element_type: ElementType
    shape: tuple[Dimension, ...] | None
    """None where the rank is unknown."""

    def __repr__(self) -> str:
        return f"TensorType(element_type={self.element_type}, shape={self.shape})"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the operator."""

    since_version: int
    """First version of the operator set that has it."""
    attributes: tuple[Attribute, ...]
    element_types: tuple[ElementType, ...]
    """Element types that the input may have, in the order of their numbers."""

    def __str__(self) -> str:
        return f"{NAME} version {self.since_version}"

    def check_attributes(self, attributes: Mapping[str, object] | None = None) -> Attributes:
        """Attributes of a node, checked and with the defaults filled in.

        Parameters
        ----------
        attributes : mapping of str to value, optional
            What the node sets. As integers, ``keepdims`` and ``select_last_index`` are false at
            0 and true at anything else.

        Returns
        -------
        Attributes
            A value for each attribute; ``select_last_index`` is false on versions without it.

        Raises
        ------
        ValueError
            For an attribute that this version lacks.
        TypeError
            For a value that is no integer.
        """
        given = dict(attributes or {})
        for name in given:
            if all(name != known.name for known in self.attributes):
                raise ValueError(self._no_such_attribute(name))
        try:
            return Attributes(
                axis=axis_index(given.get("axis", 0)),
                keepdims=flag("keepdims", given.get("keepdims", 1)),
                select_last_index=flag("select_last_index", given.get("select_last_index", 0)),
            )
        except TypeError as error:
            raise TypeError(f"{self}: attribute {error}") from None

    def check_element_type(self, element_type: ElementTypeLike) -> ElementType:
        """The element type's row of the table, if this version takes it.

        Raises
        ------
        TypeError
            For a type that this version, or the operator, lacks; it names the allowed ones.
        """
        number, name = _number_and_name(element_type)
        found = None if number is None else element_type_of_tensor_proto(number)
        if found in self.element_types:
            assert found is not None
            return found
        raise TypeError(
            f"{INPUT_NAME}: element type {name} is not supported by {self}; allowed are "
            f"{names(version=self.since_version)}{_next_step(found, number)}"
        )

    def infer(
        self,
        element_type: ElementTypeLike | None,
        shape: Sequence[Dimension] | None,
        attributes: Mapping[str, object] | Attributes | None = None,
    ) -> TensorType:
        """Element type and shape of the result.

        Parameters
        ----------
        element_type : element type or None
            That of the input; None where it is unknown, which is not checked.
        shape : sequence of int, str or None; or None
            That of the input: lengths, names of symbolic dimensions and None for unknown ones;
            None as a whole where not even the rank is known.
        attributes : mapping or Attributes, optional
            What the node sets (see :meth:`check_attributes`).

        Returns
        -------
        TensorType
            int64 and the shape of the input without the axis, or with length 1 there; of unknown
            rank where the input is.

        Raises
        ------
        TypeError
            For an element type that this version lacks and an attribute of the wrong kind.
        ValueError
            For an attribute that this version lacks; for an axis out of range
            (:class:`numpy.exceptions.AxisError`); for a reduced dimension that is 0, which no
            run could give an answer for; for a dimension below 0.

        Notes
        -----
        Rank 0 counts as one element along one axis, as in NumPy, PyTorch and ONNX's reference
        evaluator: axis 0 or -1 gives shape ``()``. Static checkers may refuse it earlier: onnx's
        strict shape inference and ONNX Runtime's loader do, from version 11 on. Version 1 states
        no range for the axis and its inference wraps negative values, so the range is the same.
        """
        if element_type is not None:
            self.check_element_type(element_type)
        if not isinstance(attributes, Attributes):
            attributes = self.check_attributes(attributes)
        if shape is None:
            return TensorType(OUTPUT_ELEMENT_TYPE, None)
        dimensions = tuple(_dimension(dimension) for dimension in shape)
        axis = normalize_axis(attributes.axis, len(dimensions))
        # The rule looks at lengths only to find a 0, so names and None pass through it.
        reduced = result_shape(dimensions, axis, attributes.keepdims)
        return TensorType(OUTPUT_ELEMENT_TYPE, reduced)

    def _no_such_attribute(self, name: str) -> str:
        known = ", ".join(attribute.name for attribute in self.attributes)
        later = (v for v in VERSIONS if any(name == attribute.name for attribute in v.attributes))
        first = next(later, None)
        came = (
            ""
            if first is None
            else (
                f"; {name} came with version {first.since_version}: leave it out, or raise the "
                f"model's opset to {first.since_version}"
            )
        )
        return f"{self}: there is no attribute {name!r}; it has {known}{came}"


def _version(since_version: int, *attributes: Attribute) -> Version:
    return Version(
        since_version,
        attributes,
        tuple(t for t in ELEMENT_TYPES if (t.since_version or since_version) <= since_version),
    )


_RANGE: Final = "Axis to reduce, in [-r, r-1] where r is the rank of the input."
_AXIS_WITHOUT_RANGE: Final = Attribute("axis", "INT", 0, "Axis to reduce.")
_AXIS: Final = Attribute("axis", "INT", 0, _RANGE)
_KEEPDIMS: Final = Attribute(
    "keepdims", "INT", 1, "Whether the reduced axis stays, with length 1; 0 drops it."
)
_SELECT_LAST_INDEX: Final = Attribute(
    "select_last_index",
    "INT",
    0,
    "Of equal maxima, whether the last index is taken; 0: the first.",
)

VERSIONS: Final = (
    _version(1, _AXIS_WITHOUT_RANGE, _KEEPDIMS),
    _version(11, _AXIS, _KEEPDIMS),
    _version(12, _AXIS, _KEEPDIMS, _SELECT_LAST_INDEX),
    _version(13, _AXIS, _KEEPDIMS, _SELECT_LAST_INDEX),
)
"""The versions of the operator, oldest first."""


def get_version(since_version: int) -> Version:
    """The version of the operator that came with an operator set.

    Raises
    ------
    ValueError
        When no version came with it; :func:`version_for_opset` takes any operator set.
    """
    for version in VERSIONS:
        if version.since_version == since_version:
            return version
    known = ", ".join(str(version.since_version) for version in VERSIONS)
    raise ValueError(
        f"since_version: {NAME} has the versions {known}, got {since_version!r}; "
        "version_for_opset takes the opset of a model"
    )


def version_for_opset(opset: int) -> Version:
    """The version of the operator that an operator set means.

    Version 1 for opset 1 to 10, 11 for 11, 12 for 12, and 13 for 13 and later, as far as later
    ones are known: a new version would have to be added here.

    Raises
    ------
    ValueError
        When ``opset`` is below 1.
    TypeError
        When ``opset`` is no integer.
    """
    try:
        number = _python_operator.index(opset)
    except TypeError:
        raise TypeError(
            f"opset: an integer is needed, got {opset!r} of type {type(opset).__name__}"
        ) from None
    if number < 1:
        raise ValueError(f"opset: operator sets are numbered from 1, got {number}")
    return next(version for version in reversed(VERSIONS) if version.since_version <= number)


def element_type_name(number: int) -> str:
    """ONNX's name of an element type, ``tensor(float)`` for 1, by its number in
    ``onnx.TensorProto.DataType``; also of those that the operator does not take."""
    found = element_type_of_tensor_proto(number)
    if found is not None:
        return str(found)
    other = _OTHER_BY_NUMBER.get(number)
    return f"tensor({other[1]})" if other else f"number {number} of TensorProto.DataType"


def _number_and_name(element_type: ElementTypeLike) -> tuple[int | None, str]:
    """Number in ``TensorProto.DataType``, None where ONNX has none, and a name for messages."""
    if isinstance(element_type, ElementType):
        return element_type.tensor_proto, str(element_type)
    if isinstance(element_type, str):
        name = element_type.removeprefix("tensor(").removesuffix(")")
        number = _NUMBER_BY_NAME.get(name)
        return number, repr(element_type) if number is None else element_type_name(number)
    if isinstance(element_type, (np.dtype, type)):
        dtype = np.dtype(element_type)
        found = element_type_of_dtype(dtype)
        number = found.tensor_proto if found else _NUMBER_BY_NAME.get(dtype.name)
        if number is None and dtype.kind in "SUT":
            number = _NUMBER_BY_NAME["string"]
        return number, str(dtype) if number is None else element_type_name(number)
    return element_type, element_type_name(element_type)


def _next_step(found: ElementType | None, number: int | None) -> str:
    if found is not None and found.since_version is not None:
        since = found.since_version
        return f"; {found} came with version {since}: raise the model's opset to {since}, or Cast"
    other = None if number is None else _OTHER_BY_NUMBER.get(number)
    return f"; {other[3]}" if other else ""


def _dimension(dimension: Dimension) -> Dimension:
    if isinstance(dimension, str) or dimension is None:
        return dimension
    length = _python_operator.index(dimension)
    if length < 0:
        raise ValueError(
            f"shape: a dimension is a length of 0 or more, a name, or None, got {length}"
        )
    return length
