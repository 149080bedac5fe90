# SPDX-License-Identifier: Apache-2.0
"""The array function against the oracle, at every level and thread count."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from layouts import strided
from machine import every_setting
from onnx_argmax import argmax
from oracle import Array, fast_argmax, oracle_argmax, outcome, same_outcome
from samples import ALL_TYPES, random_elements
from strategies import arrays, axes, elements, laid_out

INDEX_TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@given(st.data(), arrays(), st.booleans(), st.booleans())
def test_agrees_with_the_oracle(
    draws: st.DataObject, data: Array, keepdims: bool, select_last_index: bool
) -> None:
    axis = draws.draw(axes(data.ndim), "axis")
    expected = outcome(lambda: oracle_argmax(data, axis, keepdims, select_last_index))
    before = data.tobytes()
    for setting in every_setting():
        actual = outcome(lambda: argmax(data, axis, keepdims, select_last_index))
        assert same_outcome(actual, expected), f"{setting}: {actual} instead of {expected}"
    assert data.tobytes() == before


@given(st.data(), st.sampled_from(ALL_TYPES), st.booleans())
def test_long_lines(draws: st.DataObject, element_type: Any, select_last_index: bool) -> None:
    """Lengths at which blocks, lanes and threads' pieces meet; mostly ties."""
    length = draws.draw(st.integers(1, 3000), "length")
    lines = draws.draw(st.integers(1, 5), "lines")
    shape = draws.draw(st.permutations([length, lines]), "shape")
    data = draws.draw(laid_out(draws.draw(elements(element_type, tuple(shape)))), "data")
    for axis in (0, 1, None):
        expected = fast_argmax(data, axis, False, select_last_index)
        for setting in every_setting():
            actual = argmax(data, axis, False, select_last_index)
            assert same_outcome(actual, expected), f"{setting}, axis {axis}"


@given(st.data(), arrays(), st.booleans(), st.sampled_from(INDEX_TYPES))
def test_result_types(draws: st.DataObject, data: Array, keepdims: bool, dtype: str) -> None:
    """A narrow result, returned or written to an ``out`` of any layout, holds the same."""
    axis = draws.draw(axes(data.ndim), "axis")
    expected = outcome(lambda: oracle_argmax(data, axis, keepdims).astype(dtype))
    if not isinstance(expected, type):
        length = data.size if axis is None else (data.shape or (1,))[axis]
        if length - 1 > np.iinfo(dtype).max:
            expected = ValueError
    for setting in every_setting():
        actual = outcome(lambda: argmax(data, axis, keepdims, dtype=dtype))
        assert same_outcome(actual, expected), str(setting)
    if isinstance(expected, type):
        return
    beside = np.zeros(expected.shape, dtype)
    steps = [draws.draw(st.sampled_from([1, -1, 2]), "step") for _ in range(beside.ndim)]
    order = draws.draw(st.permutations(range(beside.ndim)), "order")
    for setting in every_setting():
        out = strided(beside, order=order, steps=steps)
        assert argmax(data, axis, keepdims, out=out) is out
        assert same_outcome(out, expected), str(setting)


def test_rank_64() -> None:
    """The most axes that NumPy allows."""
    shape = (1,) * 20 + (2, 1, 3) + (1,) * 39 + (2, 4)
    assert len(shape) == 64
    for seed, element_type in enumerate(ALL_TYPES):
        data = random_elements(element_type, shape, seed)
        reordered = strided(data, order=[*range(63, -1, -1)])
        for axis, last in itertools.product((20, 22, 62, 63, -64, -1, None), (False, True)):
            for keepdims in (False, True):
                expected = oracle_argmax(data, axis, keepdims, last)
                for setting in every_setting():
                    for array in (data, reordered):
                        actual = argmax(array, axis, keepdims, last)
                        assert same_outcome(actual, expected), f"{setting}, axis {axis}"
