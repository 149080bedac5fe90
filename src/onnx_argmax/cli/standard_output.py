# SPDX-License-Identifier: Apache-2.0
"""Standard output, named where it is closed or full."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO, cast

from onnx_argmax.cli.errors import CommandError

__all__ = ["check_open", "show_text", "written"]


def check_open() -> None:
    """Refuse a standard output that is closed; for before the work is done.

    Raises
    ------
    CommandError
        When nothing could be shown.
    """
    if _stream() is None:
        raise CommandError(
            "standard output is closed, so nothing can be shown; open it, or where the command "
            "has --output, write to a file"
        )


@contextmanager
def written() -> Generator[None]:
    """Around whatever writes to standard output: all of it is out at the end, or an error says so.

    Raises
    ------
    CommandError
        When it cannot be written. A reader that has gone away stays a BrokenPipeError.
    """
    try:
        yield
        stream = _stream()
        if stream is not None:
            stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(
            f"standard output: cannot be written: {error.strerror or error}"
        ) from error


def show_text(text: str) -> None:
    """Print text that is the whole of what was asked for."""
    check_open()
    with written():
        print(text)


def _stream() -> TextIO | None:
    # None in a process that was started with it closed, which the type of sys.stdout hides.
    return cast("TextIO | None", sys.stdout)
