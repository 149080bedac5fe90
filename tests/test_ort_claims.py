# SPDX-License-Identifier: Apache-2.0
"""``claimed_nodes``: what ONNX Runtime says became of each ArgMax."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from onnx import TensorProto

from models import AROUND, argmax_model, argmax_node, in_function, model_of
from ort_calls import claims, claims_by_name
from ort_process import RemoteError, in_process, need_onnxruntime

pytestmark = pytest.mark.usefixtures("_onnxruntime")

FOLDED = "constant folding"
OPTIMIZED = "graph optimisation"


@pytest.fixture
def _onnxruntime() -> None:
    need_onnxruntime()


def asked(model: onnx.ModelProto) -> list[tuple[str, str, bool, str]]:
    return in_process(claims, model.SerializeToString())


def value(name: str, elem_type: int = TensorProto.FLOAT, shape: Any = None) -> Any:
    return onnx.helper.make_tensor_value_info(name, elem_type, shape)


def test_one_node() -> None:
    assert asked(argmax_model()) == [("labels", "graph", True, "")]


def test_no_node() -> None:
    model = argmax_model()
    model.graph.node[0].op_type = "ArgMin"
    assert asked(model) == []


def test_a_node_without_a_name() -> None:
    model = argmax_model()
    model.graph.node[0].name = ""
    assert asked(model) == [("(node 0, output reduced)", "graph", True, "")]


def test_names_that_are_not_utf8() -> None:
    model = AROUND["if"](argmax_model(axis=1))
    model.graph.node[0].name = "IIII"
    for attribute in model.graph.node[0].attribute:
        attribute.g.node[0].name = "QQQQ"
    content = model.SerializeToString()
    content = content.replace(b"QQQQ", b"\xff\xfe\x80a").replace(b"IIII", b"if\xff\xff")
    never, taken = in_process(claims, content)
    assert never[:3] == (r"\xff\xfe\x80a", r"graph, else_branch of If if\xff\xff", False)
    assert taken == (r"\xff\xfe\x80a", r"graph, then_branch of If if\xff\xff", True, "")


def test_an_output_whose_name_is_not_utf8() -> None:
    model = argmax_model()
    model.graph.node[0].name = ""
    model.graph.node[0].output[0] = model.graph.output[0].name = "QQQQ"
    content = model.SerializeToString().replace(b"QQQQ", b"\xff\xfe\x80a")
    assert in_process(claims, content) == [(r"(node 0, output \xff\xfe\x80a)", "graph", True, "")]


@pytest.mark.parametrize("around", [name for name in AROUND if name != "if"])
def test_every_place(around: str) -> None:
    found = asked(AROUND[around](argmax_model(axis=1)))
    assert [(name, claimed, reason) for name, _, claimed, reason in found] == [
        ("labels", True, "")
    ]


def test_an_if_that_is_decided_at_a_run() -> None:
    model = AROUND["if"](argmax_model(axis=1))
    model.graph.initializer.pop()
    model.graph.input.append(value("if_yes", TensorProto.BOOL, ()))
    assert asked(model) == [
        ("labels", f"graph, {branch} of If if", True, "")
        for branch in ("else_branch", "then_branch")
    ]


def test_an_if_that_onnxruntime_opens() -> None:
    """Its condition is constant: the nodes of the branch that is taken go to the graph."""
    never, taken = asked(AROUND["if"](argmax_model(axis=1)))
    assert never[:3] == ("labels", "graph, else_branch of If if", False)
    assert FOLDED in never[3]
    assert taken == ("labels", "graph, then_branch of If if", True, "")


def labels_of(name: str, source: str, output: str, axis: int = 0) -> onnx.NodeProto:
    return onnx.helper.make_node("ArgMax", [source], [output], name=name, axis=axis, keepdims=0)


def if_of(
    condition: str, output: str, nodes: Sequence[onnx.NodeProto], constants: Any = ()
) -> onnx.NodeProto:
    """An If with the same nodes in both branches, the last one's output being its own."""
    branches = {
        name: onnx.helper.make_graph(
            nodes, name, [], [value(nodes[-1].output[0], TensorProto.INT64)], constants
        )
        for name in ("then_branch", "else_branch")
    }
    return onnx.helper.make_node("If", [condition], [output], name=f"if {output}", **branches)


def decided(nodes: Sequence[onnx.NodeProto], *outputs: str) -> onnx.ModelProto:
    """A model of vectors ``data`` in which ``yes`` is constant, and ``open`` is an input."""
    return model_of(
        nodes,
        inputs=[value("data", shape=(None,)), value("open", TensorProto.BOOL, ())],
        outputs=[value(name, TensorProto.INT64) for name in outputs],
        initializers=[onnx.helper.make_tensor("yes", TensorProto.BOOL, (), [True])],
    )


def by_branch(model: onnx.ModelProto) -> dict[tuple[str, str], tuple[bool, str]]:
    """The claims of a model by name and innermost branch."""
    return {
        (name, place.rpartition(", ")[2].split()[0]): (claimed, reason)
        for name, place, claimed, reason in asked(model)
    }


def test_a_branch_of_which_some_is_left() -> None:
    constant = onnx.helper.make_tensor("c", TensorProto.FLOAT, (3,), [1, 2, 3])
    nodes = [
        labels_of("kept", "data", "a"),
        labels_of("constant", "c", "b"),
        onnx.helper.make_node("Add", ["a", "b"], ["sum"]),
    ]
    found = by_branch(decided([if_of("yes", "reduced", nodes, [constant])], "reduced"))
    assert found.pop(("kept", "then_branch")) == (True, "")
    assert len(found) == 3
    for claimed, reason in found.values():
        assert not claimed
        assert FOLDED in reason


def test_what_another_node_gives_too_once_its_if_is_open() -> None:
    nodes = [labels_of("outside", "data", "a"), if_of("yes", "b", [labels_of("in", "data", "i")])]
    nodes.append(onnx.helper.make_node("Add", ["a", "b"], ["sum"]))
    found = by_branch(decided(nodes, "sum"))
    removed = found.pop(("in", "else_branch"))
    assert FOLDED in removed[1]
    assert sorted(claimed for claimed, _ in found.values()) == [False, True]
    assert [OPTIMIZED in reason for claimed, reason in found.values() if not claimed] == [True]


def test_ifs_that_are_opened_in_several_graphs() -> None:
    """ONNX Runtime gives the nodes the same name in each."""
    inner = [if_of("yes", "chosen", [labels_of("labels", "data", "i")])]
    model = decided([if_of("open", "a", inner), if_of("open", "b", inner)], "a", "b")
    found = asked(model)
    assert len(found) == 8
    for name, place, claimed, reason in found:
        taken = "then_branch" in place.rpartition(", ")[2]
        assert (name, claimed) == ("labels", taken)
        assert (FOLDED in reason) is not taken


def test_a_function_in_an_if_that_is_opened() -> None:
    model = AROUND["if"](in_function(argmax_model(axis=1)))
    assert asked(model) == [("labels", "function local.Pick", True, "")]


def test_an_opened_if_whose_weights_are_beside_the_model(tmp_path: Path) -> None:
    model = AROUND["if"](argmax_model(shape=(2, 512), axis=1))
    bias = onnx.numpy_helper.from_array(np.ones((2, 512), np.float32), "bias")
    for attribute in model.graph.node[0].attribute:
        node = onnx.helper.make_node("Add", ["data", "bias"], [f"{attribute.name}_sum"])
        attribute.g.node[0].input[0] = node.output[0]
        attribute.g.node.insert(0, node)
    model.graph.initializer.append(bias)
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=1024)
    never, taken = in_process(claims, path)
    assert FOLDED in never[3]
    assert taken == ("labels", "graph, then_branch of If if", True, "")
    assert {file.name for file in tmp_path.iterdir()} == {"model.onnx", "weights.bin"}


def test_what_onnxruntime_does_not_say_is_not_guessed() -> None:
    """As a release might that keeps no ``doc_string`` either."""
    found = in_process(claims_by_name, AROUND["if"](argmax_model(axis=1)).SerializeToString())
    for name, _, claimed, reason in found:
        assert (name, claimed) == ("labels", False)
        assert reason == "not known: ONNX Runtime runs _if_then_branch_ArgMax, maybe this one"


def test_names_like_those_that_the_nodes_are_given() -> None:
    model = in_function(argmax_model(axis=1))
    model.functions[0].name = model.graph.node[0].op_type = "onnx_argmax_node_5_"
    assert asked(model) == [("labels", "function local.onnx_argmax_node_5_", True, "")]


def test_a_constant_input_is_folded() -> None:
    model = argmax_model(shape=(2, 3), axis=1)
    data = onnx.numpy_helper.from_array(np.ones((2, 3), np.float32), "data")
    model.graph.initializer.append(data)
    model.graph.input.pop()
    ((name, place, claimed, reason),) = asked(model)
    assert (name, place, claimed) == ("labels", "graph", False)
    assert FOLDED in reason


def test_a_constant_input_of_a_type_that_the_cpu_lacks_is_ours() -> None:
    """It is the CPU provider that folds."""
    model = argmax_model(TensorProto.UINT16, shape=(2, 3), axis=1)
    data = onnx.numpy_helper.from_array(np.ones((2, 3), np.uint16), "data")
    model.graph.initializer.append(data)
    model.graph.input.pop()
    assert asked(model) == [("labels", "graph", True, "")]


def test_what_another_node_gives_too() -> None:
    twin = onnx.helper.make_node("ArgMax", ["data"], ["second"], name="twin")
    model = model_of(
        [argmax_node(), twin, onnx.helper.make_node("Add", ["reduced", "second"], ["sum"])],
        inputs=[value("data", shape=(None, None))],
        outputs=[value("sum", TensorProto.INT64)],
    )
    found = asked(model)
    assert sorted(claimed for _, _, claimed, _ in found) == [False, True]
    assert [OPTIMIZED in reason for _, _, claimed, reason in found if not claimed] == [True]


def test_what_nothing_needs_is_run_all_the_same() -> None:
    model = argmax_model()
    idle = onnx.helper.make_node("ArgMax", ["data"], ["idle"], name="idle", axis=1)
    model.graph.node.append(idle)
    assert asked(model) == [("labels", "graph", True, ""), ("idle", "graph", True, "")]


def test_functions_that_are_called_twice_and_never() -> None:
    model = in_function(argmax_model(axis=1))
    second = onnx.NodeProto()
    second.CopyFrom(model.graph.node[0])
    second.name, second.output[0] = "again", "again"
    second.attribute[0].i = 0
    model.graph.node.append(second)
    model.graph.output.append(value("again", TensorProto.INT64))
    idle = onnx.FunctionProto()
    idle.CopyFrom(model.functions[0])
    idle.name = "Idle"
    model.functions.append(idle)
    called, never = asked(model)
    assert called == ("labels", "function local.Pick", True, "")
    assert never[:3] == ("labels", "function local.Idle", False)
    assert "nothing calls its function" in never[3]


def test_names_that_are_the_same() -> None:
    model = argmax_model(axis=1)
    other = onnx.helper.make_node("ArgMax", ["data"], ["other"], name="labels", axis=0)
    model.graph.node.append(other)
    model.graph.output.append(value("other", TensorProto.INT64))
    assert asked(model) == [("labels", "graph", True, "")] * 2


def test_files_and_their_external_data(tmp_path: Path) -> None:
    model = argmax_model(shape=(2, 3), axis=1)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    model.graph.node.insert(0, onnx.helper.make_node("Add", ["data", "bias"], ["sum"]))
    model.graph.node[1].input[0] = "sum"
    model.graph.initializer.append(onnx.numpy_helper.from_array(data, "bias"))
    path = tmp_path / "model.onnx"
    onnx.save(
        model,
        path,
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    assert not onnx.load(path, load_external_data=False).graph.initializer[0].raw_data
    for given in (path, str(path)):
        assert in_process(claims, given) == [("labels", "graph", True, "")]


def test_the_model_is_left_as_it_was() -> None:
    model = argmax_model()
    before = model.SerializeToString()
    in_process(claims, model)
    assert model.SerializeToString() == before


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (None, "TypeError", "model: a path, the bytes of a model or an onnx.ModelProto"),
        (b"\xff no model", "ValueError", "model: not an ONNX model"),
        (b"", "ValueError", "model: not an ONNX model: it has no graph"),
        (onnx.ModelProto(), "ValueError", "model: not an ONNX model: it has no graph"),
        (
            argmax_model().graph.SerializeToString(),
            "ValueError",
            "model: not an ONNX model: it has no graph",
        ),
        (argmax_model().graph, "TypeError", "onnx.ModelProto is needed, got GraphProto"),
        (argmax_node(), "TypeError", "onnx.ModelProto is needed, got NodeProto"),
        (onnx.TensorProto(), "TypeError", "onnx.ModelProto is needed, got TensorProto"),
        ("none.onnx", "FileNotFoundError", "none.onnx"),
        (argmax_model(TensorProto.BOOL).SerializeToString(), "InvalidGraph", "tensor(bool)"),
    ],
    ids=[
        "none",
        "bytes",
        "no-bytes",
        "empty",
        "graph-bytes",
        "graph",
        "node",
        "tensor",
        "path",
        "type",
    ],
)
def test_what_is_no_model(model: object, kind: str, words: str) -> None:
    with pytest.raises(RemoteError) as caught:
        in_process(claims, model)
    assert kind in caught.value.kinds
    assert words in str(caught.value)
