# SPDX-License-Identifier: Apache-2.0
"""What the right answer is, said twice: slowly in plain Python, and with NumPy for large arrays.

Neither shares a line with the package. ``oracle_argmax`` is the contract word for word: it reads
each element's bits, decodes them to an exact Python integer, and looks at every one of them.
``fast_argmax`` is its twin for arrays too large for that; ``test_oracle.py`` holds it against
the slow one.
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FLOAT_FORMATS",
    "Array",
    "FloatFormat",
    "fast_argmax",
    "oracle_argmax",
    "outcome",
    "rank_of_bits",
    "same_outcome",
]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format of IEEE 754's kind: sign, exponent, significand."""

    exponent_bits: int
    significand_bits: int

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.significand_bits

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        """Bits of +inf; every magnitude above it is a NaN."""
        return ((1 << self.exponent_bits) - 1) << self.significand_bits


FLOAT_FORMATS: Final = {
    "float16": FloatFormat(5, 10),
    "bfloat16": FloatFormat(8, 7),
    "float32": FloatFormat(8, 23),
    "float64": FloatFormat(11, 52),
}
_INTEGERS: Final = frozenset(
    f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)
)


def rank_of_bits(dtype_name: str, bits: int) -> tuple[int, int]:
    """Where an element stands in the contract's order; equal exactly when elements tie.

    The first number sets NaN above everything else. The second is the value: an integer's own,
    a float's as a multiple of its format's smallest subnormal, which is exact in Python.
    """
    if dtype_name == "bool":
        return 0, int(bits != 0)  # NumPy takes any byte but 0 as True
    float_format = FLOAT_FORMATS.get(dtype_name)
    if float_format is None:
        width = int(dtype_name.rpartition("int")[2])
        negative = not dtype_name.startswith("u") and bits >> (width - 1)
        return 0, bits - (1 << width if negative else 0)
    magnitude = bits & ~float_format.sign
    if magnitude > float_format.infinity:
        return 1, 0
    exponent, significand = divmod(magnitude, 1 << float_format.significand_bits)
    if exponent:
        significand = (significand + (1 << float_format.significand_bits)) << (exponent - 1)
    return 0, -significand if bits & float_format.sign else significand


def oracle_argmax(
    data: Array, axis: Any = 0, keepdims: bool = True, select_last_index: bool = False
) -> Array:
    """ArgMax of a NumPy array of any layout and byte order, as the contract defines it.

    Raises
    ------
    TypeError
        For an element type outside the contract, or an axis that is no integer.
    numpy.exceptions.AxisError
        For an axis out of range.
    ValueError
        For a reduced axis of length 0.
    """
    name = _dtype_name(data)
    position = _position(axis, data.ndim)
    shape = data.shape or (1,)
    if position is None:
        outer, lines = (), [list(itertools.product(*map(range, data.shape)))]
    else:
        outer = (*shape[:position], *shape[position + 1 :])
        lines = [
            [(*rest[:position], index, *rest[position:]) for index in range(shape[position])]
            for rest in itertools.product(*map(range, outer))
        ]
    if (position is not None and shape[position] == 0) or lines == [[]]:
        raise ValueError("the reduced axis has length 0")
    order = _byte_order(data.dtype)
    found: list[int] = []
    for line in lines:
        ranks = [
            rank_of_bits(name, int.from_bytes(data[(*at, ...)].tobytes(), order))
            for at in (line if data.ndim else [()])
        ]
        largest = max(ranks)
        where = [index for index, rank in enumerate(ranks) if rank == largest]
        found.append(where[-1 if select_last_index else 0])
    return np.array(found, np.int64).reshape(_result_shape(data.shape, position, keepdims))


def fast_argmax(
    data: Array, axis: int | None = 0, keepdims: bool = True, select_last_index: bool = False
) -> Array:
    """The same for large arrays and clean arguments: integer keys, then NumPy's argmax."""
    keys = _keys(data)
    if axis is None:
        keys, along = keys.reshape(-1), 0
    else:
        keys, along = (keys if data.ndim else keys.reshape(1)), axis
    if select_last_index:
        found = keys.shape[along] - 1 - np.argmax(np.flip(keys, along), along)
    else:
        found = np.argmax(keys, along)
    position = None if axis is None else axis % max(data.ndim, 1)
    return np.asarray(found, np.int64).reshape(_result_shape(data.shape, position, keepdims))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives: its result, or the type of the error it raises."""
    try:
        return call()
    except (TypeError, ValueError) as error:
        return type(error)


def same_outcome(actual: Any, expected: Any) -> bool:
    """Whether two outcomes agree: the same error, or the same shape, dtype and indices."""
    if isinstance(actual, type) or isinstance(expected, type):
        return actual is expected
    actual, expected = np.asarray(actual), np.asarray(expected)
    return (
        actual.shape == expected.shape
        and actual.dtype == expected.dtype
        and bool(np.array_equal(actual, expected))
    )


def _keys(data: Array) -> Array:
    name = _dtype_name(data)
    if name == "bool":
        return data.view(np.uint8) != 0
    if name not in FLOAT_FORMATS:
        return data.astype(data.dtype.newbyteorder("="))
    float_format = FLOAT_FORMATS[name]
    width = data.dtype.itemsize
    stored = np.dtype(f"{'<' if _byte_order(data.dtype) == 'little' else '>'}u{width}")
    bits = data.view(stored).astype(f"u{width}")
    magnitude = (bits & ~bits.dtype.type(float_format.sign)).astype(f"i{width}")
    signed = np.where(bits & bits.dtype.type(float_format.sign), -magnitude, magnitude)
    return np.where(magnitude > float_format.infinity, np.iinfo(signed.dtype).max, signed)


def _dtype_name(data: Array) -> str:
    name = data.dtype.newbyteorder("=").name if data.dtype.kind in "iufb" else data.dtype.name
    if name != "bool" and name not in FLOAT_FORMATS and name not in _INTEGERS:
        raise TypeError(f"element type {name} is outside the contract")
    return name


def _byte_order(dtype: np.dtype[Any]) -> Any:
    if dtype.isnative:
        return sys.byteorder
    return "big" if sys.byteorder == "little" else "little"


def _position(axis: Any, rank: int) -> int | None:
    if axis is None:
        return None
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError("a bool is no axis")
    position = operator.index(axis)
    axes = max(rank, 1)
    if position not in range(-axes, axes):
        raise np.exceptions.AxisError(position, rank)
    return position % axes


def _result_shape(shape: tuple[int, ...], position: int | None, keepdims: bool) -> tuple[int, ...]:
    if position is None:
        return (1,) * len(shape) if keepdims else ()
    kept = (1,) if keepdims and shape else ()
    return (*shape[:position], *kept, *shape[position + 1 :])
