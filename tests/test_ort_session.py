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
