# SPDX-License-Identifier: Apache-2.0
"""Results to ``.npy`` and ``.npz`` files: written beside, then renamed.

Both paths of a result are here: where it goes, and where it lies until it is whole.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from onnx_argmax._stores import opened_store
from onnx_argmax.cli.errors import CommandError

__all__ = [
    "beside",
    "check_writable",
    "is_beside",
    "permissions_of",
    "replaced_by",
    "what_is_there",
    "write_npy",
    "write_npz",
]

_Array = np.ndarray[Any, np.dtype[Any]]

_OF_ANOTHER_LIBRARY: Final = 2
"""What ``dtype.isbuiltin`` says of a type that is not NumPy's own."""


def check_writable(path: Path, *, keep: Iterable[Path]) -> None:
    """Refuse a path that could not be written; for before the work is done.

    Parameters
    ----------
    path : Path
        Where the result will go.
    keep : iterable of Path
        Files and folders that are read, which the result must not replace or lie in.

    Raises
    ------
    CommandError
        When the folder is missing or takes no new file, when the path is a folder, a device
        or a read-only file, one of the files to keep, or within a folder of these.
    """
    target = replaced_by(path)
    if target.is_symlink():
        raise CommandError(f"--output: {path}: a symbolic link that leads to itself")
    inputs = [replaced_by(other) for other in keep]
    if any(target == other or target in other.parents for other in inputs):
        raise CommandError(f"--output: {path}: this is an input, which the result would replace")
    if not target.parent.is_dir():
        raise CommandError(f"--output: {path}: no such folder: {target.parent}")
    if any(other in target.parents for other in inputs):
        raise CommandError(
            f"--output: {path}: this is within the folder of the input, which is only read"
        )
    if target.exists():
        _check_replaceable(path, target)
    trial = beside(target)
    try:
        try:
            trial.touch(exist_ok=False)
        finally:
            trial.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(
            f"--output: {path}: cannot be written: {error.strerror or error}: {target.parent}"
        ) from error


def _check_replaceable(path: Path, target: Path) -> None:
    if path.suffix.lower() == ".zarr":
        _check_is_zarr_array(path, target)
    elif not target.is_file():
        raise CommandError(f"--output: {path}: there is something else there than a file")
    if not os.access(target, os.W_OK):
        raise CommandError(f"--output: {path}: the {_kind(target)} there is read-only")


def _check_is_zarr_array(path: Path, target: Path) -> None:
    try:
        if not target.is_dir():
            raise NotADirectoryError(target)
        with opened_store(target):
            pass
    except (OSError, ValueError) as error:
        raise CommandError(
            f"--output: {path}: there is something else there than a Zarr array"
        ) from error


def _kind(target: Path) -> str:
    return "folder" if target.is_dir() else "file"


def write_npy(path: Path, array: _Array) -> None:
    """Write one array to a ``.npy`` file."""
    _replace(path, lambda file: _write_array(file, array))


def write_npz(path: Path, arrays: Mapping[str, _Array], part: Path | None = None) -> None:
    """Write arrays to a ``.npz`` file.

    With ``part``, that is its path until it is whole, where a file of before is replaced; and the
    file takes the place of whatever has its name then, even of a link.

    ``numpy.savez`` takes the names as Python arguments, among which ``file`` is its own; here
    any name that a zip archive can hold will do.
    """

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                # The size is not known beforehand, so the header has room for any.
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    _write_array(member, array)

    _replace(path, write, part)


def _write_array(file: IO[bytes], array: _Array) -> None:
    # Strings come out of a model as Python objects, which only a pickle could hold.
    plain = array.astype(np.str_) if array.dtype.hasobject else array
    if plain.dtype.isbuiltin == _OF_ANOTHER_LIBRARY:
        # As raw items of its size: not all such types have a name that NumPy would read again.
        plain = plain.view(np.dtype((np.void, plain.dtype.itemsize)))
    np.lib.format.write_array(file, np.asanyarray(plain), allow_pickle=False)


def _replace(path: Path, write: Callable[[IO[bytes]], None], part: Path | None = None) -> None:
    """Write a file that takes its name only when it is whole."""
    target = replaced_by(path) if part is None else path
    if part is None:
        part = beside(target)
    else:
        _make_room(path, part)
    try:
        with part.open("xb") as file:  # follows no link that somebody else put there
            write(file)
            file.flush()
            os.fsync(file.fileno())
        mode = permissions_of(target)
        if mode is not None:
            part.chmod(mode)
        part.replace(target)
    except OSError as error:
        # NumPy's own error has no number, and says only how much it could write.
        reason = error.strerror or f"{error}; the disk may be full"
        raise CommandError(f"--output: {path}: cannot be written: {reason}") from error
    finally:
        part.unlink(missing_ok=True)


def _make_room(path: Path, part: Path) -> None:
    there = what_is_there(part)
    if there is not None:
        raise CommandError(
            f"{path}: it is written as {part} first, which is {there}; delete that or move it away"
        )
    part.unlink(missing_ok=True)


def what_is_there(path: Path) -> str | None:
    """What has a name that is the command's own; None for a file or nothing.

    Nothing else is opened, and no link followed: somebody else may have put it there.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISLNK(mode):
        return f"a symbolic link to {path.readlink()}"
    return "a folder" if stat.S_ISDIR(mode) else "a pipe, a device or a socket"


def replaced_by(path: Path) -> Path:
    """The file or folder that a result of this path takes the place of, so that a link stays a
    link. Of links that lead to themselves ``Path.resolve`` has no answer in some versions of
    Python; this one is a link then."""
    return Path(os.path.realpath(path))


def permissions_of(target: Path) -> int | None:
    """Those of what is replaced, which the result gets; None where nothing is."""
    return stat.S_IMODE(target.stat().st_mode) if target.exists() else None


def beside(target: Path) -> Path:
    """Where a result lies until it is whole: in the same folder, under a name that nobody has."""
    return target.with_name(f".{secrets.token_hex(8)}.part")


def is_beside(path: Path) -> bool:
    """Whether a path is one of those that :func:`beside` gives."""
    return re.fullmatch(r"\.[0-9a-f]{16}\.part", path.name) is not None
