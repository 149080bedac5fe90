# SPDX-License-Identifier: Apache-2.0
"""Where the elements lie in memory never changes the answer, and the input is never changed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from layouts import LAYOUTS, strided
from machine import every_setting
from onnx_argmax import argmax
from onnx_argmax._element_types import ElementType
from oracle import Array, fast_argmax, oracle_argmax
from samples import ALL_TYPES, random_elements, type_id, type_named

SHAPES = [(), (1,), (97,), (5, 70), (70, 5), (3, 1, 40), (2, 19, 3), (4, 3, 2, 5), (6, 0, 2)]
every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)


def axes(data: Array) -> Iterator[int | None]:
    """Every axis along which there is something to choose from."""
    if not data.ndim:
        yield 0
    yield from (axis for axis in range(data.ndim) if data.shape[axis])
    if data.size:
        yield None


def check(data: Array) -> None:
    """Every axis and end, kept and not, at every setting."""
    for axis, keepdims, last in itertools.product(axes(data), (False, True), (False, True)):
        expected = fast_argmax(data, axis, keepdims, last)
        for setting in every_setting():
            found = argmax(data, axis, keepdims, last)
            assert found.dtype == np.int64
            assert found.shape == expected.shape
            assert np.array_equal(found, expected), f"{setting}, axis {axis}, last={last}"


@pytest.mark.parametrize("layout", LAYOUTS)
@every_type
def test_layouts(element_type: ElementType, layout: str) -> None:
    for seed, shape in enumerate(SHAPES):
        data = LAYOUTS[layout](random_elements(element_type, shape, seed))
        before = data.tobytes()
        check(data)
        assert data.tobytes() == before


@every_type
def test_permuted_axes(element_type: ElementType) -> None:
    values = random_elements(element_type, (3, 4, 5), 0)
    for order in itertools.permutations(range(3)):
        check(strided(values, order=order))


def test_more_elements_than_any_memory_has() -> None:
    """A broadcast axis repeats the same items, so no work depends on how often."""
    data = np.broadcast_to(np.array([1.0, 3.0, 3.0, 2.0]), (2**40, 4))
    assert argmax(data, axis=None, keepdims=False) == 1
    assert argmax(data, None, False, select_last_index=True) == (2**40 - 1) * 4 + 2
    assert argmax(data, axis=0).tolist() == [[0, 0, 0, 0]]
    assert argmax(data, 0, False, True).tolist() == [2**40 - 1] * 4
    everywhere_equal = np.broadcast_to(np.float32(1), (2**30, 2**30))
    assert argmax(everywhere_equal, None, False, True) == 2**60 - 1


@every_type
def test_broadcast(element_type: ElementType) -> None:
    """An axis of stride 0 repeats one element: all of it ties."""
    row = random_elements(element_type, (40,), 0)
    check(np.broadcast_to(row, (9, 40)))
    check(np.broadcast_to(row[:, None], (40, 9)))
    check(np.broadcast_to(row[:1], (5, 6, 7)))
    check(np.broadcast_to(row[:6, None, None], (6, 5, 4)).transpose(1, 0, 2))
    check(np.broadcast_to(row[None, ::-2, None], (3, 20, 2)))


@every_type
def test_overlapping_windows(element_type: ElementType) -> None:
    """Axes that share their elements: no axis is the inner one."""
    row = random_elements(element_type, (60,), 0)
    check(sliding_window_view(row, 7))
    check(sliding_window_view(row, 7)[::2, ::-1])
    check(sliding_window_view(row.reshape(6, 10), (2, 3)))
    check(as_strided(row[10:], (4, 5, 6), tuple(row.itemsize * step for step in (3, 1, -2))))


@every_type
def test_diagonals(element_type: ElementType) -> None:
    square = random_elements(element_type, (9, 9), 0)
    check(np.diagonal(square))
    check(np.diagonal(square[::-1]))
    check(np.diagonal(random_elements(element_type, (3, 8, 8), 1), axis1=1, axis2=2))


@every_type
def test_fields_of_structures(element_type: ElementType) -> None:
    """A field of a packed structure: misaligned, at a stride that is no multiple of its size."""
    values = random_elements(element_type, (4, 50), 0)
    packed = np.zeros((4, 50), np.dtype([("before", "u1"), ("value", values.dtype)]))
    packed["value"] = values
    check(packed["value"])
    check(packed["value"].T)


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "layout", ["c_order", "misaligned", "every_third_reversed", "rotated_axes"]
)
def test_layouts_of_the_result(layout: str, itemsize: int) -> None:
    """The result goes into an array of any layout, and nowhere else."""
    values = random_elements(type_named("float32"), (5, 4, 6), 0)
    for axis, keepdims in itertools.product((0, 1, 2, None), (False, True)):
        expected = oracle_argmax(values, axis, keepdims).astype(f"i{itemsize}")
        for setting in every_setting():
            out = LAYOUTS[layout](np.zeros_like(expected))
            gaps = _bytes_beside(out)
            assert argmax(values, axis, keepdims, out=out) is out
            assert np.array_equal(out, expected), str(setting)
            assert _bytes_beside(out) == gaps


def _bytes_beside(array: Array) -> bytes:
    """All bytes of the memory of an array that lie in the gaps between its elements."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    kept = array.copy()
    array[...] = 0
    beside = owner.tobytes()
    array[...] = kept
    return beside
