# SPDX-License-Identifier: Apache-2.0
"""Arrays from ``.npy`` and ``.npz`` files, without pickles, and from stores."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax._files import file_size
from onnx_argmax._linear_file import FileLayout
from onnx_argmax._stores import (
    npy_layout,
    opened_store,
    refuse_url,
    refuse_within_zarr,
    store_path,
)
from onnx_argmax.cli.errors import CommandError, message_of

__all__ = [
    "FileArray",
    "bfloat16_view",
    "names_in_npz",
    "read_npy",
    "read_npz",
    "read_source",
    "source_path",
]

FileArray = np.ndarray[Any, np.dtype[Any]]

_NPY_MAGIC: Final = b"\x93NUMPY"
_ZIP_MAGIC: Final = b"PK\x03\x04"
_EMPTY_ZIP_MAGIC: Final = b"PK\x05\x06"
_PICKLE_MAGIC: Final = b"\x80"
"""The opcode that every pickle of protocol 2 or later starts with."""

_MEMBER: Final = re.compile(r"(?P<file>.*\.npz):(?P<member>.+)", re.IGNORECASE | re.DOTALL)
_BFLOAT16: Final = np.dtype((np.uint16, {"bfloat16": (np.uint16, 0)}))
"""The disguise of bfloat16 that needs no ml_dtypes; see ``element_type_of_dtype``."""


@contextmanager
def read_source(source: str) -> Generator[Any]:
    """The array that a SOURCE of the command names, as ``block_source`` takes it.

    That of an archive (``FILE.npz`` of one array, ``FILE.npz:NAME``) is read into memory. All
    others are opened meanwhile and not read yet: ``FILE.npy``, the folder of a Zarr array,
    ``FILE.h5:DATASET``.
    """
    path = Path(source)
    member = _MEMBER.fullmatch(source)
    suffix = path.suffix.lower()
    if member is not None and not path.exists():
        yield _read_member(Path(member["file"]), member["member"])
    elif suffix == ".npz":
        yield _read_only_member(path)
    elif suffix == ".npy":
        yield _layout_of_npy(path)
    else:
        _check_is_store(source)
        with opened_store(source) as stored:
            yield stored


def source_path(source: str) -> Path:
    """The file or folder of what :func:`read_source` takes."""
    refuse_url(source)
    member = _MEMBER.fullmatch(source)
    return store_path(source) if member is None or Path(source).exists() else Path(member["file"])


def read_npy(path: Path) -> FileArray:
    """The array of a ``.npy`` file, read-only, mapped into memory and not read yet."""
    _check_is_npy(path)
    with _readable(str(path)):
        # A plain view, or every result would be of NumPy's class for memory maps.
        return np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)


def names_in_npz(path: Path) -> list[str]:
    """Names of the arrays in a ``.npz`` file, none of which is read."""
    with _opened(path) as archive:
        return list(archive.files)


def read_npz(path: Path, names: Collection[str]) -> dict[str, FileArray]:
    """Arrays of a ``.npz`` file that are in it by these names, read into memory."""
    with _opened(path) as archive:
        return {name: _load(path, archive, name) for name in names}


def bfloat16_view(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What to take two-byte items for, so that they are bfloat16.

    Raises
    ------
    CommandError
        When they are neither raw bytes, as NumPy saves bfloat16, nor uint16.
    """
    if dtype in (np.dtype("V2"), np.dtype(np.uint16)):
        return _BFLOAT16
    raise CommandError(
        f"--bfloat16: the items of the array are {dtype}; allowed are raw items of two bytes "
        "(|V2), as NumPy saves bfloat16, and uint16 in native byte order"
    )


def _check_is_npy(path: Path) -> None:
    file_size(path)
    with path.open("rb") as file:
        start = file.read(len(_NPY_MAGIC))
    if start != _NPY_MAGIC:
        raise CommandError(f"{path}: not a .npy file: {_what_starts_with(start)}")


def _layout_of_npy(path: Path) -> FileLayout:
    _check_is_npy(path)
    with _readable(str(path)):
        layout = npy_layout(path)
        np.empty((0, *layout.shape), layout.dtype)  # refuses lengths that no array can have
    return layout


def _check_is_store(source: str) -> None:
    path = store_path(source)
    if not os.path.lexists(path):
        refuse_within_zarr(path)
    # A folder says by its files what it is; of a file whose suffix lets a dataset be named too,
    # HDF5 says what is wrong with it.
    if path.is_dir() or store_path(f"{path}:NAME") == path:
        return
    file_size(path)
    raise CommandError(
        f"{path}: the suffix says neither .npy nor .npz nor HDF5 (.h5, .hdf5, .he5, .nc), and it "
        "is no folder; allowed are FILE.npy, FILE.npz with one array in it, FILE.npz:NAME, "
        "FILE.h5:DATASET and the folder of a Zarr array"
    )


def _read_member(path: Path, name: str) -> FileArray:
    with _opened(path) as archive:
        if name not in archive.files:
            raise CommandError(f"{path}: no array {name!r} in it; it holds {_listed(archive)}")
        return _load(path, archive, name)


def _read_only_member(path: Path) -> FileArray:
    with _opened(path) as archive:
        if len(archive.files) != 1:
            raise CommandError(
                f"{path}: it holds {_listed(archive)}; name one array, as {path}:NAME"
            )
        return _load(path, archive, archive.files[0])


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    file_size(path)
    with path.open("rb") as file:
        start = file.read(len(_NPY_MAGIC))
        if not start.startswith((_ZIP_MAGIC, _EMPTY_ZIP_MAGIC)):
            raise CommandError(f"{path}: not a .npz file: {_what_starts_with(start)}")
        file.seek(0)
        with _readable(str(path)):
            archive = np.load(file, allow_pickle=False)
        with archive:
            # NumPy takes the name of a member with and without its suffix.
            if len({*archive.files, *(f"{n}.npy" for n in archive.files)}) < 2 * len(
                archive.files
            ):
                raise CommandError(f"{path}: an array's name is there twice: {_listed(archive)}")
            yield archive


def _load(path: Path, archive: Any, name: str) -> FileArray:
    where = f"{path}: array {name!r}"
    with _readable(where):
        array = archive[name]
    if isinstance(array, bytes):  # so NumPy gives what is not in its format
        raise CommandError(f"{where} is not an array in .npy format")
    return array


def _listed(archive: Any) -> str:
    return ", ".join(repr(name) for name in archive.files) or "no array"


@contextmanager
def _readable(where: str) -> Generator[None]:
    """Name what cannot be read. NumPy's parser of headers fails in any of Python's own ways, or
    warns, and so do the modules for archives and compression."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except Exception as error:
        raise _unreadable(where, error) from error


def _unreadable(where: str, error: Exception) -> CommandError:
    if isinstance(error, MemoryError):
        return CommandError(
            f"{where} cannot be read: there is not enough memory for what its header says"
        )
    if isinstance(error, OSError):
        return CommandError(f"{where} cannot be read: {error.strerror or error}")
    reason = message_of(error)
    if isinstance(error, RuntimeError) and "encrypted" in reason:
        return CommandError(f"{where} is encrypted, which is refused; save it with numpy.savez")
    if "Object arrays" in reason or "Python objects" in reason:
        return CommandError(
            f"{where} is pickled Python objects, which can run code when they are read, and is "
            "refused; save it with a numeric dtype: numpy.save(file, array.astype(...))"
        )
    return CommandError(f"{where} is truncated or damaged: {reason.removeprefix(f'{where}: ')}")


def _what_starts_with(start: bytes) -> str:
    if not start:
        return "it is empty"
    if start == _NPY_MAGIC:
        return "it is a .npy file; give it that suffix"
    if start.startswith(_ZIP_MAGIC):
        return "it is a zip archive; if NumPy wrote it, give it the suffix .npz"
    if start.startswith(_PICKLE_MAGIC):
        return "it looks like a pickle, which is refused; write it with numpy.save"
    return "NumPy did not write it; write it with numpy.save or numpy.savez"
