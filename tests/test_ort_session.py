# SPDX-License-Identifier: Apache-2.0
"""Session options and sessions: the provider is in them, or there is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import onnx_argmax
from test_ort_registration import program

LEVELS = onnx_argmax.build_info().levels


def test_options_of_base_are_kept() -> None:
    program(
        """
base = onnxruntime.SessionOptions()
base.intra_op_num_threads = 3
base.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
base.logid = "mine"
base.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
options = ort.session_options(base, threads=2, log="info")
assert options is base
assert options.intra_op_num_threads == 3
assert options.logid == "mine"
assert options.get_session_config_entry("session.disable_cpu_ep_fallback") == "1"
check(onnxruntime.InferenceSession(MODEL, options))
session = ort.InferenceSession(MODEL, options)
check(session)
assert session.get_providers() == [ort.get_ep_name(), "CPUExecutionProvider"]
"""
    )


def test_options_are_not_given_twice() -> None:
    program(
        """
options = ort.session_options(threads=1)
error = refused(lambda: ort.session_options(options), "base: it has the provider already")
assert type(error) is ValueError
error = refused(lambda: ort.InferenceSession(MODEL, options, threads=2),
                "threads: sess_options has the provider with its options already")
assert type(error) is ValueError
error = refused(lambda: ort.session_options({"threads": 1}),
                "base: an onnxruntime.SessionOptions is needed, got dict")
assert type(error) is TypeError
check(ort.InferenceSession(MODEL, options))
"""
    )


def test_options_that_are_none_are_the_defaults() -> None:
    program("check(ort.InferenceSession(MODEL, threads=None, level=None, log=None))")


def test_wrong_options_are_refused_when_a_session_is_made() -> None:
    """And nothing falls back: ``onnxruntime.InferenceSession`` may make a session without it."""
    names = ", ".join(LEVELS)
    program(
        f"""
for options, words in (
    (dict(speed=1), "there is no option 'speed'; it has threads, level, log"),
    (dict(levell=None), "there is no option 'levell'"),
    (dict(Threads=1), "there is no option 'Threads'"),
    (dict(threads="many"), "option threads: an integer from 0 to 4096 is needed, got 'many'; 0 is "
                           "the runtime's own pool"),
    (dict(threads=-1), "got '-1'"),
    (dict(threads=4097), "got '4097'"),
    (dict(threads=1.5), "got '1.5'"),
    (dict(threads=True), "got 'True'"),
    (dict(threads=" 1"), "got ' 1'"),
    (dict(threads=""), "got ''"),
    (dict(threads="1\\n"), r"got '1\\x0a'"),
    (dict(level="avx9"), "option level: unknown level 'avx9'; this machine runs {names}"),
    (dict(level=""), "unknown level ''"),
    (dict(log="loud"), "option log: verbose, info or warning is needed, got 'loud'"),
):
    refused(lambda: ort.InferenceSession(MODEL, **options), "{onnx_argmax.ort.get_ep_name()}: ",
            words)
"""
    )


def test_options_with_a_nul_are_refused() -> None:
    program(
        r"""
for options in ({"level": "x86-64\0v3"}, {"threads\0": 1}, {"log": "info\0"}):
    error = refused(lambda: ort.session_options(**options), "option ", "cut off at the NUL")
    assert type(error) is ValueError
"""
    )


def test_the_assignment_is_recorded_whatever_the_options_say() -> None:
    program(
        """
options = ort.session_options()
options.add_session_config_entry("session.record_ep_graph_assignment_info", "0")
check(ort.InferenceSession(MODEL, options))
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.record_ep_graph_assignment_info", "0")
check(ort.InferenceSession(MODEL, options))
"""
    )


FEEDS = """
import onnx.helper, threading

def in_background(session, feed):
    found, done = [], threading.Event()

    def callback(results, user_data, error):
        found.append((results, user_data, error))
        done.set()

    session.run_async(["reduced"], feed, callback, "mine")
    assert done.wait(60)
    ((results, user_data, error),) = found
    assert (user_data, error) == ("mine", "")
    return results[0]

def answers(session, feed):
    return [session.run(None, feed)[0].tolist(), session.run(["reduced"], feed)[0].tolist(),
            in_background(session, feed).tolist()]

"""


def test_arrays_of_any_byte_order() -> None:
    program(
        FEEDS
        + """
for elem_type, kind in ((1, "f4"), (11, "f8"), (4, "u2"), (7, "i8")):
    session = ort.InferenceSession(argmax_model(elem_type, (None, None), axis=1, keepdims=0))
    values = [[1, 256, 2], [9, 8, 512]]
    for order in "<>":
        array = np.array(values, order + kind)
        assert answers(session, {"data": array}) == [[1, 2]] * 3
        assert answers(session, {"data": array.T[::-1].T}) == [[1, 0]] * 3
        assert array.dtype == np.dtype(order + kind)
        assert array.tolist() == values
    value = onnxruntime.OrtValue.ortvalue_from_numpy(np.array(values, kind))
    assert session.run_with_ort_values(None, {"data": value})[0].numpy().tolist() == [1, 2]
    assert session.run(None, {"data": value})[0].tolist() == [1, 2]
"""
    )


def test_masked_arrays_are_refused() -> None:
    program(
        FEEDS
        + """
session = ort.InferenceSession(MODEL)
masked = np.ma.masked_array(DATA["data"], DATA["data"] == 3)
for feed in ({"data": masked}, {"data": [masked]}):
    for call in (lambda: session.run(None, feed), lambda: in_background(session, feed)):
        error = refused(call, "input 'data': a masked array is not taken", ".filled(")
        assert type(error) is TypeError
assert answers(session, {"data": masked.filled(0)}) == [[2, 0]] * 3
refused(lambda: session.run(None, {}), "data")
"""
    )


def test_sequences_of_arrays_of_any_byte_order() -> None:
    program(
        FEEDS
        + """
tensors = onnx.helper.make_tensor_type_proto(1, [None, None])
model = argmax_model(1, (None, None), axis=1, keepdims=0)
model.graph.input[0].CopyFrom(
    onnx.helper.make_value_info("list", onnx.helper.make_sequence_type_proto(tensors)))
model.graph.input.append(onnx.helper.make_tensor_value_info("at", 7, []))
model.graph.node.insert(0, onnx.helper.make_node("SequenceAt", ["list", "at"], ["data"]))
session = ort.InferenceSession(model)
arrays = [np.array([[1, 256, 2]], order + "f4") for order in "<>"]
for at in range(2):
    assert session.run(None, {"list": arrays, "at": np.array(at, ">i8")})[0].tolist() == [1]
"""
    )


def test_a_node_whose_name_is_not_utf8() -> None:
    program(
        r"""
content = MODEL.replace(b"labels", b"\xff\xfe\x80abc")
assert content != MODEL
check(ort.InferenceSession(content))
"""
    )


@pytest.mark.parametrize("level", LEVELS)
def test_each_session_has_its_own_level(level: str) -> None:
    program(
        f"""
quiet = onnxruntime.SessionOptions()
quiet.log_severity_level = 0
one = ort.InferenceSession(MODEL, ort.session_options(quiet, level={level!r}))
others = [ort.InferenceSession(MODEL, level=name) for name in {LEVELS!r}]
for session in (one, *others):
    check(session)
"""
    )


def test_the_environments_level_is_the_default() -> None:
    level = LEVELS[-1]
    written = program(
        """
options = onnxruntime.SessionOptions()
options.log_severity_level = 1
check(ort.InferenceSession(MODEL, options, log="info"))
""",
        ONNX_ARGMAX_LEVEL=level,
    )
    assert f"level {level}, the runtime's threads" in written


def test_what_is_claimed_is_logged() -> None:
    body = """
options = onnxruntime.SessionOptions()
options.log_severity_level = {least}
check(ort.InferenceSession(MODEL, options{log}))
"""
    claim = "claimed node 'labels' (ArgMax version 13) of tensor(uint32)"
    assert claim in program(body.format(least=0, log=""))
    assert claim not in program(body.format(least=1, log=""))
    assert claim in program(body.format(least=1, log=", log='info'"))
    assert claim in program(body.format(least=2, log=", log='warning'"))


def test_what_is_declined_is_logged() -> None:
    written = program(
        """
options = onnxruntime.SessionOptions()
options.log_severity_level = 0
options.add_provider("CPUExecutionProvider", {})
model = argmax_model(1).SerializeToString()
onnxruntime.InferenceSession(model, ort.session_options(options))
"""
    )
    words = "declined node 'labels' (ArgMax version 13): CPUExecutionProvider has it already"
    assert words in written


def test_a_session_behind_the_cpu_provider_is_refused() -> None:
    program(
        """
options = onnxruntime.SessionOptions()
options.add_provider("CPUExecutionProvider", {})
error = refused(lambda: ort.InferenceSession(MODEL, options),
                "stands behind CPUExecutionProvider", "comes last by itself")
assert type(error) is RuntimeError
"""
    )


def test_a_session_without_the_provider_is_refused() -> None:
    """Options that say they have it, but lost it."""
    program(
        """
options = onnxruntime.SessionOptions()
options.add_session_config_entry("onnx_argmax.provider", "1")
model = argmax_model(1).SerializeToString()
error = refused(lambda: ort.InferenceSession(model, options),
                "was not taken into the session, which has CPUExecutionProvider")
assert type(error) is RuntimeError
"""
    )


def test_nothing_takes_the_provider_out_again() -> None:
    program(
        """
for name in ("providers", "provider_options", "enable_fallback"):
    error = refused(lambda: ort.InferenceSession(MODEL, **{name: ["CPUExecutionProvider"]}), name)
    assert type(error) is TypeError
session = ort.InferenceSession(MODEL)
assert isinstance(session, onnxruntime.InferenceSession)
error = refused(session.enable_fallback, "enable_fallback: it would take")
assert type(error) is RuntimeError
error = refused(lambda: session.set_providers(["CPUExecutionProvider"]), "set_providers: it would")
assert type(error) is RuntimeError
check(session)
error = refused(lambda: session.run(None, {"data": np.zeros((2, 0), np.uint32)}), "length 0")
assert type(error).__name__ == "InvalidArgument"  # no failure of a provider's, which falls back
assert session.get_providers()[0] == ort.get_ep_name()
"""
    )


def test_models_in_every_form() -> None:
    program(
        """
import pathlib, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "mödel.onnx"
    path.write_bytes(MODEL)
    for model in (MODEL, path, str(path), argmax_model(12, (None, None), axis=1, keepdims=0)):
        check(ort.InferenceSession(model))
    error = refused(lambda: ort.InferenceSession(path.parent / "none.onnx"), "none.onnx")
error = refused(lambda: ort.InferenceSession(None), "model: a path, the bytes of a model or an "
                "onnx.ModelProto is needed, got NoneType")
assert type(error) is TypeError
error = refused(lambda: ort.InferenceSession(argmax_model().graph), "got GraphProto")
assert type(error) is TypeError
refused(lambda: ort.InferenceSession(b"no model"), "INVALID_PROTOBUF")
"""
    )


def test_a_model_without_argmax_is_no_error() -> None:
    program(
        """
import onnx
model = argmax_model(1, (None, None), keepdims=1)
model.graph.node[0].op_type = "ReduceMax"
del model.graph.node[0].attribute[:]
model.graph.output[0].type.tensor_type.elem_type = 1
session = ort.InferenceSession(model)
assert session.run(None, {"data": np.ones((2, 2), np.float32)})[0].shape == (1, 1)
assert session.get_providers()[0] == ort.get_ep_name()
"""
    )


def test_options_may_be_used_by_onnxruntime_itself() -> None:
    program(
        """
ort.register()
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(ort.devices(), {"threads": "1"})
check(onnxruntime.InferenceSession(MODEL, options))
"""
    )


def test_examples_in_docstrings() -> None:
    program(
        """
import doctest
results = doctest.testmod(ort)
assert results.attempted
assert results.failed == 0
"""
    )


def test_examples_in_the_documentation() -> None:
    page = Path(__file__).parents[1] / "docs" / "onnxruntime.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    program("\n".join(blocks))
