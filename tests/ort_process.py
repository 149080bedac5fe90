# SPDX-License-Identifier: Apache-2.0
"""Calls in a process of their own that has onnxruntime, so that nothing is registered in pytest's.

``in_process(function, ...)`` runs a function of ``ort_calls.py`` there. The process is started
once and serves every test, as importing onnxruntime takes longer than most of them; a test that
needs a fresh one takes ``Process()`` itself.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

__all__ = ["Process", "RemoteError", "in_process", "need_onnxruntime"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class RemoteError(Exception):
    """An exception of the other process."""

    def __init__(self, kinds: tuple[str, ...], words: str) -> None:
        super().__init__(words)
        self.kinds = kinds
        """Names of its class and the classes of that."""


def need_onnxruntime() -> None:
    """Skip the test where onnxruntime is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")


class Process:
    """A Python process that serves calls until it is closed."""

    def __init__(self, **environment: str) -> None:
        need_onnxruntime()
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ONNX_ARGMAX_")}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**inherited, **environment},
        )

    def call(
        self,
        function: Callable[_Arguments, _Result],
        *arguments: _Arguments.args,
        **options: _Arguments.kwargs,
    ) -> _Result:
        """Run a function of ``ort_calls.py`` with these arguments, all of which are pickled."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump((function.__name__, arguments, options), self._process.stdin)
        self._process.stdin.flush()
        try:
            succeeded, answer = pickle.load(self._process.stdout)
        except EOFError:
            pytest.fail(f"the process ended with status {self._process.wait()}")
        if succeeded:
            return answer
        raise RemoteError(*answer)

    def close(self) -> int:
        """End the process as a program ends, and give its status."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        return self._process.wait()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.close() == 0


@functools.cache
def _shared() -> Process:
    process = Process()
    atexit.register(process.close)
    return process


def in_process(
    function: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **options: _Arguments.kwargs,
) -> _Result:
    """``Process.call`` in the process that the tests share."""
    return _shared().call(function, *arguments, **options)


def _serve() -> None:
    # What onnxruntime prints must not get between the answers.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        while True:
            try:
                call = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(_answer(*call), answers)
            answers.flush()


def _answer(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[bool, Any]:
    import ort_calls

    try:
        return True, getattr(ort_calls, name)(*arguments, **options)
    except Exception as error:
        return False, (tuple(kind.__name__ for kind in type(error).__mro__), str(error))


if __name__ == "__main__":
    _serve()
