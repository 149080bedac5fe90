# SPDX-License-Identifier: Apache-2.0
"""Threads, processes and what they inherit: forks, the GIL, the environment, the CPU's flags."""

from __future__ import annotations

import _thread
import itertools
import os
import platform
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import onnx_argmax
from machine import LEVELS, Setting
from onnx_argmax import argmax
from oracle import Array, fast_argmax
from programs import run_program
from samples import ALL_TYPES, FLOAT_TYPES, from_bits, random_elements

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def cases() -> list[tuple[Array, Array]]:
    """Arrays of every type and their answers along axis 1."""
    arrays = [random_elements(t, (40, 333), seed) for seed, t in enumerate(ALL_TYPES)]
    return [(array, fast_argmax(array, 1)) for array in arrays]


def test_many_callers_at_once(setting: Setting) -> None:
    shared = cases()

    def work(number: int) -> int:
        right = 0
        for data, answer in shared[number % 5 :]:
            out = np.empty_like(answer)
            argmax(data, 1, out=out, threads=1 + number % 3)
            right += np.array_equal(out, answer) and np.array_equal(argmax(data, 1), answer)
        return right

    with ThreadPoolExecutor(8) as pool:
        for number, right in enumerate(pool.map(work, range(40))):
            assert right == len(shared[number % 5 :]), str(setting)


def test_first_calls_at_once() -> None:
    """Whatever is made at a first call is made once, and nobody waits for ever for it."""
    run_program(
        """
        import faulthandler, sys, threading
        import numpy as np
        from onnx_argmax import argmax
        faulthandler.dump_traceback_later(60, exit=True)
        sys.setswitchinterval(1e-6)
        together = threading.Barrier(8)
        answers = []

        def first():
            data = np.arange(3)
            together.wait()
            answers.append(int(argmax(data)[0]))

        callers = [threading.Thread(target=first, daemon=True) for _ in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert answers == [2] * 8
        """
    )


def another_thread_runs_during(call: Callable[[], object]) -> bool:
    """Whether a thread that waits for the GIL gets it while the call runs.

    With a switch interval beyond any test's life nobody takes the GIL from its holder: the other
    thread can only run where the holder gives it up.
    """
    gate, ran = _thread.allocate_lock(), threading.Event()
    gate.acquire()

    def other() -> None:
        with gate:
            ran.set()

    thread = threading.Thread(target=other)
    interval = sys.getswitchinterval()
    thread.start()
    sys.setswitchinterval(10_000)
    try:
        gate.release()
        call()
        return ran.is_set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL to release"
)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_gil_is_released(threads: int) -> None:
    data = np.zeros((1 << 23,), np.float32)
    # Whether the other thread wakes up in time is the system's choice; once is proof.
    assert any(
        another_thread_runs_during(lambda: argmax(data, threads=threads)) for _ in range(200)
    )
    # The same watch sees nothing where the GIL is kept.
    assert not any(another_thread_runs_during(lambda: sum(range(100_000))) for _ in range(20))


FORK = """
    {first}
    import os, numpy as np, onnx_argmax
    from onnx_argmax import _native, argmax
    {last}
    _native.set_grain_bytes(1)
    data = np.tile(np.arange(1000.0, dtype=np.float32), (50, 1))

    def check():
        for threads in (1, 2, 7):
            assert (argmax(data, 1, threads=threads) == 999).all()
            assert argmax(data, None, True, True, threads=threads) == 49999
        # The threads of a process are not those of its parent, but they are there.
        tasks = "/proc/self/task"
        assert not os.path.exists(tasks) or len(os.listdir(tasks)) >= 7

    check()
    for _ in range(3):
        child = os.fork()
        if not child:
            try:
                check()
                grandchild = os.fork()
                if not grandchild:
                    check()
                    os._exit(0)
                os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
            except BaseException:
                os._exit(1)
        check()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check()
"""


@needs_fork
@pytest.mark.parametrize("torch_comes", ["never", "first", "last"])
def test_fork_after_a_threaded_run(torch_comes: str) -> None:
    used = "import torch; torch.ones(1000, 1000) @ torch.ones(1000, 1000)"
    if torch_comes != "never":
        pytest.importorskip("torch", reason="torch is not installed")
    run_program(
        FORK.format(
            first=used if torch_comes == "first" else "",
            last=used if torch_comes == "last" else "",
        )
        # Python 3.12 and later warn of a fork beside threads, which is what is tested here.
        .replace("import os,", "import warnings; warnings.simplefilter('ignore'); import os,")
    )


@needs_fork
def test_fork_while_another_thread_reduces() -> None:
    """Whatever another thread holds as the process forks, the child is not held up by it."""
    run_program(
        """
        import os, signal, threading, warnings
        warnings.simplefilter("ignore")
        import numpy as np
        from onnx_argmax import _native, argmax
        _native.set_grain_bytes(1)
        data = np.tile(np.arange(100.0, dtype=np.float32), (50, 1))
        done = threading.Event()

        def reduce():
            while not done.is_set():
                argmax(data, 1, threads=4)

        # What Python and NumPy import at a first call is in place before; the threads are not.
        argmax(data, 1, threads=1)
        others = [threading.Thread(target=reduce, daemon=True) for _ in range(3)]
        for other in others:
            other.start()
        for _ in range(30):
            child = os.fork()
            if not child:
                signal.alarm(20)  # ends a child that waits for ever
                right = all((argmax(data, 1, threads=4) == 99).all() for _ in range(3))
                os._exit(0 if right else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        done.set()
        for other in others:
            other.join()
        """
    )


@needs_fork
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_process_pools(method: str) -> None:
    run_program(
        f"""
        import multiprocessing, warnings
        from functools import partial
        warnings.simplefilter("ignore")
        import numpy as np
        from onnx_argmax import _native, argmax

        if __name__ == "__main__":
            _native.set_grain_bytes(1)
            data = np.tile(np.arange(1000.0, dtype=np.float32), (50, 1))
            for threads in (1, 2, 7):
                assert (argmax(data, 1, threads=threads) == 999).all()
            with multiprocessing.get_context("{method}").Pool(4) as pool:
                for answer in pool.map(partial(argmax, axis=1, threads=7), [data] * 16):
                    assert (answer == 999).all()
        """
    )


def test_forked_children_keep_the_setting() -> None:
    run_program(
        """
        import os, warnings
        warnings.simplefilter("ignore")
        import onnx_argmax
        from onnx_argmax import _native
        onnx_argmax.set_num_threads(5)
        _native.set_level(_native.levels()[-1])
        child = os.fork()
        if not child:
            info = onnx_argmax.build_info()
            os._exit(0 if (info.threads, info.level) == (5, info.levels[-1]) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    )


def test_programs_end_while_the_pool_waits() -> None:
    """No thread of ours holds up the end of a program, or brings it down."""
    result = run_program(
        """
        import threading, numpy as np
        from onnx_argmax import _native, argmax
        _native.set_grain_bytes(1)
        data = np.zeros((64, 64))
        threading.Thread(target=lambda: argmax(data, threads=4)).start()
        argmax(data, threads=4)
        print("done")
        """
    )
    assert result.stdout == "done\n"
    assert result.stderr == ""


# The environment.

PRINT_INFO = """
    import onnx_argmax
    info = onnx_argmax.build_info()
    print(info.threads, info.level)
"""


@pytest.mark.parametrize("threads", ["1", "3", "64"])
def test_threads_of_the_environment(threads: str) -> None:
    result = run_program(PRINT_INFO, environment={"ONNX_ARGMAX_NUM_THREADS": threads})
    assert result.stdout.split()[0] == threads


@pytest.mark.parametrize("level", LEVELS)
def test_level_of_the_environment(level: str) -> None:
    result = run_program(PRINT_INFO, environment={"ONNX_ARGMAX_LEVEL": level})
    assert result.stdout.split()[1] == level


@pytest.mark.parametrize("value", [None, ""])
def test_the_best_level_is_the_default(value: str | None) -> None:
    """A variable that is set to nothing is not set."""
    names = ("ONNX_ARGMAX_LEVEL", "ONNX_ARGMAX_NUM_THREADS")
    environment = {} if value is None else dict.fromkeys(names, value)
    assert run_program(PRINT_INFO, environment=environment).stdout.split()[1] == LEVELS[0]


@pytest.mark.parametrize("threads", ["0", "-1", "many", "2.5", "2 3", "99999999999999999999"])
def test_wrong_threads_of_the_environment(threads: str) -> None:
    result = run_program(
        PRINT_INFO, environment={"ONNX_ARGMAX_NUM_THREADS": threads}, succeeds=False
    )
    message = result.stderr.strip().splitlines()[-1]
    assert "ONNX_ARGMAX_NUM_THREADS" in message
    assert threads in message


@pytest.mark.parametrize("level", ["x86-64-v5", "avx2", "X86-64", "aarch64,x86-64"])
def test_wrong_level_of_the_environment(level: str) -> None:
    result = run_program(PRINT_INFO, environment={"ONNX_ARGMAX_LEVEL": level}, succeeds=False)
    message = result.stderr.strip().splitlines()[-1]
    assert "ONNX_ARGMAX_LEVEL" in message
    assert level in message
    for possible in LEVELS:
        assert possible in message


def test_wrong_level_by_the_switch() -> None:
    from onnx_argmax import _native

    before = _native.get_level()
    with pytest.raises(ValueError, match="x86-64-v5") as caught:
        _native.set_level("x86-64-v5")
    for possible in LEVELS:
        assert possible in str(caught.value)
    assert _native.get_level() == before


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs sched_setaffinity")
def test_threads_follow_the_affinity() -> None:
    result = run_program(
        """
        import os
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:1])
        import onnx_argmax
        assert onnx_argmax.get_num_threads() == 1, onnx_argmax.get_num_threads()
        print(len(allowed))
        """
    )
    assert onnx_argmax.build_info().threads >= 1
    default = run_program("import onnx_argmax; print(onnx_argmax.get_num_threads())").stdout
    assert 1 <= int(default) <= int(result.stdout)


# Flush to zero: a flag of the calling thread, set by torch.set_flush_denormal and by libraries
# built with -ffast-math. Subnormals must count in full all the same.

FLUSH = """
    import ctypes
    from machine import every_setting
    import numpy as np
    from oracle import oracle_argmax
    from samples import FLOAT_TYPES, from_bits
    from onnx_argmax import argmax

    cases = []
    for element_type in FLOAT_TYPES:
        for bits in ([0, 1, 2, 1], [2, 1, 3, 0, 3]):
            data = np.tile(from_bits(element_type, bits), (9, 40))
            for axis in (0, 1, None):
                cases.append((data, axis, oracle_argmax(data, axis)))
                cases.append((-data, axis, oracle_argmax(-data, axis)))

    # x86-64's fenv_t in glibc ends with the register MXCSR, at byte 28: set its bits
    # "flush to zero" and "denormals are zero".
    libm = ctypes.CDLL("libm.so.6")
    state = (ctypes.c_uint32 * 8)()
    assert libm.fegetenv(state) == 0
    state[7] |= 0x8040
    assert libm.fesetenv(state) == 0
    assert np.float32(1e-40) * np.float32(1) == 0, "the flag is not set"
    for setting in every_setting():
        for data, axis, answer in cases:
            assert np.array_equal(argmax(data, axis), answer), (setting, data.dtype, axis)
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="knows only how glibc on x86-64 keeps the flag",
)
def test_flush_to_zero_changes_nothing() -> None:
    run_program(FLUSH)


def test_flush_to_zero_set_by_torch(setting: Setting) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU cannot flush to zero")
    try:
        for element_type, axis in itertools.product(FLOAT_TYPES, (0, None)):
            data = np.tile(from_bits(element_type, [0, 1, 2, 1]), 40)
            assert argmax(data, axis, False) == 2, str(setting)
            assert argmax(data, axis, False, True) == 158, str(setting)
    finally:
        torch.set_flush_denormal(False)
