# SPDX-License-Identifier: Apache-2.0
"""What users of argmax ran into elsewhere, tried on the array function.

The number in a test's name is that of the report. Where a report is about models, its test is
with the doors that take them.
"""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from layouts import LAYOUTS
from machine import Setting, every_setting
from onnx_argmax import argmax
from onnx_argmax._element_types import ELEMENT_TYPES, ElementType
from oracle import Array, fast_argmax, oracle_argmax, same_outcome
from programs import run_program
from samples import (
    ALL_TYPES,
    FLOAT_TYPES,
    from_bits,
    numpy_dtype,
    random_elements,
    type_id,
    type_named,
)

NAN, INF = np.nan, np.inf
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
every_float = pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=type_id)


def first_and_last(data: Array, first: int, last: int) -> None:
    """A one-dimensional array's answers at every setting, also as row and as column."""
    for setting in every_setting():
        for select_last_index, index in ((False, first), (True, last)):
            assert argmax(data, 0, False, select_last_index) == index, str(setting)
            row = argmax(np.stack([data] * 3), 1, False, select_last_index)
            column = argmax(np.stack([data] * 3, 1), 0, False, select_last_index)
            assert row.tolist() == column.tolist() == [index] * 3, str(setting)


# Element types.


def test_report_01_token_ids(setting: Setting) -> None:
    ids = np.zeros((1, 77), np.int64)
    ids[0, :10] = [49406, 320, 1125, 539, 320, 2368, 4, 7, 9, 49407]
    assert argmax(ids, -1, False).tolist() == [9], str(setting)


@every_type
def test_report_02_every_type_has_a_kernel(element_type: ElementType, setting: Setting) -> None:
    data = from_bits(element_type, [0, 1, 1, 0])
    assert argmax(data, 0, False) == 1, str(setting)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_report_03_and_62_narrow_class_maps(dtype: type, setting: Setting) -> None:
    logits = random_elements(type_named("float32"), (1, 19, 64, 48), 3)
    expected = fast_argmax(logits, 1).astype(dtype)
    out = np.empty((1, 1, 64, 48), dtype)
    assert same_outcome(argmax(logits, 1, dtype=dtype), expected), str(setting)
    assert argmax(logits, 1, out=out) is out
    assert same_outcome(out, expected)
    long = np.zeros((1, 257, 2), np.float32)
    with pytest.raises(ValueError, match="uint8 numbers at most 256 elements"):
        argmax(long, 1, dtype=np.uint8)
    assert argmax(long[:, 1:], 1, dtype=np.uint8).dtype == np.uint8


def test_report_04_disguises_of_bfloat16() -> None:
    values = np.array([1, NAN, 3], BFLOAT16)
    assert argmax(values) == 1
    assert argmax(values.view(np.dtype((np.uint16, {"bfloat16": (np.uint16, 0)})))) == 1
    # Bits that were never bfloat16: as such 0xFFC0 would be a NaN, and 0x8000 equal to 0.
    plain = np.array([0, 0x8000, 0xFF00], np.uint16)
    assert argmax(plain) == 2
    assert argmax(plain.view(BFLOAT16)) == 0


def test_report_05_token_ids_are_not_narrowed(setting: Setting) -> None:
    rows = np.tile(np.array([49406, 320, 1125, 539, 320, 2368, 49407], np.int32), (2, 1))
    assert argmax(rows, -1, False).tolist() == [6, 6], str(setting)
    assert argmax(rows.astype(np.float32).astype(BFLOAT16), -1, False).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("values", "index"),
    [([2**53, 2**53 + 1, 2**53], 1), ([2**31, 2**31 - 1], 0), ([-(2**63)] * 40, 0)],
    ids=["beyond doubles", "beyond int32", "all lowest"],
)
def test_report_06_int64(values: list[int], index: int, setting: Setting) -> None:
    assert argmax(np.array(values), 0, False) == index, str(setting)


@pytest.mark.parametrize(
    ("values", "index"),
    [([INF, INF, 1], 0), ([-INF, -INF], 0), ([70000, 1e6, 3], 0), ([[2048, 2049, 1]], 0)],
)
def test_report_07_overflow_to_infinity(values: Any, index: int, setting: Setting) -> None:
    with np.errstate(over="ignore"):
        data = np.array(values, np.float32).astype(np.float16)
    assert argmax(data, -1, False) == index, str(setting)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16], ids=str)
def test_report_08_negative_halves(dtype: Any, setting: Setting) -> None:
    for values, index in (
        ([[-5, -2, -3]], 1),
        ([[-1, -INF, -65504]], 0),
        ([[-1, 0.5, -2]], 1),
    ):
        assert argmax(np.array(values, dtype), 1, False) == index, str(setting)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_report_09_quantised_scores(dtype: type, setting: Setting) -> None:
    scores = np.random.default_rng(9).integers(0, 40, (1, 21, 64, 64)).astype(dtype)
    dequantised = (scores.astype(np.float32) - 3) * np.float32(0.02)
    found = argmax(scores, 1)
    assert same_outcome(found, fast_argmax(scores, 1)), str(setting)
    assert same_outcome(argmax(dequantised, 1), found)


def test_report_10_doubles(setting: Setting) -> None:
    rows = np.tile(np.array([1, 1 + 1e-12, 0]), (4, 1))
    assert rows.astype(np.float32)[0, 0] == rows.astype(np.float32)[0, 1]
    assert argmax(rows, 1, False).tolist() == [1] * 4, str(setting)


def test_report_11_int32(setting: Setting) -> None:
    data = np.full((2, 3, 4), 2**24, np.int32)
    data[:, 1] += 1  # the same float32
    assert argmax(data, 1, False).tolist() == [[1] * 4] * 2, str(setting)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_report_13_half_logits(name: str, setting: Setting) -> None:
    logits = random_elements(type_named(name), (8, 32000), 13, special=False)
    found = argmax(logits, -1, False)
    assert np.array_equal(found, np.argmax(logits.astype(np.float32), -1)), str(setting)


def test_report_14_bool(setting: Setting) -> None:
    assert argmax(np.array([False, True, True]), 0, False) == 1, str(setting)
    table = np.array([[0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]], bool)
    assert argmax(table, 1, False).tolist() == [2, 0, 0]


def test_report_15_indices_above_256(setting: Setting) -> None:
    data = np.zeros((5, 4, 3, 2000), np.float32)
    data[..., 1025] = 1
    found = argmax(data, -1, False)
    assert found.dtype == np.int64
    assert (found == 1025).all(), str(setting)


# NaN.


@pytest.mark.parametrize(
    ("values", "index"), [([2, NAN, 7, 4, 1], 1), ([NAN, 2, 7, 4, 1], 0), ([2, 4, 7, 1, NAN], 4)]
)
@every_float
def test_report_16_nan_before_the_maximum(
    element_type: ElementType, values: list[float], index: int
) -> None:
    first_and_last(np.array(values, numpy_dtype(element_type)), index, index)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 31, 33, 58, 61, 1000])
@every_float
def test_report_17_nothing_but_nan(element_type: ElementType, length: int) -> None:
    first_and_last(np.full(length, NAN, numpy_dtype(element_type)), 0, length - 1)


@every_float
def test_report_18_maximum_and_index_agree(element_type: ElementType) -> None:
    dtype = numpy_dtype(element_type)
    first_and_last(np.array([3, NAN, 1, NAN, 5], dtype), 1, 3)
    first_and_last(np.array([INF, NAN, -INF], dtype), 1, 1)
    for length in (3, 64, 65, 1000, 5000):
        data = np.arange(length).astype(dtype)
        data[length // 2] = NAN
        first_and_last(data, length // 2, length // 2)


@every_float
def test_report_19_nan_at_the_end(element_type: ElementType) -> None:
    dtype = numpy_dtype(element_type)
    first_and_last(np.array([0, 1, NAN], dtype), 2, 2)
    first_and_last(np.array([0, NAN], dtype), 1, 1)


def test_report_20_nan_is_not_skipped() -> None:
    first_and_last(np.array([2, 3, NAN]), 2, 2)


# Ties and signed zeros.


@every_type
def test_report_21_first_of_equal_maxima(element_type: ElementType) -> None:
    dtype = numpy_dtype(element_type)
    first_and_last(np.ones(16, dtype), 0, 15)
    million = np.ones(10**6, dtype)
    for threads in (1, 2, 7, 16):
        assert argmax(million, 0, False, threads=threads) == 0
        assert argmax(million, 0, False, True, threads=threads) == 10**6 - 1


def test_report_21_examples(setting: Setting) -> None:
    integers = np.array([[2, 3, 0, 3, 3], [1, 3, 1, 3, 1]])
    assert argmax(integers, 1, False).tolist() == [1, 1], str(setting)
    ones = np.ones((3, 4), np.float32)
    ones[0, 0] = 0
    assert argmax(ones, 0, False).tolist() == [1, 0, 0, 0]
    assert argmax(ones, 1, False).tolist() == [1, 0, 0]


def test_report_22_last_index(setting: Setting) -> None:
    data = np.array([[2, 2, 1, 3, 3, 0]], np.float32)
    assert argmax(data, 1, True, True).tolist() == [[4]], str(setting)


@pytest.mark.parametrize("zeros", [[-0.0, 0.0], [0.0, -0.0]], ids=str)
@every_float
def test_report_23_signed_zeros(element_type: ElementType, zeros: list[float]) -> None:
    first_and_last(np.array(zeros, numpy_dtype(element_type)), 0, 1)


def test_report_24_ties_by_default(setting: Setting) -> None:
    assert argmax(np.array([[2, 2], [3, 10]], np.float32), 1).tolist() == [[0], [1]]
    for seed, element_type in enumerate(ELEMENT_TYPES):
        small = np.random.default_rng(seed).integers(0, 4, (30, 40))
        data = small.astype(numpy_dtype(element_type))
        for axis in (0, 1):
            assert same_outcome(argmax(data, axis), fast_argmax(data, axis)), str(setting)


# Axis and attributes.


@pytest.mark.parametrize("axis", [6, 3, -4, 2**63 - 1, -(2**63)])
def test_report_25_axis_out_of_range(axis: int) -> None:
    with pytest.raises(np.exceptions.AxisError, match=rf"axis {axis} .*rank 3: .*-3 to 2"):
        argmax(np.zeros((2, 3, 4), np.float32), axis)


def test_report_26_every_axis(setting: Setting) -> None:
    for shape in ((1, 3, 10), (5, 4, 3), (2, 3, 4, 5)):
        data = random_elements(type_named("float32"), shape, 26)
        for axis in range(len(shape)):
            found = argmax(data, axis, False)
            assert same_outcome(found, oracle_argmax(data, axis, False)), str(setting)


def test_report_27_index_and_not_the_maximum(setting: Setting) -> None:
    logits = np.arange(20, dtype=np.float32).reshape(1, 5, 2, 2)
    assert argmax(logits, 1).tolist() == [[[[4, 4], [4, 4]]]], str(setting)
    assert argmax(np.array([[1.0, 0.0]], np.float32), 1, False).tolist() == [0]


def test_report_28_axis_of_length_1(setting: Setting) -> None:
    found = argmax(np.ones((32, 1), np.float32), 1, False)
    assert same_outcome(found, np.zeros(32, np.int64)), str(setting)


def test_report_29_and_30_negative_axes(setting: Setting) -> None:
    data = random_elements(type_named("float32"), (2, 3, 4), 30)
    for axis, shape in ((0, (1, 3, 4)), (1, (2, 1, 4)), (2, (2, 3, 1))):
        found = argmax(data, axis)
        assert found.shape == shape
        assert same_outcome(argmax(data, axis - 3), found), str(setting)


def test_report_31_high_ranks(setting: Setting) -> None:
    shape = (2, 5, 3, 10, 12, 5)
    ramp = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert (argmax(ramp, 0) == 1).all(), str(setting)
    ones = np.ones((1, 2, 1, 2, 1, 2, 1, 2), np.float32)
    for axis in range(8):
        assert (argmax(ones, axis) == 0).all()
        assert (argmax(ones, axis, True, True) == axis % 2).all()
    highest = np.arange(4).reshape((1,) * 62 + (2, 2))
    assert argmax(highest, 62).tolist() == np.ones((1,) * 63 + (2,), int).tolist()


def test_report_32_flattened(setting: Setting) -> None:
    data = np.zeros((3, 4), np.float32)
    data[2, 1] = 1
    for array in (data, np.asfortranarray(data), data[:, ::-1][:, ::-1]):
        assert same_outcome(argmax(array, None, False), np.array(9)), str(setting)
        assert same_outcome(argmax(array.reshape(-1), 0, False), np.array(9))


# Empty and scalar inputs.


def test_report_34_another_axis_is_empty(setting: Setting) -> None:
    assert same_outcome(argmax(np.zeros((2, 0)), 0, False), np.zeros(0, np.int64)), str(setting)
    assert same_outcome(argmax(np.zeros((0, 3)), 1, False), np.zeros(0, np.int64))
    assert same_outcome(argmax(np.zeros((0, 3)), 1, True), np.zeros((0, 1), np.int64))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((0,), 0), ((2, 0), 1), ((0, 0), 0), ((0, 0), 1), ((80, 0), 1)]
)
def test_report_35_36_and_84_nothing_to_choose_from(
    shape: tuple[int, ...], axis: int, keepdims: bool
) -> None:
    with pytest.raises(ValueError, match=rf"axis {axis} of shape .* has length 0"):
        argmax(np.zeros(shape, np.float32), axis, keepdims)


def test_report_36_no_boxes(setting: Setting) -> None:
    assert argmax(np.zeros((0, 80), np.float32), 1, False).shape == (0,), str(setting)
    assert argmax(np.zeros((0, 80), np.float32), 1, True).shape == (0, 1)


@pytest.mark.parametrize("axis", [0, -1])
def test_report_37_scalars(axis: int, setting: Setting) -> None:
    assert same_outcome(argmax(np.float32(5), axis), np.array(0)), str(setting)
    assert same_outcome(argmax(np.array(5, np.float32), axis), np.array(0))


# Sizes and index width.


@pytest.mark.large
def test_report_38_more_than_2_31_elements() -> None:
    data = np.zeros(2**31 + 10, np.uint8)
    data[-1] = 1
    for threads in (1, 2, 7):
        assert argmax(data, 0, False, threads=threads) == 2147483657
        assert argmax(data, None, False, threads=threads) == 2147483657
    assert argmax(data.reshape(-1, 1), 0, False) == 2147483657
    assert argmax(data[::-1], 0, False) == 0
    data[-1] = 0
    for threads in (1, 2, 7):
        assert argmax(data, 0, False, threads=threads) == 0
        assert argmax(data, 0, False, True, threads=threads) == 2147483657
    assert argmax(data[: 2**31], 0, False, True, dtype=np.int32) == 2**31 - 1
    with pytest.raises(ValueError, match="int32 numbers at most 2147483648 elements"):
        argmax(data, 0, False, True, dtype=np.int32)


@pytest.mark.large
@pytest.mark.parametrize(("dtype", "columns"), [(np.float16, 2**24 + 1), (np.float32, 2**23 + 1)])
def test_report_39_more_than_2_31_bytes(dtype: type, columns: int) -> None:
    data = np.zeros((64, columns), dtype)
    data[32] = 1
    for threads in (1, 2):
        assert (argmax(data, 0, threads=threads) == 32).all()
    assert argmax(data, None, False) == 32 * columns
    assert argmax(data, None, False, True) == 33 * columns - 1


@pytest.mark.parametrize(
    ("dtype", "length"),
    [(np.uint8, 258), (np.int8, 258), (np.int16, 32770), (np.uint16, 65538), (np.int16, 65538)],
)
def test_report_40_lanes_as_wide_as_the_element(dtype: type, length: int) -> None:
    data = np.zeros(length, dtype)
    data[-1] = 1
    first_and_last(data, length - 1, length - 1)
    strided = np.zeros((length, 3), dtype)
    strided[-1] = 1
    for setting in every_setting():
        assert (argmax(strided, 0) == length - 1).all(), str(setting)
        assert argmax(strided[:, 1], 0, False) == length - 1
        assert argmax(strided[::-1, 1], 0, False) == 0


# Memory layout.


def test_report_41_logical_and_not_memory_order(setting: Setting) -> None:
    memory = random_elements(type_named("float32"), (3, 4, 4), 41)
    views = (memory.transpose(1, 2, 0), memory.T, memory[::2, ::-1], memory.swapaxes(0, 1))
    for view, axis in itertools.product(views, (0, 1, 2, None)):
        expected = argmax(np.ascontiguousarray(view), axis)
        assert same_outcome(argmax(view, axis), expected), str(setting)
        assert same_outcome(expected, oracle_argmax(view, axis))


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8"])
def test_report_42_big_endian(dtype: str) -> None:
    first_and_last(np.array([1, 3, 2], dtype), 1, 1)
    # 256 is smaller than 255 where the bytes are taken in the wrong order.
    first_and_last(np.array([255, 256, 1], dtype), 1, 1)


def test_report_43_planar_and_interleaved(setting: Setting) -> None:
    planar = np.random.default_rng(43).integers(0, 9, (19, 48, 64)).astype(np.uint8)
    interleaved = np.ascontiguousarray(planar.transpose(1, 2, 0))
    found = argmax(interleaved, 2, False)
    assert same_outcome(found, argmax(planar, 0, False)), str(setting)
    assert same_outcome(found, fast_argmax(planar, 0, False))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_report_44_not_contiguous(layout: str, setting: Setting) -> None:
    cube = np.arange(125).reshape(5, 5, 5)
    for view in (cube[:, 1], cube[1].T, cube[::2, ::2]):
        data = LAYOUTS[layout](view)
        for axis in range(view.ndim):
            expected = argmax(np.ascontiguousarray(view), axis)
            assert same_outcome(argmax(data, axis), expected), str(setting)


@pytest.mark.parametrize(
    "data",
    [
        np.ma.array(np.array([-1, 2, 0, 1], np.float16), mask=[0, 0, 1, 0]),
        np.ma.array([1, 2, INF], mask=[1, 1, 0]),
        np.ma.array([1.0, 2.0]),
    ],
    ids=["float16", "inf", "no mask"],
)
def test_report_45_masked_arrays(data: Any) -> None:
    with pytest.raises(TypeError, match=r"a masked array is not taken.*data\.filled"):
        argmax(data)


# Shapes.


def test_report_46_and_87_keepdims(setting: Setting) -> None:
    data = np.zeros((2, 3, 4), np.float32)
    assert argmax(data, -2).shape == (2, 1, 4), str(setting)
    assert argmax(data, -2, False).shape == (2, 4)
    assert argmax(data, None, True).shape == (1, 1, 1)
    assert argmax(data, None, False).shape == ()


# Speed: what of it can be said without a clock.

PEAK_MEMORY = """
    import resource
    import numpy as np
    from onnx_argmax import argmax

    def peak_bytes():
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    # Made without temporary arrays, which would raise the peak beforehand and hide a copy.
    values = np.ones((2000, 4000))
    misaligned = np.ndarray((2000, 4000), buffer=bytearray(values.nbytes + 1), offset=1)
    misaligned[...] = 1
    views = dict(
        c_order=values,
        fortran_order=np.ones((2000, 4000), order="F"),
        reversed=values[::-1, ::-1],
        every_second=values[::2, ::2],
        byte_swapped=values.view(values.dtype.newbyteorder()),
        misaligned=misaligned,
        read_only=np.broadcast_to(values, values.shape),
        bytes_like=memoryview(values),
    )
    threads = 2
    for view in views.values():  # starts the threads, and loads what is loaded but once
        argmax(np.asarray(view)[:200, :200], None, threads=threads)
    for name, view in views.items():
        for axis in (0, 1, None):
            before = peak_bytes()
            argmax(view, axis, threads=threads)
            extra = peak_bytes() - before
            assert extra <= threads * 2**20 + 4000 * 8, (name, axis, extra)
"""


def test_report_56_no_hidden_copy() -> None:
    """At most 1 MiB a thread beside the result, where the input has 64 MB."""
    pytest.importorskip("resource", reason="needs getrusage")
    run_program(PEAK_MEMORY)


def test_report_57_bfloat16_logits(setting: Setting) -> None:
    logits = random_elements(type_named("bfloat16"), (2, 25600), 57, special=False)
    assert same_outcome(argmax(logits, -1), fast_argmax(logits, -1)), str(setting)


@pytest.mark.parametrize("axis", [0, 1])
def test_report_58_long_axes(axis: int) -> None:
    data = np.zeros((6, 30000), np.float32)
    data[:, 20000] = data[:, 29999] = NAN
    for setting in every_setting():
        for last in (False, True):
            expected = fast_argmax(data, axis, True, last)
            assert same_outcome(argmax(data, axis, True, last), expected), str(setting)


@pytest.mark.parametrize(
    ("shape", "axis"), [((8, 128), -1), ((2, 64, 56, 56), 1), ((4, 20, 20, 20), 0)]
)
def test_report_60_63_and_74_every_level_agrees(shape: tuple[int, ...], axis: int) -> None:
    for element_type in ALL_TYPES:
        data = random_elements(element_type, shape, 60)
        expected = fast_argmax(data, axis, False, True)
        for setting in every_setting():
            assert same_outcome(argmax(data, axis, False, True), expected), str(setting)


# Exchange with other libraries; the rest of it is in test_exchange.py.


def test_report_81_torch_bfloat16(setting: Setting) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.tensor([[1.0, NAN, 3.0], [2.0, 1.0, 2.0]], dtype=torch.bfloat16)
    found = argmax(tensor, 1, False)
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == [1, 0], str(setting)
    for dtype in (torch.float8_e4m3fn, torch.complex64):
        with pytest.raises(TypeError, match=str(dtype).removeprefix("torch.")):
            argmax(torch.zeros(3, dtype=dtype))


def test_report_82_read_only(tmp_path: Any) -> None:
    values = np.array([1, 3, 2], np.float32)
    values.flags.writeable = False
    path = tmp_path / "values"
    path.write_bytes(values.tobytes())
    for data in (
        values,
        np.memmap(path, np.float32, "r"),
        np.frombuffer(values.tobytes(), np.float32),
        values.tobytes(),
    ):
        argmax(data)
    assert argmax(np.memmap(path, np.float32, "r")) == 1


def test_report_83_ml_dtypes_without_a_buffer() -> None:
    values = np.array([1, 3, 2], BFLOAT16)
    with pytest.raises((ValueError, BufferError)):
        memoryview(values)
    assert argmax(values) == 1
    assert argmax(values[::-1]) == 1


# Messages and habits.


@pytest.mark.parametrize("axis", [(1, 2), 1.0, "1", True], ids=repr)
def test_report_86_one_integer_axis(axis: Any) -> None:
    hint = ".*reshape them into one first" if isinstance(axis, tuple) else ""
    with pytest.raises(TypeError, match=f"axis: one integer is needed, got .*{hint}"):
        argmax(np.zeros((4, 3, 3)), axis)


def test_report_88_out() -> None:
    data = np.array([[1, 3], [5, 4]])
    for dtype in (np.int64, np.int32, np.uint8):
        out = np.zeros((2, 1), dtype, order="F")
        assert argmax(data, 1, out=out) is out
        assert out.tolist() == [[1], [0]]
    read_only = np.full((2, 1), -7)
    read_only.flags.writeable = False
    overlapping = data[:, :1]
    for out, error in (
        (np.full((2, 1), -7.0), TypeError),
        (np.full((2,), -7), ValueError),
        (np.full((1, 2), -7), ValueError),
        (read_only, ValueError),
        (overlapping, ValueError),
    ):
        before = out.copy()
        with pytest.raises(error, match=r"^out: "):
            argmax(data, 1, out=out)
        assert np.array_equal(out, before)
