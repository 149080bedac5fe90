# SPDX-License-Identifier: Apache-2.0
"""The arrays of a journal, read from a file that may be damaged or anybody's.

``numpy.load`` takes the memory that a header asks for before it looks how much there is, and
unpacks whatever was packed; a journal's members lie in it as they are.
"""

from __future__ import annotations

import io
import math
import os
import warnings
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax.cli.outputs import what_is_there

__all__ = ["JournalFile", "opened_journal"]

_SUFFIX: Final = ".npy"
_HEADER_BYTES: Final = 1 << 12
"""More than the header of an array is long that a journal has."""
_ENCRYPTED: Final = 1
"""A bit of the flags of a zip archive's member."""


@contextmanager
def opened_journal(path: Path) -> Generator[JournalFile]:
    """The journal at a path, open meanwhile.

    Raises
    ------
    ValueError
        When it is none, or damaged.
    OSError
        When it cannot be read.
    """
    there = what_is_there(path)
    if there is not None:
        raise ValueError(f"it is {there}")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        start = file.read(4)
        if start != b"PK\x03\x04":
            raise ValueError("it is empty" if not start else "this command did not write it")
        with _in_words("it"):
            archive = zipfile.ZipFile(file)
        with archive:
            yield JournalFile(archive, os.fstat(descriptor).st_size)


class JournalFile:
    """An open journal."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive, self._size = archive, size
        self._members = {info.filename.removesuffix(_SUFFIX): info for info in archive.filelist}
        if len(self._members) != len(archive.filelist):
            raise ValueError("this command did not write it: a name is there twice")

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return list(self._members)

    def read(self, name: str, dtype: np.dtype[Any] | type, most_items: int) -> Any:
        """An array of this type and of at most so many items, which the caller owns.

        Raises
        ------
        ValueError
            When it is not there, damaged, or another one.
        """
        info = self._members.get(name)
        if info is None:
            raise ValueError(f"this command did not write it: it holds no {name!r}")
        dtype = np.dtype(dtype)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
            raise ValueError(f"this command did not write it: {name!r} is packed")
        most = min(self._size, _HEADER_BYTES + most_items * dtype.itemsize)
        if info.file_size > most or info.compress_size > most:
            raise ValueError(
                f"damaged: {name!r} takes {max(info.file_size, info.compress_size)} bytes, and "
                f"can take {most} at most"
            )
        with _in_words(repr(name)):
            return _array(self._archive.read(info), dtype)


def _array(content: bytes, dtype: np.dtype[Any]) -> Any:
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"a header of version {version}")
    shape, fortran, found = np.lib.format.read_array_header_1_0(file)
    if found != dtype:
        raise ValueError(f"items of type {found}, not {dtype}")
    start = file.tell()
    count = math.prod(shape)
    if count * dtype.itemsize != len(content) - start:
        raise ValueError(f"{len(content) - start} bytes for an array of shape {shape}")
    return np.ndarray(shape, dtype, bytearray(content), start, order="F" if fortran else "C")


@contextmanager
def _in_words(what: str) -> Generator[None]:
    """Name what is damaged: the parsers of archives and headers fail in any of Python's own
    ways, or warn."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ValueError(f"{what} is truncated or damaged: {reason}") from error
