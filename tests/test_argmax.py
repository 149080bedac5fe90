# SPDX-License-Identifier: Apache-2.0
"""What the array function's arguments mean, and how it refuses what it cannot take."""

from __future__ import annotations

import decimal
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnx_argmax
from machine import Setting
from onnx_argmax import argmax
from onnx_argmax._element_types import BOOL, ELEMENT_TYPES, ElementType
from oracle import Array, oracle_argmax, same_outcome
from samples import (
    ALL_TYPES,
    FLOAT_TYPES,
    LARGEST_BITS,
    LOWEST_BITS,
    NAN_BITS,
    SPECIAL_BITS,
    from_bits,
    numpy_dtype,
    random_elements,
    type_id,
)

every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
every_float = pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=type_id)
at_every_setting = pytest.mark.usefixtures("setting")

INDEX_TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ALLOWED_ELEMENTS = (
    "float32, uint8, int8, uint16, int16, int32, int64, float16, float64, uint32, uint64, "
    "bfloat16, bool"
)
ALLOWED_INDICES = "int64, int32, int16, int8, uint64, uint32, uint16, uint8"


def refuses(error: type[Exception], message: str) -> Any:
    """The error with exactly these words."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


# Which element wins.


@at_every_setting
@every_type
def test_order_of_every_pair(element_type: ElementType) -> None:
    """The larger element wins from either side; equal ones by their places alone."""
    bits = SPECIAL_BITS[element_type]
    pairs = from_bits(element_type, [b for pair in itertools.product(bits, bits) for b in pair])
    pairs = pairs.reshape(-1, 2)
    for last in (False, True):
        expected = oracle_argmax(pairs, 1, False, last)
        assert same_outcome(argmax(pairs, 1, False, last), expected)
        assert same_outcome(argmax(pairs.T.copy(), 0, False, last), expected)


@at_every_setting
@every_type
def test_equal_elements(element_type: ElementType) -> None:
    for bits in (LOWEST_BITS[element_type], LARGEST_BITS[element_type], *NAN_BITS[element_type]):
        same = from_bits(element_type, [bits] * 300)
        assert argmax(same, 0, False) == 0
        assert argmax(same, 0, False, True) == 299


@at_every_setting
@every_float
def test_nan_wins_wherever_it_stands(element_type: ElementType) -> None:
    numbers = from_bits(element_type, [LARGEST_BITS[element_type]] * 70)
    for place, nan in itertools.product((0, 1, 33, 68, 69), NAN_BITS[element_type]):
        numbers_and_nan = numbers.copy()
        numbers_and_nan[place] = from_bits(element_type, [nan])[0]
        for last in (False, True):
            assert argmax(numbers_and_nan, 0, False, last) == place


@at_every_setting
@every_float
def test_nans_tie_whatever_their_bits(element_type: ElementType) -> None:
    for first, second in itertools.permutations(NAN_BITS[element_type], 2):
        data = from_bits(element_type, [0, first, LARGEST_BITS[element_type], second, 0])
        assert argmax(data, 0, False) == 1
        assert argmax(data, 0, False, True) == 3


@at_every_setting
@every_float
def test_zeros_tie_whatever_their_sign(element_type: ElementType) -> None:
    for zeros in ([-0.0, 0.0], [0.0, -0.0]):
        data = np.array([-1.0, *zeros, -1.0], numpy_dtype(element_type))
        assert argmax(data, 0, False) == 1
        assert argmax(data, 0, False, True) == 2


@at_every_setting
@every_float
def test_subnormals_are_no_zeros(element_type: ElementType) -> None:
    smallest = from_bits(element_type, [1, 2, 0])
    assert argmax(smallest, 0, False) == 1
    assert argmax(-smallest, 0, False) == 2
    assert argmax(-smallest[:2], 0, False) == 0


# Axis and shape.


@at_every_setting
@every_type
def test_shapes_and_axes(element_type: ElementType) -> None:
    for seed, shape in enumerate([(1,), (5,), (1, 1), (2, 3), (3, 1, 2), (2, 3, 4), (2, 1, 2, 3)]):
        data = random_elements(element_type, shape, seed)
        for axis, keepdims in itertools.product(range(-len(shape), len(shape)), (False, True)):
            expected = oracle_argmax(data, axis, keepdims)
            assert same_outcome(argmax(data, axis, keepdims), expected)
        assert same_outcome(argmax(data, None, True), oracle_argmax(data, None, True))
        assert same_outcome(argmax(data, None, False), oracle_argmax(data, None, False))


def test_defaults() -> None:
    data = np.array([[2, 1, 7], [2, 9, 7]])
    assert same_outcome(argmax(data), np.array([[0, 1, 0]]))


def test_arguments_by_position_and_by_name() -> None:
    data = np.array([[2, 2], [3, 10]])
    by_position = argmax(data, 1, False, True)
    by_name = argmax(data=data, axis=1, keepdims=False, select_last_index=True)
    assert same_outcome(by_position, np.array([1, 1]))
    assert same_outcome(by_name, by_position)


@at_every_setting
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, -1, None])
@every_type
def test_rank_0_is_one_element(
    element_type: ElementType, axis: int | None, keepdims: bool
) -> None:
    data = from_bits(element_type, [LOWEST_BITS[element_type]]).reshape(())
    assert same_outcome(argmax(data, axis, keepdims), np.zeros((), np.int64))


@pytest.mark.parametrize("axis", [np.int64(-1), np.uint8(1), np.array(1)], ids=repr)
def test_axis_may_be_anything_with_an_index(axis: Any) -> None:
    assert same_outcome(argmax(np.array([[1, 3, 2]]), axis), np.array([[1]]))


@pytest.mark.parametrize(
    ("rank", "axis", "allowed"),
    [
        (1, 1, "-1 to 0"),
        (3, 3, "-3 to 2"),
        (3, 6, "-3 to 2"),
        (3, -4, "-3 to 2"),
        (3, 2**63 - 1, "-3 to 2"),
        (3, -(2**63), "-3 to 2"),
        (3, 2**64, "-3 to 2"),
        (0, 1, "-1 to 0"),
        (0, -2, "-1 to 0"),
    ],
)
def test_axis_out_of_range(rank: int, axis: int, allowed: str) -> None:
    message = f"axis {axis} is out of range for data of rank {rank}: allowed is {allowed}"
    with refuses(np.exceptions.AxisError, message):
        argmax(np.zeros((2, 3, 4)[:rank]), axis)


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (True, "True of type bool"),
        (np.False_, "np.False_ of type bool"),
        (1.0, "1.0 of type float"),
        ("1", "'1' of type str"),
        (b"1", "b'1' of type bytes"),
        (decimal.Decimal(1), "Decimal('1') of type Decimal"),
        (np.array([0, 1]), "array([0, 1]) of type ndarray"),
    ],
    ids=repr,
)
def test_axis_of_a_wrong_type(axis: Any, words: str) -> None:
    with refuses(TypeError, f"axis: one integer is needed, got {words}"):
        argmax(np.zeros((2, 3)), axis)


@pytest.mark.parametrize("axis", [(0, 1), [0], ()], ids=repr)
def test_several_axes(axis: Any) -> None:
    words = f"{axis!r} of type {type(axis).__name__}"
    hint = "to reduce several axes at once, reshape them into one first"
    with refuses(TypeError, f"axis: one integer is needed, got {words}; {hint}"):
        argmax(np.zeros((2, 3)), axis)


# Empty arrays.


@at_every_setting
@pytest.mark.parametrize(
    ("shape", "axis", "keepdims", "expected"),
    [
        ((2, 0), 0, False, (0,)),
        ((0, 3), 1, False, (0,)),
        ((0, 3), 1, True, (0, 1)),
        ((2, 0, 3), 0, True, (1, 0, 3)),
        ((2, 0, 3), -1, False, (2, 0)),
        ((0, 1, 0), 1, True, (0, 1, 0)),
    ],
)
def test_another_axis_is_empty(
    shape: tuple[int, ...], axis: int, keepdims: bool, expected: tuple[int, ...]
) -> None:
    for element_type in ALL_TYPES:
        found = argmax(np.zeros(shape, numpy_dtype(element_type)), axis, keepdims)
        assert same_outcome(found, np.zeros(expected, np.int64))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis", "what"),
    [
        ((0,), 0, "axis 0"),
        ((2, 0), 1, "axis 1"),
        ((2, 0), -1, "axis 1"),
        ((0, 0), 0, "axis 0"),
        ((0, 3), 0, "axis 0"),
        ((0,), None, "the flattened array"),
        ((3, 0), None, "the flattened array"),
    ],
)
def test_the_reduced_axis_is_empty(
    shape: tuple[int, ...], axis: int | None, what: str, keepdims: bool
) -> None:
    message = (
        f"data: {what} of shape {shape} has length 0, so it has no largest element; "
        "at least one element is needed along the reduced axis"
    )
    with refuses(ValueError, message):
        argmax(np.zeros(shape), axis, keepdims)


# keepdims and select_last_index.


@at_every_setting
@pytest.mark.parametrize("true", [True, np.True_, 1, 2, -1, np.int64(1), np.uint8(3)], ids=repr)
def test_true_flags(true: Any) -> None:
    data = np.array([[5, 5]])
    assert same_outcome(argmax(data, 1, true, true), np.array([[1]]))


@at_every_setting
@pytest.mark.parametrize("false", [False, np.False_, 0, np.int8(0)], ids=repr)
def test_false_flags(false: Any) -> None:
    data = np.array([[5, 5]])
    assert same_outcome(argmax(data, 1, false, false), np.array([0]))


@pytest.mark.parametrize("argument", ["keepdims", "select_last_index"])
@pytest.mark.parametrize(
    ("value", "words"),
    [("yes", "'yes' of type str"), (1.0, "1.0 of type float"), (None, "None of type NoneType")],
)
def test_flags_of_a_wrong_type(argument: str, value: Any, words: str) -> None:
    with refuses(TypeError, f"{argument}: a bool or an integer is needed, got {words}"):
        argmax(np.zeros(3), **{argument: value})


# dtype and out.


@at_every_setting
@pytest.mark.parametrize("dtype", INDEX_TYPES)
def test_result_types(dtype: str) -> None:
    for element_type in ALL_TYPES:
        data = random_elements(element_type, (3, 100), 1)
        expected = oracle_argmax(data, 1).astype(dtype)
        assert same_outcome(argmax(data, 1, dtype=dtype), expected)
        assert same_outcome(argmax(data, 1, dtype=np.dtype(dtype)), expected)
        out = np.zeros((3, 1), dtype)
        assert argmax(data, 1, out=out) is out
        assert same_outcome(out, expected)
        assert argmax(data, 1, out=out, dtype=dtype) is out


@at_every_setting
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_narrow_results_hold_the_last_index(dtype: str) -> None:
    limit = np.iinfo(dtype).max
    data = np.zeros(limit + 1, np.uint8)
    data[-1] = 1
    assert argmax(data, dtype=dtype) == limit
    assert argmax(data, out=np.zeros(1, dtype)) == limit
    assert argmax(data, None, dtype=dtype) == limit
    longer = np.append(data, np.uint8(0))
    message = (
        f"{dtype} numbers at most {limit + 1} elements, but the reduced axis has "
        f"{limit + 2}; take a wider type"
    )
    with refuses(ValueError, f"dtype: {message}"):
        argmax(longer, dtype=dtype)
    with refuses(ValueError, f"dtype: {message}"):
        argmax(longer.reshape(-1, 1), None, dtype=dtype)
    untouched = np.full(1, 77, dtype)
    with refuses(ValueError, f"out: {message}"):
        argmax(longer, out=untouched)
    assert untouched == 77


def test_int32_is_refused_beyond_its_range() -> None:
    """Refused by the shape alone: a broadcast array of that length costs no memory."""
    data = np.broadcast_to(np.zeros((), np.uint8), (2**31 + 1,))
    with pytest.raises(ValueError, match="int32 numbers at most 2147483648 elements"):
        argmax(data, dtype=np.int32)
    assert argmax(data, 0, False, True) == 2**31
    assert argmax(data, 0, False, True, dtype=np.uint32) == 2**31


@pytest.mark.parametrize(
    ("dtype", "got"),
    [
        (np.float64, "float64"),
        (bool, "bool"),
        ("complex64", "complex64"),
        (object, "object"),
        (">i4", ">i4"),
        ("nonsense", "nonsense"),
        ("i8, i8", "[('f0', '<i8'), ('f1', '<i8')]"),
    ],
    ids=str,
)
def test_result_types_that_are_no_index(dtype: Any, got: str) -> None:
    rest = f"{ALLOWED_INDICES} in native byte order, got {got}"
    with refuses(TypeError, f"dtype: an index has one of the types {rest}"):
        argmax(np.zeros(3), dtype=dtype)
    if got == "nonsense":
        return
    out = np.zeros(1, dtype)
    with refuses(TypeError, f"out: an index has one of the types {rest}"):
        argmax(np.zeros(3), out=out)


def test_out_of_another_type_than_dtype() -> None:
    out = np.full(1, -7)
    with refuses(ValueError, "out: its element type is int64, but dtype asks for int32"):
        argmax(np.arange(3), dtype=np.int32, out=out)
    assert out == -7


@pytest.mark.parametrize(
    ("shape", "keepdims", "right"),
    [((3,), True, (1, 3)), ((1, 3), False, (3,)), ((), False, (3,)), ((2, 3), True, (1, 3))],
)
def test_out_of_a_wrong_shape(
    shape: tuple[int, ...], keepdims: bool, right: tuple[int, ...]
) -> None:
    out = np.full(shape, -7)
    shorter = len(shape) < len(right)
    hint = "; pass keepdims=False for a result without the axis" if shorter else ""
    with refuses(ValueError, f"out: its shape is {shape}, but the result's is {right}{hint}"):
        argmax(np.zeros((2, 3)), 0, keepdims, out=out)
    assert (out == -7).all()


def test_out_read_only() -> None:
    out = np.full(1, -7)
    out.flags.writeable = False
    with refuses(ValueError, "out: the array is read-only; pass one that can be written"):
        argmax(np.arange(3), out=out)
    assert out == -7


@at_every_setting
@pytest.mark.parametrize(
    ("data", "out"),
    [
        (lambda m: m[:8], lambda m: m[:1]),
        (lambda m: m[:8], lambda m: m[7:8]),
        (lambda m: m[::-1], lambda m: m[4:5]),
        (lambda m: m.reshape(4, 4)[::2], lambda m: m.reshape(4, 4)[2]),
        (lambda m: m[:8].view(np.uint8), lambda m: m[1:2]),
    ],
    ids=["begin", "end", "reversed", "row", "other type"],
)
def test_out_overlapping_the_input(data: Any, out: Any) -> None:
    memory = np.arange(16, dtype=np.int64)
    message = (
        "out: its memory overlaps that of data, or lies between its elements; pass an array with "
        "memory of its own"
    )
    with refuses(ValueError, message):
        argmax(data(memory), 0, data(memory).ndim == 1, out=out(memory))
    assert np.array_equal(memory, np.arange(16))


@at_every_setting
def test_out_beside_the_input_in_the_same_memory() -> None:
    memory = np.array([0, 4, 9, 2, 0], np.int64)
    assert argmax(memory[1:4], out=memory[4:]) == 1
    assert argmax(memory[1:4], out=memory[:1]) == 1
    assert np.array_equal(memory, [1, 4, 9, 2, 1])


def test_out_between_the_elements_of_the_input() -> None:
    """All memory from the input's first to its last byte counts as the input's."""
    interleaved = np.array([[4, -1], [9, -1], [2, -1]], np.int64)
    with pytest.raises(ValueError, match=r"^out: its memory overlaps that of data"):
        argmax(interleaved[:, 0], out=interleaved[1:2, 1])
    assert (interleaved[:, 1] == -1).all()


@pytest.mark.parametrize(
    "out", [[0], 0, "out", memoryview(bytearray(8))], ids=lambda out: type(out).__name__
)
def test_out_that_is_no_array(out: Any) -> None:
    words = (
        "out: a NumPy array, or one that DLPack can write through, is needed, got "
        f"{type(out).__name__}; pass numpy.asarray(out) where that shares its memory"
    )
    with refuses(TypeError, words):
        argmax(np.arange(3), out=out)


def test_out_is_left_alone_where_data_is_refused() -> None:
    out = np.full(1, -7)
    for data, axis in ((np.zeros(0), 0), (np.zeros(3), 1), (np.zeros(3, complex), 0)):
        with pytest.raises((TypeError, ValueError)):
            argmax(data, axis, out=out)
    assert out == -7


# Threads.


@pytest.mark.parametrize("threads", [1, 2, 7, np.int64(3), 64])
def test_threads(threads: Any, setting: Setting) -> None:
    data = random_elements(ELEMENT_TYPES[0], (7, 300), 0)
    for axis in (0, 1, None):
        expected = oracle_argmax(data, axis)
        assert same_outcome(argmax(data, axis, threads=threads), expected), str(setting)


@pytest.mark.parametrize("threads", [0, -1, -(2**63), np.int8(-2)], ids=str)
def test_too_few_threads(threads: Any) -> None:
    for call in (lambda: argmax(np.zeros(3), threads=threads), lambda: set_threads(threads)):
        with refuses(ValueError, f"threads: at least 1 is needed, got {threads}"):
            call()


@pytest.mark.parametrize("threads", [1.5, "2", (1,)], ids=repr)
def test_threads_of_a_wrong_type(threads: Any) -> None:
    words = f"threads: an integer is needed, got {threads!r} of type {type(threads).__name__}"
    for call in (lambda: argmax(np.zeros(3), threads=threads), lambda: set_threads(threads)):
        with refuses(TypeError, words):
            call()


@pytest.mark.parametrize("threads", [2**31 - 1, 2**31, 2**63, 2**70], ids=str)
def test_more_threads_than_there_is_work(threads: int) -> None:
    """A call takes no more threads than its work is worth, so no number is too large."""
    assert argmax(np.array([1, 3, 2]), threads=threads) == 1


def set_threads(threads: Any) -> None:
    onnx_argmax.set_num_threads(threads)


def test_set_num_threads_is_what_get_num_threads_gives(setting: Setting) -> None:
    assert onnx_argmax.get_num_threads() == setting.threads
    assert onnx_argmax.build_info().threads == setting.threads
    assert onnx_argmax.build_info().level == setting.level


# Data that is no array of an element type of the contract.


@every_type
def test_element_types_are_taken(element_type: ElementType) -> None:
    data = from_bits(element_type, [0, LARGEST_BITS[element_type]])
    assert argmax(data) == 1


@pytest.mark.parametrize(
    ("data", "name", "next_step"),
    [
        (
            np.zeros(2, complex),
            "complex128",
            "complex numbers have no order: pass abs(data), data.real or data.imag",
        ),
        (
            np.array(["a"], "U3"),
            "<U3",
            "strings have no numeric order: encode them as integers first",
        ),
        (np.array([b"a"]), "|S1", "strings have no numeric order: encode them as integers first"),
        (
            np.zeros(2, "M8[s]"),
            "datetime64[s]",
            "pass data.view('int64') after dealing with NaT, which is its smallest value",
        ),
        (
            np.zeros(2, "m8[ms]"),
            "timedelta64[ms]",
            "pass data.view('int64') after dealing with NaT, which is its smallest value",
        ),
        (
            np.array([1, "a"], object),
            "object",
            "convert the objects first: data.astype('float64') or another of these",
        ),
        (
            np.zeros(2, np.longdouble),
            str(np.dtype(np.longdouble)),
            "pass data.astype('float64') if its rounding is acceptable",
        ),
        (
            np.zeros(2, "i4, f4"),
            "[('f0', '<i4'), ('f1', '<f4')]",
            "convert to one of these with data.astype(...)",
        ),
        (
            np.zeros(2, "V2"),
            "|V2",
            "if NumPy saved bfloat16 so: pass data.view(ml_dtypes.bfloat16)",
        ),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")) or None,
)
def test_element_types_outside_the_contract(data: Array, name: str, next_step: str) -> None:
    message = (
        f"data: element type {name} is not supported; allowed are {ALLOWED_ELEMENTS}; {next_step}"
    )
    with refuses(TypeError, message):
        argmax(data)


@pytest.mark.parametrize("data", [None, 3, 1.5, [1, 2], (1,), {1: 2}, object], ids=repr)
def test_what_is_no_array(data: Any) -> None:
    message = (
        "data: an array is needed (DLPack on the CPU, the buffer protocol or __array__), "
        f"got {type(data).__name__}; pass numpy.asarray(data, dtype=...)"
    )
    with refuses(TypeError, message):
        argmax(data)


@pytest.mark.parametrize("path", ["scores.npy", Path("scores.npy")], ids=["str", "Path"])
def test_paths(path: str | Path) -> None:
    message = (
        f"data: an array is needed, got {type(path).__name__}; pass onnx_argmax.outofcore.argmax "
        "the path of a .npy, Zarr or HDF5 file, or this function numpy.load(path)"
    )
    with refuses(TypeError, message):
        argmax(path)


def test_masked_arrays() -> None:
    message = (
        "data: a masked array is not taken, its mask would be ignored; pass data.filled(value) "
        "with a value that cannot win, or data.data where nothing is masked"
    )
    with refuses(TypeError, message):
        argmax(np.ma.array([1, 2], mask=[False, True]))


def test_bool_is_ordered(setting: Setting) -> None:
    assert BOOL in ALL_TYPES
    assert argmax(np.array([False, True, True]), 0, False) == 1, str(setting)
    assert argmax(np.array([False, True, True]), 0, False, True) == 2
    any_byte = np.array([0, 1, 255, 2, 0], np.uint8).view(bool)
    assert argmax(any_byte, 0, False) == 1
    assert argmax(any_byte, 0, False, True) == 3
