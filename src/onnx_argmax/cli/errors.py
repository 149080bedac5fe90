# SPDX-License-Identifier: Apache-2.0
"""From an exception to the one line that the user reads."""

from __future__ import annotations

import sys
from typing import Final

from onnx_argmax._extras import extra_of, package_of

__all__ = ["INTERRUPTED", "CommandError", "escaped", "message_of", "printable", "report"]

INTERRUPTED: Final = 130
"""Exit status of a command that Ctrl-C ended: 128 and the number of SIGINT, as shells have it."""

_SPEAK_FOR_THEMSELVES: Final = (ValueError, TypeError, BufferError, ImportError)
"""What the package and NumPy raise for bad input: the message is enough without the class."""


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
        extra = extra_of(error)
        extras = "cli" if extra in (None, "cli") else f"cli,{extra}"
        return (
            f"{package_of(error)} is needed, which is not installed; run: "
            f'pip install "onnx-argmax[{extras}]"'
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
