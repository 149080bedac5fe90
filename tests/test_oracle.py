# SPDX-License-Identifier: Apache-2.0
"""The oracle is right, and its fast twin agrees with it."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from layouts import LAYOUTS
from onnx_argmax._element_types import ElementType
from oracle import fast_argmax, oracle_argmax, outcome, rank_of_bits, same_outcome
from samples import (
    ALL_TYPES,
    FLOAT_TYPES,
    LARGEST_BITS,
    NAN_BITS,
    SPECIAL_BITS,
    from_bits,
    random_elements,
    type_id,
)

every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=type_id)
def test_decoded_floats_are_the_processors(element_type: ElementType) -> None:
    codes = {"float16": "e", "float32": "f", "float64": "d"}
    for bits in SPECIAL_BITS[element_type]:
        if element_type.dtype_name == "bfloat16":  # the upper half of a float32
            value = struct.unpack(">f", bits.to_bytes(2, "big") + b"\0\0")[0]
        else:
            code = codes[element_type.dtype_name]
            value = struct.unpack(">" + code, bits.to_bytes(element_type.itemsize, "big"))[0]
        is_nan, multiple = rank_of_bits(element_type.dtype_name, bits)
        assert bool(is_nan) is math.isnan(value)
        if math.isinf(value):
            assert (multiple > 0) is (value > 0)
            assert abs(multiple) > rank_of_bits(element_type.dtype_name, bits - 1)[1]
        elif not is_nan:
            unit = rank_of_bits(element_type.dtype_name, from_one(element_type))[1]
            assert multiple == value * unit if unit < 2**53 else multiple / unit == value


def from_one(element_type: ElementType) -> int:
    """Bits of 1.0."""
    return int(np.array(1, from_bits(element_type, [0]).dtype).view(f"u{element_type.itemsize}"))


@every_type
def test_order_of_all_pairs(element_type: ElementType) -> None:
    values = from_bits(element_type, SPECIAL_BITS[element_type])
    for bits in SPECIAL_BITS[element_type]:
        mine = rank_of_bits(element_type.dtype_name, bits)
        largest = max(NAN_BITS[element_type] or (LARGEST_BITS[element_type],))
        assert mine <= rank_of_bits(element_type.dtype_name, largest)
    for index, value in enumerate(values):
        wins = [same_outcome(oracle_argmax(np.stack([value, other])), [1]) for other in values]
        rank = rank_of_bits(element_type.dtype_name, SPECIAL_BITS[element_type][index])
        ranks = [rank_of_bits(element_type.dtype_name, b) for b in SPECIAL_BITS[element_type]]
        assert wins == [other > rank for other in ranks]


@pytest.mark.parametrize("layout", LAYOUTS)
@every_type
def test_fast_twin_agrees(element_type: ElementType, layout: str) -> None:
    for seed, shape in enumerate([(), (1,), (7,), (4, 5), (2, 3, 4), (2, 0, 3)]):
        data = LAYOUTS[layout](random_elements(element_type, shape, seed))
        axes = [0, -1] if not shape else [*range(-len(shape), len(shape))]
        for axis in [*axes, None]:
            for keepdims in (False, True):
                for last in (False, True):
                    slow = outcome(lambda: oracle_argmax(data, axis, keepdims, last))  # noqa: B023
                    fast = outcome(lambda: fast_argmax(data, axis, keepdims, last))  # noqa: B023
                    assert same_outcome(fast, slow), (shape, axis, keepdims, last)


@pytest.mark.parametrize("layout", LAYOUTS)
@every_type
def test_layouts_keep_the_elements(element_type: ElementType, layout: str) -> None:
    for seed, shape in enumerate([(), (0,), (5,), (3, 4), (2, 3, 0), (2, 3, 4)]):
        values = random_elements(element_type, shape, seed)
        laid_out = LAYOUTS[layout](values)
        assert laid_out.shape == values.shape
        native = laid_out.astype(values.dtype).tobytes()
        assert native == values.tobytes()


@pytest.mark.parametrize(
    ("data", "axis", "error"),
    [
        (np.zeros((2, 3)), 2, np.exceptions.AxisError),
        (np.zeros((2, 3)), -3, np.exceptions.AxisError),
        (np.zeros(()), 1, np.exceptions.AxisError),
        (np.zeros((2, 0)), 1, ValueError),
        (np.zeros((0, 0)), 0, ValueError),
        (np.zeros((0, 3)), None, ValueError),
        (np.zeros(2), True, TypeError),
        (np.zeros(2), 0.0, TypeError),
        (np.zeros(2, complex), 0, TypeError),
    ],
    ids=str,
)
def test_oracle_refuses(data: np.ndarray, axis: object, error: type[Exception]) -> None:
    assert outcome(lambda: oracle_argmax(data, axis)) is error


def test_outcomes_are_told_apart() -> None:
    index = np.zeros((1,), np.int64)
    assert same_outcome(index, index.copy())
    assert not same_outcome(index, index.astype(np.int32))
    assert not same_outcome(index, index.reshape(()))
    assert not same_outcome(index, index + 1)
    assert not same_outcome(index, ValueError)
    assert not same_outcome(np.exceptions.AxisError, ValueError)
