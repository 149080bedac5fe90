# SPDX-License-Identifier: Apache-2.0
"""Walks that a signal breaks off, in processes that fork, and whose callers are many."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from programs import run_program

SETUP: Final = """
    import faulthandler, os, signal, sys, threading, time
    from pathlib import Path
    import numpy as np
    from onnx_argmax import outofcore
    from stored import nothing_left, small_blocks
    faulthandler.dump_traceback_later(100, exit=True)
    # A process that a shell started in the background ignores it, and what it starts does too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    path = Path({path!r})
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def run(body: str, tmp_path: Path) -> Any:
    path = tmp_path / "data.npy"
    data = np.zeros((300, 40), np.float32)
    data[7] = 1
    np.save(path, data)
    setup = textwrap.dedent(SETUP.format(path=str(path)))
    return run_program(setup + textwrap.dedent(body))


def test_a_signal_raised_in_progress(tmp_path: Path) -> None:
    body = """
        def interrupt(progress):
            if progress.blocks_done == 2:
                signal.raise_signal(signal.SIGINT)

        for axis in (0, 1, None):
            with small_blocks(400, 3), nothing_left():
                try:
                    outofcore.argmax(path, axis, threads=3, progress=interrupt)
                except KeyboardInterrupt:
                    continue
            raise AssertionError
        assert outofcore.argmax(path, 0, False).tolist() == [7] * 40
    """
    run(body, tmp_path)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_signal_of_another_process(threads: int, tmp_path: Path) -> None:
    """It comes while the caller waits for blocks that never come to an end by themselves."""
    body = f"""
        class Endless:
            shape, dtype, read = (1 << 40,), np.dtype(np.int8), 0

            def __getitem__(self, box):
                time.sleep(0.001)
                Endless.read += 1
                if Endless.read == 5 and os.fork() == 0:
                    os.kill(os.getppid(), signal.SIGINT)
                    os._exit(0)
                return np.zeros(box[0].stop - box[0].start, np.int8)

        with small_blocks(64, 64), nothing_left():
            try:
                outofcore.argmax(Endless(), threads={threads})
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError
        os.wait()
        assert outofcore.argmax(path, 0, False).tolist() == [7] * 40
    """
    run(body, tmp_path)


@needs_fork
def test_forks(tmp_path: Path) -> None:
    body = """
        def right():
            with small_blocks(400, 3), nothing_left():
                found = outofcore.argmax(path, 0, False, threads=3)
            return found.tolist() == [7] * 40

        def child():
            number = os.fork()
            if number == 0:
                os._exit(0 if right() else 1)
            return os.waitpid(number, 0)[1] == 0

        assert child()
        assert right()
        assert child()
        assert right()
    """
    run(body, tmp_path)


def test_callers_at_once_share_nothing(tmp_path: Path) -> None:
    body = """
        sys.setswitchinterval(1e-5)
        together, right = threading.Barrier(4), []

        def call(axis):
            together.wait()
            for _ in range(10):
                found = outofcore.argmax(path, axis, False, threads=2)
                expected = np.load(path).argmax(axis)
                right.append(np.array_equal(found, expected))

        with small_blocks(400, 3), nothing_left():
            callers = [threading.Thread(target=call, args=(a,)) for a in (0, 1, None, 0)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
        assert right == [True] * 40
    """
    run(body, tmp_path)
