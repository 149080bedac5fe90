# SPDX-License-Identifier: Apache-2.0
"""Walks that a signal breaks off, in processes that fork, and whose callers are many."""

from __future__ import annotations

import os
import textwrap
import threading
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from onnx_argmax._block_plan import plan_of
from onnx_argmax._block_sources import block_source
from onnx_argmax._block_targets import block_target
from onnx_argmax._block_walk import BlockWalk, Finished
from onnx_argmax._reductions import Reduction
from programs import run_program
from stored import small_blocks

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


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("interrupts", [2, 5])
def test_nothing_is_written_after_more_interrupts(
    axis: int, interrupts: int, tmp_path: Path
) -> None:
    """The second one ends the waiting for readers that hang; what they bring is dropped."""
    body = f"""
        from onnx_argmax._block_walk import BlockWalk
        from onnx_argmax._block_plan import plan_of
        from onnx_argmax._block_sources import block_source
        from onnx_argmax._block_targets import block_target
        from onnx_argmax._reductions import Reduction

        released, hanging = threading.Event(), threading.Semaphore(0)

        class Hangs:
            shape, dtype, reads = (300, 40), np.dtype(np.float32), 0

            def __getitem__(self, box):
                Hangs.reads += 1
                if Hangs.reads > 3:
                    hanging.release()
                    released.wait()
                return np.ones((300, 40), np.float32)[box]

        class Journal:
            states = None

            def is_due(self):
                return False

            def keep(self, finished):
                self.states = finished.states
                self.before = self.text()

            def text(self):
                return repr(self.states)

        def interrupt():
            hanging.acquire()
            while not finished.is_set():
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                time.sleep(0.05)

        def raised(number, frame):
            seen.append(number)
            if len(seen) <= {interrupts}:
                raise KeyboardInterrupt

        seen, finished, journal = [], threading.Event(), Journal()
        signal.signal(signal.SIGINT, raised)
        out = np.full((1, 40) if {axis} == 0 else (300, 1), -7)
        source, element_type = block_source(Hangs())
        reduction = Reduction.checked(source.shape, {axis}, True, False, None, out)
        with small_blocks(400, 3):
            plan = plan_of(source, element_type, reduction, 3, 1 << 30)
        walk = BlockWalk(source, block_target(out), plan, reduction, threads=3, journal=journal)
        sender = threading.Thread(target=interrupt)
        sender.start()
        try:
            walk.run()
        except KeyboardInterrupt:
            before = out.copy()
        else:
            raise AssertionError
        finally:
            finished.set()
        sender.join()
        assert len(seen) >= 2
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        readers = [t for t in threading.enumerate() if t.name.startswith("onnx-argmax")]
        assert readers
        released.set()
        for reader in readers:
            reader.join()
        assert np.array_equal(out, before)
        assert journal.text() == journal.before
    """
    run(body, tmp_path)


@pytest.mark.parametrize("axis", [0, 1])
def test_an_interrupt_waits_for_what_is_written(axis: int, tmp_path: Path) -> None:
    """A box is whole when the call raises, whatever the number of interrupts."""
    body = f"""
        writing = threading.Event()

        class Slow:
            shape, dtype, done = (1, 40) if {axis} == 0 else (300, 1), np.dtype(np.int64), True

            def __setitem__(self, box, indices):
                Slow.done = False
                writing.set()
                time.sleep(0.5)
                Slow.done = True

        def interrupt():
            writing.wait()
            for _ in range(4):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                time.sleep(0.05)

        sender = threading.Thread(target=interrupt)
        sender.start()
        try:
            with small_blocks(100_000, 3):
                outofcore.argmax(path, {axis}, out=Slow(), threads=2)
        except KeyboardInterrupt:
            assert Slow.done
        else:
            raise AssertionError
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            sender.join()
    """
    run(body, tmp_path)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_threads_that_the_system_does_not_start(started: int, tmp_path: Path) -> None:
    body = f"""
        start, numbers = threading.Thread.start, []

        def limited(thread):
            numbers.append(thread)
            if len(numbers) > {started}:
                raise RuntimeError("can't start new thread")
            start(thread)

        threading.Thread.start = limited
        with small_blocks(400, 3), nothing_left():
            if {started}:
                assert outofcore.argmax(path, 0, False, threads=3).tolist() == [7] * 40
                assert len(numbers) == {started} + 1
            else:
                try:
                    outofcore.argmax(path, 0, threads=3)
                except OSError as error:
                    assert "threads: the system starts none" in str(error), error
                    assert "can't start new thread" in str(error)
                    assert "ulimit -u" in str(error)
                else:
                    raise AssertionError
    """
    run(body, tmp_path)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_the_journal_has_all_blocks_in_the_end(axis: int | None) -> None:
    """What comes after the walk may be broken off too."""

    class Journal:
        kept: Finished | None = None

        def is_due(self) -> bool:
            return False

        def keep(self, finished: Finished) -> None:
            self.kept = Finished(set(finished.blocks), dict(finished.states))

    data = np.arange(12_000, dtype=np.float32).reshape(300, 40)
    source, element_type = block_source(data)
    reduction = Reduction.checked(data.shape, axis, True, False, None, None)
    out, journal = np.empty(reduction.result_shape, np.int64), Journal()
    with small_blocks(400, 3):
        plan = plan_of(source, element_type, reduction, 3, 1 << 30)
    BlockWalk(source, block_target(out), plan, reduction, threads=3, journal=journal).run()
    assert plan.blocks > 9
    assert journal.kept == Finished(set(range(plan.blocks)))


class LateLock:
    """A lock whose holder goes on some time after others do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()
        time.sleep(0.001)


@pytest.mark.parametrize("axis", [0, None])
def test_a_tile_is_written_once(axis: int | None) -> None:
    """By the worker that merges its last block, however late it comes to that."""
    data = np.arange(2_000, dtype=np.float32).reshape(50, 40)
    source, element_type = block_source(data)
    reduction = Reduction.checked(data.shape, axis, True, False, None, None)
    out = np.empty(reduction.result_shape, np.int64)
    with small_blocks(400, 3):
        plan = plan_of(source, element_type, reduction, 4, 1 << 30)
    walk = BlockWalk(source, block_target(out), plan, reduction, threads=4)
    walk._lock = LateLock()  # pyright: ignore
    walk.run()
    assert np.array_equal(out, data.argmax(axis, keepdims=True))
