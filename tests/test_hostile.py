# SPDX-License-Identifier: Apache-2.0
"""What nobody should do, done: no crash, no hang, no write where none belongs."""

from __future__ import annotations

import signal
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from onnx_argmax import _native, argmax
from programs import run_program


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


# Results that cannot hold an answer.


@pytest.mark.parametrize(
    ("shape", "strides"), [((2,), (0,)), ((2, 3), (8, 8)), ((3, 2), (8, 16)), ((2, 3), (0, 8))]
)
def test_out_whose_elements_share_memory(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    out = np.lib.stride_tricks.as_strided(np.full(16, -1), shape, strides)
    with pytest.raises(ValueError, match=r"^out: elements of it share memory; pass an array"):
        argmax(np.zeros((*shape, 2)), -1, False, out=out)
    assert (out == -1).all()


def test_out_with_a_mask() -> None:
    out = np.ma.array([-1, -1], mask=[False, True])
    with pytest.raises(TypeError, match=r"^out: a masked array is not taken"):
        argmax(np.zeros((2, 3)), 1, False, out=out)


def test_out_negated_lazily(torch: ModuleType) -> None:
    out = torch._neg_view(torch.zeros(2, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"^out: the tensor is negated lazily"):
        argmax(np.zeros((2, 3)), 1, False, out=out)


@pytest.mark.parametrize(
    "out",
    [np.zeros(0, np.int64), np.zeros(2, np.int64), np.zeros(1, "V3"), np.zeros((1, 2), "i1")],
)
@pytest.mark.parametrize(("data", "axis"), [(np.array([0.0, 0.0, 5.0]), -1), (np.array(5.0), 0)])
def test_the_native_module_writes_nothing_that_does_not_fit(
    out: np.ndarray[Any, Any], data: np.ndarray[Any, Any], axis: int
) -> None:
    before = out.tobytes()
    with pytest.raises(ValueError, match=r"^out: "):
        _native.argmax(data, 11, False, axis, False, out, 1)
    assert out.tobytes() == before


# Arrays that lie.


class Exporter:
    """Passes on another array's capsule and says what it likes of the device."""

    def __init__(self, array: Any, device: Any) -> None:
        self._array = array
        self._device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._device


@pytest.mark.parametrize("device", [("a", "b"), (1,), None, (1, 2, 3)])
def test_a_device_that_is_none(device: Any) -> None:
    with pytest.raises(TypeError, match=r"^data: the array lies in no memory to read"):
        argmax(Exporter(np.zeros(3), device))


def test_a_tensor_without_memory(torch: ModuleType) -> None:
    with pytest.raises(TypeError, match=r"^data: the array cannot be read through DLPack"):
        argmax(torch._efficientzerotensor(3, 3), 1)


@pytest.mark.parametrize("select_last_index", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64", "int16"])
def test_data_that_change_meanwhile(dtype: str, select_last_index: bool) -> None:
    """Any answer will do, but it is an element's: never an index outside the axis."""
    run_program(f"""
        import threading
        import numpy as np
        from onnx_argmax import argmax, _native

        data = np.zeros((1, 4096), {dtype!r})
        done = False

        def change():
            step = 0
            while not done:
                data[0, :] = step & 1
                data[0, 17] = 2 + (step & 3)
                step += 1

        threading.Thread(target=change, daemon=True).start()
        for level in _native.levels():
            _native.set_level(level)
            for _ in range(3000):
                found = int(argmax(data, 1, select_last_index={select_last_index})[0, 0])
                assert 0 <= found < 4096, found
        done = True
    """)


def test_memory_missing_between_short_rows() -> None:
    """A row is read by 16 bytes at a time, but never from a page that it is not on."""
    run_program("""
        import ctypes
        import mmap
        import numpy as np
        from onnx_argmax import argmax, _native

        memory = mmap.mmap(-1, 3 * 4096)
        whole = np.frombuffer(memory, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        for length in (2, 3, 7, 8, 15, 16, 17):
            assert libc.mprotect(ctypes.c_void_p(whole.ctypes.data), 3 * 4096, 3) == 0
            rows = np.ndarray((2, length), np.uint8, memory, 4096 - length, (8192, 1))
            rows[:] = np.arange(2 * length).reshape(2, length)
            assert libc.mprotect(ctypes.c_void_p(whole.ctypes.data + 4096), 4096, 0) == 0
            for level in _native.levels():
                _native.set_level(level)
                assert argmax(rows, 1).tolist() == [[length - 1]] * 2
        import os
        os._exit(0)
    """)


# Threads that the process does not wait for, or gives little.


def test_a_daemon_thread_inside_a_call_at_the_end() -> None:
    run_program("""
        import threading
        import time
        import numpy as np
        from onnx_argmax import argmax

        data = np.zeros((4, 64), np.uint8)

        def call():
            while True:
                argmax(data, axis=1)

        for _ in range(4):
            threading.Thread(target=call, daemon=True).start()
        time.sleep(0.2)
    """)


def test_small_stacks() -> None:
    """64 KiB, half the smallest default of any C library, are enough for the thread that calls."""
    run_program("""
        import threading
        import numpy as np
        from onnx_argmax import argmax, _native

        _native.set_grain_bytes(1)
        threading.stack_size(64 * 1024)
        failures = []

        def call():
            for shape, axis in (((300, 40), 0), ((300, 40), 1), ((70000,), 0), ((600, 3), 0)):
                for data in (np.zeros(shape), np.zeros(shape, np.uint8), np.zeros(shape, ">f4").T):
                    if argmax(data, axis % data.ndim).any():
                        failures.append(shape)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert not failures
    """)


def test_signals_are_for_threads_that_the_application_knows() -> None:
    run_program(
        f"""
        import os
        import signal
        import numpy as np
        from onnx_argmax import argmax

        argmax(np.zeros((8, 1 << 20), np.float32), axis=1, threads=4)
        signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
        os.kill(os.getpid(), signal.SIGUSR1)
        assert signal.sigwait({{signal.SIGUSR1}}) == {int(signal.SIGUSR1)}
        """,
        # Its threads, which NumPy starts, take any signal.
        environment={"OPENBLAS_NUM_THREADS": "1"},
    )
