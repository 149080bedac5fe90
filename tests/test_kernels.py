# SPDX-License-Identifier: Apache-2.0
"""Where these kernels can break: every length at which vectors, windows and lane indices end.

One table of patterns (where the largest element lies, and what ties with it), one table of
arrangements in memory (which kernel they reach), one list of lengths: every type and level runs
all of them. The right answers come from the oracle's fast twin, once for each pattern.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pytest

from arrangements import ARRANGEMENTS, Arrangement
from layouts import byte_swapped, strided
from machine import LEVELS, SETTINGS, THREADS, Setting, every_setting, running
from onnx_argmax import argmax
from onnx_argmax._element_types import ElementType
from oracle import Array, fast_argmax, rank_of_bits
from samples import (
    ALL_TYPES,
    LARGEST_BITS,
    LOWEST_BITS,
    NAN_BITS,
    SPECIAL_BITS,
    from_bits,
    random_elements,
    type_id,
)

VECTOR_BYTES: Final = (16, 32, 64)
# Rows: vectors of a group, in one of which the largest element is looked for at the end, and of a
# window of groups; from a window on, groups are larger.
GROUP_VECTORS: Final = 4
WINDOW_VECTORS: Final = 256 * GROUP_VECTORS
LARGE_WINDOW_VECTORS: Final = 4 * WINDOW_VECTORS
# Columns: most bytes of a tile's keys, where one pass of channels does and where more are needed,
# and most columns where indices outgrow their lanes.
ONE_PASS_TILE_BYTES: Final = 4096
TILE_BYTES: Final = 16384
WIDE_TILE_COLUMNS: Final = 2048
# Bytes of the longest row that shares vectors with other rows, by item size.
SHORT_ROW_BYTES: Final = {1: 384, 2: 512, 4: 512, 8: 512}
SMALL: Final = 70  # every length up to here: some vectors at the widest level


def around(*numbers: int) -> set[int]:
    """The numbers, and those on both sides of them."""
    return {number + step for number in numbers for step in (-1, 0, 1) if number + step >= 0}


def window_lengths(element_type: ElementType) -> list[int]:
    """Elements of a window of the rows kernel, at each width of the vectors."""
    return [WINDOW_VECTORS * size // element_type.itemsize for size in VECTOR_BYTES]


def lengths(element_type: ElementType) -> list[int]:
    """Lengths of the reduced axis: all small ones, then those around each boundary."""
    lanes = [size // element_type.itemsize for size in VECTOR_BYTES]
    groups = {count * GROUP_VECTORS for count in (1, 2, 3, 5)}
    vectors = {lane * count for lane in lanes for count in {1, 2, 3, *groups}}
    windows = window_lengths(element_type)
    short = SHORT_ROW_BYTES[element_type.itemsize] // element_type.itemsize
    found = set(range(1, SMALL)) | around(*vectors, short, *windows, 2 * min(windows))
    return sorted((found | {*range(255, 260), *range(511, 515), 1000}) - {0})


def few_lengths(element_type: ElementType) -> list[int]:
    """A few of them, for what costs more: several threads, many shapes."""
    found = lengths(element_type)
    short = SHORT_ROW_BYTES[element_type.itemsize] // element_type.itemsize
    return sorted({1, 2, 3, 19, short, short + 1, *found[4::12], found[-1]})


def spots(element_type: ElementType, length: int) -> list[int]:
    """Positions for the largest element: the ends, and both sides of every boundary."""
    found = {0, 1, length - 1, length - 2, length // 2}
    if length <= 300:
        found |= around(*(1 << power for power in range(9)))
        found |= {length - position for position in found}
    else:
        found |= around(256, 1 << 15, 1 << 16, *window_lengths(element_type))
    return sorted(found & set(range(length)))


def bit_patterns(element_type: ElementType, length: int) -> Iterator[Array]:
    """Lines of ``length`` elements, each of which catches another mistake."""
    low, top = LOWEST_BITS[element_type], LARGEST_BITS[element_type]
    nans = NAN_BITS[element_type]
    constant = (np.full(length, low), np.full(length, top), np.zeros(length, int))
    yield from constant
    if nans:
        yield np.full(length, nans[0])
    in_order = sorted(
        SPECIAL_BITS[element_type], key=lambda bits: rank_of_bits(element_type.dtype_name, bits)
    )
    rising = np.array(in_order, np.uint64)[np.arange(length) * len(in_order) // length]
    yield from (rising, rising[::-1])
    winners = [top, *nans[-1:]]
    where = spots(element_type, length)
    for spot, winner, losers in itertools.product(where, winners, constant[::2]):
        yield _with(losers, {spot: winner})
    # Two that tie: equal numbers, or NaNs that differ in sign, payload and signalling.
    one, other = (nans[0], nans[-1]) if nans else (top, top)
    for first, second in zip(where, [*where[1:], *where[:1]], strict=True):
        yield _with(constant[0], {first: one, second: other})
    for number, spot in enumerate(where[:: 1 + len(where) // 4]):
        yield _with(rising, {spot: nans[number % len(nans)] if nans else top})
    if nans:
        minus_zero = nans[0] ^ nans[1]
        for start, step in ((0, 1), (0, 2), (1, 2)):
            places = range(start, length, step)
            yield _with(np.zeros(length, int), dict.fromkeys(places, minus_zero))


def _with(line: Array, changes: dict[int, int]) -> Array:
    changed = line.astype(np.uint64)
    for position, bits in changes.items():
        changed[position] = bits
    return changed


@functools.lru_cache(maxsize=200)
def lines_and_answers(element_type: ElementType, length: int) -> tuple[Array, tuple[Array, Array]]:
    """Every pattern of a length, one a row; its first and its last largest elements."""
    table = np.stack([bits.astype(np.uint64) for bits in bit_patterns(element_type, length)])
    lines = np.concatenate(
        [
            from_bits(element_type, table),
            random_elements(element_type, (3, length), length),
            random_elements(element_type, (3, length), length, special=False),
        ]
    )
    return lines, (fast_argmax(lines, 1, False), fast_argmax(lines, 1, False, True))


def check(
    arrangement: Arrangement, element_type: ElementType, length: int, settings: Iterable[Setting]
) -> None:
    """Reduce every pattern of a length at the given settings, forwards and backwards."""
    lines, answers = lines_and_answers(element_type, length)
    array = arrangement.arrange(lines)
    for setting in settings:
        for last, answer in enumerate(answers):
            found = argmax(array, arrangement.axis, False, last).ravel()[: len(lines)]
            wrong = np.flatnonzero(found != answer)
            assert not wrong.size, (
                f"{setting}, length {length}, last={last}: of the lines {wrong}, the first, "
                f"{lines[wrong[0]]}, gave {found[wrong[0]]} instead of {answer[wrong[0]]}"
            )


# The decorator nearest to the function varies slowest: the lines of a type are made once.
every_level = pytest.mark.parametrize("level", LEVELS)
every_arrangement = pytest.mark.parametrize("name", ARRANGEMENTS)
every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
narrow_types = pytest.mark.parametrize(
    "element_type", [t for t in ALL_TYPES if t.itemsize <= 2], ids=type_id
)


@every_level
@every_arrangement
@every_type
def test_lengths(element_type: ElementType, name: str, level: str) -> None:
    with running(Setting(level, 1)) as setting:
        for length in lengths(element_type):
            check(ARRANGEMENTS[name], element_type, length, [setting])


@every_arrangement
@every_type
def test_lengths_split_over_threads(element_type: ElementType, name: str) -> None:
    for length in few_lengths(element_type):
        check(ARRANGEMENTS[name], element_type, length, every_setting())


@every_level
@pytest.mark.parametrize("name", ["rows", "rows_every_second", "columns", "folded_3"])
@narrow_types
def test_lanes_narrower_than_the_index(element_type: ElementType, name: str, level: str) -> None:
    """8-bit lanes wrap after 256 elements, 16-bit ones after 65,536; signed ones at half."""
    with running(Setting(level, 1)) as setting:
        for length in (*range(32_766, 32_770), *range(65_534, 65_539), 131_073):
            check(ARRANGEMENTS[name], element_type, length, [setting])


@every_level
@every_type
def test_windows_of_a_long_row(element_type: ElementType, level: str) -> None:
    """Where windows meet: the largest element on either side, alone and tied with the other's."""
    window = LARGE_WINDOW_VECTORS * max(VECTOR_BYTES) // element_type.itemsize
    length = 2 * window + 5
    low, tops = LOWEST_BITS[element_type], {LARGEST_BITS[element_type], *NAN_BITS[element_type]}
    spots = (0, window // 4 - 1, window // 4, window - 1, window, 2 * window, length - 1)
    with running(Setting(level, 1)):
        for first, second in itertools.combinations_with_replacement(spots, 2):
            for top in tops:
                bits = _with(np.full(length, low), {first: top, second: top})
                row = from_bits(element_type, bits)
                assert argmax(row, 0, False) == first
                assert argmax(row, 0, False, True) == second


@every_level
@every_type
def test_number_of_rows(element_type: ElementType, level: str) -> None:
    """Short rows share vectors: every number of rows beside every row length."""
    with running(Setting(level, 1)):
        for length, rows in itertools.product(
            (*range(1, 20), 31, 32, 33, 63, 64, 65), (*range(1, 10), 15, 16, 17, 63, 64, 65, 200)
        ):
            data = random_elements(element_type, (rows, length), rows)
            for last in (False, True):
                answer = fast_argmax(data, 1, False, last)
                assert np.array_equal(argmax(data, 1, False, last), answer), (rows, length, last)


@every_level
@every_type
def test_number_of_columns(element_type: ElementType, level: str) -> None:
    """Fewer columns than lanes, tails of every size, and tiles that end within the array."""
    with running(Setting(level, 1)):
        for length, columns in itertools.product((1, 2, 3, 5, 8, 19), range(1, 140)):
            check_columns(element_type, length, columns)


@pytest.mark.parametrize("threads", THREADS)
@every_level
@every_type
def test_tiles_of_columns(element_type: ElementType, level: str, threads: int) -> None:
    """Several tiles of about one width, with and without lane indices that must be widened."""
    tile = TILE_BYTES // element_type.itemsize
    wide = min(tile, WIDE_TILE_COLUMNS)
    sizes = ((ONE_PASS_TILE_BYTES // element_type.itemsize, 3), (tile, 19), (wide, 260))
    with running(Setting(level, threads)):
        for tiles, (size, length) in itertools.product((1, 2, 3), sizes):
            for columns in around(tiles * size):
                check_columns(element_type, length, columns)


def check_columns(element_type: ElementType, length: int, columns: int) -> None:
    data, answers = columns_and_answers(element_type, length, columns)
    for last, answer in enumerate(answers):
        found = argmax(data, 0, False, last)
        assert np.array_equal(found, answer), (length, columns, last)


@functools.lru_cache(maxsize=20)
def columns_and_answers(
    element_type: ElementType, length: int, columns: int
) -> tuple[Array, tuple[Array, Array]]:
    rows = random_elements(element_type, (columns, length), columns)
    return strided(rows.T), (fast_argmax(rows, 1, False), fast_argmax(rows, 1, False, True))


@every_type
def test_one_row_split_over_threads(element_type: ElementType) -> None:
    """Pieces of one row are merged by the contract: ties, NaNs and signed zeros across them."""
    for length in few_lengths(element_type):
        lines, answers = lines_and_answers(element_type, length)
        layouts = [(lines, answers), (lines[:, ::-1], [length - 1 - a for a in answers[::-1]])]
        for setting, (rows, found), last in itertools.product(SETTINGS, layouts, (False, True)):
            with running(setting):
                for number, row in enumerate(rows[::5]):
                    assert argmax(row, 0, False, last) == found[last][5 * number], (setting, row)


@every_level
@every_type
def test_flattened(element_type: ElementType, level: str) -> None:
    """Without an axis the index counts in C order, whatever the order in memory."""
    with running(Setting(level, 1)) as one_thread:
        for rows, columns in ((1, 1), (2, 3), (5, 7), (17, 33), (3, 300), (300, 3)):
            lines, answers = lines_and_answers(element_type, rows * columns)
            for line, *first_and_last in zip(lines[::3], *(a[::3] for a in answers), strict=True):
                logical = line.reshape(rows, columns)
                for array in (
                    logical,
                    strided(logical, order=(1, 0)),
                    strided(logical, steps=(-1, 2)),
                    strided(logical, steps=(2, 1)),
                    byte_swapped(logical),
                ):
                    for last, answer in enumerate(first_and_last):
                        found = argmax(array, None, False, last)
                        assert found == answer, (one_thread, last, array.strides, line)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16", "uint8"])
@pytest.mark.parametrize("level", LEVELS)
def test_results_written_past_the_caches(level: str, dtype: str) -> None:
    """A result of 8 MiB or more is streamed, by whole aligned vectors, from any begin."""
    size = np.dtype(dtype).itemsize
    count = (8 << 20) // size + 1001
    data = np.random.default_rng(0).integers(0, 4, (3, count), np.uint8)
    beside = 64
    with running(Setting(level, 2)):
        for axis, array in ((0, data), (1, np.ascontiguousarray(data.T))):
            first, last = (fast_argmax(array, axis, False, flag) for flag in (False, True))
            for offset in (0, 1, size, 3 * size, 64 - size):
                memory = np.full(count * size + 2 * beside + 64, 77, np.uint8)
                begin = beside + offset
                out = memory[begin : begin + count * size].view(dtype)
                assert np.array_equal(argmax(array, axis, False, out=out), first), offset
                assert np.array_equal(argmax(array, axis, False, True, out=out), last), offset
                assert (memory[:begin] == 77).all()
                assert (memory[begin + count * size :] == 77).all()
