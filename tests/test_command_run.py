# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax run``: a model on inputs from files."""

from __future__ import annotations

import os
import re
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnx_argmax
from command import DIGITS, in_process, in_shell, in_this_process

pytest.importorskip("typer")
onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from models import AROUND, argmax_model, argmax_node, model_of, saved  # noqa: E402

SCORES = np.array([[2, 1, 2], [3, 10, 10]], np.float32)
LEVEL = onnx_argmax.build_info().level
BY = {
    "onnxruntime": f"OnnxArgMaxExecutionProvider, level {LEVEL}",
    "reference": f"onnx_argmax.reference, level {LEVEL}",
}
has_onnxruntime = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)
RUNTIMES = [pytest.param("onnxruntime", marks=has_onnxruntime), "reference"]


@pytest.fixture(params=RUNTIMES, autouse=True)
def runtime(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs on both, except in processes of their own, which take the default."""
    monkeypatch.setattr("onnx_argmax.cli.run.chosen_runtime", lambda asked: asked or request.param)
    return request.param


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model that takes ``data``, float of rank 2, and gives ``reduced`` along axis 1."""
    return saved(tmp_path / "model.onnx", argmax_model(axis=1, keepdims=0))


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.npz"
    np.savez(path, data=SCORES)
    return path


def write_value(path: Path, array: np.ndarray[Any, Any], name: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def rows(printed: str) -> list[list[str]]:
    """Cells of the lines of the tables, split where two spaces are."""
    return [
        [cell.strip() for cell in line.split("  ") if cell.strip()]
        for line in printed.splitlines()
    ]


# The example, as the README has it.


def test_digits_example(runtime: str) -> None:
    files = [DIGITS / "digits.onnx", DIGITS / "digits.npz"]
    outcome = in_process("run", *files, "--compare", "label", "--runtime", runtime)
    printed = outcome.accepted()
    assert ["ArgMax", "graph", "13", "13", BY[runtime]] in rows(printed)
    assert "label: 349 of 360 agree with 'label'" in printed
    assert "[7 6 3 7 7 3 2 8" in printed


def test_digits_readme_shows_what_is_printed(runtime: str) -> None:
    if runtime == "reference":
        pytest.skip("the README shows the other runtime")
    readme = (DIGITS / "README.md").read_text(encoding="utf-8")
    _, command, _, shown, *_ = readme.split("```")
    files = [DIGITS / "digits.onnx", DIGITS / "digits.npz"]
    assert "run examples/digits/digits.onnx examples/digits/digits.npz --compare label" in command
    printed = in_this_process("run", *files, "--compare", "label").accepted()
    assert comparable(shown) == comparable(printed)


def comparable(text: str) -> list[str]:
    """The lines without what depends on the machine: level, versions, last digits of floats."""
    text = re.sub(r"(ONNX Runtime) [\d.]+\d", r"\1", text)
    text = re.sub(r"\d\.\d+e-\d\d", "FLOAT", text)
    lines = [line.partition(", level")[0].rstrip() for line in text.strip().splitlines()]
    return [line for line in lines if set(line) - set(" ─")]


def test_digits_example_is_what_its_maker_says() -> None:
    files = [DIGITS / "digits.onnx", DIGITS / "digits.npz"]
    assert sum(file.stat().st_size for file in files) < 100_000
    graph = onnx.load(files[0]).graph
    assert "ArgMax" in [node.op_type for node in graph.node]
    with np.load(files[1]) as held_out:
        assert held_out["pixels"].shape == (360, 64)
        assert held_out["label"].shape == (360,)


# Inputs in every form.


def test_npz(model: Path, scores: Path, runtime: str) -> None:
    printed = in_this_process("run", model, scores).accepted()
    assert ["labels", "graph", "13", "13", BY[runtime]] in rows(printed)
    assert ["reduced", "int64", "(2,)", "[0 1]"] in rows(printed)


def test_named_npy(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "a=b.npy", SCORES)
    printed = in_this_process("run", model, f"data={tmp_path / 'a=b.npy'}").accepted()
    assert ["reduced", "int64", "(2,)", "[0 1]"] in rows(printed)


def test_inputs_from_several_files(tmp_path: Path) -> None:
    two = model_of(
        [
            helper.make_node("Add", ["left", "right"], ["data"]),
            argmax_node(axis=1, keepdims=0),
        ],
        inputs=[
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 3])
            for name in ("left", "right")
        ],
        outputs=[helper.make_tensor_value_info("reduced", TensorProto.INT64, [None])],
    )
    path = saved(tmp_path / "two.onnx", two)
    np.savez(tmp_path / "left.npz", left=SCORES)
    np.save(tmp_path / "right.npy", -2 * SCORES)
    printed = in_this_process(
        "run", path, tmp_path / "left.npz", f"right={tmp_path / 'right.npy'}"
    ).accepted()
    assert ["reduced", "int64", "(2,)", "[1 0]"] in rows(printed)
    in_this_process("run", path, tmp_path / "left.npz").refused("'right'")


def test_report_4_bfloat16_where_the_model_says_so(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    path = saved(tmp_path / "m.onnx", argmax_model(TensorProto.BFLOAT16, (3,), axis=0))
    array = np.array([1, np.nan, 3], ml_dtypes.bfloat16)
    np.savez(tmp_path / "npz.npz", data=array)
    np.save(tmp_path / "npy.npy", array)
    write_value(tmp_path / "folder" / "input_0.pb", array)
    for given in (tmp_path / "npz.npz", f"data={tmp_path / 'npy.npy'}", tmp_path / "folder"):
        printed = in_this_process("run", path, given).accepted()
        assert ["reduced", "int64", "(1,)", "[1]"] in rows(printed)
    np.savez(tmp_path / "bits.npz", data=array.view(np.uint16))
    in_this_process("run", path, tmp_path / "bits.npz").refused("bfloat16", "uint16")


def test_report_12_bfloat16_before_version_13(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(TensorProto.BFLOAT16, (3,), opset=12))
    np.savez(tmp_path / "npz.npz", data=np.zeros(3, "V2"))
    in_this_process("run", path, tmp_path / "npz.npz").refused("bfloat16", "opset 12")


# Folders in the layout of ONNX's test data.


def test_folder_with_what_is_expected(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "test_data_set_0"
    write_value(folder / "input_0.pb", SCORES, "data")
    printed = in_this_process("run", model, folder).accepted()
    assert "equal" not in printed
    write_value(folder / "output_0.pb", np.array([0, 1]))
    printed = in_this_process("run", model, folder).accepted()
    assert ["reduced", "int64", "(2,)", "[0 1]", "equal to output_0.pb"] in rows(printed)


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (np.array([0, 2]), "1 of 2 elements; the first at [1]: 1, expected 2"),
        (np.array([[0], [1]]), "shape (2,), expected (2, 1)"),
        (np.array([0, 1], np.int32), "type int64, expected int32"),
        (np.array(["0", "1"]), "type int64, expected string"),
    ],
)
def test_folder_that_expects_something_else(
    expected: np.ndarray[Any, Any], words: str, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    write_value(folder / "input_0.pb", SCORES)
    write_value(folder / "output_0.pb", expected)
    output = tmp_path / "out.npy"
    outcome = in_process("run", model, folder, "--output", output)
    assert outcome.status == 1
    assert ["reduced", "int64", "(2,)", "[0 1]", "different from output_0.pb"] in rows(outcome.out)
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert str(folder / "output_0.pb") in outcome.err
    np.testing.assert_array_equal(np.load(output), [0, 1])


@pytest.mark.parametrize(
    ("elem_type", "given", "expected", "equal"),
    [
        (TensorProto.FLOAT, [1.0, np.nan], [1.0005, np.nan], True),
        (TensorProto.FLOAT, [1.0, np.nan], [1.01, np.nan], False),
        (TensorProto.FLOAT, [1.0, np.nan], [1.0, 2.0], False),
        (TensorProto.BFLOAT16, [1.0, np.nan], [1.0, np.nan], True),
        (TensorProto.BFLOAT16, [1.0, 0.0], [1.0078125, 0.0], False),
        (TensorProto.BOOL, [True, False], [True, False], True),
        (TensorProto.BOOL, [True, False], [True, True], False),
        (TensorProto.STRING, ["a", "b"], ["a", "b"], True),
        (TensorProto.STRING, ["a", "b"], ["a", "c"], False),
        (TensorProto.INT64, [2**53], [2**53 + 1], False),
    ],
)
def test_when_outputs_are_equal(
    elem_type: int, given: list[Any], expected: list[Any], equal: bool, tmp_path: Path
) -> None:
    path = saved(tmp_path / "m.onnx", identity(elem_type))
    dtype = helper.tensor_dtype_to_np_dtype(elem_type)
    write_value(tmp_path / "data" / "input_0.pb", np.array(given, dtype))
    write_value(tmp_path / "data" / "output_0.pb", np.array(expected, dtype))
    outcome = in_this_process("run", path, tmp_path / "data")
    assert outcome.status == (0 if equal else 1)
    assert ("equal to output_0.pb" in outcome.out) == equal


def identity(elem_type: int) -> Any:
    return model_of(
        [helper.make_node("Identity", ["data"], ["same"])],
        inputs=[helper.make_tensor_value_info("data", elem_type, [None])],
        outputs=[helper.make_tensor_value_info("same", elem_type, [None])],
    )


def test_folder_with_sequences_and_optionals(tmp_path: Path) -> None:
    sequence = helper.make_sequence_type_proto(
        helper.make_tensor_type_proto(TensorProto.FLOAT, [None, None])
    )
    graph = model_of(
        [
            helper.make_node("Identity", ["all"], ["same"]),
            helper.make_node("SequenceAt", ["all", "which"], ["data"]),
            argmax_node(axis=1, keepdims=0),
        ],
        inputs=[helper.make_value_info("all", sequence)],
        outputs=[
            helper.make_value_info("same", sequence),
            helper.make_tensor_value_info("reduced", TensorProto.INT64, [None]),
        ],
        initializers=[helper.make_tensor("which", TensorProto.INT64, (), [1])],
        opset=14,
    )
    path = saved(tmp_path / "m.onnx", graph)
    folder = tmp_path / "data"
    folder.mkdir()
    arrays = [SCORES, -SCORES]
    for name in ("input_0.pb", "output_0.pb"):
        (folder / name).write_bytes(numpy_helper.from_list(arrays).SerializeToString())
    printed = in_this_process("run", path, folder).accepted()
    assert "2 elements" in printed
    assert "equal to output_0.pb" in printed
    assert ["reduced", "int64", "(2,)", "[1 0]"] in rows(printed)
    in_this_process("run", path, folder, "--output", tmp_path / "x.npz").refused(
        "'same' is a sequence"
    )
    (folder / "output_0.pb").write_bytes(numpy_helper.from_list(arrays[:1]).SerializeToString())
    outcome = in_this_process("run", path, folder)
    assert outcome.status == 1
    assert "2 elements, expected 1" in outcome.err


def break_folder(folder: Path, fault: str) -> None:
    write_value(folder / "input_0.pb", SCORES)
    write_value(folder / "output_0.pb", np.array([0, 1]))
    match fault:
        case "no input":
            (folder / "input_0.pb").unlink()
        case "gap":
            (folder / "output_0.pb").rename(folder / "output_1.pb")
        case "too many":
            write_value(folder / "input_1.pb", SCORES)
        case "no message":
            (folder / "input_0.pb").write_text("not a message")
        case "truncated":
            content = (folder / "input_0.pb").read_bytes()
            (folder / "input_0.pb").write_bytes(content[:-5])
        case "empty file":
            (folder / "input_0.pb").write_bytes(b"")
        case "pipe":
            (folder / "input_0.pb").unlink()
            os.mkfifo(folder / "input_0.pb")
        case "folder":
            (folder / "output_0.pb").unlink()
            (folder / "output_0.pb").mkdir()
        case "unknown type":
            tensor = onnx.TensorProto(data_type=77, dims=[2], raw_data=bytes(8))
            (folder / "input_0.pb").write_bytes(tensor.SerializeToString())


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no input", "no input_0.pb"),
        ("gap", "output_1.pb is there, output_0.pb is not"),
        ("too many", "input_1.pb is there, but the model has 1 input"),
        ("no message", "input_0.pb: not a TensorProto"),
        ("truncated", "input_0.pb: not a TensorProto"),
        ("empty file", "input_0.pb: not a TensorProto"),
        ("pipe", "input_0.pb: not a file: this is a pipe"),
        ("folder", "output_0.pb: not a file: this is a folder"),
        ("unknown type", "input_0.pb: not a TensorProto"),
    ],
)
def test_bad_folder(fault: str, words: str, model: Path, tmp_path: Path) -> None:
    break_folder(tmp_path / "data", fault)
    in_this_process("run", model, tmp_path / "data").refused(words)


def test_folder_whose_names_and_numbers_disagree(tmp_path: Path) -> None:
    subtract = model_of(
        [helper.make_node("Sub", ["a", "b"], ["c"])],
        inputs=[helper.make_tensor_value_info(n, TensorProto.FLOAT, [None]) for n in "ab"],
        outputs=[helper.make_tensor_value_info("c", TensorProto.FLOAT, [None])],
    )
    path = saved(tmp_path / "m.onnx", subtract)
    write_value(tmp_path / "data" / "input_0.pb", np.ones(1, np.float32), "b")
    write_value(tmp_path / "data" / "input_1.pb", np.ones(1, np.float32), "a")
    in_this_process("run", path, tmp_path / "data").refused("'a'", "'b'", "input_0.pb")


# Comparing.


def test_compare_counts_and_is_no_failure(model: Path, scores: Path, tmp_path: Path) -> None:
    np.savez(scores, data=SCORES, truth=np.array([[0], [2]], np.uint8), reduced=np.array([0, 1]))
    np.save(tmp_path / "more.npy", np.array([1, 0]))
    printed = in_this_process(
        "run", model, scores, f"more={tmp_path / 'more.npy'}", "--compare", "reduced=truth",
        "--compare", "reduced", "--compare", "reduced=more",
    ).accepted()  # fmt: skip
    assert printed.splitlines()[-3:] == [
        "reduced: 1 of 2 agree with 'truth'; the first at [1]: 1, expected 2",
        "reduced: 2 of 2 agree with 'reduced'",
        "reduced: 0 of 2 agree with 'more'; the first at [0]: 0, expected 1",
    ]


@pytest.mark.parametrize(
    ("compare", "words"),
    [
        ("labels", "the model's outputs are 'reduced'"),
        ("labels=truth", "the model's outputs are 'reduced'"),
        ("reduced=", "OUTPUT=KEY"),
        ("reduced=none", "no array 'none' is given, only 'data', 'truth', 'words'"),
    ],
)
def test_bad_compare(compare: str, words: str, model: Path, scores: Path) -> None:
    np.savez(scores, data=SCORES, truth=np.array([0, 2]), words=np.array(["a", "b"]))
    options = ("--compare", "reduced=truth", "--compare", "reduced=words")
    in_this_process("run", model, scores, *options[:2], "--compare", compare).refused(words)


def test_compare_with_what_cannot_be_compared(model: Path, scores: Path) -> None:
    np.savez(scores, data=SCORES, three=np.arange(3))
    in_this_process("run", model, scores, "--compare", "reduced=three").refused("(2,)", "(3,)")
    np.savez(scores, data=SCORES, words=np.array(["a", "b"]))
    in_this_process("run", model, scores, "--compare", "reduced=words").refused("int64", "string")
    np.savez(scores, data=SCORES)
    in_this_process("run", model, scores, "--compare", "reduced=none").refused(
        "no array 'none' is given, only 'data'"
    )


# What ran.


@pytest.mark.parametrize("around", AROUND)
def test_every_argmax_is_listed_wherever_it_is(around: str, scores: Path, tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", AROUND[around](argmax_model(axis=1, keepdims=0)))
    printed = in_this_process("run", path, scores).accepted()
    assert ["reduced", "int64", "(2,)", "[0 1]"] in rows(printed)
    listed = [row for row in rows(printed) if row and row[0] == "labels"]
    assert len(listed) == (2 if around == "if" else 1)
    places = {"graph": "graph", "if": "then_branch of If if", "function": "function local.Pick"}
    assert places.get(around, "") in " ".join(" ".join(row) for row in rows(printed))


@pytest.mark.parametrize(("opset", "version"), [(1, 1), (10, 1), (11, 11), (12, 12), (19, 13)])
def test_version_of_each_opset(
    opset: int, version: int, scores: Path, tmp_path: Path, runtime: str
) -> None:
    path = saved(tmp_path / "m.onnx", argmax_model(opset=opset, axis=1))
    printed = in_this_process("run", path, scores).accepted()
    assert ["labels", "graph", str(opset), str(version), BY[runtime]] in rows(printed)


def test_node_without_a_name_and_model_without_argmax(tmp_path: Path, runtime: str) -> None:
    nameless = argmax_model(axis=0)
    nameless.graph.node[0].name = ""
    np.savez(tmp_path / "s.npz", data=SCORES)
    path = saved(tmp_path / "m.onnx", nameless)
    printed = in_this_process("run", path, tmp_path / "s.npz").accepted()
    called = "(node 0, output reduced)"
    assert [called, "graph", "13", "13", BY[runtime]] in rows(printed)
    np.savez(tmp_path / "s.npz", data=SCORES[0])
    path = saved(tmp_path / "m.onnx", identity(TensorProto.FLOAT))
    printed = in_this_process("run", path, tmp_path / "s.npz").accepted()
    assert "no ArgMax node" in printed


def test_report_7_overflow_is_an_answer_and_no_warning(tmp_path: Path) -> None:
    overflowing = model_of(
        [
            helper.make_node("Cast", ["wide"], ["data"], to=TensorProto.FLOAT16),
            argmax_node(axis=0),
        ],
        inputs=[helper.make_tensor_value_info("wide", TensorProto.FLOAT, [3])],
        outputs=[helper.make_tensor_value_info("reduced", TensorProto.INT64, [1])],
    )
    path = saved(tmp_path / "m.onnx", overflowing)
    np.savez(tmp_path / "s.npz", wide=np.array([70000, 1e6, 3], np.float32))
    printed = in_process("run", path, tmp_path / "s.npz").accepted()
    assert ["reduced", "int64", "(1,)", "[0]"] in rows(printed)


# Outputs to files.


def two_outputs(tmp_path: Path) -> Path:
    both = argmax_model(axis=1, keepdims=0)
    both.graph.node.add(op_type="Identity", input=["data"], output=["a/b:0"])
    both.graph.output.append(helper.make_tensor_value_info("a/b:0", TensorProto.FLOAT, [None] * 2))
    return saved(tmp_path / "both.onnx", both)


def test_outputs_to_npz(tmp_path: Path, scores: Path) -> None:
    output = tmp_path / "out.npz"
    printed = in_this_process("run", two_outputs(tmp_path), scores, "--output", output).accepted()
    assert f"written to {output}" in printed
    with np.load(output) as written:
        assert written.files == ["reduced", "a/b:0"]
        np.testing.assert_array_equal(written["reduced"], [0, 1], strict=True)
        np.testing.assert_array_equal(written["a/b:0"], SCORES, strict=True)


def test_an_output_may_have_any_name(tmp_path: Path, scores: Path) -> None:
    named = argmax_model(axis=0)
    named.graph.node[0].output[0] = named.graph.output[0].name = "file"
    path = saved(tmp_path / "m.onnx", named)
    in_this_process("run", path, scores, "--output", tmp_path / "out.npz").accepted()
    with np.load(tmp_path / "out.npz") as written:
        assert written.files == ["file"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("a\0b",), r"output 'a\x00b' cannot be the name"),
        (("a" * 70000,), "takes up to 65531 bytes"),
        (("a", "a"), "another output would have the same name in a .npz as 'a'"),
        (("a", "a.npy"), "the same name in a .npz as 'a.npy'"),
        (("a.npy", "a"), "the same name in a .npz as 'a'"),
    ],
    ids=["nul", "long", "twice", "suffix", "suffix first"],
)
def test_outputs_that_an_archive_cannot_tell_apart(
    names: tuple[str, ...], words: str, tmp_path: Path, scores: Path
) -> None:
    several = argmax_model(axis=0)
    for name in dict.fromkeys(names):
        several.graph.node.add(op_type="Identity", input=["data"], output=[name])
    for name in names:
        several.graph.output.append(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 2)
        )
    path = saved(tmp_path / "m.onnx", several)
    output = tmp_path / "out.npz"
    in_this_process("run", path, scores, "--output", output).refused("--output", words)
    assert not output.exists()


@pytest.mark.parametrize("elem_type", [TensorProto.STRING, TensorProto.BFLOAT16])
def test_outputs_that_numpy_has_no_type_for(elem_type: int, tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    path = saved(tmp_path / "m.onnx", identity(elem_type))
    dtype = helper.tensor_dtype_to_np_dtype(elem_type)
    values = ["a", "\x1b[2J"] if elem_type == TensorProto.STRING else [1, 2]
    write_value(tmp_path / "data" / "input_0.pb", np.array(values, dtype))
    output = tmp_path / "out.npy"
    printed = in_this_process("run", path, tmp_path / "data", "--output", output).accepted()
    assert "\x1b" not in printed
    written = np.load(output)
    if elem_type == TensorProto.STRING:
        assert written.tolist() == values
    else:
        np.testing.assert_array_equal(written.view(dtype).astype(np.float32), values)


def test_output_to_npy_and_only_for_one_output(model: Path, scores: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.npy"
    in_this_process("run", model, scores, "--output", output).accepted()
    np.testing.assert_array_equal(np.load(output), [0, 1], strict=True)
    output.unlink()
    in_this_process("run", two_outputs(tmp_path), scores, "--output", output).refused(
        "the model has 2 outputs ('reduced', 'a/b:0')", ".npz"
    )
    assert not output.exists()


def test_the_output_path_is_checked_before_the_model_is_read(tmp_path: Path) -> None:
    in_this_process(
        "run", tmp_path / "missing.onnx", "--output", tmp_path / "none" / "out.npz"
    ).refused("--output", "no such folder")


def test_a_failure_leaves_the_output_as_it_was(
    model: Path, scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.npz"
    output.write_bytes(b"what was there")
    before = sorted(tmp_path.iterdir())

    def fail(file: Any, *arguments: Any, **options: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    in_this_process("run", model, scores, "--output", output).refused("No space left on device")
    assert output.read_bytes() == b"what was there"
    assert sorted(tmp_path.iterdir()) == before


def test_closed_standard_output(model: Path, scores: Path, tmp_path: Path) -> None:
    words = "standard output is closed"
    in_shell(">&-", "run", model, scores).refused(words)
    output = ("--output", tmp_path / "out.npy")
    in_shell(">&-", "run", model, scores, *output, "--compare", "reduced").refused(words)
    in_shell(">&-", "run", model, scores, *output).accepted()
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), [0, 1], strict=True)


def test_a_text_format_without_a_warning(tmp_path: Path, scores: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    onnx.save(argmax_model(axis=1), path)
    # In a process of its own, where warnings are shown and not raised.
    in_process("run", path, scores).accepted()


# Bad models.


def write_bad_models(folder: Path) -> None:
    whole = argmax_model(axis=1).SerializeToString()
    (folder / "text.onnx").write_text("this is no model")
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "truncated.onnx").write_bytes(whole[:-7])
    (folder / "folder.onnx").mkdir()
    wrong_attribute = argmax_model(opset=11, select_last_index=1)
    saved(folder / "attribute.onnx", wrong_attribute)
    saved(folder / "axis.onnx", argmax_model(shape=(2, 3), axis=6))
    unknown = argmax_model()
    unknown.graph.node[0].op_type = "ArgMost"
    saved(folder / "operator.onnx", unknown)
    cyclic = argmax_model()
    cyclic.graph.node[0].input[0] = "reduced"
    saved(folder / "cycle.onnx", cyclic)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "no such file"),
        ("folder", "folder"),
        ("text", "not an ONNX model"),
        ("empty", "not an ONNX model"),
        ("truncated", "truncated"),
        ("attribute", "select_last_index"),
        ("axis", "axis 6"),
        ("operator", "ArgMost"),
        ("cycle", "reduced"),
    ],
)
def test_bad_model(name: str, words: str, tmp_path: Path, scores: Path) -> None:
    write_bad_models(tmp_path)
    path = tmp_path / f"{name}.onnx"
    in_this_process("run", path, scores).refused(str(path), words)


def test_bad_model_in_a_process_of_its_own(tmp_path: Path) -> None:
    write_bad_models(tmp_path)
    in_process("run", tmp_path / "truncated.onnx").refused("truncated")


def test_a_pipe_is_no_model(tmp_path: Path, scores: Path) -> None:
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    in_process("run", pipe, scores).refused(f"{pipe}: not a file", "write what comes out")


def test_a_device_is_no_model(tmp_path: Path, scores: Path) -> None:
    link = tmp_path / "endless.onnx"
    link.symlink_to("/dev/zero")
    in_process("run", link, scores).refused(f"{link}: not a file")


# Bad inputs.


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"data": SCORES[0]}, "rank 1"),
        ({"data": SCORES.astype(np.float64)}, "float64"),
        ({"data": np.array([["a"]])}, "tensor(float)"),
        ({"scores": SCORES}, "it names no input: it holds 'scores'; the model takes 'data'"),
        ({}, "it names no input: it holds nothing; the model takes 'data'"),
        ({"data": SCORES, "labels": SCORES}, "'labels' is no input"),
        ({"data": SCORES, "labels": SCORES}, "--compare OUTPUT=labels"),
        ({"data": SCORES[:, :0]}, "length 0"),
    ],
)
def test_bad_npz(arrays: dict[str, Any], words: str, model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    in_this_process("run", model, tmp_path / "bad.npz").refused(words)


def test_what_is_of_no_use_is_not_read(model: Path, tmp_path: Path) -> None:
    for place, name in enumerate(("data", "labels")):
        np.savez(tmp_path / "bad.npz", data=SCORES, labels=SCORES)
        source = tmp_path / "bad.npz"
        content = bytearray(source.read_bytes())
        with zipfile.ZipFile(source) as archive:
            start = archive.infolist()[place].header_offset
        content[content.index(SCORES.tobytes(), start)] ^= 1  # found out only when it is read
        source.write_bytes(content)
        in_this_process("run", model, source).refused("'labels' is no input")
        in_this_process("run", model, source, "--compare", "reduced=labels").refused(
            f"array {name!r} is truncated or damaged"
        )


def test_report_84_an_error_as_the_model_runs_names_the_node(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz", data=np.zeros((0, 0), np.float32))
    in_this_process("run", model, tmp_path / "none.npz").refused(
        str(model), "'labels'", "(0, 0)", "axis 1", "length 0"
    )


def test_bad_input_arguments(model: Path, scores: Path, tmp_path: Path) -> None:
    npy = tmp_path / "scores.npy"
    np.save(npy, SCORES)
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "empty").mkdir()
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for arguments, words in (
        ((), ("'data'",)),
        ((npy,), (f"NAME={npy}", "the model takes 'data'")),
        ((f"={npy}",), ("NAME=", "the model takes 'data'")),
        ((f"scroes={npy}",), ("it names no input", "'scroes'", "the model takes 'data'")),
        ((tmp_path / "missing.npz",), ("missing.npz: no such file",)),
        ((f"data={tmp_path / 'missing.npy'}",), ("missing.npy: no such file",)),
        ((tmp_path / "missing",), ("no such file or folder",)),
        ((tmp_path / "notes.txt",), ("allowed are FILE.npz",)),
        ((tmp_path / "empty",), ("no input_0.pb", "'data'")),
        ((f"data={tmp_path / 'objects.npy'}",), ("pickled Python objects",)),
        ((scores, scores), ("'data' is given twice",)),
        ((scores, f"data={npy}"), ("'data' is given twice", str(scores), str(npy))),
    ):
        in_this_process("run", model, *arguments).refused(*words)


def test_the_output_must_not_replace_an_input(model: Path, scores: Path, tmp_path: Path) -> None:
    npy = tmp_path / "one.npy"
    np.save(npy, SCORES)
    for source, output in ((scores, scores), (f"data={npy}", npy)):
        in_this_process("run", model, source, "--output", output).refused("this is an input")


def test_input_in_a_process_of_its_own(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", scores=SCORES)
    in_process("run", model, tmp_path / "bad.npz").refused("names no input")


@pytest.mark.parametrize("variable", ["ONNX_ARGMAX_LEVEL", "ONNX_ARGMAX_NUM_THREADS"])
def test_environment_that_is_no_good(variable: str, model: Path, scores: Path) -> None:
    in_process("run", model, scores, **{variable: "nonsense"}).refused(variable, "nonsense")


def test_a_name_that_is_no_utf_8_is_refused(model: Path, scores: Path) -> None:
    model.write_bytes(model.read_bytes().replace(b"labels", b"\xff\xfe\x80abc"))
    words = (f"{model}: the name '\\xff\\xfe\\x80abc' of a node is not UTF-8", "in ONNX")
    in_this_process("run", model, scores).refused(*words)


def test_help_says_what_runs_a_node() -> None:
    printed = " ".join(in_this_process("run", "--help").accepted().split())
    assert "always this package" not in printed
    assert "ONNX Runtime itself computes a node of constant input" in printed
