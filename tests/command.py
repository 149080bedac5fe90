# SPDX-License-Identifier: Apache-2.0
"""Running the command, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest import mock

from onnx_argmax.cli import main

__all__ = ["DIGITS", "Outcome", "in_process", "in_shell", "in_this_process", "python"]

_RESIDENT_BYTES: Final = 64 << 20
"""About what a process of the command alone holds as its work begins."""

DIGITS = Path(__file__).resolve().parent.parent / "examples" / "digits"


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str

    def refused(self, *words: str, status: int = 1) -> None:
        """Assert an error: the status, and one line that has the words."""
        assert (self.status, self.out) == (status, ""), self
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("onnx-argmax")
        for word in words:
            assert word in self.err

    def accepted(self) -> str:
        """Assert success without a word on standard error; give what was printed."""
        assert (self.status, self.err) == (0, ""), self
        return self.out


def in_this_process(*arguments: str | Path) -> Outcome:
    """Run the command by its function, on a terminal 100 characters wide."""
    out, err = io.StringIO(), io.StringIO()
    with (
        # What pytest's process holds besides, which comes to more than --memory allows.
        mock.patch("onnx_argmax.cli.array_plan.resident_bytes", return_value=_RESIDENT_BYTES),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _environment(COLUMNS="100"),
    ):
        status = main([str(argument) for argument in arguments])
    return Outcome(status, out.getvalue(), err.getvalue())


def in_process(*arguments: str | Path, **environment: str) -> Outcome:
    """Run ``python -m onnx_argmax`` with variables added to the environment."""
    return python("-m", "onnx_argmax", *map(str, arguments), **environment)


def in_shell(redirection: str, *arguments: str | Path, flags: Sequence[str] = ()) -> Outcome:
    """Run ``python -m onnx_argmax`` with what a shell does to its streams: ``>&-`` closes one."""
    command = [sys.executable, *flags, "-m", "onnx_argmax", *map(str, arguments)]
    return _run(["sh", "-c", f'exec "$@" {redirection}', "sh", *command])


def python(*arguments: str, **environment: str) -> Outcome:
    """Run a Python process."""
    return _run([sys.executable, *arguments], **environment)


def _run(command: Sequence[str], **environment: str) -> Outcome:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "COLUMNS": "100", **environment},
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def _environment(**variables: str) -> Generator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
