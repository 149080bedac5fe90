# SPDX-License-Identifier: Apache-2.0
"""The operator as data, held against onnx's own schemas and shape inference."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import onnx.helper
import onnx.shape_inference
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import argmax_model
from onnx_argmax import operator
from onnx_argmax._element_types import BOOL, ELEMENT_TYPES
from onnx_argmax.operator import (
    VERSIONS,
    Attributes,
    TensorType,
    Version,
    element_type_name,
    get_version,
    version_for_opset,
)

each_version = pytest.mark.parametrize("version", VERSIONS, ids=str)
NEWEST = VERSIONS[-1]
NUMBERS = [n for n in onnx.TensorProto.DataType.values() if n != onnx.TensorProto.UNDEFINED]


def schema_of(version: Version) -> onnx.defs.OpSchema:
    return onnx.defs.get_schema("ArgMax", version.since_version, "")


def test_versions_are_those_of_onnx() -> None:
    schemas = onnx.defs.get_all_schemas_with_history()
    known = sorted(s.since_version for s in schemas if (s.domain, s.name) == ("", "ArgMax"))
    assert [version.since_version for version in VERSIONS] == known
    assert (operator.NAME, operator.DOMAIN) == ("ArgMax", "")


@each_version
def test_attributes_are_those_of_the_schema(version: Version) -> None:
    schema = schema_of(version)
    found = {(a.name, a.type, a.default) for a in version.attributes}
    assert found == {
        (
            name,
            str(attribute.type).rpartition(".")[2],
            onnx.helper.get_attribute_value(attribute.default_value),
        )
        for name, attribute in schema.attributes.items()
    }
    assert not any(attribute.required for attribute in schema.attributes.values())
    states_a_range = "[-r, r-1]" in schema.attributes["axis"].description
    assert states_a_range == ("[-r, r-1]" in version.attributes[0].description)
    assert all(attribute.description for attribute in version.attributes)


@each_version
def test_types_are_those_of_the_schema(version: Version) -> None:
    schema = schema_of(version)
    (constraint,) = schema.type_constraints
    assert sorted(map(str, version.element_types)) == sorted(constraint.allowed_type_strs)
    (data,), (reduced,) = schema.inputs, schema.outputs
    assert (data.name, data.type_str) == (operator.INPUT_NAME, constraint.type_param_str)
    assert (reduced.name, reduced.type_str) == (
        operator.OUTPUT_NAME,
        str(operator.OUTPUT_ELEMENT_TYPE),
    )


def test_element_type_table_is_that_of_onnx() -> None:
    for row in (*ELEMENT_TYPES, BOOL):
        assert onnx.TensorProto.DataType.Name(row.tensor_proto).lower() == row.name
        dtype = onnx.helper.tensor_dtype_to_np_dtype(row.tensor_proto)
        assert (dtype.name, dtype.itemsize) == (row.dtype_name, row.itemsize)


@pytest.mark.parametrize("number", NUMBERS, ids=onnx.TensorProto.DataType.Name)
def test_every_type_of_onnx_has_its_name_and_is_taken_or_refused(number: int) -> None:
    name = f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"
    assert element_type_name(number) == name
    dtype = onnx.helper.tensor_dtype_to_np_dtype(number)
    spellings: list[Any] = [number, name, name[7:-1], dtype]
    for version in VERSIONS:
        for spelling in spellings:
            if name in schema_of(version).type_constraints[0].allowed_type_strs:
                assert version.check_element_type(spelling).tensor_proto == number
                continue
            with pytest.raises(TypeError) as caught:
                version.check_element_type(spelling)
            allowed = ", ".join(map(str, version.element_types))
            expected = f"data: element type {name} is not supported by {version}; allowed are "
            assert f"{expected}{allowed}; " in f"{caught.value}"


@pytest.mark.parametrize(
    ("spelling", "number"),
    [
        ("float", 1),
        ("float32", 1),
        ("float64", 11),
        (np.float64, 11),
        (np.dtype(">i2"), 5),
        (ml_dtypes.bfloat16, 16),
        (np.dtype((np.uint16, {"bfloat16": (np.uint16, 0)})), 16),
        (np.uint16, 4),
        (ELEMENT_TYPES[0], 1),
    ],
)
def test_spellings_of_element_types(spelling: Any, number: int) -> None:
    assert NEWEST.check_element_type(spelling).tensor_proto == number


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("int7", "'int7'"),
        ("tensor(floaty)", r"'tensor\(floaty\)'"),
        (99, "number 99"),
        (np.dtype("datetime64[s]"), "datetime64"),
        (np.dtype("U3"), r"tensor\(string\)"),
        (np.dtype([("a", "f4")]), "f4"),
        (object, r"tensor\(string\)"),
    ],
)
def test_types_outside_the_table_are_named(spelling: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"element type .*{name}.* is not supported"):
        NEWEST.check_element_type(spelling)


def test_report_12_bfloat16_needs_version_13() -> None:
    assert get_version(13).check_element_type("bfloat16").name == "bfloat16"
    for since_version in (1, 11, 12):
        with pytest.raises(
            TypeError,
            match=rf"tensor\(bfloat16\) is not supported by ArgMax version {since_version};"
            r".* raise the model's opset to 13, or Cast",
        ):
            get_version(since_version).check_element_type("bfloat16")


@each_version
def test_report_14_bool_is_refused_with_the_way_out(version: Version) -> None:
    with pytest.raises(TypeError, match=r"tensor\(bool\) is not supported.*view as uint8"):
        version.check_element_type(np.bool_)


@pytest.mark.parametrize("opset", range(1, onnx.defs.onnx_opset_version() + 1))
def test_version_for_opset_is_that_of_onnx(opset: int) -> None:
    schema = onnx.defs.get_schema("ArgMax", opset, "")
    assert version_for_opset(opset).since_version == schema.since_version


def test_versions_by_number() -> None:
    assert version_for_opset(10_000) is NEWEST
    assert version_for_opset(np.int32(11)) is get_version(11)  # pyright: ignore[reportArgumentType]
    for opset in (0, -1):
        with pytest.raises(ValueError, match=f"numbered from 1, got {opset}"):
            version_for_opset(opset)
    with pytest.raises(TypeError, match=r"opset: an integer is needed, got 1\.5 of type float"):
        version_for_opset(1.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="has the versions 1, 11, 12, 13, got 10"):
        get_version(10)


def test_the_data_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NEWEST.since_version = 14  # pyright: ignore[reportAttributeAccessIssue]
    assert len({*VERSIONS}) == 4


@each_version
@pytest.mark.parametrize("names", [(), ("axis",), ("keepdims",), ("axis", "keepdims")])
def test_report_33_defaults_where_an_attribute_is_absent(
    version: Version, names: tuple[str, ...]
) -> None:
    given = {name: {"axis": 2, "keepdims": 0}[name] for name in names}
    assert version.check_attributes(given) == Attributes(
        axis=given.get("axis", 0), keepdims=bool(given.get("keepdims", 1)), select_last_index=False
    )
    if version.since_version >= 12:
        checked = version.check_attributes({**given, "select_last_index": 1})
        assert checked.select_last_index is True


@pytest.mark.parametrize(("value", "meaning"), [(0, False), (1, True), (2, True), (-1, True)])
def test_flags_are_false_at_0_alone(value: int, meaning: bool) -> None:
    checked = NEWEST.check_attributes({"keepdims": value, "select_last_index": value})
    assert (checked.keepdims, checked.select_last_index) == (meaning, meaning)


@each_version
@pytest.mark.parametrize("name", ["axes", "select_first_index", ""])
def test_unknown_attributes_are_named_with_the_version(version: Version, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{version}: there is no attribute '{name}'; it has"):
        version.check_attributes({name: 1})


@pytest.mark.parametrize("since_version", [1, 11])
def test_report_85_select_last_index_before_version_12(since_version: int) -> None:
    with pytest.raises(
        ValueError,
        match=rf"version {since_version}: there is no attribute 'select_last_index'; it has axis, "
        r"keepdims; .* raise the model's opset to 12",
    ):
        get_version(since_version).check_attributes({"select_last_index": 0})


@each_version
@pytest.mark.parametrize("value", [1.0, np.float32(1), "1", b"1", [1], (1, 2), None])
def test_report_86_attributes_of_another_kind(version: Version, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{version}: attribute axis: one integer is needed, got"):
        version.check_attributes({"axis": value})
    with pytest.raises(
        TypeError, match=f"^{version}: attribute keepdims: a bool or an integer is needed"
    ):
        version.check_attributes({"keepdims": value})


def test_report_86_a_bool_is_no_axis_and_several_axes_need_a_reshape() -> None:
    with pytest.raises(TypeError, match="got True of type bool"):
        NEWEST.check_attributes({"axis": True})
    with pytest.raises(TypeError, match="reshape"):
        NEWEST.check_attributes({"axis": (1, 2)})


def inferred_by_onnx(
    model: onnx.ModelProto, *, strict: bool = False
) -> tuple[int | str | None, ...] | None:
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=strict)
    tensor = inferred.graph.output[0].type.tensor_type
    assert tensor.elem_type == onnx.TensorProto.INT64
    if not tensor.HasField("shape"):
        return None
    return tuple(map(dimension_of, tensor.shape.dim))


def dimension_of(dimension: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dimension.HasField("dim_value"):
        return dimension.dim_value
    # onnx makes up a name for a dimension that has none.
    name = dimension.dim_param
    return None if not name or name.startswith("unk__") else name


DIMENSIONS = st.one_of(st.integers(1, 4), st.sampled_from(["N", "C", "H"]), st.none())


@each_version
@given(shape=st.lists(DIMENSIONS, min_size=1, max_size=6), data=st.data())
def test_inference_is_that_of_onnx(
    version: Version, shape: list[int | str | None], data: st.DataObject
) -> None:
    attributes = {
        "axis": data.draw(st.integers(-len(shape), len(shape) - 1)),
        "keepdims": data.draw(st.integers(0, 1)),
    }
    opset = version.since_version
    model = argmax_model(onnx.TensorProto.FLOAT, shape, opset=opset, **attributes)
    found = version.infer("float", shape, attributes)
    assert found == TensorType(operator.OUTPUT_ELEMENT_TYPE, inferred_by_onnx(model))


@each_version
def test_report_25_axis_out_of_range(version: Version) -> None:
    for axis in (6, 3, -4, 2**63 - 1, -(2**63)):
        with pytest.raises(
            np.exceptions.AxisError,
            match=f"axis {axis} is out of range for data of rank 3: allowed is -3 to 2",
        ):
            version.infer("float", (2, 3, 4), {"axis": axis})
        # onnx's inference of version 1 looks at no range; the contract does.
        if version.since_version > 1:
            model = argmax_model(shape=(2, 3, 4), opset=version.since_version, axis=axis)
            with pytest.raises(onnx.shape_inference.InferenceError):
                inferred_by_onnx(model, strict=True)


@each_version
@pytest.mark.parametrize("keepdims", [0, 1])
def test_report_35_a_reduced_axis_of_length_0(version: Version, keepdims: int) -> None:
    for shape, axis in (((0,), 0), ((2, 0), 1), ((0, 0), 0), (("N", 0), -1)):
        with pytest.raises(ValueError, match=rf"axis {axis % len(shape)} .* has length 0"):
            version.infer(None, shape, {"axis": axis, "keepdims": keepdims})
    kept = (1, 0) if keepdims else (0,)
    assert version.infer(None, ("N", 0), {"keepdims": keepdims}).shape == kept


@each_version
def test_report_37_rank_0_counts_as_one_element(version: Version) -> None:
    for axis in (0, -1):
        for keepdims in (0, 1):
            given = {"axis": axis, "keepdims": keepdims}
            assert version.infer("float", (), given).shape == ()
    with pytest.raises(np.exceptions.AxisError, match="axis 1 is out of range for data of rank 0"):
        version.infer("float", (), {"axis": 1})


def test_report_46_keepdims_decides_the_rank() -> None:
    assert NEWEST.infer("float", (2, 3, 4), {"axis": -2, "keepdims": 1}).shape == (2, 1, 4)
    assert NEWEST.infer("float", (2, 3, 4), {"axis": -2, "keepdims": 0}).shape == (2, 4)


@each_version
def test_report_47_the_index_is_int64(version: Version) -> None:
    for element_type in version.element_types:
        inferred = version.infer(element_type, (2, 3))
        assert str(inferred.element_type) == "tensor(int64)"


@each_version
def test_report_48_symbolic_and_unknown_shapes(version: Version) -> None:
    nchw = ("N", "C", "H", "W")
    assert version.infer("float", nchw, {"axis": 1, "keepdims": 0}).shape == ("N", "H", "W")
    assert version.infer("float", nchw, {"axis": -3, "keepdims": 1}).shape == ("N", 1, "H", "W")
    assert version.infer("float", (None, 3), {"axis": 1}).shape == (None, 1)
    unknown = version.infer("float", None, {"axis": 7})
    assert (unknown.element_type.name, unknown.shape) == ("int64", None)
    model = argmax_model(shape=None, opset=version.since_version)
    assert inferred_by_onnx(model) is None


def test_infer_takes_checked_attributes_and_refuses_what_is_no_dimension() -> None:
    assert NEWEST.infer(None, (2, 3), Attributes(axis=1, keepdims=False)).shape == (2,)
    with pytest.raises(ValueError, match=r"shape: a dimension is a length of 0 or more.*got -1"):
        NEWEST.infer(None, (2, -1))
    with pytest.raises(TypeError, match=r"tensor\(bool\)"):
        NEWEST.infer("bool", (2, 3))
