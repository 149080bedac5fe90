# SPDX-License-Identifier: Apache-2.0
"""From an exception to the one line that the user reads."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["CommandError", "escaped", "message_of", "printable", "report"]

_SPEAK_FOR_THEMSELVES: Final = (ValueError, TypeError, BufferError, ImportError)
"""What the package and NumPy raise for bad input: the message is enough without the class."""

_OF_EXTRA_ONNX: Final = ("google", "ml_dtypes", "onnx")
"""Packages that come with the extra ``onnx`` (google holds protobuf)."""

_OF_EXTRA_DASK: Final = ("h5py", "zarr")


class CommandError(Exception):
    """What the user gave cannot be used; the message says what, why and what would do."""

    status = 1
    """Exit status of the command."""


def message_of(error: Exception) -> str:
    """The message of an exception, on one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return printable(f"{error.filename}: {error.strerror}")
    text = printable(str(error))
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        package = error.name.partition(".")[0]
        extra = "cli"
        for name, packages in (("onnx", _OF_EXTRA_ONNX), ("dask", _OF_EXTRA_DASK)):
            if package in packages:
                extra = f"cli,{name}"
        return (
            f'{package} is needed, which is not installed; run: pip install "onnx-argmax[{extra}]"'
        )
    if isinstance(error, MemoryError):
        return f"not enough memory: {text}" if text else "not enough memory"
    if isinstance(error, (CommandError, OSError, *_SPEAK_FOR_THEMSELVES)) and text:
        return text
    return f"{type(error).__name__}: {text}; --debug shows where"


def report(message: str, command: str = "onnx-argmax") -> None:
    """Write one line on standard error."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        # In a process that was started with it closed, print would take standard output.
        print(f"{command}: {printable(message)}", file=sys.stderr)


def printable(text: str) -> str:
    """``text`` on one line, escaped."""
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    """``text`` with what a terminal would obey rather than show as an escape of Python's.

    Names come from files of any origin.
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
