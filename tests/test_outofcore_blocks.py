# SPDX-License-Identifier: Apache-2.0
"""Blocks that come one by one, in any order and shape, and what is wrong with some of them."""

from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chunks import Box, block_of, chunkings, offset_of
from layouts import LAYOUTS
from onnx_argmax import outofcore
from onnx_argmax._coverage import Coverage
from oracle import Array, oracle_argmax, outcome
from samples import ALL_TYPES, random_elements, type_id, type_named
from strategies import arrays

DATA = random_elements(type_named("float32"), (4, 6), 0)


def pairs(data: Array, boxes: list[Box]) -> Iterator[tuple[tuple[int, ...], Array]]:
    for box in boxes:
        yield offset_of(box), block_of(data, box)


def halves() -> list[tuple[tuple[int, ...], Array]]:
    return [((0, 0), DATA[:, :3]), ((0, 3), DATA[:, 3:])]


@given(st.data(), arrays())
def test_any_boxes_in_any_order(draws: st.DataObject, data: Array) -> None:
    boxes = draws.draw(chunkings(data.shape), "boxes")
    axis = draws.draw(st.one_of(st.none(), st.integers(-max(data.ndim, 1), max(data.ndim, 1) - 1)))
    keepdims, last = draws.draw(st.booleans()), draws.draw(st.booleans())
    layout = LAYOUTS[draws.draw(st.sampled_from(sorted(LAYOUTS)), "layout")]
    threads = draws.draw(st.sampled_from([1, 2, 7]))
    blocks = ((offset, layout(block)) for offset, block in pairs(data, boxes))
    expected = outcome(lambda: oracle_argmax(data, axis, keepdims, last))
    if expected is ValueError:
        with pytest.raises(ValueError, match="length 0"):
            outofcore.argmax_blocks(blocks, data.shape, axis, keepdims, last)
        return
    steps: list[outofcore.Progress] = []
    found = outofcore.argmax_blocks(
        blocks, data.shape, axis, keepdims, last, threads=threads, progress=steps.append
    )
    assert found.dtype == np.int64
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)
    assert [(step.blocks, step.blocks_done) for step in steps] == [
        (0, number) for number in range(1, len(boxes) + 1)
    ]
    assert steps[-1].bytes_done == steps[-1].bytes == data.nbytes


@given(st.data(), arrays())
def test_missing_and_repeated_elements(draws: st.DataObject, data: Array) -> None:
    """Any boxes that are not a cover, also where they hold as many elements as the array."""
    assume(data.size)
    boxes = draws.draw(chunkings(data.shape))
    times = np.ones(data.shape, int)
    for _ in range(draws.draw(st.integers(1, 3))):
        box = boxes[draws.draw(st.integers(0, len(boxes) - 1))]
        if draws.draw(st.booleans()):
            boxes.append(box)
            block_of(times, box)[...] += 1
        elif len(boxes) > 1:
            boxes.remove(box)
            block_of(times, box)[...] -= 1
    if (times == 1).all():
        outofcore.argmax_blocks(pairs(data, boxes), data.shape, None)
        return
    what = "missing" if times.sum() <= data.size else "more than once"
    with pytest.raises(ValueError, match=rf"they hold {times.sum()} elements.*{what}"):
        outofcore.argmax_blocks(pairs(data, boxes), data.shape, None)


def test_as_many_elements_come_twice_as_are_missing() -> None:
    boxes = [((0, 0), DATA[:2]), ((0, 0), DATA[:2])]
    with pytest.raises(ValueError, match="some came more than once and others are missing"):
        outofcore.argmax_blocks(boxes, DATA.shape)
    shifted = [((0, 0), DATA[:, :3]), ((0, 2), DATA[:, :3])]
    with pytest.raises(ValueError, match="some came more than once and others are missing"):
        outofcore.argmax_blocks(shifted, DATA.shape)


def test_every_way_to_place_two_boxes() -> None:
    """Of two boxes that hold as many elements as the array, a cover is told from all others."""
    shape = (3, 4)
    sides = [
        [slice(low, high) for low, high in itertools.combinations(range(n + 1), 2)] for n in shape
    ]
    boxes = list(itertools.product(*sides))
    for one, other in itertools.combinations_with_replacement(boxes, 2):
        times = np.zeros(shape, int)
        times[one] += 1
        times[other] += 1
        coverage = Coverage(shape)
        coverage.add(one)
        coverage.add(other)
        assert (outcome(coverage.check) is None) == (times == 1).all()


@pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
def test_types(element_type: Any) -> None:
    data = random_elements(element_type, (40, 9), 0)
    for axis, last in itertools.product((0, 1, None), (False, True)):
        blocks = [((start, 0), data[start : start + 7]) for start in range(0, 40, 7)]
        found = outofcore.argmax_blocks(reversed(blocks), data.shape, axis, True, last)
        assert np.array_equal(found, oracle_argmax(data, axis, True, last))


def test_blocks_of_other_libraries() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    blocks = [((0, 0), torch.from_numpy(DATA[:1].copy())), ((1, 0), memoryview(DATA[1:]))]
    found = outofcore.argmax_blocks(blocks, DATA.shape, 1)
    assert np.array_equal(found, oracle_argmax(DATA, 1))


def test_no_blocks_of_an_empty_array() -> None:
    assert outofcore.argmax_blocks([], (3, 0), 0).shape == (1, 0)
    with pytest.raises(ValueError, match=r"hold 0 elements.*\[0:3\] has 3: some are missing"):
        outofcore.argmax_blocks([], (3,))


def test_a_block_is_let_go_before_the_next_is_asked_for() -> None:
    alive: list[weakref.ref[Array]] = []

    def blocks() -> Iterator[tuple[tuple[int], Array]]:
        for start in range(5):
            assert [ref() is None for ref in alive] == [True] * start
            block = np.array([start])
            alive.append(weakref.ref(block))
            pair = ((start,), block)
            del block
            yield pair
            del pair

    assert outofcore.argmax_blocks(blocks(), (5,)) == 4


def test_out() -> None:
    out = np.empty((2, 6), np.int16)[:, ::-1][:1]
    assert outofcore.argmax_blocks(halves(), DATA.shape, 0, out=out) is out
    assert np.array_equal(out, oracle_argmax(DATA, 0))


@pytest.mark.parametrize(
    ("offset", "block"),
    [
        ((0, 4), DATA[:, :3]),
        ((-1, 0), DATA[:, :3]),
        ((5, 0), DATA[:0]),
        ((0,), DATA[:, :3]),
        ((0, 0, 0), DATA[:, :3]),
        ((0, 0), DATA[0]),
        ((), DATA[0, 0]),
    ],
)
def test_blocks_outside_the_array(offset: Any, block: Array) -> None:
    with pytest.raises(ValueError, match=r"block number 1 of shape .* does not lie in an array"):
        outofcore.argmax_blocks([halves()[0], (offset, block)], DATA.shape)


@pytest.mark.parametrize("pair", [DATA, 5, ((0, 0), DATA, 1)], ids=str)
def test_what_is_no_pair(pair: Any) -> None:
    with pytest.raises(TypeError, match=r"block number 1 is a .*, and no pair of an offset"):
        outofcore.argmax_blocks([halves()[0], pair], DATA.shape)


@pytest.mark.parametrize("offset", [(0, 1.5), 3, None, "ab"], ids=str)
def test_what_is_no_offset(offset: Any) -> None:
    words = rf"the offset of block number 1 is {re.escape(repr(offset))} .*, as in \(0,\)"
    with pytest.raises(TypeError, match=words):
        outofcore.argmax_blocks([halves()[0], (offset, DATA[:, 3:])], DATA.shape)


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        (5, "got int; pass a list of them, or a generator"),
        (None, "got NoneType; pass a list of them"),
        (lambda: iter(halves()), "got function; pass a list of them"),
        ("ab", "got str; an array, or the path of one, goes to onnx_argmax.outofcore.argmax"),
        (b"ab", "got bytes; an array, or the path"),
        (DATA, "got ndarray; an array, or the path"),
        (((0, 0), DATA), r"got one pair alone; pass a list of it: \[\(offset, block\)\]"),
        ([[0, 0], DATA], "got one pair alone"),
        ((np.array([0, 0]), DATA), "got one pair alone"),
        (((), DATA[0, 0]), "got one pair alone"),
        (
            dict(enumerate(halves())),
            r"got a dict; pass blocks.items\(\) where its keys are offsets",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_iterable_of_pairs(blocks: Any, words: str) -> None:
    with pytest.raises(TypeError, match=f"^blocks: an iterable of pairs .* is needed, {words}"):
        outofcore.argmax_blocks(blocks, DATA.shape)


def test_items_of_a_dict_and_two_pairs() -> None:
    expected = oracle_argmax(DATA, 1)
    blocks: Any
    for blocks in (dict(halves()).items(), tuple(halves()), [list(pair) for pair in halves()]):
        assert np.array_equal(outofcore.argmax_blocks(blocks, DATA.shape, 1), expected)


@pytest.mark.parametrize(
    "block",
    [5, None, "data.npy", [[1, 2, 3]], np.ma.zeros((4, 3))],
    ids=lambda block: type(block).__name__,
)
def test_blocks_that_are_no_arrays(block: Any) -> None:
    with pytest.raises(TypeError, match=r"^blocks: block number 1: (an array is|a masked array)"):
        outofcore.argmax_blocks([halves()[0], ((0, 3), block)], DATA.shape)


def test_blocks_of_several_types() -> None:
    blocks = [halves()[0], ((0, 3), np.zeros((4, 3)))]
    with pytest.raises(
        TypeError, match=r"number 1 is of type float64, the ones before of float32"
    ):
        outofcore.argmax_blocks(blocks, DATA.shape)


@pytest.mark.parametrize("dtype", [np.complex64, "M8[s]", object, "S3", "U3", "i4,i4"])
def test_blocks_of_types_outside_the_contract(dtype: Any) -> None:
    with pytest.raises(TypeError, match="element type"):
        outofcore.argmax_blocks([((0,), np.zeros(3, dtype))], (3,))


@pytest.mark.parametrize(
    ("shape", "error", "words"),
    [
        (5, TypeError, "shape: an integer for each axis"),
        ((2.0, 3), TypeError, "shape: an integer for each axis"),
        (("2",), TypeError, "shape: an integer for each axis"),
        (None, TypeError, "shape: an integer for each axis"),
        ("23", TypeError, "shape: an integer for each axis"),
        (b"23", TypeError, r"of type bytes; pass a tuple such as \(1000, 300\)"),
        ({2: 3}, TypeError, "shape: an integer for each axis"),
        ({2, 3}, TypeError, "shape: an integer for each axis"),
        ((True, 3), TypeError, "shape: an integer for each axis"),
        ((-1, 3), ValueError, "shape: a length cannot be negative"),
    ],
)
def test_wrong_shapes(shape: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        outofcore.argmax_blocks([], shape)


def test_the_least_memory_works() -> None:
    """The limit counts the result and the partial results."""
    with pytest.raises(ValueError, match=r"result of shape .* takes 400 B alone, more than 100 B"):
        outofcore.argmax_blocks([], (2, 50), memory_limit=100)
    blocks = [((0, 0), np.zeros((2, 50), np.float32))]
    needed = 50 * (8 + 8 + 4 + 4)
    with pytest.raises(ValueError, match="the partial results of shape"):
        outofcore.argmax_blocks(blocks, (2, 50), memory_limit=needed - 1)
    outofcore.argmax_blocks(blocks, (2, 50), memory_limit=needed)


class BreakError(Exception):
    pass


def test_an_exception_of_the_blocks_or_of_progress_comes_through() -> None:
    def broken() -> Iterator[Any]:
        yield halves()[0]
        raise BreakError

    with pytest.raises(BreakError) as caught:
        outofcore.argmax_blocks(broken(), DATA.shape)
    assert caught.value.__notes__ == ["blocks: raised when block number 1 was asked for"]

    def stop(progress: outofcore.Progress) -> None:
        raise BreakError

    with pytest.raises(BreakError):
        outofcore.argmax_blocks(halves(), DATA.shape, progress=stop)


def test_arguments_are_checked_before_a_block_is_asked_for() -> None:
    def never() -> Iterator[Any]:
        raise AssertionError
        yield

    for wrong in (
        {"axis": 5},
        {"threads": 0},
        {"dtype": "float32"},
        {"memory_limit": 0},
        {"out": np.zeros(3, np.int64)},
        {"progress": 3},
        {"keepdims": "no"},
    ):
        with pytest.raises((TypeError, ValueError)):
            outofcore.argmax_blocks(never(), DATA.shape, **wrong)
