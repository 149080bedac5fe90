# SPDX-License-Identifier: Apache-2.0
"""Partial results: cut an array as you like, merge as you like, and the answer is the whole's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from arrangements import ARRANGEMENTS
from chunks import Box, Reduction, block_of, chunked_arrays, chunkings, offset_of, reductions
from layouts import LAYOUTS, byte_swapped
from machine import LEVELS, SETTINGS, Setting, every_setting, running
from onnx_argmax import _native
from onnx_argmax._element_types import ElementType
from onnx_argmax._partial import Partials, merge, partial_dtype
from oracle import Array, fast_argmax, oracle_argmax, outcome, rank_of_bits
from programs import run_program
from samples import (
    ALL_TYPES,
    LARGEST_BITS,
    SPECIAL_BITS,
    bits_dtype,
    from_bits,
    random_elements,
    type_id,
    type_named,
)
from strategies import element_types, elements, laid_out, shapes
from test_kernels import few_lengths, lines_and_answers

GAP = b"\x55"
every_level = pytest.mark.parametrize("level", LEVELS)
every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
narrow_types = pytest.mark.parametrize(
    "element_type", [t for t in ALL_TYPES if t.itemsize <= 2], ids=type_id
)


def expected_index(data: Array, reduction: Reduction) -> Array:
    """The oracle's answer for the whole array; -1 where there is nothing to choose from."""
    axis, last = reduction.axis, reduction.select_last_index
    found = outcome(lambda: oracle_argmax(data, axis, True, last))
    return np.full(reduction.result_shape, -1) if found is ValueError else found


# Any chunks, in any order, as any tree.


@given(st.data(), chunked_arrays())
def test_chunks_merged_in_any_order(draws: st.DataObject, data: Array) -> None:
    reduction = draws.draw(reductions(data), "reduction")
    boxes = draws.draw(chunkings(data.shape), "boxes")
    layouts = [draws.draw(st.sampled_from(["as it lies", *LAYOUTS]), "layout") for _ in boxes]
    blocks = [
        block_of(data, box) if layout == "as it lies" else LAYOUTS[layout](block_of(data, box))
        for box, layout in zip(boxes, layouts, strict=True)
    ]
    check_any_order(data, reduction, boxes, blocks)


@given(st.data(), element_types())
def test_chunks_of_long_lines(draws: st.DataObject, element_type: ElementType) -> None:
    """Lengths at which vectors, tiles and threads' pieces meet within the chunks."""
    length = draws.draw(st.integers(1, 3000), "length")
    lines = draws.draw(st.integers(1, 5), "lines")
    shape = tuple(draws.draw(st.permutations([length, lines]), "shape"))
    data = draws.draw(laid_out(draws.draw(elements(element_type, shape))), "data")
    reduction = draws.draw(reductions(data), "reduction")
    boxes = draws.draw(chunkings(shape), "boxes")
    check_any_order(data, reduction, boxes, [block_of(data, box) for box in boxes])


def check_any_order(
    data: Array, reduction: Reduction, boxes: list[Box], blocks: list[Array]
) -> None:
    before = [block.tobytes() for block in blocks]
    expected = expected_index(data, reduction)
    results = set()
    for setting in every_setting():
        result = reduction.nothing()
        for box, block in zip(boxes, blocks, strict=True):
            part = reduction.part(block, offset_of(box), setting.threads)
            assert part.dtype == reduction.dtype
            reduction.merge(reduction.place(result, box), part)
        assert np.array_equal(result["index"], expected), f"{setting}: {result}, not {expected}"
        results.add(result.tobytes())
    assert len(results) == 1, "the keys depend on the level or on the number of threads"
    assert [block.tobytes() for block in blocks] == before


@given(st.data(), chunked_arrays(), st.randoms(use_true_random=False))
def test_chunks_merged_in_any_tree(draws: st.DataObject, data: Array, random: Any) -> None:
    reduction = draws.draw(reductions(data), "reduction")
    trees: list[Partials] = []
    for box in draws.draw(chunkings(data.shape), "boxes"):
        leaf = reduction.nothing()
        reduction.place(leaf, box)[...] = reduction.part(block_of(data, box), offset_of(box))
        trees.append(leaf)
    while len(trees) > 1:
        random.shuffle(trees)
        one, other = trees.pop(), trees.pop()
        merged, before = one.copy(), other.tobytes()
        reduction.merge(merged, other)
        assert other.tobytes() == before
        trees.append(merged)
    assert np.array_equal(trees[0]["index"], expected_index(data, reduction))


# The merge by itself, against the rule in plain Python.


@st.composite
def partial_arrays(draw: st.DrawFn, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Partials:
    """Keys and indices at their limits, mostly ties, some of nothing yet."""
    key, index = np.iinfo(dtype["ordered_key"]), np.iinfo(dtype["index"])
    middle = {0, 1, 2, key.max // 2, key.min // 2}
    keys = st.sampled_from(sorted({key.min, key.min + 1, key.max - 1, key.max} | middle))
    indices = st.sampled_from([-1, 0, 1, 2, 3, index.max - 1, index.max])
    partials = np.zeros(shape, dtype)
    partials["index"] = draw(st_numpy.arrays(index.dtype, shape, elements=indices, fill=indices))
    drawn = draw(st_numpy.arrays(key.dtype, shape, elements=keys, fill=keys))
    partials["ordered_key"] = np.where(partials["index"] < 0, key.min, drawn)
    return partials


@st.composite
def spread_out(draw: st.DrawFn, partials: Partials) -> tuple[bytearray, Partials]:
    """The same in a view of a larger memory: axes permuted, steps of any sign."""
    order = draw(st.permutations(range(partials.ndim)))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in order]
    around = [partials.shape[axis] * abs(steps[axis]) for axis in order]
    memory = bytearray(GAP * (math.prod(around) * partials.itemsize))
    permuted = np.frombuffer(memory, partials.dtype).reshape(around).transpose(np.argsort(order))
    view = permuted[(*(slice(None, None, step) for step in steps), ...)]
    view[...] = partials
    return memory, view


def merged_in_python(into: Partials, other: Partials, last: bool) -> list[Any]:
    def choose(one: tuple[int, int], two: tuple[int, int]) -> tuple[int, int]:
        """Of (key, index); nothing yet is below everything."""
        seen = [pair for pair in (one, two) if pair[1] >= 0]
        if not seen:
            return one
        return max(seen, key=lambda pair: (pair[0], pair[1] if last else -pair[1]))

    pairs = zip(into.ravel().tolist(), other.ravel().tolist(), strict=True)
    return [choose(*pair) for pair in pairs]


@given(st.data(), element_types(), st.sampled_from([10, 2**40]), st.booleans())
def test_merge(draws: st.DataObject, element_type: ElementType, length: int, last: bool) -> None:
    """It is what the rule says, and commutative, associative and idempotent."""
    dtype = partial_dtype(element_type, length)
    shape = draws.draw(shapes(max_rank=9, max_elements=60), "shape")
    one, two, three = (draws.draw(partial_arrays(dtype, shape), "partials") for _ in range(3))

    def merged(into: Partials, other: Partials) -> Partials:
        (memory, into), (beside, other) = (draws.draw(spread_out(p)) for p in (into, other))
        before = bytes(beside)
        merge(into, other, element_type, last)
        assert beside == before
        result = into.copy()
        into[...] = np.frombuffer(GAP * dtype.itemsize, dtype)[0]
        assert memory == GAP * len(memory)
        return result

    with running(Setting(draws.draw(st.sampled_from(LEVELS), "level"), 1)):
        result = merged(one, two)
        assert result.ravel().tolist() == merged_in_python(one, two, last)
        assert result.tobytes() == merged(two, one).tobytes()
        assert merged(result, three).tobytes() == merged(one, merged(two, three)).tobytes()
        assert merged(one, one).tobytes() == one.tobytes()


def test_merge_takes_what_is_broadcast() -> None:
    element_type = type_named("int16")
    dtype = partial_dtype(element_type, 10)
    into = np.array([(1, 5), (2, 5), (3, 5)], dtype)
    merge(into, np.broadcast_to(np.array((2, 4), dtype), (3,)), element_type, False)
    assert into.tolist() == [(2, 4), (2, 4), (3, 5)]


def test_merge_of_empty_views() -> None:
    """Nothing is read or written, also where the other axes are not empty."""
    element_type = type_named("float32")
    into, other = np.zeros((2, 4, 6, 5), partial_dtype(element_type, 10))
    into["index"] = -1  # would be replaced
    before = into.tobytes()
    for view in itertools.product((slice(0), slice(None, None, 2)), repeat=3):
        if slice(0) in view:
            merge(into[view], other[view], element_type, False)
    assert into.tobytes() == before


def test_merge_of_more_axes_than_any_chunk_has() -> None:
    element_type = type_named("float32")
    shape = (1,) * 20 + (2, 1, 3) + (1,) * 39 + (2, 4)
    assert len(shape) == 64
    data = random_elements(element_type, shape, 0)
    for axis, last in itertools.product((20, 22, 62, 63, 0, None), (False, True)):
        reduction = Reduction(element_type, shape, axis, last)
        for setting in every_setting():
            result = reduction.nothing()
            for at in (1, 2, 0):
                box = (*(slice(0, n) for n in shape[:22]), slice(at, at + 1))
                box += tuple(slice(0, n) for n in shape[23:])
                part = reduction.part(block_of(data, box), offset_of(box), setting.threads)
                reduction.merge(reduction.place(result, box), part)
            assert np.array_equal(result["index"], oracle_argmax(data, axis, True, last))


# The core's partial results, on every kernel.


def keys_of(element_type: ElementType, values: Array) -> Array:
    """The key of each of some elements: of axes of length 1."""
    column = values.reshape(-1, 1)
    return Reduction(element_type, column.shape, 1).part(column, (0, 0))["ordered_key"].ravel()


def keys_of_winners(element_type: ElementType, data: Array, answer: Array, axis: int) -> Array:
    bits = np.take_along_axis(data.view(bits_dtype(element_type)), answer, axis)
    return keys_of(element_type, bits.view(data.dtype))


def places_in_order(ranks: list[Any]) -> list[int]:
    """For each its place among the different ones: equal for lists that order alike."""
    place = {rank: number for number, rank in enumerate(sorted(set(ranks)))}
    return [place[rank] for rank in ranks]


@every_type
def test_keys_order_as_the_contract_does(element_type: ElementType) -> None:
    """Larger exactly where an element is, equal exactly where two tie; all 16-bit patterns."""
    if element_type.itemsize <= 2:
        bits = np.arange(2 ** (8 * element_type.itemsize))
    else:
        near = np.array(SPECIAL_BITS[element_type], bits_dtype(element_type))
        step = np.arange(-3, 4).astype(near.dtype)  # wraps
        some = random_elements(element_type, (2000,), 0, special=False).view(near.dtype)
        bits = np.unique(np.concatenate([(near[:, None] + step).ravel(), some]))
    keys = keys_of(element_type, from_bits(element_type, bits))
    assert keys.dtype == partial_dtype(element_type, 1)["ordered_key"]
    ranks = [rank_of_bits(element_type.dtype_name, int(pattern)) for pattern in bits]
    assert places_in_order(keys.tolist()) == places_in_order(ranks)


def check_lines(
    element_type: ElementType,
    name: str,
    lines: Array,
    answers: tuple[Array, Array],
    settings: Iterable[Setting],
) -> None:
    """Index and key of every line of an arrangement, whole and cut in two."""
    arrangement = ARRANGEMENTS[name]
    block, axis = arrangement.arrange(lines), arrangement.axis
    cut = lines.shape[1] // 2
    halves = np.split(block, [cut], axis)
    keys = [keys_of_winners(element_type, lines, answer[:, None], 1) for answer in answers]
    unit = np.eye(block.ndim, dtype=int)[axis].tolist()
    for setting in settings:
        for last, begin in ((False, 10), (True, 2**40)):  # indices of 4 bytes, and of 8
            whole = tuple(n + begin * u for n, u in zip(block.shape, unit, strict=True))
            reduction = Reduction(element_type, whole, axis, last)
            found, one, two = (
                reduction.part(data, tuple(start * u for u in unit), setting.threads)
                for data, start in ((block, begin), (halves[0], begin), (halves[1], begin + cut))
            )
            case = f"{setting}, length {lines.shape[1]}, last={last}"
            of_lines = found.ravel()[: len(lines)]
            assert np.array_equal(of_lines["index"], answers[last] + begin), case
            assert np.array_equal(of_lines["ordered_key"], keys[last]), case
            merged = two.copy()
            reduction.merge(merged, one)
            reduction.merge(one, two)
            assert merged.tobytes() == one.tobytes() == found.tobytes(), case


@pytest.mark.parametrize("name", ARRANGEMENTS)
@every_type
def test_lengths(element_type: ElementType, name: str) -> None:
    for length in few_lengths(element_type)[::-2]:  # the longest among them
        lines, answers = lines_and_answers(element_type, length)
        check_lines(element_type, name, lines, answers, every_setting())


@every_level
@pytest.mark.parametrize("name", ["rows", "rows_every_second", "columns", "folded_3"])
@narrow_types
def test_lanes_narrower_than_the_index(element_type: ElementType, name: str, level: str) -> None:
    """8-bit lanes number 256 elements, 16-bit ones 65,536: windows, on both sides of the cut."""
    for length in (257, 2 * 257, 65_537):
        lines = random_elements(element_type, (6, length), length)
        lines[3:] = from_bits(element_type, [0])[0]
        top = from_bits(element_type, [LARGEST_BITS[element_type]])[0]
        for line, spots in zip(
            lines[3:], ((0, 255), (256, length - 1), (length - 2,)), strict=True
        ):
            line[list(spots)] = top
        answers = fast_argmax(lines, 1, False), fast_argmax(lines, 1, False, True)
        with running(Setting(level, 1)) as setting:
            check_lines(element_type, name, lines, answers, [setting])


@pytest.mark.parametrize("threads", [1, 3])
@every_level
@every_type
def test_tiles_of_columns(element_type: ElementType, level: str, threads: int) -> None:
    """Tiles with keys to keep are narrower than those without, whatever the element's size."""
    with running(Setting(level, threads)) as setting:
        for length, columns in itertools.product((1, 3, 19), (2047, 2049, 4097, 16_385, 40_000)):
            data = random_elements(element_type, (length, 40_000), length)[:, :columns]
            reduction = Reduction(element_type, data.shape, 0, select_last_index=columns == 2049)
            found = reduction.part(data, (0, 0), setting.threads)
            answer = fast_argmax(data, 0, True, reduction.select_last_index)
            assert np.array_equal(found["index"], answer), (length, columns)
            keys = keys_of_winners(element_type, data, answer, 0)
            assert np.array_equal(found["ordered_key"].ravel(), keys), (length, columns)


def test_results_of_many_megabytes() -> None:
    """From 8 MiB of indices on, results without keys are written past the caches."""
    data = np.random.default_rng(0).integers(0, 4, (3, 2_100_001), np.uint8)
    for axis, array in ((0, data), (1, np.ascontiguousarray(data.T))):
        reduction = Reduction(type_named("uint8"), array.shape, axis)
        found = reduction.part(array, (0, 0), 2)
        assert np.array_equal(found["index"], fast_argmax(array, axis))
        assert np.array_equal(found["ordered_key"], array.max(axis, keepdims=True))


SHAPES = [(), (1,), (97,), (5, 70), (70, 5), (3, 1, 40), (2, 19, 3), (4, 3, 2, 5), (6, 0, 2)]


def cut_in_two(data: Array) -> Iterator[list[Box]]:
    """Along every axis at every place of a few; the later part first."""
    whole = tuple(slice(0, n) for n in data.shape)
    for axis, length in enumerate(data.shape):
        for cut in {0, 1, length // 2, length - 1} & set(range(length)):
            parts = (slice(cut, length), slice(0, cut))
            yield [(*whole[:axis], part, *whole[axis + 1 :]) for part in parts]
    if not data.ndim:
        yield [()]


def check_blocks(element_type: ElementType, data: Array) -> None:
    """Every axis and end of an array that is cut in two, one setting after the other."""
    for axis, last in itertools.product((None, *range(max(data.ndim, 1))), (False, True)):
        reduction = Reduction(element_type, data.shape, axis, last)
        expected = expected_index(data, reduction) if 0 in data.shape else None
        if expected is None:
            expected = fast_argmax(data, axis, True, last)
        for setting, boxes in zip(itertools.cycle(SETTINGS), cut_in_two(data), strict=False):
            result = reduction.nothing()
            with running(setting):
                for box in boxes:
                    part = reduction.part(block_of(data, box), offset_of(box), setting.threads)
                    reduction.merge(reduction.place(result, box), part)
            assert np.array_equal(result["index"], expected), f"{setting}, {reduction}, {boxes}"


@pytest.mark.parametrize("layout", LAYOUTS)
@every_type
def test_layouts(element_type: ElementType, layout: str) -> None:
    for seed, shape in enumerate(SHAPES):
        check_blocks(element_type, LAYOUTS[layout](random_elements(element_type, shape, seed)))


@every_type
def test_broadcast_blocks(element_type: ElementType) -> None:
    """Of an axis of stride 0 one element is looked at, for its key alone."""
    row = random_elements(element_type, (40,), 0)
    for data in (
        np.broadcast_to(row, (9, 40)),
        np.broadcast_to(row[:, None], (40, 9)),
        np.broadcast_to(row[:1], (5, 6, 7)),
        np.broadcast_to(row[:6, None, None], (6, 5, 4)).transpose(1, 0, 2),
        np.broadcast_to(row[None, ::-2, None], (3, 20, 2)),
        np.broadcast_to(byte_swapped(row)[:, None], (40, 3)),
    ):
        check_blocks(element_type, data)


@pytest.mark.parametrize(
    ("axis", "first", "last"),
    [(0, [2**40] * 4, [2**41 - 1] * 4), (None, [2**42 + 1], [(2**41 - 1) * 4 + 2])],
)
def test_blocks_of_more_elements_than_any_memory_has(
    axis: int | None, first: list[int], last: list[int]
) -> None:
    row = np.array([1.0, 3.0, 3.0, 2.0])
    for expected, select_last in ((first, False), (last, True)):
        reduction = Reduction(type_named("float64"), (2**41, 4), axis, select_last)
        found = reduction.part(np.broadcast_to(row, (2**40, 4)), (2**40, 0))
        assert found["index"].ravel().tolist() == expected
        winners = row if axis == 0 else row[1:2]
        keys = keys_of(type_named("float64"), winners)
        assert np.array_equal(found["ordered_key"].ravel(), keys)


# Indices of arrays larger than memory.


@pytest.mark.parametrize("base", [2**31 - 20, 2**31, 2**32 - 7, 2**40, 2**62])
@every_type
def test_indices_from_a_base_on(element_type: ElementType, base: int) -> None:
    """Every kernel adds the offset to indices of 8 bytes; ties are told apart by all of them."""
    for shape in ((40, 5), (40, 200), (3, 700)):
        data = random_elements(element_type, shape, base % 1000)
        for axis, last in itertools.product((0, 1), (False, True)):
            whole = tuple(n + base if a == axis else n for a, n in enumerate(shape))
            offset = tuple(base if a == axis else 0 for a in range(2))
            reduction = Reduction(element_type, whole, axis, last)
            nearer = tuple(start - shape[axis] if start else 0 for start in offset)
            for setting in every_setting():
                found = reduction.part(data, offset, setting.threads)
                assert np.array_equal(found["index"], fast_argmax(data, axis, True, last) + base)
                again = reduction.part(data, nearer, setting.threads)  # ties with every position
                reduction.merge(again, found)
                moved = found["index"] - (0 if last else shape[axis])
                assert np.array_equal(again["index"], moved)


@every_type
def test_index_of_4_bytes_at_its_limit(element_type: ElementType) -> None:
    limit = 2**31 - 1
    for shape in ((7,), (7, 5), (7, 200)):
        block = np.broadcast_to(from_bits(element_type, [1]), shape)
        for data in (block, block.copy()):
            whole = (2**31, *shape[1:])
            reduction = Reduction(element_type, whole, 0, select_last_index=True)
            for setting in every_setting():
                found = reduction.part(data, (2**31 - 7, 0)[: len(shape)], setting.threads)
                assert found.dtype["index"] == np.int32
                assert (found["index"] == limit).all()
    square = Reduction(element_type, (2**16, 2**15), None, select_last_index=True)
    found = square.part(block.copy(), (2**16 - 7, 2**15 - 200))
    assert found["index"].tolist() == [[limit]]
    assert found.dtype["index"] == np.int32


def test_flat_index_of_a_block_within_a_huge_array() -> None:
    """In C order of the whole array, with axes of length 1 and of more than 2**31 elements."""
    element_type = type_named("int32")
    data = np.array([[[0, 7], [7, 1]]], np.int32).reshape(2, 1, 2)
    whole, offset = (2**33, 1, 2**20), (2**32 + 5, 0, 99)
    for last, place in ((False, (2**32 + 5, 0, 100)), (True, (2**32 + 6, 0, 99))):
        found = Reduction(element_type, whole, None, last).part(data, offset)
        assert found["index"].item() == place[0] * 2**20 + place[2]


@every_type
def test_dtype_of_partial_results(element_type: ElementType) -> None:
    """A key of an element's width, or 4 bytes; an index of 4 bytes up to 2**31 elements."""
    size = max(element_type.itemsize, 4)
    for length, index in (
        (0, "i4"),
        (1, "i4"),
        (2**31, "i4"),
        (2**31 + 1, "i8"),
        (2**62, "i8"),
    ):
        dtype = partial_dtype(element_type, length)
        assert dtype.names == ("ordered_key", "index")
        assert dtype["index"] == np.dtype(index)
        assert dtype["ordered_key"].itemsize == size
        assert dtype.itemsize == size + dtype["index"].itemsize
        assert dtype.isnative


def test_unsigned_keys_above_half_their_range() -> None:
    for name in ("uint8", "uint16", "uint32", "uint64"):
        element_type = type_named(name)
        half = 2 ** (8 * element_type.itemsize - 1)
        values = np.array([half - 1, half, 2 * half - 1, 0, 2 * half - 1, half + 1], name)
        for order, last in itertools.product(itertools.permutations(range(6)), (False, True)):
            reduction = Reduction(element_type, (6,), 0, last)
            result = reduction.nothing()
            for at in order:
                reduction.merge(result, reduction.part(values[at : at + 1], (at,)))
            assert result["index"].tolist() == [4 if last else 2]


# Where partial results go.


@every_type
def test_nothing_depends_on_what_was_there_before(element_type: ElementType) -> None:
    """Nor is anything beside them changed; and what is empty gives nothing yet."""
    data = random_elements(element_type, (6, 50, 7), 0)
    for axis, threads in itertools.product((0, 1, 2, None), (1, 3)):
        reduction = Reduction(element_type, (6, 100, 7), axis)
        found = set()
        for before in (b"\x00", b"\xff", b"\x7f", GAP):
            lengths = tuple(1 if axis in (None, a) else n for a, n in enumerate(data.shape))
            around = (*lengths[:2], 2 * lengths[2])
            memory = bytearray(before * (math.prod(around) * reduction.dtype.itemsize))
            out = np.frombuffer(memory, reduction.dtype).reshape(around)[:, ::-1, ::2]
            with running(Setting(LEVELS[0], threads)):
                assert reduction.part(data, (0, 50, 0), threads, out=out) is out
            found.add(out.tobytes())
            empty = reduction.part(data[:, :0], (0, 50, 0), out=out) if axis in (1, None) else None
            assert empty is None or (empty["index"] == -1).all()
            out[...] = np.frombuffer(before * out.itemsize, out.dtype)[0]
            assert memory == before * len(memory)
        assert len(found) == 1


def test_blocks_of_other_libraries() -> None:
    """They come by DLPack."""
    data = random_elements(type_named("float32"), (30, 40), 0)
    reduction = Reduction(type_named("float32"), (60, 40), 0)
    block = array_api_strict.asarray(data)
    assert reduction.part(block, (30, 0)).tobytes() == reduction.part(data, (30, 0)).tobytes()


@pytest.mark.parametrize("edge", ["begin", "end"])
@every_level
def test_no_byte_outside_is_touched(level: str, edge: str) -> None:
    run_program(f"import fenced_partials; fenced_partials.main({level!r}, {edge!r})")


# Wrong calls of the native functions are refused before anything is written.


def float32_partials(*shape: int, length: int = 10, index: int = 3) -> Partials:
    partials = np.zeros(shape, partial_dtype(type_named("float32"), length))
    partials["index"] = index
    return partials


def lower(*shape: int, length: int = 10) -> Partials:
    """Such that would replace the others."""
    return float32_partials(*shape, length=length, index=2)


FLOAT = type_named("float32").tensor_proto
SHARED = float32_partials(10)
WRONG_MERGES: dict[str, tuple[Partials, Partials, int]] = {
    "no such element type": (float32_partials(3), lower(3), 0),
    "strings": (float32_partials(3), lower(3), 8),
    "a number beyond all types": (float32_partials(3), lower(3), 17),
    "a number that a byte would cut": (float32_partials(3), lower(3), 256 + FLOAT),
    "a negative number": (float32_partials(3), lower(3), -1),
    "an element type of another size": (float32_partials(3), lower(3), 11),
    "plain indices": (np.zeros(3, "i4"), np.ones(3, "i4"), FLOAT),
    "empty plain indices": (np.zeros(0, "i4"), np.zeros(0, "i4"), FLOAT),
    "items too large": (np.zeros(3, "V24"), np.zeros(3, "V24"), FLOAT),
    "indices of two sizes": (float32_partials(3), lower(3, length=2**40), FLOAT),
    "other lengths": (float32_partials(3), lower(4), FLOAT),
    "an axis to broadcast": (float32_partials(3), lower(1), FLOAT),
    "another rank": (float32_partials(3), lower(1, 3), FLOAT),
    "rank 0 and rank 1": (float32_partials(), lower(1), FLOAT),
    "the same array": (SHARED, SHARED, FLOAT),
    "two that overlap": (SHARED[:6], SHARED[4:], FLOAT),
    "one between the other's": (SHARED[::2], SHARED[1::2], FLOAT),
    "places that share memory": (
        np.lib.stride_tricks.as_strided(SHARED, (3,), (0,)),
        lower(3),
        FLOAT,
    ),
    "places that overlap by half": (
        np.lib.stride_tricks.as_strided(SHARED, (3,), (4,)),
        lower(3),
        FLOAT,
    ),
}


@pytest.mark.parametrize("name", WRONG_MERGES)
def test_wrong_merges(name: str) -> None:
    into, other, element_type = WRONG_MERGES[name]
    before = into.tobytes(), other.tobytes(), SHARED.tobytes()
    with pytest.raises(ValueError, match=r"partials: |element_type: "):
        _native.merge_partials(into, other, element_type, False)
    assert before == (into.tobytes(), other.tobytes(), SHARED.tobytes())


def test_merge_needs_memory_that_can_be_written() -> None:
    into = float32_partials(3)
    into.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        _native.merge_partials(into, float32_partials(3), FLOAT, False)
    with pytest.raises(TypeError):
        _native.merge_partials([1, 2], float32_partials(2), FLOAT, False)


DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
BESIDE = np.zeros(120, np.uint8)
WRONG_CALLS: dict[str, dict[str, Any]] = {
    "no such element type": {"element_type": 0},
    "strings": {"element_type": 8},
    "an element type of another size": {"element_type": 11},
    "a number that a byte would cut": {"element_type": 256 + FLOAT},
    "a negative number": {"element_type": -FLOAT},
    "plain indices": {"partials": np.zeros((1, 4), np.int32)},
    "items too large": {"partials": np.zeros((1, 4), "V20")},
    "items with an index of 2 bytes": {"partials": np.zeros((1, 4), "V6")},
    "another shape": {"partials": float32_partials(3, 1)},
    "another rank": {"partials": float32_partials(1, 1, 4)},
    "more places than one": {"partials": float32_partials(1, 4), "axis": -1},
    "no such axis": {"axis": 2},
    "a negative axis": {"axis": -2},
    "an empty axis": {"data": np.zeros((0, 4), np.float32)},
    "places that share memory": {
        "partials": np.lib.stride_tricks.as_strided(SHARED, (1, 4), (0, 0))
    },
    "indices that keys overlap": {
        "partials": np.lib.stride_tricks.as_strided(SHARED, (1, 4), (0, 4))
    },
    "a key in the memory of the data": {
        "data": BESIDE[:48].view(np.float32).reshape(3, 4),
        "partials": BESIDE[44:76].view(SHARED.dtype).reshape(1, 4),
    },
    "an index in the memory of the data": {
        "data": BESIDE[32:80].view(np.float32).reshape(3, 4),
        "partials": BESIDE[4:36].view(SHARED.dtype).reshape(1, 4),
    },
}


def right_call() -> dict[str, Any]:
    return {
        "data": DATA,
        "element_type": FLOAT,
        "byte_swapped": False,
        "axis": 0,
        "select_last_index": False,
        "partials": float32_partials(1, 4),
        "index_offset": 7,
        "threads": 1,
    }


def test_right_call_for_partial_results() -> None:
    arguments = right_call()
    _native.argmax_partials(**arguments)
    assert arguments["partials"]["index"].tolist() == [[9] * 4]


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls_for_partial_results(name: str) -> None:
    arguments = right_call() | WRONG_CALLS[name]
    partials = arguments["partials"]
    before = partials.tobytes(), SHARED.tobytes(), BESIDE.tobytes()
    with pytest.raises(ValueError, match=r"^(partials|out|axis|data|element_type): "):
        _native.argmax_partials(**arguments)
    assert before == (partials.tobytes(), SHARED.tobytes(), BESIDE.tobytes())
