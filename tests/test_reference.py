# SPDX-License-Identifier: Apache-2.0
"""The operator classes for ONNX's reference evaluator, everywhere a node can stand."""

# onnx leaves some of its parameters without types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from models import AROUND, argmax_model, argmax_node, in_function, in_if, in_loop, in_scan
from onnx_argmax._element_types import ElementType
from onnx_argmax.operator import VERSIONS, Version
from onnx_argmax.reference import ArgMax, evaluator, new_ops
from oracle import Array, oracle_argmax
from samples import random_elements, type_id

# Opset 9 and 10 mean version 1 and, unlike opset 1, have a Scan.
OPSETS = (10, 11, 12, 13, 21)
each_place = pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
each_opset = pytest.mark.parametrize("opset", OPSETS)
TIES = np.array([[1, 3, 3], [2, 2, 1]], np.float32)


def outputs(session: Any, data: Any, **options: Any) -> list[Array]:
    """Run either kind of evaluator on the one input of these models."""
    return session.run(None, {"data": data}, **options)


def run(model: onnx.ModelProto, data: Any) -> Array:
    """Through the evaluator of onnx as users make it, and through ours: both must agree."""
    (stock,) = outputs(ReferenceEvaluator(model, new_ops=new_ops(model)), data)
    (ours,) = outputs(evaluator(model), data)
    np.testing.assert_array_equal(stock, ours)
    assert (ours.dtype, stock.shape) == (np.int64, ours.shape)
    return ours


@each_place
@each_opset
def test_every_version_wherever_it_stands(opset: int, around: Any) -> None:
    for axis, keepdims in ((0, 1), (1, 0), (-1, 1)):
        given: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        expected = oracle_argmax(TIES, axis, bool(keepdims))
        result = run(around(argmax_model(opset=opset, **given)), TIES)
        np.testing.assert_array_equal(result, expected, strict=True)
        if opset >= 12:
            expected = oracle_argmax(TIES, axis, bool(keepdims), True)
            result = run(around(argmax_model(opset=opset, **given, select_last_index=1)), TIES)
            np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize(
    ("version", "element_type"),
    [(version, element_type) for version in VERSIONS for element_type in version.element_types],
    ids=lambda value: type_id(value) if isinstance(value, ElementType) else str(value),
)
def test_report_02_every_element_type_of_every_version(
    version: Version, element_type: ElementType
) -> None:
    data = random_elements(element_type, (5, 4, 6), seed=version.since_version)
    model = argmax_model(
        element_type.tensor_proto, data.shape, opset=version.since_version, axis=1
    )
    np.testing.assert_array_equal(run(model, data), oracle_argmax(data, 1), strict=True)


@each_place
def test_report_12_bfloat16_needs_opset_13(around: Any) -> None:
    data = np.array([[1, np.nan, 3]], ml_dtypes.bfloat16)
    for opset, allowed in ((12, False), (13, True)):
        model = around(argmax_model(TensorProto.BFLOAT16, (1, 3), opset=opset, axis=1))
        if allowed:
            assert run(model, data).tolist() == [[1]]
        else:
            refused(
                model, data, TypeError, r"tensor\(bfloat16\) is not supported by .* version 12"
            )


def refused(model: onnx.ModelProto, data: Any, kind: type[Exception], words: str) -> None:
    """The evaluator refuses to run, in our words: at first hand, or in the cause.

    If, Loop, Scan put words of their own around a TypeError's.
    """
    for session in (ReferenceEvaluator(model, new_ops=new_ops(model)), evaluator(model)):
        with pytest.raises(kind) as caught:
            outputs(session, data)
        error: BaseException = caught.value
        while error.__cause__ is not None:
            error = error.__cause__
        assert isinstance(error, kind)
        with pytest.raises(kind, match=rf"node 'labels' \(ArgMax, opset \d+\): .*{words}"):
            raise error


@each_place
@each_opset
def test_report_14_bool_is_refused(opset: int, around: Any) -> None:
    model = around(argmax_model(TensorProto.BOOL, (2, 2), opset=opset))
    words = r"tensor\(bool\) is not supported by .* view as uint8"
    refused(model, np.ones((2, 2), bool), TypeError, words)


@pytest.mark.parametrize(
    "data",
    [
        np.ones(3, np.complex64),
        np.array(["a", "b"]),
        np.array(["a", "b"], object),
        np.ones(3, ml_dtypes.float8_e4m3fn),
        np.ones(3, ml_dtypes.int4),
        [np.ones(3, np.float32)],
        None,
    ],
    ids=str,
)
def test_other_values_are_refused(data: Any) -> None:
    words = "data: (element type .* is not supported|a tensor is needed, got)"
    refused(argmax_model(shape=(3,)), data, TypeError, words)


@each_place
@pytest.mark.parametrize("opset", [10, 11])
def test_report_85_select_last_index_before_opset_12(opset: int, around: Any) -> None:
    model = around(argmax_model(opset=opset, select_last_index=1))
    words = (
        rf"node 'labels' \(ArgMax, opset {opset}\): ArgMax version (1|11): "
        "there is no attribute 'select_last_index'"
    )
    with pytest.raises(ValueError, match=words):
        evaluator(model)
    with pytest.raises(ValueError, match=words):
        ReferenceEvaluator(model, new_ops=new_ops(model))
    assert run(around(argmax_model(opset=opset)), TIES).tolist() == [[1, 0, 0]]


@each_place
@pytest.mark.parametrize("name", ["axes", "run", "input"])
def test_unknown_attributes_are_refused(name: str, around: Any) -> None:
    given: dict[str, Any] = {name: 1}
    model = around(argmax_model(**given))
    with pytest.raises(ValueError, match=f"there is no attribute '{name}'"):
        evaluator(model)


@each_place
@pytest.mark.parametrize("value", [1.0, "1", [1, 2]])
def test_attributes_of_another_kind_are_refused(value: Any, around: Any) -> None:
    model = around(argmax_model(axis=value))
    with pytest.raises(
        ValueError, match=r"node 'labels' .* attribute axis: one integer is needed"
    ):
        evaluator(model)


@each_place
@each_opset
@pytest.mark.parametrize("axis", [6, -4, 2**63 - 1, -(2**63)])
def test_report_25_axis_out_of_range(opset: int, axis: int, around: Any) -> None:
    model = around(argmax_model(shape=None, opset=opset, axis=axis))
    words = (
        rf"input '(data|kept)' of shape \(2, 3, 4\), axis {axis}: axis {axis} is out of range for "
        "data of rank 3: allowed is -3 to 2"
    )
    refused(model, np.ones((2, 3, 4), np.float32), np.exceptions.AxisError, words)


def test_report_26_one_axis_of_old_opsets() -> None:
    logits = np.random.default_rng(26).random((1, 3, 10), np.float32)
    for opset in (9, 11):
        result = run(argmax_model(shape=(1, 3, 10), opset=opset, axis=1, keepdims=0), logits)
        np.testing.assert_array_equal(result, np.argmax(logits, 1), strict=True)
        result = run(argmax_model(shape=("T", "N", "C"), opset=opset, axis=2), logits)
        np.testing.assert_array_equal(result, np.argmax(logits, 2, keepdims=True), strict=True)
        result = run(argmax_model(shape=(1, 1, 3, 10), opset=opset, axis=3), logits[None])
        assert result.shape == (1, 1, 3, 1)


def test_report_29_negative_axis_of_unknown_rank() -> None:
    session = evaluator(argmax_model(shape=None, axis=-1, keepdims=0))
    for shape in ((7,), (2, 3, 4, 5), (3, 1)):
        data = np.random.default_rng(29).random(shape, np.float32)
        (result,) = outputs(session, data)
        np.testing.assert_array_equal(result, np.argmax(data, -1))
        assert result.shape == shape[:-1]


@pytest.mark.parametrize("names", [(), ("axis",), ("keepdims",), ("axis", "keepdims")])
@pytest.mark.parametrize("last", [False, True])
def test_report_33_defaults_where_an_attribute_is_absent(
    names: tuple[str, ...], last: bool
) -> None:
    given: dict[str, Any] = {name: {"axis": 1, "keepdims": 0}[name] for name in names}
    expected = oracle_argmax(TIES, given.get("axis", 0), bool(given.get("keepdims", 1)), last)
    if last:
        given["select_last_index"] = 1
    model = argmax_model(**given)
    for around in (model, in_function(model)):
        np.testing.assert_array_equal(run(around, TIES), expected, strict=True)


@each_place
def test_report_36_only_an_empty_reduced_axis_is_an_error(around: Any) -> None:
    for keepdims, shape in ((0, (0,)), (1, (0, 1))):
        model = around(argmax_model(shape=("N", 80), axis=1, keepdims=keepdims))
        assert run(model, np.ones((0, 80), np.float32)).shape == shape
        model = around(argmax_model(shape=(80, "C"), axis=1, keepdims=keepdims))
        words = r"input '(data|kept)' of shape \(80, 0\), axis 1: data: axis 1 .* has length 0"
        refused(model, np.ones((80, 0), np.float32), ValueError, words)


def test_report_37_rank_0() -> None:
    for axis in (0, -1):
        assert run(argmax_model(shape=(), axis=axis), np.array(5, np.float32)).shape == ()
        # Other operators hand on NumPy scalars, which are tensors of rank 0.
        assert run(argmax_model(shape=(), axis=axis), np.float32(5)) == 0


def test_report_49_rank_0_in_a_branch() -> None:
    assert run(in_if(argmax_model(shape=(), axis=0)), np.array(5, np.float32)) == 0


@each_place
def test_report_84_an_image_without_boxes(around: Any) -> None:
    model = around(argmax_model(shape=("N", "C"), axis=1))
    words = r"input '(data|kept)' of shape \(0, 0\), axis 1: data: axis 1 of .* has length 0"
    refused(model, np.ones((0, 0), np.float32), ValueError, words)


def test_a_node_without_a_name_is_told_by_its_output() -> None:
    model = argmax_model(axis=6)
    model.graph.node[0].name = ""
    with pytest.raises(ValueError, match=r"node of output 'reduced' \(ArgMax, opset 13\)"):
        outputs(evaluator(model), TIES)


def test_flags_are_false_at_0_alone() -> None:
    model = argmax_model(axis=1, keepdims=-2, select_last_index=7)
    assert run(model, TIES).tolist() == [[2], [1]]


def test_the_operator_set_is_that_of_the_function() -> None:
    """The evaluator takes what the checker would not: another version inside than outside."""
    data = np.ones((1, 2), ml_dtypes.bfloat16)
    model = in_function(argmax_model(TensorProto.BFLOAT16, (1, 2), opset=21), opset=12)
    refused(model, data, TypeError, r"tensor\(bfloat16\) is not supported by ArgMax version 12")
    model = in_function(argmax_model(TensorProto.BFLOAT16, (1, 2), opset=12), opset=13)
    assert run(model, data).tolist() == [[0, 0]]


def test_functions_that_call_functions() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
        graph (float[N, 3] data) => (int64[N] a, int64[N, 1] b, int64[N] c) {
            a = local.pick <along = 1> (data)
            b = local.outer (data)
            c = local.default (data)
        }
        <domain: "local", opset_import: ["" : 13]>
        pick <along, keep: int = 0> (x) => (y) {
            y = ArgMax <axis: int = @along, keepdims: int = @keep, select_last_index = 1> (x)
        }
        <domain: "local", opset_import: ["" : 13, "local" : 1]>
        outer (x) => (y) { y = local.pick <along = -1, keep = 1> (x) }
        <domain: "local", opset_import: ["" : 13]>
        default <along> (x) => (y) {
            t = Transpose (x)
            y = ArgMax <axis: int = @along, keepdims = 0> (t)
        }
    """)
    onnx.checker.check_model(model)
    (a, b, c) = outputs(ReferenceEvaluator(model, new_ops=new_ops(model)), TIES)
    assert (a.tolist(), b.tolist(), c.tolist()) == ([2, 1], [[2], [1]], [1, 0])
    # The evaluator of onnx wants functions before those that call them.
    model.functions.reverse()
    (a, b, c) = outputs(evaluator(model), TIES)
    assert (a.tolist(), b.tolist(), c.tolist()) == ([2, 1], [[2], [1]], [1, 0])


@pytest.mark.parametrize("around", [in_if, in_loop, in_scan])
def test_attributes_of_a_call_reach_every_graph_of_the_function(around: Any) -> None:
    model = in_function(argmax_model(axis=1, keepdims=0, select_last_index=1))
    (function,) = model.functions
    nested = around(argmax_model())
    bodies = [a.g for node in nested.graph.node for a in node.attribute if a.HasField("g")]
    for inner in (node for body in bodies for node in body.node if node.op_type == "ArgMax"):
        inner.attribute.extend(function.node[0].attribute)
    constants = [
        onnx.helper.make_node("Constant", [], [tensor.name], value=tensor)
        for tensor in nested.graph.initializer
    ]
    function.ClearField("node")
    function.node.extend([*constants, *nested.graph.node])
    assert run(model, TIES).tolist() == [2, 1]


def test_overloads_and_a_function_named_like_an_operator() -> None:
    model = in_function(argmax_model(axis=1, keepdims=0))
    model.ir_version = 10
    (first,) = model.functions
    # Cast has a required attribute, which this function must not be asked for.
    first.name = model.graph.node[0].op_type = "Cast"
    second = model.functions.add()
    second.CopyFrom(first)
    second.overload = "last"
    second.node[0].attribute.append(onnx.helper.make_attribute("select_last_index", 1))
    assert run(model, TIES).tolist() == [1, 0]
    model.graph.node[0].overload = "last"
    assert run(model, TIES).tolist() == [2, 1]
    model.graph.node[0].overload = "other"
    with pytest.raises(ValueError, match="has no overload 'other'; it has '', 'last'"):
        evaluator(model)


def test_a_call_with_an_unknown_attribute() -> None:
    model = in_function(argmax_model(axis=1))
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("other", 1))
    with pytest.raises(ValueError, match=r"node 'call': .* 'Pick' has no attribute 'other'"):
        evaluator(model)


def test_inputs_that_a_call_leaves_out() -> None:
    model = in_function(argmax_model(axis=1, keepdims=0))
    model.functions[0].input.append("more")
    assert run(model, TIES).tolist() == [1, 0]


def test_a_function_by_itself() -> None:
    """The evaluator links attributes itself where it is given a function."""
    (function,) = in_function(argmax_model(axis=1, keepdims=0)).functions
    session = ReferenceEvaluator(function, new_ops=new_ops())
    (result,) = outputs(session, TIES, attributes={"axis": 0, "keepdims": 1})
    assert result.tolist() == [[1, 0, 0]]
    with pytest.raises(TypeError, match=r"node 'labels' .* attribute axis: one integer"):
        outputs(session, TIES, attributes={"axis": 1.5, "keepdims": 1})


def test_a_call_linked_to_a_function_by_itself_is_refused() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
        graph (float[N, 3] data) => (int64[N] a) { a = local.outer <along = 1> (data) }
        <domain: "local", opset_import: ["" : 13]>
        pick <along> (x) => (y) { y = ArgMax <axis: int = @along, keepdims = 0> (x) }
        <domain: "local", opset_import: ["" : 13, "local" : 1]>
        outer <along> (x) => (y) { y = local.pick <along: int = @along> (x) }
    """)
    (result,) = outputs(evaluator(model), TIES)
    assert result.tolist() == [1, 0]
    with pytest.raises(ValueError, match="evaluate the model, not the function alone"):
        ReferenceEvaluator(model.functions[1], new_ops=new_ops(model))


class Twice(OpRun):
    """An operator of a user's own."""

    op_domain: ClassVar[str] = "own"

    def _run(self, data: Array) -> tuple[Array]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return (data * 2,)


def test_operators_of_the_caller_work_beside_and_inside_functions() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13, "own" : 1, "local" : 1]>
        graph (float[N, 3] data) => (int64[N] a) { a = local.outer (data) }
        <domain: "local", opset_import: ["" : 13, "own" : 1]>
        outer (x) => (y) { t = own.Twice (x)  y = ArgMax <axis = 1, keepdims = 0> (t) }
    """)
    (result,) = outputs(evaluator(model, operators=[Twice]), TIES)
    assert result.tolist() == [1, 0]


def test_the_evaluators_own_argmax_is_not_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bare evaluation in a function would run onnx's code; the classes must be what runs."""
    from onnx.reference.ops import op_argmax

    def no_call(*_: Any, **__: Any) -> Any:
        raise AssertionError("onnx's own ArgMax ran")

    monkeypatch.setattr(op_argmax.ArgMax_12, "_run", no_call)
    monkeypatch.setattr(op_argmax.ArgMax_1, "_run", no_call)
    for around in AROUND.values():
        model = around(argmax_model(axis=1))
        assert run(model, TIES).tolist() == [[1], [0]]
        with pytest.raises(AssertionError, match="onnx's own"):
            outputs(ReferenceEvaluator(model), TIES)


def test_shape_annotations_are_checked_through_functions() -> None:
    pytest.importorskip("onnx.reference.shape_annotation_checker", exc_type=ImportError)
    model = in_function(argmax_model(shape=("N", "C"), axis=1))
    session = ReferenceEvaluator(model, new_ops=new_ops(model), check_shape_annotations=True)
    (result,) = outputs(session, TIES)
    assert result.tolist() == [[1], [0]]


def test_a_node_by_itself() -> None:
    result: Any = ArgMax.eval(TIES, axis=1, keepdims=0)  # pyright: ignore[reportArgumentType]
    assert result.tolist() == [1, 0]
    (result,) = outputs(ReferenceEvaluator(argmax_node(axis=1), new_ops=new_ops()), TIES)
    assert result.tolist() == [[1], [0]]
