# SPDX-License-Identifier: Apache-2.0
"""The backend: ONNX's interface, whole models, single nodes, and every refusal in clear words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.parser
import pytest
from onnx import TensorProto
from onnx.backend.base import Backend, BackendRep

from models import AROUND, argmax_model, argmax_node, in_function, in_if
from onnx_argmax import backend
from onnx_argmax._element_types import ELEMENT_TYPES, ElementType
from oracle import Array, oracle_argmax
from samples import random_elements, type_id

TIES = np.array([[1, 3, 3], [2, 2, 1]], np.float32)
each_place = pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)


def run(model: onnx.ModelProto, *inputs: Array) -> Any:
    outputs = backend.run_model(model, list(inputs))
    return outputs[0] if len(outputs) == 1 else outputs


def parsed(body: str, *, opset: int = 21) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {body}')


# The interface.


def test_the_interface_is_that_of_onnx() -> None:
    assert issubclass(backend.ArgMaxBackend, Backend)
    prepared = backend.prepare(argmax_model())
    assert isinstance(prepared, BackendRep)
    for name in ("is_compatible", "prepare", "run_model", "run_node", "supports_device"):
        assert getattr(backend, name) == getattr(backend.ArgMaxBackend, name)


@pytest.mark.parametrize("device", ["CPU", "CPU:0", "CPU:1"])
def test_devices_that_are_taken(device: str) -> None:
    assert backend.supports_device(device)
    assert backend.run_model(argmax_model(axis=1), [TIES], device)[0].tolist() == [[1], [0]]


@pytest.mark.parametrize("device", ["CUDA", "CUDA:0", "cpu", "", "GPU", "CPU:", "CPU:x"])
def test_devices_that_are_refused(device: str) -> None:
    assert not backend.supports_device(device)
    words = f"device: models run on 'CPU' alone, got '{device}'"
    with pytest.raises(ValueError, match=words):
        backend.prepare(argmax_model(), device)
    with pytest.raises(ValueError, match=words):
        backend.run_node(argmax_node(), [TIES], device)
    assert not backend.is_compatible(argmax_model(), device)


def test_inputs_by_name_by_position_and_alone() -> None:
    prepared = backend.prepare(argmax_model(axis=1, keepdims=0))
    assert (prepared.input_names, prepared.output_names) == (("data",), ("reduced",))
    for inputs in ({"data": TIES}, [TIES], (TIES,), TIES):
        outputs = prepared.run(inputs)
        assert isinstance(outputs, tuple)
        assert outputs[0].tolist() == [1, 0]
        named: Any = outputs
        assert named["reduced"].tolist() == [1, 0]


def test_inputs_with_an_initializer_may_be_left_out() -> None:
    model = parsed("""
        g (float[2, 3] data, float[3] shift) => (int64[2] reduced) <float[3] shift = {0, 0, 5}> {
            moved = Add (data, shift)
            reduced = ArgMax <axis = 1, keepdims = 0> (moved)
        }
    """)
    assert run(model, TIES).tolist() == [2, 2]
    assert run(model, TIES, np.array([9, 0, 0], np.float32)).tolist() == [0, 0]
    given = {"shift": np.array([9, 0, 0], np.float32), "data": TIES}
    assert backend.run_model(model, given)[0].tolist() == [0, 0]


def test_wrong_inputs_are_named() -> None:
    prepared = backend.prepare(argmax_model(shape=("N", 3)))
    for inputs, kind, words in (
        ([], ValueError, r"inputs: the model has 1 \(data\), got 0"),
        ([TIES, TIES], ValueError, r"inputs: the model has 1 \(data\), got 2"),
        ({"date": TIES}, ValueError, "the model has no input 'date'; its inputs are 'data'"),
        ({}, ValueError, "no array is given for 'data'"),
        ([TIES.T], ValueError, r"takes shape \(N, 3\), got \(3, 2\): axis 1 must have length 3"),
        ([TIES[0]], ValueError, "takes rank 2, .* got rank 1"),
        ([TIES.astype(np.float64)], TypeError, r"takes tensor\(float\), .* got float64"),
    ):
        with pytest.raises(kind, match=words):
            prepared.run(inputs)


def test_models_come_from_files_too(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(argmax_model(axis=1).SerializeToString())
    for given in (path, str(path)):
        assert backend.run_model(given, [TIES])[0].tolist() == [[1], [0]]
        assert backend.is_compatible(given)
    with pytest.raises(FileNotFoundError, match="no such file"):
        backend.is_compatible(tmp_path / "none.onnx")
    with pytest.raises(TypeError, match=r"an onnx.ModelProto or a path is needed, got bytes"):
        backend.prepare(argmax_model().SerializeToString())  # pyright: ignore[reportArgumentType]


def test_the_callers_model_is_left_as_it_was() -> None:
    model = argmax_model(shape=None, axis=1)
    model.opset_import[0].domain = "ai.onnx"
    before = model.SerializeToString()
    assert run(model, TIES).tolist() == [[1], [0]]
    assert model.SerializeToString() == before


def test_models_older_than_operator_sets() -> None:
    model = argmax_model(axis=1)
    model.ir_version = 2
    del model.opset_import[:]
    assert run(model, TIES).tolist() == [[1], [0]]
    model = argmax_model(TensorProto.BFLOAT16)
    model.ir_version = 2
    del model.opset_import[:]
    with pytest.raises(TypeError, match=r"opset 1\): .*bfloat16\) is not supported by ArgMax ver"):
        backend.prepare(model)


def test_is_compatible_says_whether_the_model_can_run() -> None:
    assert backend.is_compatible(argmax_model())
    assert not backend.is_compatible(argmax_model(TensorProto.BOOL))
    assert not backend.is_compatible(argmax_model(other=1))
    assert not backend.is_compatible(parsed("g (float[2] data) => (float[2] y) { y = No (data) }"))
    unknown = argmax_model()
    unknown.graph.node[0].domain = "own"
    unknown.opset_import.append(onnx.helper.make_opsetid("own", 1))
    assert not backend.is_compatible(unknown)
    with pytest.raises(NotImplementedError, match="cannot run it: Node type 'ArgMax' from domain"):
        backend.prepare(unknown)


def test_options_of_other_backends_are_let_through() -> None:
    prepared = backend.prepare(argmax_model(axis=1), "CPU", rtol=1e-3)
    assert prepared.run([TIES], some_option=1)[0].tolist() == [[1], [0]]


# Single nodes.


def test_run_node() -> None:
    assert backend.run_node(argmax_node(axis=1), [TIES])[0].tolist() == [[1], [0]]
    assert backend.run_node(argmax_node(axis=1), TIES)[0].tolist() == [[1], [0]]
    assert backend.run_node(argmax_node(axis=1), {"data": TIES})[0].tolist() == [[1], [0]]
    pair = onnx.helper.make_node("Add", ["a", "a"], ["b"])
    for inputs in ([TIES, TIES], {"a": TIES}):
        assert backend.run_node(pair, inputs)[0].tolist() == (2 * TIES).tolist()
    with pytest.raises(ValueError, match=r"inputs: the node has 1 \(data\), got 2"):
        backend.run_node(argmax_node(), [TIES, TIES])


@pytest.mark.parametrize(
    "imports",
    [
        {"opset_version": 11},
        {"opset_imports": {"": 11}},
        {"opset_imports": [onnx.helper.make_opsetid("", 11)]},
    ],
    ids=["version", "mapping", "protos"],
)
def test_run_node_of_an_operator_set(imports: dict[str, Any]) -> None:
    last = argmax_node(select_last_index=1)
    with pytest.raises(ValueError, match=r"opset 11\): ArgMax version 11: there is no attribute"):
        backend.run_node(last, [TIES], **imports)
    with pytest.raises(TypeError, match=r"tensor\(bfloat16\) is not supported by ArgMax vers"):
        backend.run_node(argmax_node(), [TIES.astype(ml_dtypes.bfloat16)], **imports)
    assert backend.run_node(argmax_node(), [TIES], **imports)[0].tolist() == [[1, 0, 0]]


def test_run_node_takes_the_newest_operator_set() -> None:
    node = argmax_node(axis=-1, select_last_index=1)
    data = TIES.astype(ml_dtypes.bfloat16)
    assert backend.run_node(node, [data])[0].tolist() == [[2], [1]]


def test_run_node_of_another_domain_and_with_inputs_left_out() -> None:
    node = onnx.helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=2.0)
    assert backend.run_node(node, [TIES])[0].tolist() == [[0, 1, 1], [0, 0, 0]]
    node = onnx.helper.make_node("Clip", ["x", "", "high"], ["y"])
    for inputs in ([TIES, None, np.float32(2)], [TIES, np.float32(2)]):
        assert backend.run_node(node, inputs)[0].tolist() == [[1, 2, 2], [2, 2, 1]]


def test_run_node_with_a_graph_inside() -> None:
    node = in_if(argmax_model(axis=1)).graph.node[0]
    inputs = {"if_yes": np.array(True), "data": TIES}
    assert backend.run_node(node, inputs)[0].tolist() == [[1], [0]]
    with pytest.raises(ValueError, match=r"not a valid ONNX node: .* input '(data|kept)' of node"):
        backend.run_node(node, [np.array(True)])


def test_run_node_checks_outputs_info() -> None:
    good = [(np.dtype(np.int64), (2, 1))]
    assert backend.run_node(argmax_node(axis=1), [TIES], outputs_info=good)[0].shape == (2, 1)
    for wrong in ([(np.dtype(np.int32), (2, 1))], [(np.dtype(np.int64), (2,))], []):
        with pytest.raises(ValueError, match="outputs_info: the outputs of ArgMax are"):
            backend.run_node(argmax_node(axis=1), [TIES], outputs_info=wrong)


def test_run_node_refuses_an_invalid_node() -> None:
    with pytest.raises(ValueError, match=r"node 'labels' .* there is no attribute 'other'"):
        backend.run_node(argmax_node(other=1), [TIES])
    with pytest.raises(ValueError, match="not a valid ONNX node: No Op registered for Nothing"):
        backend.run_node(onnx.helper.make_node("Nothing", ["x"], ["y"]), [TIES])


# Models that are refused when they are loaded.


@each_place
@pytest.mark.parametrize("opset", [10, 13])
@pytest.mark.parametrize("axis", [6, 3, -4, 2**63 - 1, -(2**63)])
def test_report_25_axis_out_of_range_where_the_rank_is_known(
    around: Any, opset: int, axis: int
) -> None:
    model = around(argmax_model(shape=(2, 3, 4), opset=opset, axis=axis))
    words = rf"node 'labels.*' \(ArgMax, opset {opset}\): .*axis {axis} .* rank 3: .* -3 to 2"
    with pytest.raises(np.exceptions.AxisError, match=words):
        backend.prepare(model)


@each_place
def test_report_12_bfloat16_needs_opset_13(around: Any) -> None:
    model = around(argmax_model(TensorProto.BFLOAT16, opset=12))
    words = r"node 'labels.*' \(ArgMax, opset 12\): .*tensor\(bfloat16\) is not .* version 12"
    with pytest.raises(TypeError, match=words):
        backend.prepare(model)
    data = TIES.astype(ml_dtypes.bfloat16)
    assert run(argmax_model(TensorProto.BFLOAT16, opset=13, axis=1), data).tolist() == [[1], [0]]
    # Scan itself takes bfloat16 from operator set 16 on.
    model = around(argmax_model(TensorProto.BFLOAT16, opset=16, axis=1))
    assert run(model, data).tolist() == [[1], [0]]


@each_place
@pytest.mark.parametrize(
    "number", [TensorProto.BOOL, TensorProto.FLOAT8E4M3FN, TensorProto.STRING, TensorProto.INT4]
)
def test_report_14_types_that_no_version_takes(around: Any, number: int) -> None:
    name = TensorProto.DataType.Name(number).lower()
    words = rf"node 'labels.*: .*tensor\({name}\) is not supported by .* allowed are tensor\(float"
    with pytest.raises(TypeError, match=words):
        backend.prepare(around(argmax_model(number, opset=21)))


@each_place
def test_report_85_attributes_that_the_version_lacks(around: Any) -> None:
    for opset, last in ((10, 1), (11, 0)):
        words = rf"node 'labels' \(ArgMax, opset {opset}\): .* no attribute 'select_last_index'"
        with pytest.raises(ValueError, match=words):
            backend.prepare(around(argmax_model(opset=opset, select_last_index=last)))
        assert run(around(argmax_model(opset=opset, axis=1)), TIES).tolist() == [[1], [0]]


@each_place
def test_attributes_of_another_kind(around: Any) -> None:
    with pytest.raises(ValueError, match=r"labels.*axis"):
        backend.prepare(around(argmax_model(axis=1.0)))


def test_report_50_an_index_cannot_be_quantised() -> None:
    for quantize in ("QuantizeLinear (i, s, z)", "DequantizeLinear (i, s)"):
        model = parsed(f"""
            g (float[2, 3] data) => (float[1, 3] y) <float s = {{1}}, uint8 z = {{0}}> {{
                i = ArgMax (data)
                [pair] q = {quantize}
                y = Cast <to = 1> (q)
            }}
        """)
        words = "node 'pair' .* takes 'i', the output of an ArgMax: .* cannot be quantised"
        with pytest.raises(ValueError, match=words):
            backend.prepare(model)


def test_types_that_other_operators_do_not_take() -> None:
    model = parsed("g (bool[2] data) => (bool[2] y) { y = Relu (data) }")
    with pytest.raises(ValueError, match=r"not a valid ONNX model: .*Relu.*tensor\(bool\)"):
        backend.prepare(model)


@pytest.mark.parametrize(
    "operator", ["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "ArgMax"]
)
def test_a_node_without_inputs(operator: str) -> None:
    model = argmax_model()
    model.graph.node.add(op_type=operator, output=["quantised"])
    with pytest.raises(ValueError, match=r"model: not a valid ONNX model: .*input size 0 not"):
        backend.prepare(model)
    assert not backend.is_compatible(model)


@pytest.mark.parametrize("operator", ["ArgMax", "Softmax"])
@pytest.mark.parametrize("around", [AROUND["graph"], AROUND["if"], AROUND["loop"]])
def test_an_attribute_of_a_caller_outside_of_a_function(around: Any, operator: str) -> None:
    model = argmax_model()
    node = model.graph.node.add(op_type=operator, name="first", input=["data"], output=["rows"])
    attribute = onnx.AttributeProto(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="a")
    node.attribute.append(attribute)
    model.graph.node.reverse()
    if around is AROUND["loop"]:  # which renames the output of each of its nodes
        del model.graph.node[1]
        node = model.graph.node[0]
    model = around(model)
    words = rf"node 'first' \({operator}\): attribute 'axis' refers to 'a' of a function's caller"
    with pytest.raises(ValueError, match=f"model: {words}"):
        backend.prepare(model)
    assert not backend.is_compatible(model)
    with pytest.raises(ValueError, match=words):
        backend.run_node(node, [TIES])


@pytest.mark.parametrize("number", [0, 999, -1])
@pytest.mark.parametrize("kind", ["tensor", "sequence", "optional"])
def test_inputs_of_no_element_type(number: int, kind: str) -> None:
    declared = onnx.helper.make_tensor_type_proto(number, (2,))
    if kind == "sequence":
        declared = onnx.helper.make_sequence_type_proto(declared)
    elif kind == "optional":
        declared = onnx.helper.make_optional_type_proto(declared)
    model = argmax_model(opset=16)
    model.graph.input.append(onnx.helper.make_value_info("odd", declared))
    words = f"model: not a valid ONNX model: input 'odd' has the element type number {number}"
    with pytest.raises(ValueError, match=words):
        backend.prepare(model)
    assert not backend.is_compatible(model)


@each_place
def test_an_argmax_of_no_element_type(around: Any) -> None:
    with pytest.raises(ValueError, match="input 'data' has the element type number 0; one of"):
        backend.prepare(around(argmax_model(0)))


def test_an_axis_that_the_caller_sets_is_not_guessed() -> None:
    model = in_function(argmax_model(shape=(0, 3), axis=1))
    model.functions[0].value_info.append(model.graph.input[0])
    assert run(model, np.ones((0, 3), np.float32)).shape == (0, 1)


def test_a_function_of_another_version_than_the_model() -> None:
    """The specification asks that a function's operators be those of the model's own set."""
    with pytest.raises(ValueError, match="not compatible with the version imported by model"):
        backend.prepare(in_function(argmax_model(opset=13), opset=12))
    assert run(in_function(argmax_model(opset=21, axis=1), opset=13), TIES).tolist() == [[1], [0]]


def test_functions_that_would_be_written_out_without_end() -> None:
    model = in_function(argmax_model(), opset=13)
    (function,) = model.functions
    for level in range(40):
        outer = onnx.FunctionProto()
        outer.CopyFrom(function)
        outer.name = f"level{level}"
        call = onnx.helper.make_node(
            model.functions[-1].name, list(outer.input), list(outer.output), domain=outer.domain
        )
        other = onnx.helper.make_node(
            model.functions[-1].name, list(outer.input), ["unused"], domain=outer.domain
        )
        del outer.node[:]
        outer.node.extend([call, other])
        outer.opset_import.append(onnx.helper.make_opsetid(outer.domain, 1))
        model.functions.append(outer)
    model.graph.node[0].op_type = model.functions[-1].name
    with pytest.raises(ValueError, match="call one another so often"):
        backend.prepare(model)


# Models that run.


def test_report_01_token_ids() -> None:
    tokens = np.zeros((1, 77), np.int64)
    tokens[0, 9] = 49407
    for opset in (11, 12, 13):
        model = argmax_model(TensorProto.INT64, (1, 77), opset=opset, axis=-1, keepdims=0)
        assert run(model, tokens).tolist() == [9]


@pytest.mark.parametrize("element_type", ELEMENT_TYPES, ids=type_id)
def test_report_02_every_element_type(element_type: ElementType) -> None:
    data = random_elements(element_type, (3, 4, 5), seed=2)
    model = argmax_model(element_type.tensor_proto, ("A", 4, 5), axis=1)
    np.testing.assert_array_equal(run(model, data), oracle_argmax(data, 1), strict=True)


def test_report_04_the_disguises_of_bfloat16() -> None:
    data = np.array([1, np.nan, 3], ml_dtypes.bfloat16)
    raw = onnx.helper.make_tensor("t", TensorProto.BFLOAT16, (3,), data.tobytes(), raw=True)
    structured = np.dtype((np.uint16, {"bfloat16": (np.uint16, 0)}))
    model = argmax_model(TensorProto.BFLOAT16, (3,))
    disguises = (
        data,
        onnx.numpy_helper.to_array(raw),
        data.view(np.uint16).view(structured),
        data.view("V2"),
    )
    for disguise in disguises:
        assert run(model, disguise).tolist() == [1]
    bits = np.array([0x7FC0, 0xBF80, 0x4040], np.uint16)
    assert run(argmax_model(TensorProto.UINT16, (3,)), bits).tolist() == [1]
    with pytest.raises(TypeError, match=r"view\(ml_dtypes.bfloat16\)"):
        run(model, bits)
    with pytest.raises(TypeError, match=r"takes tensor\(uint16\)"):
        run(argmax_model(TensorProto.UINT16, (3,)), data)


def test_report_07_float16_overflow_ties() -> None:
    model = parsed("""
        g (float[1, N] data) => (int64[1, 1] reduced) {
            half = Cast <to = 10> (data)
            reduced = ArgMax <axis = 1> (half)
        }
    """)
    for row in ([70000, 1e6, 3], [2048, 2049, 1]):
        with np.errstate(over="ignore"):
            assert run(model, np.array([row], np.float32)).tolist() == [[0]]


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_report_09_a_quantised_net_ends_in_argmax(kind: str) -> None:
    scores = np.random.default_rng(9).integers(0, 99, (1, 21, 8, 8)).astype(kind)
    number = onnx.helper.np_dtype_to_tensor_dtype(scores.dtype)
    direct = run(argmax_model(number, (1, 21, "H", "W"), axis=1), scores)
    np.testing.assert_array_equal(direct, oracle_argmax(scores, 1), strict=True)
    model = parsed(f"""
        g (float[1, 21, H, W] x) => (int64[1, 1, H, W] y)
        <float scale = {{0.25}}, {kind} zero = {{3}}> {{
            q = QuantizeLinear (x, scale, zero)
            d = DequantizeLinear (q, scale, zero)
            y = ArgMax <axis = 1> (d)
        }}
    """)
    real = (scores.astype(np.float32) - 3) * np.float32(0.25)
    np.testing.assert_array_equal(run(model, real), direct, strict=True)


def test_report_11_int32_is_not_cast() -> None:
    data = np.array([[[2**24, 2**24 + 1, 2**24]] * 3] * 2, np.int32)
    assert (run(argmax_model(TensorProto.INT32, (2, 3, 3), axis=2), data) == 1).all()


def test_report_27_the_index_and_not_the_value() -> None:
    logits = np.random.default_rng(27).permutation(20).reshape(1, 5, 2, 2).astype(np.float32)
    result = run(argmax_model(shape=(1, 5, 2, 2), axis=1), logits)
    np.testing.assert_array_equal(result, oracle_argmax(logits, 1), strict=True)
    model = parsed("""
        g (float[1, 2] x) => (int64[1, 1] y) {
            p = Softmax <axis = 1> (x)
            y = ArgMax <axis = 1> (p)
        }
    """)
    assert run(model, np.array([[1, 0]], np.float32)).tolist() == [[0]]


def test_report_29_negative_axis_of_unknown_rank() -> None:
    prepared = backend.prepare(argmax_model(shape=None, axis=-1, keepdims=0))
    for shape in ((7,), (2, 3, 4, 5)):
        data = np.random.default_rng(29).random(shape, np.float32)
        np.testing.assert_array_equal(prepared.run([data])[0], np.argmax(data, -1))


def test_report_32_flattened() -> None:
    model = parsed("""
        g (float[3, 4] x) => (int64 y) <int64[1] flat = {-1}> {
            line = Reshape (x, flat)
            y = ArgMax <axis = 0, keepdims = 0> (line)
        }
    """)
    data = np.zeros((3, 4), np.float32)
    data[2, 1] = 1
    result = run(model, data)
    assert (result.shape, result.dtype, int(result)) == ((), np.int64, 9)


@pytest.mark.parametrize(
    "given", [{}, {"axis": 1}, {"keepdims": 0}, {"axis": 1, "keepdims": 0}], ids=str
)
@pytest.mark.parametrize("last", [None, 0, 1])
def test_report_33_defaults_where_an_attribute_is_absent(
    given: dict[str, int], last: int | None
) -> None:
    expected = oracle_argmax(
        TIES, given.get("axis", 0), bool(given.get("keepdims", 1)), bool(last)
    )
    attributes: dict[str, Any] = dict(given)
    if last is not None:
        attributes["select_last_index"] = last
    for around in AROUND.values():
        result = run(around(argmax_model(**attributes)), TIES)
        np.testing.assert_array_equal(result, expected, strict=True)


@each_place
def test_report_36_empty_batches(around: Any) -> None:
    for keepdims, shape in ((0, (0,)), (1, (0, 1))):
        model = around(argmax_model(shape=("N", 80), axis=1, keepdims=keepdims))
        assert run(model, np.ones((0, 80), np.float32)).shape == shape
        model = around(argmax_model(shape=(80, "C"), axis=1, keepdims=keepdims))
        words = r"node 'labels' .* input '(data|kept)' of shape \(80, 0\), axis 1: .* has length 0"
        with pytest.raises(ValueError, match=words):
            run(model, np.ones((80, 0), np.float32))
        with pytest.raises(
            ValueError, match=r"node 'labels.* input '(data|kept).*axis 1 .* length 0"
        ):
            backend.prepare(around(argmax_model(shape=(80, 0), axis=1, keepdims=keepdims)))


@each_place
def test_report_37_and_49_rank_0(around: Any) -> None:
    for shape in ((), None):
        for axis in (0, -1):
            model = around(argmax_model(shape=shape, axis=axis))
            result = run(model, np.array(5, np.float32))
            assert (result.shape, result.tolist()) == ((), 0)
    with pytest.raises(np.exceptions.AxisError, match="rank 0: allowed is -1 to 0"):
        backend.prepare(around(argmax_model(shape=(), axis=1)))


def test_report_46_what_follows_sees_the_right_rank() -> None:
    model = parsed("""
        g (float[2, 3, 4] x) => (int64[2, 4] kept, int64[2, 4] dropped, int64[2, 4, 1] rows)
        <int64[1] axes = {1}, int64[3, 1] table = {10, 20, 30}> {
            one = ArgMax <axis = -2, keepdims = 1> (x)
            kept = Squeeze (one, axes)
            dropped = ArgMax <axis = -2, keepdims = 0> (x)
            rows = Gather <axis = 0> (table, dropped)
        }
    """)
    data = np.random.default_rng(46).random((2, 3, 4), np.float32)
    kept, dropped, rows = run(model, data)
    np.testing.assert_array_equal(kept, np.argmax(data, 1), strict=True)
    np.testing.assert_array_equal(dropped, kept, strict=True)
    np.testing.assert_array_equal(rows, 10 * (kept[..., None] + 1), strict=True)


def test_report_47_the_index_is_int64_until_a_cast() -> None:
    model = parsed("""
        g (float[2, 3] x) => (int32[2, 1] narrow, uint8[2, 1] byte, int64[4, 1] both) {
            i = ArgMax <axis = 1> (x)
            narrow = Cast <to = 6> (i)
            byte = Cast <to = 2> (i)
            both = Concat <axis = 0> (i, i)
        }
    """)
    narrow, byte, both = run(model, TIES)
    assert [array.dtype.name for array in (narrow, byte, both)] == ["int32", "uint8", "int64"]
    assert narrow.tolist() == byte.tolist() == [[1], [0]]
    assert both.tolist() == [[1], [0], [1], [0]]


def test_report_48_a_new_shape_on_each_run() -> None:
    prepared = backend.prepare(argmax_model(shape=("N", "C", "H", "W"), axis=1, keepdims=0))
    for shape in ((1, 3, 2, 2), (2, 5, 1, 7), (1, 1, 1, 1)):
        data = np.random.default_rng(48).random(shape, np.float32)
        (result,) = prepared.run([data])
        np.testing.assert_array_equal(result, np.argmax(data, 1), strict=True)


def test_report_84_the_message_has_node_shape_and_axis() -> None:
    words = (
        r"^node 'labels' \(ArgMax, opset 13\): input '(data|kept)' of shape \(0, 0\), axis 1: "
        r"data: axis 1 of shape \(0, 0\) has length 0"
    )
    for around in AROUND.values():
        with pytest.raises(ValueError, match=words):
            run(around(argmax_model(shape=("N", "C"), axis=1)), np.ones((0, 0), np.float32))


@each_place
def test_a_type_that_only_the_run_knows(around: Any) -> None:
    """A type error keeps its words through the evaluator's own."""
    model = around(argmax_model(TensorProto.FLOAT))
    model.graph.input[0].type.Clear()
    prepared = backend.PreparedModel(model)
    words = r"^node 'labels' \(ArgMax, opset 13\): .*tensor\(bool\) is not supported"
    with pytest.raises(TypeError, match=words):
        prepared.run([np.ones((2, 2), bool)])


def test_a_whole_classifier_with_a_sequence() -> None:
    model = parsed("""
        g (float[N, 4] x) => (int64[N] label, float[N, 3] scores, seq(int64[N]) all)
        <float[4, 3] w = {1,0,0, 0,1,0, 0,0,1, 1,1,1}, float[3] b = {0, 0.5, 0}> {
            hidden = Gemm (x, w, b)
            scores = Softmax <axis = 1> (hidden)
            label = ArgMax <axis = 1, keepdims = 0> (scores)
            all = SequenceConstruct (label, label)
        }
    """)
    data = np.eye(4, dtype=np.float32)
    label, scores, everything = run(model, data)
    assert label.tolist() == [0, 1, 2, 1]
    assert scores.shape == (4, 3)
    assert [array.tolist() for array in everything] == [label.tolist()] * 2
