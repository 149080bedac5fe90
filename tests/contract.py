# SPDX-License-Identifier: Apache-2.0
"""The contract as one table of cases: input, attributes, opset, and the right answer or error.

Every door runs every case that it can express (``doors.py``, ``test_contract.py``). The answers
are written by hand; a test holds them against the oracle, so that neither can be wrong alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import ml_dtypes
import numpy as np

from onnx_argmax._element_types import ELEMENT_TYPES, ElementType
from oracle import Array
from samples import FLOAT_TYPES, LARGEST_BITS, LOWEST_BITS, NAN_BITS, from_bits, numpy_dtype

__all__ = ["CASES", "Case", "Refusal", "version_of"]


@dataclass(frozen=True)
class Refusal:
    """An error that is the right outcome."""

    error: type[Exception]
    words: tuple[str, ...]
    """Each of them is in the message."""


@dataclass(frozen=True)
class Case:
    """One input of the operator and what it must give."""

    identifier: str
    data: Array
    outcome: Array | Refusal
    attributes: Mapping[str, int] = field(default_factory=dict)
    opset: int = 13
    without_versions: Array | Refusal | None = None
    """What a door gives that has no versions and goes beyond the operator (the array function);
    None where it is the same."""

    def __str__(self) -> str:
        return self.identifier


def version_of(opset: int) -> int:
    """The version of ArgMax that a model's opset means."""
    return max(version for version in (1, 11, 12, 13) if version <= opset)


# 2 and 10 in every type, and ties at both ends.
_TABLE: Final = [[2, 1, 2], [3, 10, 10]]


def _indices(values: Any) -> Array:
    return np.array(values, np.int64)


def _of_type(element_type: ElementType, values: Any) -> Array:
    return np.array(values).astype(numpy_dtype(element_type))


def _types(opset: int) -> list[ElementType]:
    return [t for t in ELEMENT_TYPES if (t.since_version or 0) <= version_of(opset)]


# The result, the defaults, ties and the element types of each version.


def _types_and_versions() -> Iterator[Case]:
    for opset in (1, 11, 12, 13):
        for element_type in _types(opset):
            data = _of_type(element_type, _TABLE)
            name = f"{element_type.dtype_name}_opset_{opset}"
            yield Case(f"defaults_{name}", data, _indices([[1, 1, 1]]), {}, opset)
            yield Case(f"first_of_ties_{name}", data, _indices([[0], [1]]), {"axis": 1}, opset)
            if opset >= 12:
                last = {"axis": 1, "keepdims": 0, "select_last_index": 1}
                yield Case(f"last_of_ties_{name}", data, _indices([2, 2]), last, opset)


def _opsets() -> Iterator[Case]:
    data = _of_type(ELEMENT_TYPES[0], _TABLE)
    for opset in range(1, 23):  # 22: that of the oldest onnx that is supported
        attributes = {"axis": -1, "keepdims": 0}
        yield Case(f"opset_{opset}", data, _indices([0, 1]), attributes, opset)
        attributes = {**attributes, "select_last_index": 1}
        right = _indices([2, 2])
        if opset >= 12:
            yield Case(f"last_index_opset_{opset}", data, right, attributes, opset)
        else:
            words = ("select_last_index", f"version {version_of(opset)}")
            refusal = Refusal(ValueError, words)
            yield Case(f"last_index_opset_{opset}", data, refusal, attributes, opset, right)


# The order of each type.


def _integers() -> Iterator[Case]:
    for element_type in ELEMENT_TYPES:
        if element_type in FLOAT_TYPES:
            continue
        low, top = LOWEST_BITS[element_type], LARGEST_BITS[element_type]
        name = element_type.dtype_name
        limits = from_bits(element_type, [low, 1, top, 0, top, low])
        yield Case(f"integer_limits_{name}", limits, _indices([2]))
        yield Case(f"integer_limits_last_{name}", limits, _indices([4]), {"select_last_index": 1})
        yield Case(f"all_lowest_{name}", from_bits(element_type, [low] * 5), _indices([0]))
        below = from_bits(element_type, [low, top - 1, top])
        yield Case(f"neighbours_{name}", below, _indices([2]))
    # Neighbours that a float of the same or of half the width cannot tell apart.
    beyond_doubles = np.array([2**53, 2**53 + 1, 2**53], np.int64)
    yield Case("int64_beyond_doubles", beyond_doubles, _indices([1]))
    yield Case("uint64_beyond_doubles", beyond_doubles.astype(np.uint64), _indices([1]))
    beyond_floats = np.array([2**24, 2**24 + 1, 2**24], np.int32)
    yield Case("int32_beyond_floats", beyond_floats, _indices([1]))
    yield Case("uint64_above_int64", np.array([2**63 - 1, 2**63], np.uint64), _indices([1]))
    yield Case("int64_above_int32", np.array([2**31, 2**31 - 1], np.int64), _indices([0]))


def _floats() -> Iterator[Case]:
    for element_type in FLOAT_TYPES:
        nans = NAN_BITS[element_type]
        name = element_type.dtype_name
        infinity = LARGEST_BITS[element_type]
        for number, nan in enumerate(nans):
            # Before, between and behind the numbers, +inf included.
            for place in range(3):
                bits = [infinity, infinity]
                bits.insert(place, nan)
                yield Case(
                    f"nan_{number}_at_{place}_{name}",
                    from_bits(element_type, bits),
                    _indices([place]),
                )
        several = from_bits(element_type, [0, nans[0], infinity, nans[-1], nans[1], 0])
        yield Case(f"first_nan_{name}", several, _indices([1]))
        yield Case(f"last_nan_{name}", several, _indices([4]), {"select_last_index": 1})
        yield Case(f"all_nan_{name}", from_bits(element_type, nans), _indices([0]))
        for zeros in ([-0.0, 0.0], [0.0, -0.0]):
            data = _of_type(element_type, zeros)
            sign = "minus" if np.signbit(zeros[0]) else "plus"
            yield Case(f"{sign}_zero_first_{name}", data, _indices([0]))
            last = {"select_last_index": 1}
            yield Case(f"{sign}_zero_first_last_index_{name}", data, _indices([1]), last)
        subnormals = from_bits(element_type, [0, 1, 2, 1])
        yield Case(f"subnormals_{name}", subnormals, _indices([2]))
        yield Case(f"negative_subnormals_{name}", -subnormals[1:], _indices([0]))
        negative = _of_type(element_type, [-5, -2, -3, -np.inf])
        yield Case(f"negative_{name}", negative, _indices([1]))
        yield Case(f"mixed_signs_{name}", _of_type(element_type, [-1, 0.5, -2]), _indices([1]))
        yield Case(f"infinities_{name}", _of_type(element_type, [-np.inf, np.inf]), _indices([1]))
        all_lowest = _of_type(element_type, [-np.inf, -np.inf])
        yield Case(f"all_minus_infinity_{name}", all_lowest, _indices([0]))
    nearly = np.array([1, 1 + 1e-12, 0], np.float64)
    yield Case("float64_beyond_floats", nearly, _indices([1]))
    halves = np.array([2048, 2049, 1], np.float32)
    yield Case("float32_beyond_halves", halves, _indices([1]))


# Axis, keepdims and shape.


def _axes() -> Iterator[Case]:
    data = np.array([[[2, 0], [1, 5], [4, 3]]], np.float32)  # (1, 3, 2)
    along = {0: [[0, 0], [0, 0], [0, 0]], 1: [[2, 1]], 2: [[0, 1, 0]]}
    for axis, opset in itertools.product(range(-3, 3), (1, 11, 12, 13)):
        dropped = _indices(along[axis % 3])
        name = f"axis_{axis}_opset_{opset}".replace("-", "minus_")
        kept = np.expand_dims(dropped, axis % 3)
        yield Case(f"{name}_kept", data, kept, {"axis": axis}, opset)
        yield Case(f"{name}_dropped", data, dropped, {"axis": axis, "keepdims": 0}, opset)
    for axis, opset in itertools.product((3, -4, 6, 2**63 - 1, -(2**63)), (1, 11, 12, 13)):
        words = (f"axis {axis}", "rank 3", "-3 to 2")
        name = f"axis_{axis}_opset_{opset}".replace("-", "minus_")
        refusal = Refusal(np.exceptions.AxisError, words)
        yield Case(f"{name}_out_of_range", data, refusal, {"axis": axis}, opset)


def _flags() -> Iterator[Case]:
    data = np.array([[7, 7]], np.int32)
    for value, opset in itertools.product((0, 1, 2, -1, 2**62), (12, 13)):
        right = _indices([[1 if value else 0]])
        attributes = {"axis": 1, "keepdims": value, "select_last_index": value}
        name = f"flags_{value}_opset_{opset}".replace("-", "minus_")
        yield Case(name, data, right if value else right[0], attributes, opset)


def _small_shapes() -> Iterator[Case]:
    one = np.array(5, np.float32)
    for axis, keepdims, opset in itertools.product((0, -1), (0, 1), (1, 13)):
        name = f"rank_0_axis_{axis}_keepdims_{keepdims}_opset_{opset}".replace("-", "minus_")
        yield Case(name, one, _indices(0), {"axis": axis, "keepdims": keepdims}, opset)
    words = ("axis 1", "rank 0", "-1 to 0")
    refusal = Refusal(np.exceptions.AxisError, words)
    yield Case("rank_0_axis_1_out_of_range", one, refusal, {"axis": 1})
    yield Case("one_element", np.array([3], np.uint8), _indices([0]))
    ones = np.ones((4, 1), np.float32)
    yield Case("length_1", ones, _indices([0, 0, 0, 0]), {"axis": 1, "keepdims": 0})
    ranks = np.arange(2**8, dtype=np.int16).reshape((1, 2) * 8)
    for axis in (0, 1, 15):
        kept = list(ranks.shape)
        kept[axis] = 1
        yield Case(
            f"rank_16_axis_{axis}", ranks, np.full(kept, axis % 2, np.int64), {"axis": axis}
        )


def _empty() -> Iterator[Case]:
    for element_type in (ELEMENT_TYPES[0], ELEMENT_TYPES[-1]):
        for shape, axis, kept in (
            ((2, 0), 0, (1, 0)),
            ((0, 3), 1, (0, 1)),
            ((0, 3), -1, (0, 1)),
            ((3, 0, 2), 2, (3, 0, 1)),
            ((0, 2, 0), 1, (0, 1, 0)),
        ):
            data = np.zeros(shape, numpy_dtype(element_type))
            name = f"{shape}_axis_{axis}_{element_type.dtype_name}".replace("-", "minus_")
            dropped = tuple(n for i, n in enumerate(kept) if i != axis % len(kept))
            right = np.zeros(kept, np.int64)
            yield Case(f"empty_{name}_kept", data, right, {"axis": axis})
            attributes = {"axis": axis, "keepdims": 0}
            yield Case(f"empty_{name}_dropped", data, right.reshape(dropped), attributes)
    for shape, axis, opset in (
        ((0,), 0, 1),
        ((0,), 0, 13),
        ((2, 0), 1, 11),
        ((2, 0), -1, 12),
        ((0, 0), 0, 13),
        ((0, 3), 0, 13),
        ((3, 0, 2), 1, 13),
    ):
        for keepdims in (0, 1):
            words = (f"axis {axis % len(shape)}", str(shape), "length 0")
            name = f"{shape}_axis_{axis}_keepdims_{keepdims}".replace("-", "minus_")
            attributes = {"axis": axis, "keepdims": keepdims}
            refusal = Refusal(ValueError, words)
            data = np.zeros(shape, np.float32)
            yield Case(f"nothing_to_choose_{name}_opset_{opset}", data, refusal, attributes, opset)


# What a version, or the operator, lacks.


def _lacking() -> Iterator[Case]:
    data = _of_type(ELEMENT_TYPES[0], _TABLE)
    for opset in (1, 11, 12, 13):
        refusal = Refusal(ValueError, ("'axes'", f"version {opset}", "it has axis, keepdims"))
        yield Case(f"unknown_attribute_opset_{opset}", data, refusal, {"axes": 1}, opset)
    bfloat16 = _of_type(ELEMENT_TYPES[-1], _TABLE)
    for opset in (1, 10, 11, 12):
        words = ("tensor(bfloat16)", f"version {version_of(opset)}", "allowed are tensor(float)")
        right = _indices([[1, 1, 1]])
        refusal = Refusal(TypeError, words)
        yield Case(f"bfloat16_opset_{opset}", bfloat16, refusal, {}, opset, right)
    for opset, (name, values, without_versions) in itertools.product(
        (1, 11, 12, 13),
        (
            ("bool", np.array([False, True, True]), _indices([1])),
            ("complex64", np.zeros(3, np.complex64), "complex64"),
            ("string", np.array(["a", "b"], object), "object"),
            ("float8e4m3fn", np.zeros(3, ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
        ),
    ):
        words = (f"tensor({name})", f"version {opset}", "allowed are tensor(float)")
        if isinstance(without_versions, str):
            alone = (f"element type {without_versions} ", "allowed are float32")
            without_versions = Refusal(TypeError, alone)
        refusal = Refusal(TypeError, words)
        yield Case(f"{name}_opset_{opset}", values, refusal, {}, opset, without_versions)


CASES: Final = (
    *_types_and_versions(),
    *_opsets(),
    *_integers(),
    *_floats(),
    *_axes(),
    *_flags(),
    *_small_shapes(),
    *_empty(),
    *_lacking(),
)
