# SPDX-License-Identifier: Apache-2.0
"""The documented examples, exactly, on every version, element type and door they apply to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import onnx
import pytest

from documented import EXAMPLES, Example
from models import argmax_model
from onnx_argmax import argmax, backend
from onnx_argmax._element_types import ElementType
from onnx_argmax.operator import VERSIONS, Version
from onnx_argmax.reference import evaluator
from oracle import Array, oracle_argmax
from samples import numpy_dtype

Door = Callable[[Array, onnx.ModelProto, dict[str, int]], Any]


def run_reference(model: onnx.ModelProto, data: Array) -> Any:
    session: Any = evaluator(model)
    return session.run(None, {"data": data})[0]


DOORS: Final[dict[str, Door]] = {
    "argmax": lambda data, _, attributes: argmax(data, **attributes),  # pyright: ignore[reportArgumentType]
    "reference": lambda data, model, _: run_reference(model, data),
    "backend": lambda data, model, _: backend.run_model(model, [data])[0],
}


def applies(example: Example, version: Version) -> bool:
    return example.attributes.keys() <= {attribute.name for attribute in version.attributes}


def data_of(example: Example, element_type: ElementType) -> Array:
    if example.data is not None:
        return np.array(example.data).astype(numpy_dtype(element_type))
    uniform = np.random.default_rng(16).uniform(-10, 10, (2, 3, 4))
    if numpy_dtype(element_type).kind == "u":
        uniform += 10  # casting a negative number to an unsigned type is undefined
    return uniform.astype(numpy_dtype(element_type))


def test_of(example: Example) -> Callable[[Version, ElementType, str], None]:
    cases = [
        pytest.param(version, element_type, door, id=f"{version}-{element_type.name}-{door}")
        for version in VERSIONS
        if applies(example, version)
        for element_type in version.element_types
        for door in DOORS
    ]

    @pytest.mark.parametrize(("version", "element_type", "door"), cases)
    def test(version: Version, element_type: ElementType, door: str) -> None:
        data = data_of(example, element_type)
        model = argmax_model(
            element_type.tensor_proto,
            data.shape,
            opset=version.since_version,
            **example.attributes,
        )
        result = DOORS[door](data, model, example.attributes)
        given = example.attributes
        expected = oracle_argmax(
            data,
            given.get("axis", 0),
            bool(given["keepdims"]),
            bool(given.get("select_last_index", 0)),
        )
        assert (result.shape, result.dtype) == (example.shape, np.int64)
        np.testing.assert_array_equal(result, expected, strict=True)
        if example.result is not None:
            assert result.tolist() == example.result

    return test


test_of.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]
globals().update({example.name: test_of(example) for example in EXAMPLES})


def test_the_examples_are_all_there() -> None:
    assert len({example.name for example in EXAMPLES}) == 16
    versions = [sum(applies(example, version) for version in VERSIONS) for example in EXAMPLES]
    assert versions == [4] * 8 + [2] * 8
