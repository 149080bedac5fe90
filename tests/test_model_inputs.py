# SPDX-License-Identifier: Apache-2.0
"""Inputs held against what the model declares."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest
from onnx import TensorProto

from models import argmax_model
from onnx_argmax._model_inputs import check_inputs, input_names

TWO = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[N, 3] a, float[N, K] b, float[K] c) => (float[N, 3] y) <float[2] c = {1, 2}> {
        y = Identity (a)
    }
""")
ZEROS = {"a": np.zeros((2, 3), np.float32), "b": np.zeros((2, 4), np.float32)}


def test_good_inputs_are_the_same_arrays_in_the_models_order() -> None:
    result = check_inputs(TWO, dict(reversed(ZEROS.items())))
    assert list(result) == ["a", "b"]
    assert all(result[name] is array for name, array in ZEROS.items())
    assert input_names(TWO) == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"d": 0}, ValueError, "the model has no input 'd'; its inputs are 'a', 'b', 'c'"),
        ({"a": np.zeros((3, 3))}, TypeError, r"input 'a': .* got float64; pass value.astype\('fl"),
        ({"a": np.zeros((2, 3), bool)}, TypeError, r"takes tensor\(float\), NumPy's float32, got"),
        ({"a": [[1.0]]}, TypeError, "input 'a': a NumPy array is needed, got list"),
        ({"a": None}, TypeError, "input 'a': a NumPy array is needed, got NoneType"),
        ({"a": np.ma.ones((2, 3), "f4")}, TypeError, "input 'a': a masked array is not taken"),
        ({"a": np.zeros((2, 4), "f4")}, ValueError, r"takes shape \(N, 3\), got \(2, 4\): axis 1"),
        ({"a": np.zeros(3, "f4")}, ValueError, r"takes rank 2, shape \(N, 3\), got rank 1, sh"),
        (
            {"b": np.zeros((5, 4), "f4")},
            ValueError,
            r"input 'b': axis 0 of shape \(5, 4\) is 'N', which has length 2 in input 'a', axis 0",
        ),
        ({"c": np.zeros(3, "f4")}, ValueError, "input 'c': .* 'K', which has length 4 in input"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value)[:20],
)
def test_bad_inputs(change: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        check_inputs(TWO, {**ZEROS, **change})


def test_missing_inputs_are_all_named() -> None:
    with pytest.raises(ValueError, match="no array is given for 'a', 'b'; the model needs 'a', "):
        check_inputs(TWO, {})


def test_byte_swapped_arrays_and_scalars_become_native_arrays() -> None:
    swapped = np.array([1, 3, 2], ">f4")
    result = check_inputs(argmax_model(shape=(3,)), {"data": swapped})["data"]
    assert (result.dtype, result.tolist()) == (np.dtype("=f4"), [1, 3, 2])
    result = check_inputs(argmax_model(shape=()), {"data": np.float32(3)})["data"]  # pyright: ignore[reportArgumentType]
    assert (type(result), result.shape) == (np.ndarray, ())


def test_raw_items_are_bfloat16_only_where_the_model_says_so() -> None:
    data = np.array([[1, 2], [4, 3]], ml_dtypes.bfloat16).T
    model = argmax_model(TensorProto.BFLOAT16, (2, 2))
    for disguise in (
        data.view("V2"),
        data.view(np.dtype((np.uint16, {"bfloat16": (np.uint16, 0)}))),
    ):
        result = check_inputs(model, {"data": disguise})["data"]
        assert (result.dtype, result.tolist()) == (np.dtype(ml_dtypes.bfloat16), data.tolist())
        assert np.shares_memory(result, disguise)
    with pytest.raises(TypeError, match=r"if these are the bits of bfloat16, pass value.view\(ml"):
        check_inputs(model, {"data": data.view(np.uint16)})
    for number in (TensorProto.FLOAT16, TensorProto.UINT16):
        with pytest.raises(TypeError, match=r"got.*V2"):
            check_inputs(argmax_model(number, (2, 2)), {"data": data.view("V2")})
    with pytest.raises(TypeError, match=r"tensor\(bfloat16\), NumPy's bfloat16, got \|V4"):
        check_inputs(model, {"data": np.zeros((2, 2), "V4")})


def test_lengths_below_0_and_without_a_name_are_unknown() -> None:
    for unknown in (-1, -5, -(2**63)):
        for shape in ((2, 3), (0, 5)):
            model = argmax_model(shape=(unknown, None))
            check_inputs(model, {"data": np.zeros(shape, np.float32)})
    model = argmax_model(shape=(-1, None))
    with pytest.raises(ValueError, match=r"takes rank 2, shape \(\?, \?\), got"):
        check_inputs(model, {"data": np.zeros(2, np.float32)})
    check_inputs(argmax_model(shape=None), {"data": np.zeros((1, 2, 3), np.float32)})


def test_strings_sequences_and_optionals() -> None:
    tensor = onnx.helper.make_tensor_type_proto(TensorProto.FLOAT, ("N",))
    types = {
        "s": onnx.helper.make_tensor_type_proto(TensorProto.STRING, None),
        "l": onnx.helper.make_sequence_type_proto(tensor),
        "o": onnx.helper.make_optional_type_proto(tensor),
    }
    model = onnx.ModelProto()
    model.graph.input.extend(onnx.helper.make_value_info(*item) for item in types.items())
    one, two = np.zeros(1, np.float32), np.zeros(2, np.float32)
    good: dict[str, Any] = {"s": np.array(["a"]), "l": [one, two], "o": None}
    assert check_inputs(model, good)["l"] == [one, two]
    check_inputs(model, {**good, "o": one, "s": np.array(["a"], object)})
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"s": one}, "input 's': strings are needed"),
        ({"l": one}, "input 'l': a list of arrays is needed, got ndarray"),
        ({"l": [one, one.astype(int)]}, "input 'l', element 1: .* got int64"),
        ({"o": one.astype(int)}, "input 'o': .* got int64"),
    )
    for change, words in wrong:
        with pytest.raises(TypeError, match=words):
            check_inputs(model, {**good, **change})
