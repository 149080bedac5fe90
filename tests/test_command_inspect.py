# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax inspect``: the facts of every ArgMax, of any model that a file can hold."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import DIGITS, in_process, in_shell, in_this_process, python

pytest.importorskip("typer")
onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from models import AROUND, argmax_model, argmax_node, in_function, in_if, model_of  # noqa: E402
from onnx_argmax.operator import VERSIONS, version_for_opset  # noqa: E402

DATA = helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 3])
REDUCED = helper.make_tensor_value_info("reduced", TensorProto.INT64, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


def inspected(path: Path, model: Any = None) -> list[dict[str, Any]]:
    """The facts by way of JSON; the table is drawn too, and shows nothing a terminal obeys."""
    if model is not None:
        path.write_bytes(model.SerializeToString())
    table = in_this_process("inspect", path).accepted()
    assert not {c for c in table if not c.isprintable()} - {"\n"}
    return json.loads(in_this_process("inspect", path, "--json").accepted())["argmax"]


def only(path: Path, model: Any = None) -> dict[str, Any]:
    (facts,) = inspected(path, model)
    return facts


def runs(facts: dict[str, Any]) -> tuple[bool | None, bool | None]:
    """Whether the CPU provider could run it, and ours."""
    return facts["cpu_provider"]["runs"], facts["onnx_argmax"]["runs"]


def refused_for(facts: dict[str, Any], *words: str) -> None:
    """Assert that nobody could run it, and why."""
    assert runs(facts) == (False, False)
    for word in words:
        assert any(word in problem for problem in facts["problems"]), facts["problems"]
        assert word in facts["cpu_provider"]["reason"]
        assert word in facts["onnx_argmax"]["reason"]


def end(kind: str, name: str, operator: str = "", place: str = "graph") -> dict[str, str]:
    return {"kind": kind, "operator": operator, "name": name, "in": place}


# What is said of a node.


def test_every_key(path: Path) -> None:
    model = argmax_model(TensorProto.FLOAT16, ("N", 3, None), opset=12, axis=-2, keepdims=0)
    path.write_bytes(model.SerializeToString())
    document = json.loads(in_process("inspect", path, "--json").accepted())
    assert document == {
        "model": str(path),
        "ir_version": model.ir_version,
        "opsets": {"": 12},
        "argmax": [
            {
                "name": "labels",
                "position": 0,
                "in": "graph",
                "function": None,
                "called": True,
                "opset": 12,
                "version": 12,
                "attributes": {"axis": -2, "keepdims": 0, "select_last_index": 0},
                "attributes_set": {"axis": -2, "keepdims": 0},
                "attributes_of_caller": [],
                "input": {"name": "data", "type": "tensor(float16)", "shape": ["N", 3, None]},
                "output": {"name": "reduced", "type": "tensor(int64)", "shape": ["N", None]},
                "producer": end("input", "data"),
                "consumers": [end("output", "reduced")],
                "problems": [],
                "cpu_provider": {
                    "runs": True,
                    "reason": "in float32, by a Cast that ONNX Runtime puts before it",
                },
                "onnx_argmax": {"runs": True, "reason": ""},
            }
        ],
    }


def test_digits_as_a_table() -> None:
    lines = in_process("inspect", DIGITS / "digits.onnx").accepted().splitlines()
    rows = dict(line.split(None, 1) for line in lines if line.startswith(" ") and line.strip())
    assert lines[0].strip() == "ArgMax ArgMax"
    assert {name: text.strip() for name, text in rows.items()} == {
        "in": "graph",
        "opset": "13, ArgMax version 13",
        "attributes": "axis = 1, keepdims = 1 (default), select_last_index = 0 (default)",
        "input": "probabilities: tensor(float) (?, 10)",
        "from": "Identity Identity",
        "output": "argmax_output: tensor(int64) (?, 1)",
        "to": "ai.onnx.ml.ArrayFeatureExtractor ArrayFeatureExtractor",
        "CPU": "provider   runs it",
        "onnx-argmax": "runs it",
    }
    assert lines[-1] == (
        "ArgMax nodes: 1. ONNX Runtime's CPU provider could run 1, onnx-argmax 1."
    )


@pytest.mark.parametrize("width", ["0", "40", "60"])
def test_narrow_terminals(width: str, path: Path) -> None:
    path.write_bytes(in_if(argmax_model(TensorProto.INT16, ("batch", 3))).SerializeToString())
    printed = in_process("inspect", path, COLUMNS=width).accepted()
    *lines, last = printed.splitlines()
    assert max(map(len, lines)) <= max(int(width), 40)
    assert "provider could run 0" in last
    words = " ".join(" ".join(line.split()) for line in lines)
    assert "no kernel for tensor(int16)" in words


def test_a_model_without_argmax(path: Path) -> None:
    model = model_of(
        [helper.make_node("ArgMin", ["data"], ["reduced"])], inputs=[DATA], outputs=[REDUCED]
    )
    assert inspected(path, model) == []
    assert in_this_process("inspect", path).accepted() == "The model has no ArgMax node.\n"


def test_a_node_without_a_name(path: Path) -> None:
    model = argmax_model()
    model.graph.node[0].name = ""
    facts = only(path, model)
    assert (facts["name"], facts["position"]) == ("", 0)
    assert "ArgMax (node 0, output reduced)" in in_this_process("inspect", path).accepted()


@pytest.mark.parametrize(("opset", "version"), [(1, 1), (7, 1), (11, 11), (12, 12), (26, 13)])
def test_versions_and_defaults(opset: int, version: int, path: Path) -> None:
    facts = only(path, argmax_model(opset=opset))
    assert (facts["opset"], facts["version"]) == (opset, version)
    names = [attribute.name for attribute in version_for_opset(opset).attributes]
    defaults = {"axis": 0, "keepdims": 1, "select_last_index": 0}
    assert facts["attributes"] == {name: defaults[name] for name in names}
    assert facts["attributes_set"] == {}


@pytest.mark.parametrize(
    ("shape", "expected", "words"),
    [
        (None, None, "data: tensor(float) of any rank"),
        ((), [], "data: tensor(float) ()"),
        ((5,), [5], "data: tensor(float) (5,)"),
        (("N", None, 0), ["N", None, 0], "data: tensor(float) (N, ?, 0)"),
    ],
)
def test_shapes(
    shape: Sequence[Any] | None, expected: list[Any] | None, words: str, path: Path
) -> None:
    assert only(path, argmax_model(shape=shape, opset=10))["input"]["shape"] == expected
    assert words in in_this_process("inspect", path).accepted()


def test_types_and_shapes_are_inferred_and_the_names_are_the_models(path: Path) -> None:
    model = model_of(
        [
            helper.make_node("Transpose", ["data"], ["turned"], perm=[1, 0]),
            helper.make_node("Cast", ["turned"], ["half"], to=TensorProto.FLOAT16),
            helper.make_node("ArgMax", ["half"], ["reduced"]),
            helper.make_node("NonZero", ["data"], ["found"]),
            helper.make_node("ArgMax", ["found"], ["other"], axis=1),
        ],
        inputs=[DATA],
        outputs=[REDUCED, helper.make_tensor_value_info("other", TensorProto.INT64, None)],
    )
    first, second = inspected(path, model)
    assert first["input"] == {"name": "half", "type": "tensor(float16)", "shape": [3, "N"]}
    assert first["output"]["shape"] == [1, "N"]
    # Inference makes up a name for the number of elements found, which means nothing.
    assert second["input"] == {"name": "found", "type": "tensor(int64)", "shape": [2, None]}


def test_an_unknown_operator_before_it(path: Path) -> None:
    model = model_of(
        [
            helper.make_node("Strange", ["data"], ["strange"], domain="somebody"),
            helper.make_node("ArgMax", ["strange"], ["reduced"]),
        ],
        inputs=[DATA],
        outputs=[REDUCED],
    )
    facts = only(path, model)
    assert facts["input"] == {"name": "strange", "type": None, "shape": None}
    assert facts["producer"] == end("node", "", "somebody.Strange")
    assert runs(facts) == (None, None)
    assert facts["problems"] == []
    assert "0 (and 1 not known)" in in_this_process("inspect", path).accepted()


# Producers and consumers.


def test_ends_of_every_kind(path: Path) -> None:
    model = model_of(
        [
            helper.make_node("Relu", ["data"], ["bent"], name="bend"),
            helper.make_node("ArgMax", ["bent"], ["reduced"], name="a"),
            helper.make_node("ArgMax", ["weights"], ["b"], name="b"),
            helper.make_node("ArgMax", ["default"], ["c"], name="c"),
            helper.make_node("Add", ["reduced", "reduced"], ["sum"], name="twice"),
            helper.make_node("Neg", ["reduced"], ["minus"]),
        ],
        inputs=[DATA, helper.make_tensor_value_info("default", TensorProto.FLOAT, [2, 3])],
        outputs=[REDUCED],
        initializers=[
            numpy_helper.from_array(np.ones((2, 3), np.float32), "weights"),
            numpy_helper.from_array(np.ones((2, 3), np.float32), "default"),
        ],
    )
    a, b, c = inspected(path, model)
    assert a["producer"] == end("node", "bend", "Relu")
    assert a["consumers"] == [
        end("node", "twice", "Add"),
        end("node", "", "Neg"),
        end("output", "reduced"),
    ]
    assert b["producer"] == end("initializer", "weights")
    assert b["consumers"] == []
    assert c["producer"] == end("input with initializer", "default")
    assert "initializer weights" in in_this_process("inspect", path).accepted()


def test_a_consumer_inside_of_an_if(path: Path) -> None:
    model = argmax_model(shape=(2, 3))
    branch = helper.make_graph(
        [helper.make_node("Neg", ["reduced"], ["minus"], name="inside")],
        "branch",
        [],
        [helper.make_tensor_value_info("minus", TensorProto.INT64, None)],
    )
    model.graph.node.append(
        helper.make_node("If", ["yes"], ["out"], "if", then_branch=branch, else_branch=branch)
    )
    model.graph.initializer.append(helper.make_tensor("yes", TensorProto.BOOL, (), [True]))
    places = {use["in"] for use in only(path, model)["consumers"] if use["name"] == "inside"}
    assert places == {"graph, then_branch of If if", "graph, else_branch of If if"}


def test_of_many_consumers_the_table_names_some(path: Path) -> None:
    model = argmax_model()
    for number in range(10_000):
        model.graph.node.add(
            op_type="Neg", input=["reduced"], output=[f"n{number}"], name=f"n{number}"
        )
    assert len(only(path, model)["consumers"]) == 10_001
    assert "Neg n3 and 9997 more" in in_this_process("inspect", path).accepted()


# Wherever it is.


@pytest.mark.parametrize("around", AROUND)
def test_everywhere(around: str, path: Path) -> None:
    facts = inspected(path, AROUND[around](argmax_model(shape=("N", 3), axis=1, keepdims=0)))
    assert len(facts) == (2 if around == "if" else 1)
    for node in facts:
        assert node["name"] == "labels"
        assert node["attributes"] == {"axis": 1, "keepdims": 0, "select_last_index": 0}
        assert node["input"]["type"] == "tensor(float)"
        assert node["input"]["shape"] == ["N", 3]
        assert runs(node) == (True, True)
    places = {
        "graph": {"graph"},
        "if": {"graph, then_branch of If if", "graph, else_branch of If if"},
        "loop": {"graph, body of Loop loop"},
        "scan": {"graph, body of Scan scan"},
    }
    assert {node["in"] for node in facts} == places.get(around, {"function local.Pick"})


def two_calls(second: int, axis: int) -> Any:
    """A function that is called on float, axis 1, and on another type."""
    model = in_function(argmax_model(TensorProto.FLOAT, ("N", 3), axis=1))
    model.graph.input.append(helper.make_tensor_value_info("other", second, ["N", 3]))
    model.graph.node.add().CopyFrom(model.graph.node[0])
    call = model.graph.node[1]
    call.input[0], call.output[0], call.attribute[0].i = "other", "second", axis
    return model


def test_a_row_for_each_way_in_which_a_function_is_called(path: Path) -> None:
    first, second = inspected(path, two_calls(TensorProto.INT16, -1))
    assert first["function"] == second["function"] == "local.Pick"
    assert [f["attributes"]["axis"] for f in (first, second)] == [1, -1]
    assert [f["input"]["type"] for f in (first, second)] == ["tensor(float)", "tensor(int16)"]
    assert [runs(f) for f in (first, second)] == [(True, True), (False, True)]
    assert only(path, two_calls(TensorProto.FLOAT, 1))["called"] is True


def test_a_function_that_nothing_calls(path: Path) -> None:
    model = in_function(argmax_model(axis=1))
    del model.graph.node[:]
    facts = only(path, model)
    assert facts["called"] is False
    assert facts["attributes"]["axis"] is None
    assert facts["attributes_of_caller"] == ["axis"]
    assert runs(facts) == (None, None)
    printed = in_this_process("inspect", path).accepted()
    assert "function local.Pick, which nothing calls" in printed
    assert "axis from the caller" in printed


def test_a_function_of_another_operator_set(path: Path) -> None:
    facts = only(path, in_function(argmax_model(axis=1, select_last_index=1), opset=11))
    assert (facts["opset"], facts["version"]) == (11, 11)
    refused_for(facts, "there is no attribute 'select_last_index'")


# Who could run it.


@pytest.mark.parametrize("opset", [1, 5, 6, 10, 11, 12, 13, 19])
def test_who_could_run_what_is_what_onnxruntime_does(opset: int, path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from onnx_argmax.ort import session_options

    def loads(model: Any, options: Any, **arguments: Any) -> bool:
        options.log_severity_level = 4
        try:
            onnxruntime.InferenceSession(model.SerializeToString(), options, **arguments)
        except Exception:
            return False
        return True

    for number in (*(t.tensor_proto for t in VERSIONS[-1].element_types), TensorProto.BOOL):
        model = argmax_model(number, (2, 3), opset=opset, axis=1)
        cpu = loads(model, onnxruntime.SessionOptions(), providers=["CPUExecutionProvider"])
        assert runs(only(path, model)) == (cpu, loads(model, session_options())), number


@pytest.mark.parametrize("opset", [10, 11, 13])
def test_rank_0_where_onnxruntime_takes_it(opset: int, path: Path) -> None:
    facts = only(path, argmax_model(shape=(), opset=opset))
    if opset < 11:
        assert runs(facts) == (True, True)
    else:
        refused_for(facts, "rank 0")


def test_an_empty_axis_is_an_error_at_a_run(path: Path) -> None:
    facts = only(path, argmax_model(shape=(2, 0), axis=1))
    assert runs(facts) == (False, False)
    assert facts["problems"] == []
    assert "length 0" in facts["onnx_argmax"]["reason"]
    # The CPU provider gives an empty result, whichever axis it reduces.
    assert runs(only(path, argmax_model(shape=(0, 0), axis=1))) == (True, False)
    assert runs(only(path, argmax_model(shape=(0, 3), axis=1))) == (True, True)


# Models that nobody runs.


def test_report_12_bfloat16_before_version_13(path: Path) -> None:
    facts = only(path, argmax_model(TensorProto.BFLOAT16, (2, 3), opset=12))
    refused_for(facts, "tensor(bfloat16)", "raise the model's opset to 13")
    assert runs(only(path, argmax_model(TensorProto.BFLOAT16, (2, 3), opset=13))) == (False, True)


def test_report_25_axis_out_of_range(path: Path) -> None:
    for axis in (6, -4, 2**63 - 1, -(2**63)):
        refused_for(only(path, argmax_model(shape=(2, 3, 4), axis=axis)), f"axis {axis} is out")


def test_report_85_an_attribute_that_the_version_lacks(path: Path) -> None:
    facts = only(path, argmax_model(opset=11, axis=1, select_last_index=1))
    refused_for(facts, "there is no attribute 'select_last_index'")
    assert facts["attributes"] == {}
    assert facts["attributes_set"] == {"axis": 1, "select_last_index": 1}
    assert "axis = 1, select_last_index = 1" in in_this_process("inspect", path).accepted()


@pytest.mark.parametrize(
    "value", [1.5, "a\x1b[2J", [1, 2], numpy_helper.from_array(np.ones(3))], ids=type
)
def test_an_attribute_of_another_kind(value: Any, path: Path) -> None:
    refused_for(only(path, argmax_model(axis=value)), "attribute axis")


def test_an_attribute_of_no_kind_at_all(path: Path) -> None:
    model = argmax_model()
    model.graph.node[0].attribute.add(name="axis", type=0)
    assert runs(only(path, model)) == (False, False)


def test_a_reference_outside_of_a_function(path: Path) -> None:
    model = argmax_model()
    model.graph.node[0].attribute.add(name="axis", type=2, ref_attr_name="chosen")
    refused_for(only(path, model), "'chosen' of a function's caller")


def spoil(model: Any, fault: str) -> None:
    node = model.graph.node[0]
    match fault:
        case "no input":
            del node.input[:]
        case "empty input":
            node.input[0] = ""
        case "two inputs":
            node.input.append("data")
        case "missing input":
            node.input[0] = "nothing\x1b[2J"
        case "no output":
            del node.output[:]
        case "two outputs":
            node.output.append("more")
        case "cycle":
            node.input[0] = "reduced"
        case "behind a cycle":
            model.graph.node.add(op_type="Add", input=["data", "b"], output=["a"])
            model.graph.node.add(op_type="Neg", input=["a"], output=["b"])
            node.input[0] = "b"
        case "no imports":
            del model.opset_import[:]
        case "opset 0":
            model.opset_import[0].version = 0
        case "opset below 0":
            model.opset_import[0].version = -5
        case "bool":
            model.graph.input[0].type.tensor_type.elem_type = TensorProto.BOOL
        case "unknown type":
            model.graph.input[0].type.tensor_type.elem_type = 77
        case "sequence":
            kind = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
            model.graph.input[0].type.CopyFrom(helper.make_sequence_type_proto(kind))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no input", "takes one input, this one 0"),
        ("empty input", "takes one input, this one 0"),
        ("two inputs", "takes one input, this one 2"),
        ("missing input", "nothing in the model gives its input 'nothing\\x1b[2J'"),
        ("no output", "has one output, this one 0"),
        ("two outputs", "has one output, this one 2"),
        ("cycle", "waits for its own output"),
        ("behind a cycle", "waits for its own output"),
        ("no imports", "no operator set"),
        ("opset 0", "operator sets are numbered from 1"),
        ("opset below 0", "operator sets are numbered from 1"),
        ("bool", "tensor(bool)"),
        ("unknown type", "number 77"),
        ("sequence", "its input is a sequence"),
    ],
)
def test_an_invalid_node_has_its_fault_in_the_row(fault: str, words: str, path: Path) -> None:
    model = argmax_model()
    spoil(model, fault)
    refused_for(only(path, model), words)
    assert "problem" in in_this_process("inspect", path).accepted()


def test_nodes_in_another_order_than_onnx_wants_are_no_cycle(path: Path) -> None:
    model = model_of(
        [
            helper.make_node("ArgMax", ["bent"], ["reduced"]),
            helper.make_node("Relu", ["data"], ["bent"]),
        ],
        inputs=[DATA],
        outputs=[REDUCED],
    )
    assert only(path, model)["problems"] == []


def test_a_cycle_through_a_subgraph(path: Path) -> None:
    model = in_if(argmax_model())
    model.graph.node[0].output[0] = model.graph.output[0].name = "whole"
    model.graph.node[0].attribute[0].g.node[0].input[0] = "whole"
    assert [bool(facts["problems"]) for facts in inspected(path, model)] == [True, True]


def test_both_names_of_the_default_domain(path: Path) -> None:
    model = argmax_model()
    model.opset_import[0].domain = model.graph.node[0].domain = "ai.onnx"
    assert runs(only(path, model)) == (True, True)


# Hostile models.


def function_of(name: str, *called: str) -> Any:
    nodes = [helper.make_node(c, ["x"], [f"y{i}"], domain="local") for i, c in enumerate(called)]
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
    return helper.make_function(
        "local", name, ["x"], ["y"], [*nodes, helper.make_node("ArgMax", ["x"], ["y"])], imports
    )


def calling(name: str, *functions: Any) -> Any:
    return model_of(
        [helper.make_node(name, ["data"], ["reduced"], domain="local")],
        inputs=[DATA],
        outputs=[REDUCED],
        functions=functions,
    )


@pytest.mark.parametrize(
    "model",
    [
        calling("A", function_of("A", "A")),
        calling("A", function_of("A", "B"), function_of("B", "A")),
        calling("A", function_of("A", "Absent")),
        # Written out, a million million nodes.
        calling(
            "F40",
            function_of("F0"),
            *(function_of(f"F{n}", f"F{n - 1}", f"F{n - 1}") for n in range(1, 41)),
        ),
    ],
    ids=["itself", "one another", "absent", "laughs"],
)
def test_functions_that_cannot_be_followed(model: Any, path: Path) -> None:
    facts = inspected(path, model)
    assert len(facts) >= len(model.functions)
    assert {f["function"] for f in facts} <= {f"local.{f.name}" for f in model.functions}


def test_ten_thousand_nodes(path: Path) -> None:
    model = model_of(
        [
            helper.make_node("ArgMax", ["data" if not n else f"o{n - 1}"], [f"o{n}"])
            for n in range(10_000)
        ],
        inputs=[DATA],
        outputs=[],
    )
    path.write_bytes(model.SerializeToString())
    document = json.loads(in_process("inspect", path, "--json").accepted())
    facts = document["argmax"]
    assert len(facts) == 10_000
    assert facts[-1]["input"]["type"] == "tensor(int64)"
    assert facts[-1]["producer"]["operator"] == "ArgMax"


def test_deeply_nested_subgraphs(path: Path) -> None:
    model = argmax_model(shape=("N", 3))
    for _ in range(30):
        model = in_if(model)
        del model.graph.node[0].attribute[1]  # or there were a thousand million
    facts = only(path, model)
    assert facts["in"].count("of If if") == 30
    assert facts["input"] == {"name": "data", "type": "tensor(float)", "shape": ["N", 3]}


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message, which onnx's own classes would not nest as deep."""
    length, size = b"", len(content)
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def test_subgraphs_nested_deeper_than_protobuf_reads(path: Path) -> None:
    graph = argmax_model().graph.SerializeToString()
    for _ in range(5000):
        attribute = field(1, b"then_branch") + field(6, graph)
        graph = field(1, field(4, b"If") + field(5, attribute))
    path.write_bytes(b"\x08\x08" + field(7, graph))
    in_process("inspect", path).refused(f"{path}: ")
    in_process("run", path).refused(f"{path}: ")


def test_names_that_speak_to_the_terminal(path: Path) -> None:
    evil = "a\x1b[2J\x07\r\nb\u202e\x9b"
    model = argmax_model(shape=(evil, 3))
    model.graph.node[0].name = evil
    model.graph.node.add(op_type=evil, domain=evil, input=["reduced"], output=[evil], name=evil)
    model.graph.output[0].name = evil
    facts = only(path, model)
    assert facts["name"] == evil
    assert facts["input"]["shape"] == [evil, 3]
    printed = in_this_process("inspect", path, "--json").accepted()
    assert not {c for c in printed if not c.isprintable()} - {"\n"}
    assert "\\x1b[2J" in in_this_process("inspect", path).accepted()


def test_bytes_that_are_no_text(path: Path) -> None:
    content = argmax_model().SerializeToString()
    path.write_bytes(content.replace(b"labels", b"lab\xffls"))
    outcome = in_this_process("inspect", path)
    assert outcome.status in (0, 1)
    assert outcome.err.count("\n") <= 1


# Files.


def with_weights() -> Any:
    return model_of(
        [helper.make_node("Gather", ["weights", "ids"], ["data"]), argmax_node(axis=1)],
        inputs=[helper.make_tensor_value_info("ids", TensorProto.INT64, ["N"])],
        outputs=[REDUCED],
        initializers=[numpy_helper.from_array(np.zeros((100, 50), np.float32), "weights")],
    )


def test_weights_are_not_needed(path: Path) -> None:
    whole = only(path, with_weights())
    assert whole["input"] == {"name": "data", "type": "tensor(float)", "shape": ["N", 50]}
    onnx.save(
        with_weights(), path, save_as_external_data=True, location="weights", size_threshold=0
    )
    path.with_name("weights").unlink()
    assert only(path) == whole


def test_more_than_2_gib_of_external_data(path: Path) -> None:
    model = with_weights()
    weights = model.graph.initializer[0]
    weights.dims[:] = [2**24, 50]
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="weights.bin")
    with path.with_name("weights.bin").open("wb") as file:
        file.truncate(2**24 * 50 * 4)  # of which the disk stores nothing
    assert only(path, model)["input"]["shape"] == ["N", 50]


def test_a_shape_that_lies_in_a_missing_file(path: Path) -> None:
    model = model_of(
        [helper.make_node("Reshape", ["data", "shape"], ["flat"]), argmax_node()],
        inputs=[DATA],
        outputs=[REDUCED],
        initializers=[numpy_helper.from_array(np.array([3, -1]), "shape")],
    )
    model.graph.node[1].input[0] = "flat"
    assert only(path, model)["input"]["shape"] == [3, None]
    onnx.save(model, path, save_as_external_data=True, location="shape", size_threshold=0)
    path.with_name("shape").unlink()
    facts = only(path)
    assert facts["input"]["type"] == "tensor(float)"
    assert runs(facts) == (True, True)


@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")
@pytest.mark.parametrize("suffix", [".textproto", ".json", ".onnxtxt"])
def test_text_formats(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    onnx.save(argmax_model(axis=1), path)
    assert only(path)["attributes"]["axis"] == 1


def test_unreadable_files(path: Path, tmp_path: Path) -> None:
    in_this_process("inspect", path).refused(f"{path}: no such file")
    in_this_process("inspect", tmp_path).refused("this is a folder")
    path.write_bytes(b"")
    in_this_process("inspect", path).refused(f"{path}: not an ONNX model: the file is empty")
    path.write_text("this is no model")
    in_process("inspect", path, "--json").refused(f"{path}: not an ONNX model")
    path.write_bytes(argmax_model().SerializeToString()[:-9])
    in_this_process("inspect", path).refused("truncated")
    path.unlink()
    os.mkfifo(path)
    in_this_process("inspect", path).refused("not a file: this is a pipe")


def test_truncated_anywhere(path: Path) -> None:
    whole = in_if(argmax_model(axis=1)).SerializeToString()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        outcome = in_this_process("inspect", path, "--json")
        assert outcome.status in (0, 1)
        assert outcome.err.count("\n") == outcome.status


def test_without_onnxruntime(path: Path) -> None:
    path.write_bytes(argmax_model(TensorProto.INT16).SerializeToString())
    source = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from onnx_argmax.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    printed = python("-c", source, "inspect", str(path)).accepted()
    assert "it has no kernel for tensor(int16)" in printed


def test_closed_standard_output(path: Path) -> None:
    path.write_bytes(argmax_model().SerializeToString())
    in_shell(">&-", "inspect", path).refused("standard output is closed")
    in_shell(">&-", "inspect", path, "--json").refused("standard output is closed")


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["table", "json"])
def test_a_name_that_is_no_utf_8_is_refused(path: Path, options: Sequence[str]) -> None:
    content = argmax_model(axis=1).SerializeToString()
    path.write_bytes(content.replace(b"labels", b"\xff\xfe\x80abc"))
    words = (f"{path}: the name '\\xff\\xfe\\x80abc' of a node is not UTF-8", "in ONNX")
    in_this_process("inspect", path, *options).refused(*words)
