# SPDX-License-Identifier: Apache-2.0
"""Models from files: each fault of a file has an error of its own."""

# onnx leaves some of its parameters without types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from onnx import TensorProto

from models import argmax_model, in_function, in_if, model_of
from onnx_argmax import _models
from onnx_argmax._model_checks import check_model
from onnx_argmax._models import load_model, read_model
from onnx_argmax.backend import prepare


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


def with_weights(rows: int = 4) -> onnx.ModelProto:
    """A model with a tensor that can lie in a file of its own."""
    return model_of(
        [
            onnx.helper.make_node("Gather", ["weights", "ids"], ["chosen"], axis=0),
            onnx.helper.make_node("ArgMax", ["chosen"], ["label"], axis=1, keepdims=0),
        ],
        inputs=[onnx.helper.make_tensor_value_info("ids", TensorProto.INT64, ("N",))],
        outputs=[onnx.helper.make_tensor_value_info("label", TensorProto.INT64, ("N",))],
        initializers=[onnx.numpy_helper.from_array(np.eye(rows, dtype=np.float32), "weights")],
    )


def save_external(path: Path, model: onnx.ModelProto) -> Path:
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path.with_name("weights.bin")


def test_a_good_file(path: Path) -> None:
    model = argmax_model(axis=1)
    onnx.save(model, path)
    assert load_model(path) == load_model(str(path)) == model


@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")
@pytest.mark.parametrize("suffix", [".textproto", ".json", ".onnxtxt"])
def test_text_formats(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    onnx.save(argmax_model(axis=1), path)
    assert load_model(path).graph.node[0].op_type == "ArgMax"
    path.write_text("not a model")
    with pytest.raises(ValueError, match=f"model{suffix}: not an ONNX model in the format"):
        load_model(path)


def test_missing_file(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.onnx: no such file"):
        load_model(path)


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        load_model(tmp_path)


def test_what_is_no_regular_file(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(OSError, match=r"model\.onnx: not a file: this is a pipe, a device"):
        load_model(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"model\.onnx: not a file: this is a pipe, a device"):
        load_model(path)
    with pytest.raises(ValueError, match=r"'a\\x00b': no file can have this name"):
        load_model("a\0b")


def test_a_file_that_fails_as_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path) -> bytes:
        raise OSError(5, "Input/output error")

    onnx.save(argmax_model(), path)
    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(OSError, match=r"model\.onnx: cannot be read: Input/output error"):
        load_model(path)


def test_empty_file(path: Path) -> None:
    path.touch()
    with pytest.raises(ValueError, match=r"model\.onnx: not an ONNX model: the file is empty"):
        load_model(path)


@pytest.mark.parametrize(
    "content",
    [
        b"a text, and no model at all",
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'",
        b"PK\x03\x04" + bytes(40),
        b"\x80\x04\x95",
        bytes(100),
        onnx.numpy_helper.from_array(np.arange(6.0).reshape(2, 3), "x").SerializeToString(),
        b"\xff" * 20,
    ],
    ids=["text", "png", "npy", "zip", "pickle", "zeros", "tensor", "ones"],
)
def test_not_onnx(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.onnx: not an ONNX model \("):
        load_model(path)


def test_truncated_anywhere(path: Path) -> None:
    whole = argmax_model(axis=1, keepdims=0).SerializeToString()
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        # Cut between two fields, what is left is a message that merely lacks the rest.
        words = r"model\.onnx: (the model is truncated|not a valid ONNX model)"
        with pytest.raises(ValueError, match=words):
            load_model(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="truncated: the file ends before it does"):
        load_model(path)


def test_damaged_inside(path: Path) -> None:
    whole = bytearray(argmax_model(axis=1).SerializeToString())
    start = whole.index(b"ArgMax")
    whole[start - 1] = 0x7F  # the length of a string reaches beyond its node
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"model\.onnx: the model is damaged"):
        load_model(path)


def named(kind: str) -> onnx.ModelProto:
    """A model where something of that kind has the name ``QQQQ``, deep inside it."""
    model = in_if(argmax_model(axis=1))
    node = model.graph.node[0].attribute[1].g.node[0]
    match kind:
        case "a node":
            node.name = "QQQQ"
        case "an input":
            node.input[0] = "QQQQ"
        case "an output":
            node.output[0] = "QQQQ"
        case "an operator":
            node.op_type = "QQQQ"
        case "an attribute":
            node.attribute[0].name = "QQQQ"
        case "a graph":
            model.graph.name = "QQQQ"
        case "a dimension":
            model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "QQQQ"
        case "a value":
            model.graph.value_info.add(name="QQQQ")
        case "an initializer":
            model.graph.initializer[0].name = "QQQQ"
        case "a function":
            model.functions.add(name="QQQQ")
        case _:
            model.functions.add(name="f").opset_import.add(domain="QQQQ")
    return model


@pytest.mark.parametrize(
    "kind",
    [
        "a node",
        "an input",
        "an output",
        "an operator",
        "an attribute",
        "a graph",
        "a dimension",
        "a value",
        "an initializer",
        "a function",
        "an operator set",
    ],
)
def test_a_name_that_is_no_utf_8(path: Path, kind: str) -> None:
    path.write_bytes(named(kind).SerializeToString().replace(b"QQQQ", b"\xff\xfe\x80a"))
    words = rf"model\.onnx: the name '\\xff\\xfe\\x80a' of {kind} is not UTF-8, as every name in"
    for read in (load_model, read_model, prepare):
        with pytest.raises(ValueError, match=words):
            read(path)


def test_a_name_in_a_function_that_is_no_utf_8(path: Path) -> None:
    model = in_function(argmax_model(axis=1))
    model.functions[0].node[0].output[0] = "QQQQ"
    path.write_bytes(model.SerializeToString().replace(b"QQQQ", b"\xff" * 4))
    with pytest.raises(ValueError, match=r"of an output is not UTF-8"):
        load_model(path)


def test_texts_that_are_no_names(path: Path) -> None:
    model = argmax_model(axis=1)
    model.doc_string = model.graph.node[0].doc_string = model.producer_name = "QQQQ"
    path.write_bytes(model.SerializeToString().replace(b"QQQQ", b"caf\xe9"))
    assert prepare(path).run([np.eye(2, dtype=np.float32)])[0].tolist() == [[0], [1]]


def test_invalid_by_the_checker(path: Path) -> None:
    model = argmax_model()
    model.graph.node[0].input[0] = "nothing"
    onnx.save(model, path)
    with pytest.raises(ValueError, match=r"model\.onnx: not a valid ONNX model: .*nothing"):
        load_model(path)


def test_invalid_by_the_contract(path: Path) -> None:
    onnx.save(argmax_model(TensorProto.BOOL), path)
    with pytest.raises(TypeError, match=r"model\.onnx: node 'labels' .*tensor\(bool\)"):
        load_model(path)


def test_external_data(path: Path) -> None:
    save_external(path, with_weights())
    model = load_model(path)
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).tolist() == np.eye(4).tolist()
    assert prepare(path).run([np.array([2, 0])])[0].tolist() == [2, 0]


def test_external_data_is_found_beside_the_model(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_external(path, with_weights())
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert load_model(path).graph.initializer[0].raw_data


def test_external_data_that_is_missing(path: Path) -> None:
    save_external(path, with_weights()).unlink()
    words = r"model\.onnx: the external data of tensor 'weights' is missing: .*weights\.bin"
    with pytest.raises(FileNotFoundError, match=words):
        load_model(path)


def test_external_data_that_is_too_short(path: Path) -> None:
    save_external(path, with_weights()).write_bytes(b"short")
    with pytest.raises(ValueError, match=r"tensor 'weights' is truncated: .* has 5 bytes, but 64"):
        load_model(path)


@pytest.mark.parametrize(("key", "value"), [("offset", "-4"), ("length", "many")])
def test_external_data_of_no_number_of_bytes(path: Path, key: str, value: str) -> None:
    save_external(path, with_weights())
    model = onnx.load(path, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == key:
            entry.value = value
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match=f"'weights' is no number of bytes: .*{value}"):
        load_model(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("location", "a\0b", "cannot be read: .*no file can have this name"),
        ("location", "a" * 5000, "cannot be read: .*File name too long"),
        ("location", ".", "cannot be read: .*not a file: this is a folder"),
        ("location", "pipe", "cannot be read: .*not a file: this is a pipe"),
        ("offset", "1" * 5000, r"is no number of bytes: offset '1+\.\.\.1+', length"),
        ("length", "1" * 5000, r"is no number of bytes: .* length '1+\.\.\.1+'; whole num"),
    ],
    ids=["nul", "long", "folder", "pipe", "offset", "length"],
)
def test_external_data_that_no_file_can_have(path: Path, key: str, value: str, words: str) -> None:
    save_external(path, with_weights())
    os.mkfifo(path.with_name("pipe"))
    model = onnx.load(path, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == key:
            entry.value = value
    path.write_bytes(model.SerializeToString())
    with pytest.raises((ValueError, OSError), match=rf"model\.onnx: .*'weights' {words}"):
        load_model(path)


def test_external_data_outside_the_folder(path: Path) -> None:
    save_external(path, with_weights())
    model = onnx.load(path, load_external_data=False)
    outside = path.parent.parent / "outside.bin"
    outside.write_bytes(bytes(64))
    model.graph.initializer[0].external_data[0].value = "../outside.bin"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="data of tensor 'weights' cannot be read"):
        load_model(path)


def test_a_model_in_memory_without_its_external_data(path: Path) -> None:
    save_external(path, with_weights())
    with pytest.raises(
        ValueError, match=r"'weights' lies in an external file .* pass the model's"
    ):
        check_model(onnx.load(path, load_external_data=False))


def test_a_file_beyond_what_a_message_can_hold(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**31)  # sparse: it takes no room
    with pytest.raises(ValueError, match="2147483648 bytes are more than the 2 GiB"):
        load_model(path)


def test_a_model_larger_than_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = save_external(path, with_weights())
    size = weights.stat().st_size + path.stat().st_size
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1, "SC_PAGE_SIZE": 100}.get)
    with pytest.raises(MemoryError, match=r"model\.onnx: the model's \d+ bytes are more than th"):
        load_model(path)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1, "SC_PAGE_SIZE": size}.get)
    load_model(path)


def test_memory_that_runs_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object, **__: object) -> bytes:
        raise MemoryError

    weights = save_external(path, with_weights())
    assert weights.exists()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", no_memory)
        with pytest.raises(MemoryError, match=r"model\.onnx: there is not enough memory to read"):
            load_model(path)
    monkeypatch.setattr(
        _models.onnx.external_data_helper, "load_external_data_for_tensor", no_memory
    )
    with pytest.raises(MemoryError, match="not enough memory for the data of tensor 'weights'"):
        load_model(path)


@pytest.mark.large
def test_a_model_above_2_gib_is_checked_and_runs(path: Path) -> None:
    weights = save_external(path, with_weights())
    model = onnx.load(path, load_external_data=False)
    tensor = model.graph.initializer[0]
    rows = 2**31 // 4 // 1024 + 1
    tensor.dims[:] = [rows, 1024]
    for entry in tensor.external_data:
        if entry.key == "length":
            entry.value = str(rows * 4096)
    os.truncate(weights, rows * 4096)
    path.write_bytes(model.SerializeToString())
    assert prepare(path).run([np.array([0, rows - 1])])[0].tolist() == [0, 0]
    model.graph.node[1].attribute[0].i = 7
    path.write_bytes(model.SerializeToString())
    with pytest.raises(np.exceptions.AxisError, match="axis 7 is out of range"):
        prepare(path)
