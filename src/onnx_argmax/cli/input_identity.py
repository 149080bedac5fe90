# SPDX-License-Identifier: Apache-2.0
"""Whether an input is still what it was, without reading its elements."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["identity_of"]


def identity_of(path: Path) -> list[Any] | None:
    """What changes when somebody writes to a file or to a folder of files.

    Parameters
    ----------
    path : Path
        A file, or the folder of a Zarr array.

    Returns
    -------
    list or None
        Of a file its size, its time of change in nanoseconds and its inode; of a folder a hash
        over the relative path, size and time of all files in it. As JSON has it. None where
        nothing is.
    """
    try:
        found = path.stat()
        if not path.is_dir():
            return [found.st_size, found.st_mtime_ns, found.st_ino]
        hashed = hashlib.sha256()
        for line in _lines(path):
            hashed.update(line)
    except (OSError, ValueError):  # gone, or never there; who reads it says what is wrong
        return None
    return [hashed.hexdigest()]


def _lines(folder: Path) -> Iterator[bytes]:
    for where, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(where, name)
            found = os.stat(path)
            relative = os.fsencode(os.path.relpath(path, folder))
            yield b"%s\0%d\0%d\0" % (relative, found.st_size, found.st_mtime_ns)
