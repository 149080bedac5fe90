# SPDX-License-Identifier: Apache-2.0
"""Regular files, told from everything else that a path can lead to."""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["file_size", "read_file"]


def file_size(path: Path) -> int:
    """Bytes of a regular file.

    A named pipe may keep a reader waiting for ever, and a device may never end; of neither is the
    size known beforehand.

    Raises
    ------
    FileNotFoundError
        When nothing is there.
    IsADirectoryError
        When it is a folder.
    OSError
        When it is a pipe, a device or a socket, or cannot be looked at.
    ValueError
        When no file can have such a name.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except ValueError as error:
        raise ValueError(f"{str(path)!r}: no file can have this name: {error}") from error
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(
            f"{path}: not a file: this is a folder; the path of a file is needed"
        )
    if not stat.S_ISREG(found.st_mode):
        raise OSError(
            f"{path}: not a file: this is a pipe, a device or a socket; write what comes out of "
            "it to a file, and pass that"
        )
    return found.st_size


def read_file(path: Path) -> bytes:
    """Everything in a regular file.

    Raises
    ------
    OSError, ValueError
        As for :func:`file_size`, and when it cannot be read.
    MemoryError
        When there is not enough memory for it.
    """
    size = file_size(path)
    try:
        return path.read_bytes()
    except MemoryError:
        raise MemoryError(f"{path}: there is not enough memory to read its {size} bytes") from None
    except OSError as error:
        if error.filename is not None:
            raise
        # Opened, it could not be read, and the system's own error names no file then.
        raise OSError(f"{path}: cannot be read: {error.strerror or error}") from error
