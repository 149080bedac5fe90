# SPDX-License-Identifier: Apache-2.0
"""Two folders swap their names in one step."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

__all__ = ["exchange"]

_AT_FDCWD: Final = -100
"""Relative paths are those of the process; from ``fcntl.h``."""
_RENAME_EXCHANGE: Final = 2
"""From ``linux/fs.h``; see renameat2(2)."""


def exchange(one: Path, other: Path) -> bool:
    """Whether the two names were swapped, so that at no time either of them led to nothing.

    False where nothing was done: the C library or the file system cannot, or a folder may not be
    changed, which a plain renaming then says in its own words.
    """
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    rename.argtypes = (
        *(ctypes.c_int, ctypes.c_char_p),
        *(ctypes.c_int, ctypes.c_char_p),
        ctypes.c_uint,
    )
    names = os.fsencode(one), os.fsencode(other)
    return rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0
