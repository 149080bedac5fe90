# SPDX-License-Identifier: Apache-2.0
"""The one table of element types on the Python side.

Numbers and names are those of ``onnx.TensorProto.DataType``; the C++ core uses the same
numbers (``src/core/element_type.h``). A test holds this table against ``onnx.TensorProto`` and
against the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = [
    "BOOL",
    "ELEMENT_TYPES",
    "ElementType",
    "element_type_of_dtype",
    "element_type_of_tensor_proto",
    "names",
]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type of a tensor."""

    name: str
    """ONNX's name, as in ``tensor(float)``: ``"float"``, ``"bfloat16"``, ``"int8"``..."""
    tensor_proto: int
    """Number in ``onnx.TensorProto.DataType``."""
    dtype_name: str
    """NumPy's (or ml_dtypes') name of the dtype: ``"float32"``, ``"bfloat16"``..."""
    itemsize: int
    """Bytes of one element."""
    since_version: int | None = 1
    """First version of ArgMax that takes the type; None where no version does."""

    def __str__(self) -> str:
        return f"tensor({self.name})"


ELEMENT_TYPES: Final = (
    ElementType("float", 1, "float32", 4),
    ElementType("uint8", 2, "uint8", 1),
    ElementType("int8", 3, "int8", 1),
    ElementType("uint16", 4, "uint16", 2),
    ElementType("int16", 5, "int16", 2),
    ElementType("int32", 6, "int32", 4),
    ElementType("int64", 7, "int64", 8),
    ElementType("float16", 10, "float16", 2),
    ElementType("double", 11, "float64", 8),
    ElementType("uint32", 12, "uint32", 4),
    ElementType("uint64", 13, "uint64", 8),
    ElementType("bfloat16", 16, "bfloat16", 2, since_version=13),
)
"""The element types of the operator, in the order of their numbers."""

BOOL: Final = ElementType("bool", 9, "bool", 1, since_version=None)
"""Taken by the array function alone (False < True)."""

_BY_NUMBER: Final = {t.tensor_proto: t for t in (*ELEMENT_TYPES, BOOL)}
_BY_NAME: Final = {t.dtype_name: t for t in (*ELEMENT_TYPES, BOOL)}
_OTHER_LIBRARIES: Final = ("bfloat16",)
"""Names of dtypes that are not NumPy's own; they are known by name, without that library."""
_BY_DTYPE: Final = {
    np.dtype(name): t for name, t in _BY_NAME.items() if name not in _OTHER_LIBRARIES
}


def names(*, version: int | None = None) -> str:
    """Names of the allowed types, for a message: those of a version, or the array function's."""
    if version is None:
        return ", ".join(t.dtype_name for t in (*ELEMENT_TYPES, BOOL))
    allowed = (t for t in ELEMENT_TYPES if t.since_version is not None)
    return ", ".join(str(t) for t in allowed if (t.since_version or 0) <= version)


def element_type_of_dtype(dtype: np.dtype[Any]) -> ElementType | None:
    """Element type of a NumPy dtype in either byte order; None where there is none.

    bfloat16 has two disguises: ml_dtypes' own dtype, and the ``uint16`` with one field named
    ``bfloat16`` that older releases of onnx used. A plain ``uint16`` stays ``uint16``.
    """
    if dtype.fields is not None:
        is_bfloat16 = dtype.names == ("bfloat16",) and dtype.base == np.uint16
        return _BY_NAME["bfloat16"] if is_bfloat16 else None
    found = _BY_DTYPE.get(dtype)
    if found is None and not dtype.isnative:
        found = _BY_DTYPE.get(dtype.newbyteorder("="))
    if found is None and dtype.name in _OTHER_LIBRARIES:
        found = _BY_NAME[dtype.name]
        return found if dtype.itemsize == found.itemsize else None
    return found


def element_type_of_tensor_proto(number: int) -> ElementType | None:
    """Element type of a number of ``onnx.TensorProto.DataType``; None where there is none."""
    return _BY_NUMBER.get(number)
