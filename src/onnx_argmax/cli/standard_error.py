# SPDX-License-Identifier: Apache-2.0
"""Standard error, kept from libraries that write to it past Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

__all__ = ["without_stderr"]

_STDERR: Final = 2


@contextmanager
def without_stderr() -> Generator[None]:
    """Throw away what native code writes to standard error meanwhile.

    ONNX Runtime warns as it is loaded, of devices that it found and cannot use, before its log can
    be told not to. An exception tells as much as ever.
    """
    try:
        before = os.dup(_STDERR)
    except OSError:  # it is closed, so nothing shows
        yield
        return
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, _STDERR)
        os.close(nothing)
        yield
    finally:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
        os.dup2(before, _STDERR)
        os.close(before)
