# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax run`` on ONNX Runtime and on the reference evaluator: what ran what, and when."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnx_argmax
from command import Outcome, in_process, in_shell, in_this_process, python

pytest.importorskip("typer")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
ml_dtypes = pytest.importorskip("ml_dtypes")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from models import (  # noqa: E402
    AROUND,
    argmax_model,
    argmax_node,
    in_function,
    in_if,
    in_loop,
    model_of,
    saved,
)

OURS = f"OnnxArgMaxExecutionProvider, level {onnx_argmax.build_info().level}"
SCORES = np.array([[2, 1, 2], [3, 10, 10]], np.float32)
runtimes = pytest.mark.parametrize("runtime", ["onnxruntime", "reference"])


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.npz"
    np.savez(path, data=SCORES)
    return path


def given(folder: Path, *arrays: np.ndarray[Any, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for place, array in enumerate(arrays):
        content = numpy_helper.from_array(array).SerializeToString()
        (folder / f"input_{place}.pb").write_bytes(content)
    return folder


def cells(printed: str, first: str) -> list[list[str]]:
    """Cells of the rows of a table that start so; a cell that was folded has its first line."""
    return [
        re.split(r"\s{2,}", line.strip())
        for line in printed.splitlines()
        if line.strip().startswith(f"{first} ")
    ]


# Which runtime.


@runtimes
def test_the_runtime_that_is_asked_for(runtime: str, tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    printed = in_this_process("run", path, scores, "--runtime", runtime).accepted()
    words = {"onnxruntime": "Run by ONNX Runtime ", "reference": "Run by ONNX's reference "}
    assert printed.startswith(words[runtime])
    by = {"onnxruntime": OURS, "reference": f"onnx_argmax.reference, {OURS.partition(', ')[2]}"}
    assert cells(printed, "labels") == [["labels", "graph", "13", "13", by[runtime]]]


def test_onnxruntime_by_default(tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    assert in_process("run", path, scores).accepted().startswith("Run by ONNX Runtime ")


def without(module: str, *arguments: str | Path) -> Outcome:
    """Run the command in a process that lacks a package."""
    return python(
        "-c",
        f"import sys; sys.modules[{module!r}] = None\n"
        "from onnx_argmax.cli import main; sys.exit(main(sys.argv[1:]))",
        *map(str, arguments),
    )


def test_without_onnxruntime(tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    printed = without("onnxruntime", "run", path, scores).accepted()
    assert re.match(r"Run by ONNX's reference evaluator \S+, as onnxruntime is not in", printed)
    assert "onnx_argmax.reference, level" in printed
    without("onnxruntime", "run", path, scores, "--runtime", "onnxruntime").refused(
        "--runtime onnxruntime: it is not installed",
        'pip install "onnx-argmax[cli,onnx,onnxruntime]"',
        "--runtime reference",
    )


def test_an_onnxruntime_that_is_too_old(tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    python(
        "-c",
        "import sys, onnxruntime; onnxruntime.__version__ = '1.23.2'\n"
        "from onnx_argmax.cli import main; sys.exit(main(sys.argv[1:]))",
        *map(str, ("run", path, scores)),
    ).refused("1.24 or later", "1.23.2 is installed")


# What ran each node.


@runtimes
@pytest.mark.parametrize("around", AROUND)
def test_every_node_was_run_by_us(runtime: str, around: str, tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", AROUND[around](argmax_model(axis=1, keepdims=0)))
    arguments = ("run", path, scores, "--runtime", runtime, "--profile")
    printed = in_this_process(*arguments).accepted()
    assert cells(printed, "reduced") == [["reduced", "int64", "(2,)", "[0 1]"]]
    nodes = cells(printed, "labels")
    if around != "if":
        assert len(nodes) == 1
        assert share_of(nodes[0]) > 0
    elif runtime == "onnxruntime":
        removed, ran = nodes
        assert "else_branch" in removed[1]
        assert removed[4].startswith("nothing: ONNX Runtime")
        assert ran[4].startswith("OnnxArgMaxExecutionProvider")
        assert (removed[-1], share_of(ran) > 0) == ("did not run", True)
    else:
        assert [node[-1] == "did not run" for node in nodes] == [True, False]


def share_of(node: list[str]) -> float:
    number, unit = node[-1].split()
    assert unit == "%"
    share = float(number) / 100
    assert 0 < share <= 1
    return share


def condition_as_input(model: Any) -> Any:
    """The condition of an If as an input, so that the runtime knows it only as it runs."""
    condition = next(t for t in model.graph.initializer if t.name == "if_yes")
    model.graph.initializer.remove(condition)
    model.graph.input.append(helper.make_tensor_value_info("if_yes", TensorProto.BOOL, ()))
    return model


@runtimes
def test_a_branch_that_is_not_taken_did_not_run(runtime: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", condition_as_input(in_if(argmax_model(axis=1))))
    np.savez(tmp_path / "s.npz", data=SCORES, if_yes=np.array(False))
    arguments = ("run", path, tmp_path / "s.npz", "--runtime", runtime, "--profile")
    nodes = cells(in_this_process(*arguments).accepted(), "labels")
    shares = {node[1].split()[1]: node[-1] for node in nodes}
    assert shares["then_branch"] == "did not run"
    assert shares["else_branch"] != "did not run"


def test_nodes_in_an_if_that_onnxruntime_opens_are_told_apart(tmp_path: Path) -> None:
    """It drops their names; two of one branch differ in nothing but what they are."""
    two = argmax_model(axis=1)
    two.graph.node.add().CopyFrom(argmax_node(axis=0))
    two.graph.node[1].name, two.graph.node[1].output[0] = "second", "other"
    both = in_if(two)
    for attribute in both.graph.node[0].attribute:
        attribute.g.output.append(both.graph.output[0])
        attribute.g.output[1].name = "other"
        if attribute.name == "else_branch":
            attribute.g.node.reverse()
    both.graph.node[0].output.append("other")
    both.graph.output.append(helper.make_tensor_value_info("other", TensorProto.INT64, None))
    # Long rows for the first, one element a column for the second: their times tell them apart.
    np.savez(tmp_path / "s.npz", data=np.zeros((1, 2**22), np.float32))
    path = saved(tmp_path / "m.onnx", both)
    arguments = ("run", path, tmp_path / "s.npz", "--profile", "--threads", "1")
    printed = in_this_process(*arguments).accepted()
    for name in ("labels", "second"):
        runs = {node[1].split()[1]: node[4:] for node in cells(printed, name)}
        assert runs["then_branch"][0].startswith("OnnxArgMaxExecutionProvider")
        assert share_of(runs["then_branch"])
        assert runs["else_branch"][-1] == "did not run"


def test_opened_ifs_whose_nodes_onnxruntime_gives_one_name(tmp_path: Path) -> None:
    """It makes the name anew in each graph around such an If."""
    opened = in_if(argmax_model(axis=1, keepdims=0))
    constant = opened.graph.initializer.pop()
    outer = condition_as_input(in_if(opened))
    constant.name = "constant"
    outer.graph.initializer.append(constant)
    for attribute in outer.graph.node[0].attribute:
        attribute.g.node[0].input[0] = constant.name
    np.savez(tmp_path / "s.npz", data=SCORES, if_yes=np.array(True))
    path = saved(tmp_path / "m.onnx", outer)
    arguments = ("run", path, tmp_path / "s.npz", "--profile")
    printed = in_this_process(*arguments).accepted()
    nodes = cells(printed, "labels")
    assert [node[4].startswith("OnnxArgMax") for node in nodes] == [False, True] * 2
    assert [node[-1] == "did not run" for node in nodes] == [True, False] * 2
    assert printed.count("timed") == 2


def test_what_onnxruntime_does_not_say_is_not_guessed(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnx_argmax._ort_marks._described", lambda *_: {})
    path = saved(tmp_path / "m.onnx", in_if(argmax_model(axis=1)))
    for node in cells(in_this_process("run", path, scores).accepted(), "labels"):
        assert node[4].startswith("not known: ONNX Runtime runs")


def test_a_function_of_a_name_like_those_that_nodes_are_given(
    tmp_path: Path, scores: Path
) -> None:
    model = in_function(argmax_model(axis=1))
    model.functions[0].name = model.graph.node[0].op_type = "onnx_argmax_node_5_"
    printed = in_this_process("run", saved(tmp_path / "m.onnx", model), scores).accepted()
    assert cells(printed, "labels")[0][-1].startswith("OnnxArgMaxExecutionProvider")


def test_a_function_that_is_called_twice_is_one_node(tmp_path: Path, scores: Path) -> None:
    model = in_function(argmax_model(axis=1))
    model.graph.node.add().CopyFrom(model.graph.node[0])
    model.graph.node[1].name = model.graph.node[1].output[0] = "again"
    model.graph.node[1].attribute[0].i = 0
    model.graph.output.append(helper.make_tensor_value_info("again", TensorProto.INT64, None))
    printed = in_this_process("run", saved(tmp_path / "m.onnx", model), scores).accepted()
    assert len(cells(printed, "labels")) == 1
    assert cells(printed, "again")[0][3] == "[[1 1 1]]"


def test_a_node_that_onnxruntime_folds(tmp_path: Path) -> None:
    constant = model_of(
        [argmax_node(axis=1), helper.make_node("Add", ["reduced", "more"], ["sum"])],
        inputs=[helper.make_tensor_value_info("more", TensorProto.INT64, [2, 1])],
        outputs=[helper.make_tensor_value_info("sum", TensorProto.INT64, [2, 1])],
        initializers=[numpy_helper.from_array(SCORES, "data")],
    )
    np.savez(tmp_path / "s.npz", more=np.zeros((2, 1), np.int64))
    arguments = ("run", saved(tmp_path / "m.onnx", constant), tmp_path / "s.npz", "--profile")
    (node,) = cells(in_this_process(*arguments).accepted(), "labels")
    assert node[4:] == ["nothing: ONNX Runtime optimised it away", "did not run"]


def test_a_provider_that_is_not_taken_is_an_error(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    monkeypatch.setattr(
        "onnx_argmax._ort_session.assigned_argmax",
        lambda session: [("onnx_argmax_node_0_", "CPUExecutionProvider")],
    )
    in_this_process("run", path, scores).refused("did not get 'labels'", "CPUExecutionProvider")


@runtimes
@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads(runtime: str, threads: str, tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    before = onnx_argmax.get_num_threads()
    arguments = ("run", path, scores, "--runtime", runtime, "--threads", threads)
    assert cells(in_this_process(*arguments).accepted(), "reduced")
    assert onnx_argmax.get_num_threads() == before


def test_threads_are_onnxruntimes(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnx_argmax.cli import on_onnxruntime

    seen: list[int] = []
    session = on_onnxruntime.InferenceSession

    def spy(model: Any, options: Any) -> Any:
        seen.append(options.intra_op_num_threads)
        options.intra_op_num_threads = 1  # whatever was asked for, this test starts no thread
        return session(model, options)

    monkeypatch.setattr(on_onnxruntime, "InferenceSession", spy)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    in_this_process("run", path, scores, "--threads", "3").accepted()
    in_this_process("run", path, scores).accepted()
    in_this_process("run", path, scores, "--threads", "1").accepted()
    # As many as there are CPUs, however many are asked for: each of them is started.
    in_this_process("run", path, scores, "--threads", "1000000").accepted()
    assert seen == [3, 0, 1, 5]


# Types.


@pytest.mark.parametrize("name", ["INT16", "UINT16", "UINT32", "UINT64", "BFLOAT16"])
def test_a_type_that_the_cpu_provider_lacks(name: str, tmp_path: Path) -> None:
    import onnxruntime

    elem_type = TensorProto.DataType.Value(name)
    model = argmax_model(elem_type, axis=1, keepdims=0)
    options: Any = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    data = SCORES.astype(helper.tensor_dtype_to_np_dtype(elem_type))
    path = saved(tmp_path / "m.onnx", model)
    printed = in_this_process("run", path, given(tmp_path / "in", data)).accepted()
    assert cells(printed, "labels")[0][4] == OURS
    assert cells(printed, "reduced") == [["reduced", "int64", "(2,)", "[0 1]"]]


def identity(*elem_types: int) -> Any:
    names = [str(place) for place in range(len(elem_types))]
    return model_of(
        [helper.make_node("Identity", [f"in{name}"], [f"out{name}"]) for name in names],
        inputs=[
            helper.make_tensor_value_info(f"in{name}", kind, None)
            for name, kind in zip(names, elem_types, strict=True)
        ],
        outputs=[
            helper.make_tensor_value_info(f"out{name}", kind, None)
            for name, kind in zip(names, elem_types, strict=True)
        ],
        opset=19,
    )


@pytest.mark.parametrize("shape", [(3, 2), (0, 2), (), (1,)], ids=str)
@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
)
def test_types_that_numpy_lacks_go_in_and_come_out(
    name: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    number = helper.np_dtype_to_tensor_dtype(dtype)
    path = saved(tmp_path / "m.onnx", identity(number, TensorProto.FLOAT16))
    other = np.float16([[1, 2], [3, 4]]).T  # not contiguous
    folder = given(tmp_path / "in", np.asarray(values), other)
    (folder / "output_0.pb").write_bytes((folder / "input_0.pb").read_bytes())
    (folder / "output_1.pb").write_bytes((folder / "input_1.pb").read_bytes())
    output = tmp_path / "out.npz"
    printed = in_this_process("run", path, folder, "--output", output).accepted()
    assert printed.count("equal to output_") == 2
    with np.load(output) as written:
        assert written["out0"].view(dtype).tobytes() == values.tobytes()


def test_an_input_of_any_strides_goes_in_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(TensorProto.BFLOAT16, axis=1, keepdims=0))
    for data in (np.asfortranarray(SCORES), SCORES):
        np.save(tmp_path / "data.npy", data.astype(ml_dtypes.bfloat16))
        printed = in_this_process("run", path, f"data={tmp_path / 'data.npy'}").accepted()
        assert cells(printed, "reduced") == [["reduced", "int64", "(2,)", "[0 1]"]]


@runtimes
@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i8", "u2", "U2"])
def test_an_input_of_either_byte_order(
    runtime: str, kind: str, order: str, suffix: str, tmp_path: Path
) -> None:
    text = kind.startswith("U")
    values = np.array(["a", "bc"] if text else [1, 258])
    elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(object if text else kind))
    path = saved(tmp_path / "m.onnx", identity(elem_type))
    file, output = tmp_path / f"in.{suffix}", tmp_path / "out.npz"
    given = values.astype(order + kind)
    if suffix == "npy":
        np.save(file, given)
    else:
        np.savez(file, in0=given)
    source = f"in0={file}" if suffix == "npy" else file
    arguments = ("run", path, source, "--runtime", runtime)
    if text:  # which no file is written with
        assert "['a' 'bc']" in in_this_process(*arguments).accepted()
    else:
        in_this_process(*arguments, "--output", output).accepted()
        with np.load(output) as written:
            assert written["out0"].tolist() == values.tolist()


def test_what_onnxruntimes_package_cannot_take_together(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", identity(TensorProto.BFLOAT16, TensorProto.STRING))
    folder = given(tmp_path / "in", np.ones(2, ml_dtypes.bfloat16), np.array(["a"], object))
    in_this_process("run", path, folder).refused("input 'in1'", "strings", "--runtime reference")
    in_this_process("run", path, folder, "--runtime", "reference").accepted()


def test_a_type_that_onnxruntimes_package_cannot_take(tmp_path: Path) -> None:
    model = model_of(
        [helper.make_node("DequantizeLinear", ["packed", "scale"], ["wide"])],
        inputs=[helper.make_tensor_value_info("packed", TensorProto.INT4, [2])],
        outputs=[helper.make_tensor_value_info("wide", TensorProto.FLOAT, [2])],
        initializers=[numpy_helper.from_array(np.float32(2), "scale")],
        opset=21,
    )
    path = saved(tmp_path / "m.onnx", model)
    folder = given(tmp_path / "in", np.ones(2, ml_dtypes.int4))
    in_this_process("run", path, folder).refused("tensor(int4)", "--runtime reference")
    in_this_process("run", path, folder, "--runtime", "reference").accepted()


# Errors.


def lacking_kernel() -> Any:
    model = argmax_model(TensorProto.DOUBLE, axis=1)
    model.graph.node.add(op_type="Erf", input=["data"], output=["erf"], name="curve")
    model.graph.output.append(helper.make_tensor_value_info("erf", TensorProto.DOUBLE, None))
    return model


def test_a_model_that_onnxruntime_refuses(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", lacking_kernel())
    np.savez(tmp_path / "s.npz", data=SCORES.astype(np.float64))
    in_process("run", path, tmp_path / "s.npz").refused(
        f"{path}: ONNX Runtime cannot load it", "Erf", "'curve'", "--runtime reference"
    )
    in_process("run", path, tmp_path / "s.npz", "--runtime", "reference").accepted()


def test_a_newer_opset_than_onnxruntime_knows_is_one_line(tmp_path: Path, scores: Path) -> None:
    newest = onnx.defs.onnx_opset_version()
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1, opset=newest))
    outcome = in_process("run", path, scores)
    if outcome.status:
        outcome.refused(str(path), "opset")
        assert "/onnxruntime_src" not in outcome.err


@pytest.mark.parametrize("around", [in_function, lambda model: model], ids=["function", "graph"])
def test_an_error_in_a_run_names_the_node_as_the_model_does(
    around: Callable[[Any], Any], tmp_path: Path
) -> None:
    path = saved(tmp_path / "m.onnx", around(argmax_model(axis=1)))
    np.savez(tmp_path / "none.npz", data=np.zeros((0, 0), np.float32))
    outcome = in_process("run", path, tmp_path / "none.npz", "--profile")
    outcome.refused(f"{path}: the model failed as it ran: node 'labels'", "(0, 0)", "axis 1")
    assert "onnx_argmax_node" not in outcome.err


def test_an_error_of_another_operator_names_its_node(tmp_path: Path) -> None:
    reshape = model_of(
        [helper.make_node("Reshape", ["data", "shape"], ["flat"], "onnx_argmax_node_7_")],
        inputs=[
            helper.make_tensor_value_info("data", TensorProto.FLOAT, None),
            helper.make_tensor_value_info("shape", TensorProto.INT64, [1]),
        ],
        outputs=[helper.make_tensor_value_info("flat", TensorProto.FLOAT, None)],
    )
    path = saved(tmp_path / "m.onnx", reshape)
    np.savez(tmp_path / "s.npz", data=SCORES, shape=np.array([7]))
    words = "node 'onnx_argmax_node_7_' (Reshape)"
    in_process("run", path, tmp_path / "s.npz").refused(words, "{2,3}")


def test_what_native_code_says_on_standard_error_is_not_shown(
    tmp_path: Path, scores: Path
) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    noisy = (
        "import os, sys\n"
        "import importlib.abc\n"
        "class Noisy(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'onnxruntime.capi':\n"
        "            os.write(2, b'a device that is none')\n"
        "sys.meta_path.insert(0, Noisy())\n"
        "from onnx_argmax.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    assert "Run by ONNX Runtime" in python("-c", noisy, "run", str(path), str(scores)).accepted()


def test_a_closed_standard_error(tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    assert cells(in_shell("2>&-", "run", path, scores).accepted(), "reduced")


@pytest.mark.parametrize("runtime", ["onnxruntime", "reference"])
def test_a_large_model(runtime: str, tmp_path: Path, scores: Path) -> None:
    nodes = [
        helper.make_node("Neg", ["data" if not n else f"o{n - 1}"], [f"o{n}"])
        for n in range(10_000)
    ]
    model = argmax_model(axis=1)
    model.graph.node[0].input[0] = "o9999"
    model.graph.node.extend(nodes)
    model.graph.node.sort(key=lambda node: node.op_type, reverse=True)
    path = saved(tmp_path / "m.onnx", model)
    printed = in_this_process("run", path, scores, "--runtime", runtime, "--profile").accepted()
    assert cells(printed, "labels")[0][-1].endswith("%")


@pytest.mark.parametrize("runtime", ["onnxruntime", "reference"])
def test_deeply_nested_subgraphs(runtime: str, tmp_path: Path, scores: Path) -> None:
    model = argmax_model(axis=1, keepdims=0)
    for _ in range(20):
        model = in_if(model)
        model.graph.node[0].attribute[0].g.node[0].CopyFrom(argmax_node(axis=0, keepdims=0))
        del model.graph.initializer[1:]
    path = saved(tmp_path / "m.onnx", model)
    printed = in_this_process("run", path, scores, "--runtime", runtime).accepted()
    assert cells(printed, "reduced") == [["reduced", "int64", "(2,)", "[0 1]"]]
    ran = [node for node in printed.split("labels") if "OnnxArgMaxExecutionProvider" in node]
    assert len(ran) == (1 if runtime == "onnxruntime" else 0)


# Ctrl-C.

INTERRUPTIBLE = """
import signal, sys
import onnxruntime
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
def told(run):
    def tell_and_run(*arguments, **options):
        print("running", flush=True)
        return run(*arguments, **options)
    return tell_and_run
for name in ("run", "run_with_ort_values"):
    session = onnxruntime.InferenceSession
    setattr(session, name, told(getattr(session, name)))
from onnx_argmax.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.parametrize("with_bfloat16", [False, True], ids=["arrays", "values"])
def test_an_interrupt_ends_a_run(with_bfloat16: bool, tmp_path: Path) -> None:
    """The second way of running is that of outputs of types that NumPy lacks."""
    model = in_loop(argmax_model(axis=1, keepdims=0))
    (times,) = (tensor for tensor in model.graph.initializer if tensor.name == "times")
    times.int64_data[:] = [2**62]
    if with_bfloat16:
        to = TensorProto.BFLOAT16
        model.graph.node.append(helper.make_node("Cast", ["reduced"], ["narrow"], to=to))
        model.graph.output.append(helper.make_tensor_value_info("narrow", to, None))
    np.savez(tmp_path / "s.npz", data=SCORES)
    path = saved(tmp_path / "m.onnx", model)
    command = [sys.executable, "-c", INTERRUPTIBLE, "run", str(path), str(tmp_path / "s.npz")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            time.sleep(1)  # native code tells nobody that it has begun; earlier proves nothing
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            assert (out, err) == ("", "onnx-argmax: interrupted by SIGINT\n")
        finally:
            process.kill()
    assert process.returncode == 130


# The profile.


@runtimes
def test_shares_of_the_time(runtime: str, tmp_path: Path) -> None:
    model = argmax_model(axis=1)
    model.graph.node.add(op_type="ArgMax", input=["reduced"], output=["small"], name="tiny")
    model.graph.output.append(helper.make_tensor_value_info("small", TensorProto.INT64, None))
    path = saved(tmp_path / "m.onnx", model)
    np.savez(tmp_path / "s.npz", data=np.zeros((1, 2**22), np.float32))
    arguments = ("run", path, tmp_path / "s.npz", "--runtime", runtime, "--profile")
    printed = in_this_process(*arguments).accepted()
    assert re.match(r"Run by ONNX\S* \D*[\d.]+, \d+\.\d{3} ms\.\n", printed)
    (large,), (small,) = cells(printed, "labels"), cells(printed, "tiny")
    assert share_of(large) > 0.01
    assert small[-1].endswith("%")


def test_a_profile_that_was_cut_short(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnx_argmax.cli import on_onnxruntime

    events = on_onnxruntime._events
    monkeypatch.setattr(on_onnxruntime, "_events", lambda path: list(events(path))[:1])
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    in_this_process("run", path, scores, "--profile").refused("--profile", "leave --profile out")


def test_no_profile_is_left_behind(tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    before = sorted(Path.cwd().iterdir())
    np.savez(tmp_path / "none.npz", data=np.zeros((0, 0), np.float32))
    for inputs in (scores, tmp_path / "none.npz"):
        in_process("run", path, inputs, "--profile", TMPDIR=str(temporary))
    # onnxruntime itself writes a number there as it is imported.
    assert {path.name for path in temporary.iterdir()} <= {".ses"}
    assert sorted(Path.cwd().iterdir()) == before


@runtimes
def test_strange_names(runtime: str, tmp_path: Path, scores: Path) -> None:
    model = argmax_model(axis=1)
    model.graph.node[0].name = 'onnx_argmax_node_0_"\\\x1b[2J'
    model.graph.node.add(
        op_type="Identity", input=["data"], output=["same"], name='"}\n\x00onnx_argmax_node_1_'
    )
    model.graph.output.append(helper.make_tensor_value_info("same", TensorProto.FLOAT, None))
    path = saved(tmp_path / "m.onnx", model)
    arguments = ("run", path, scores, "--runtime", runtime, "--profile")
    printed = in_this_process(*arguments).accepted()
    assert '"\\\\x1b[2J' in printed
    assert "\x1b" not in printed


def test_nodes_of_one_name(tmp_path: Path, scores: Path) -> None:
    model = argmax_model(axis=1)
    model.graph.node.add().CopyFrom(argmax_node(axis=0))
    model.graph.node[1].output[0] = "other"
    model.graph.output.append(helper.make_tensor_value_info("other", TensorProto.INT64, None))
    printed = in_this_process("run", saved(tmp_path / "m.onnx", model), scores).accepted()
    assert [node[4] for node in cells(printed, "labels")] == [OURS, OURS]


@pytest.mark.large
def test_external_data_too_large_for_a_message(tmp_path: Path) -> None:
    rows = 2**21
    weights = TensorProto(
        name="weights", dims=[rows, 257], data_type=TensorProto.FLOAT, data_location=1
    )
    weights.external_data.add(key="location", value="weights.bin")
    model = model_of(
        [helper.make_node("Gather", ["weights", "ids"], ["data"]), argmax_node(axis=1)],
        inputs=[helper.make_tensor_value_info("ids", TensorProto.INT64, ["N"])],
        outputs=[helper.make_tensor_value_info("reduced", TensorProto.INT64, ["N", 1])],
        initializers=[weights],
    )
    path = saved(tmp_path / "m.onnx", model)
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(4 * 257 * rows)
        file.seek(4 * (257 * (rows - 1) + 99))
        file.write(np.float32(1).tobytes())
    np.savez(tmp_path / "ids.npz", ids=np.array([0, rows - 1]))
    output = tmp_path / "out.npy"
    in_this_process("run", path, tmp_path / "ids.npz", "--output", output).accepted()
    assert np.load(output).tolist() == [[0], [99]]


def test_external_data_beside_the_model(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too large for one message stays in its files, which the runtime finds itself."""
    model = model_of(
        [helper.make_node("Add", ["data", "weights"], ["sum"]), argmax_node(axis=1, keepdims=0)],
        inputs=[helper.make_tensor_value_info("data", TensorProto.FLOAT, [2, 3])],
        outputs=[helper.make_tensor_value_info("reduced", TensorProto.INT64, [2])],
        initializers=[numpy_helper.from_array(-SCORES, "weights")],
    )
    model.graph.node[1].input[0] = "sum"
    folder = tmp_path / "folder"
    folder.mkdir()
    onnx.save(
        model,
        folder / "m.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    # The model fits, but not together with its weights.
    size = (folder / "m.onnx").stat().st_size
    monkeypatch.setattr("onnx_argmax._models.MOST_MESSAGE_BYTES", size)
    monkeypatch.chdir(folder)
    for path in (Path("m.onnx"), folder / "m.onnx"):
        printed = in_this_process("run", path, scores).accepted()
        assert cells(printed, "reduced") == [["reduced", "int64", "(2,)", "[0 0]"]]


def test_onnxruntime_is_not_imported_without_need(tmp_path: Path, scores: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(axis=1))
    assert find_spec("onnxruntime") is not None
    source = (
        "import sys; from onnx_argmax.cli import main; status = main(sys.argv[1:])\n"
        "assert 'onnxruntime' not in sys.modules; sys.exit(status)"
    )
    for command in (("run", path, scores, "--runtime", "reference"), ("inspect", path)):
        python("-c", source, *map(str, command)).accepted()
