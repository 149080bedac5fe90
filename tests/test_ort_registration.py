# SPDX-License-Identifier: Apache-2.0
"""Registering the library with onnxruntime: each test in a process of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onnx_argmax import ort
from ort_process import need_onnxruntime
from programs import run_program

PRELUDE = """
import os, sys
import numpy as np
import onnxruntime
onnxruntime.set_default_logger_severity(4)
from models import argmax_model
from onnx_argmax import ort

MODEL = argmax_model(12, (None, None), axis=1, keepdims=0).SerializeToString()
DATA = {"data": np.array([[1, 3, 2], [9, 8, 9]], np.uint32)}

def check(session):
    assert session.run(None, DATA)[0].tolist() == [1, 0]

def refused(call, *words):
    try:
        call()
    except Exception as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return error
    raise AssertionError("not refused")

"""


def program(body: str, **environment: str) -> str:
    need_onnxruntime()
    pytest.importorskip("onnx", reason="onnx is not installed")
    return run_program(PRELUDE + body, environment=environment).stderr


def test_nothing_is_registered_by_importing() -> None:
    program("assert ort.devices() == []")


def test_registering_twice_does_nothing() -> None:
    program(
        """
ort.register()
ort.register()
(device,) = ort.devices()
assert device.ep_name == ort.get_ep_name()
assert device.ep_vendor == "onnx-argmax"
assert device.ep_metadata["version"] == __import__("onnx_argmax").__version__
ort.register(path=os.path.relpath(ort.get_library_path()))
check(ort.InferenceSession(MODEL))
ort.register()
"""
    )


def test_what_onnxruntime_registered_is_known() -> None:
    """Another part of the program may have registered the library without this module."""
    program(
        """
onnxruntime.register_execution_provider_library("onnx_argmax", ort.get_library_path())
ort.register()
assert len(ort.devices()) == 1
check(ort.InferenceSession(MODEL))
"""
    )


def test_registered_under_another_name_it_is_taken() -> None:
    program(
        """
onnxruntime.register_execution_provider_library("mine", ort.get_library_path())
check(ort.InferenceSession(MODEL))
assert len(ort.devices()) == 1
"""
    )


def test_registered_under_two_names() -> None:
    program(
        """
ort.register()
ort.register("again")
assert len(ort.devices()) == 2
check(ort.InferenceSession(MODEL))
ort.unregister()
check(ort.InferenceSession(MODEL))
ort.unregister("again")
assert ort.devices() == []
"""
    )


def test_another_library_under_the_name(tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(ort.get_library_path(), copy)
    program(
        f"""
ort.register()
error = refused(lambda: ort.register(path={str(copy)!r}),
                "name: 'onnx_argmax' is registered", ort.get_library_path(), {str(copy)!r},
                "unregister it first, or take another name")
assert type(error) is ValueError
check(ort.InferenceSession(MODEL))
ort.unregister()
ort.register(path={str(copy)!r})
check(ort.InferenceSession(MODEL))
"""
    )


def test_a_path_that_is_none(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    program(
        f"""
error = refused(lambda: ort.register(path="no/such.so"), "there is no file", "no/such.so")
assert type(error) is FileNotFoundError
refused(lambda: ort.register(path={str(tmp_path)!r}), "there is no file")
refused(lambda: ort.register(path={str(text)!r}), "Failed to load library")
assert ort.devices() == []
check(ort.InferenceSession(MODEL))
"""
    )


def test_a_path_in_bytes() -> None:
    program(
        """
ort.register(path=os.fsencode(ort.get_library_path()))
ort.register()
assert len(ort.devices()) == 1
check(ort.InferenceSession(MODEL))
"""
    )


def test_names_and_paths_of_another_kind() -> None:
    program(
        """
for call, words in (
    (lambda: ort.register(5), "name: the name of a registration, a string, is needed, got int 5"),
    (lambda: ort.register(None), "name: the name of a registration, a string, is needed, got Non"),
    (lambda: ort.unregister(None), "name: the name of a registration, a string, is needed"),
    (lambda: ort.register(path=5), "path: the path of a library is needed, got int 5"),
):
    assert type(refused(call, words)) is TypeError
assert ort.devices() == []
"""
    )


def test_a_library_that_is_none_of_onnxruntimes() -> None:
    program(
        """
from onnx_argmax import _native
refused(lambda: ort.register(path=_native.__file__), "CreateEpFactories")
assert ort.devices() == []
"""
    )


@pytest.mark.parametrize("variable", ["ONNX_ARGMAX_LEVEL", "ONNX_ARGMAX_NUM_THREADS"])
def test_a_wrong_environment_is_said_as_the_library_is_registered(variable: str) -> None:
    program(
        f"""
refused(ort.register, ort.get_ep_name(), "{variable}: ", "'wrong'", "unset it")
assert ort.devices() == []
""",
        **{variable: "wrong"},
    )


def test_unregistering_what_is_not() -> None:
    program(
        """
error = refused(ort.unregister, "name: 'onnx_argmax' is not registered", "nothing")
assert type(error) is ValueError
ort.register("mine")
refused(lambda: ort.unregister("yours"), "'yours' is not registered; registered is 'mine'")
"""
    )


def test_a_session_outlives_the_registration() -> None:
    program(
        """
session = ort.InferenceSession(MODEL)
own = ort.InferenceSession(MODEL, threads=2)
ort.unregister()
assert ort.devices() == []
check(session)
check(own)
del session
ort.register()
check(ort.InferenceSession(MODEL))
check(own)
"""
    )


def test_registering_again_and_again() -> None:
    program(
        """
for _ in range(20):
    ort.register()
    check(ort.InferenceSession(MODEL, threads=2))
    ort.unregister()
"""
    )


@pytest.mark.parametrize("options", ["", "threads=3"])
def test_interpreter_exit_with_live_sessions(options: str) -> None:
    program(
        f"""
import threading
sessions = [ort.InferenceSession(MODEL, {options}) for _ in range(3)]
big = argmax_model(1, (None, None), axis=1).SerializeToString()
session = ort.InferenceSession(big, {options})
data = {{"data": np.zeros((4, 1_000_000), np.float32)}}
workers = [threading.Thread(target=session.run, args=(None, data)) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
check(sessions[0])
"""
    )


FORK = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested

def in_child(call):
    child = os.fork()
    if child == 0:
        try:
            call()
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

"""


def test_fork_after_registration() -> None:
    """The child makes sessions of its own: onnxruntime's threads are not there after a fork."""
    program(
        FORK
        + """
ort.register()
big = {"data": np.zeros((4, 1_000_000), np.uint32)}
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
before = ort.InferenceSession(MODEL, options, threads=2)
before.run(None, big)  # starts a thread that the child does not have

def child():
    ort.register()
    check(ort.InferenceSession(MODEL))
    session = ort.InferenceSession(MODEL, threads=2)
    assert session.run(None, big)[0].tolist() == [0] * 4

in_child(child)
in_child(lambda: before.run(None, big))  # on one thread of onnxruntime's, a session works on
check(before)
"""
    )


# onnxruntime itself.


def test_onnxruntime_is_missing() -> None:
    run_program(
        """
        import sys
        sys.modules["onnxruntime"] = None
        from onnx_argmax import ort
        for call in (ort.register, ort.devices, ort.unregister, ort.session_options,
                     lambda: ort.InferenceSession("model.onnx"),
                     lambda: ort.claimed_nodes("model.onnx")):
            try:
                call()
            except ImportError as error:
                assert "needs onnxruntime 1.24 or later" in str(error)
                assert "pip install 'onnx-argmax[onnxruntime]'" in str(error)
            else:
                raise AssertionError(call)
        """
    )


@pytest.mark.parametrize("version", ["1.23.2", "1.9.0", "0.5.0"])
def test_onnxruntime_is_too_old(version: str) -> None:
    run_program(
        f"""
        import sys, types
        old = types.ModuleType("onnxruntime")
        old.__version__ = {version!r}
        sys.modules["onnxruntime"] = old
        from onnx_argmax import ort
        for call in (ort.register, lambda: ort.InferenceSession):
            try:
                call()
            except ImportError as error:
                assert "needs onnxruntime 1.24 or later, but {version} is installed" in str(error)
                assert "pip install --upgrade 'onnxruntime>=1.24'" in str(error)
            else:
                raise AssertionError(call)
        """
    )


def test_onnx_is_missing() -> None:
    need_onnxruntime()
    run_program(
        """
        import sys
        sys.modules["onnx"] = None
        from onnx_argmax import ort
        try:
            ort.claimed_nodes
        except ImportError as error:
            assert "claimed_nodes needs onnx" in str(error)
            assert "pip install 'onnx-argmax[onnx]'" in str(error)
        else:
            raise AssertionError
        ort.InferenceSession  # needs no onnx
        """
    )
