# SPDX-License-Identifier: Apache-2.0
"""Results to ``.npy`` and ``.npz`` files: written beside, then renamed."""

from __future__ import annotations

import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from onnx_argmax.cli.errors import CommandError

__all__ = ["check_writable", "write_npy", "write_npz"]

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
        Files that are read, which the result must not replace.

    Raises
    ------
    CommandError
        When the folder is missing or takes no new file, when the path is a folder, a device
        or a read-only file, or one of the files to keep.
    """
    target = _target(path)
    if target.is_symlink():
        raise CommandError(f"--output: {path}: a symbolic link that leads to itself")
    if target in {_target(other) for other in keep}:
        raise CommandError(f"--output: {path}: this is an input, which the result would replace")
    if not target.parent.is_dir():
        raise CommandError(f"--output: {path}: no such folder: {target.parent}")
    if target.exists() and not target.is_file():
        raise CommandError(f"--output: {path}: there is something else there than a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise CommandError(f"--output: {path}: the file there is read-only")
    trial = _beside(target)
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise CommandError(
            f"--output: {path}: cannot be written: {error.strerror or error}: {target.parent}"
        ) from error


def write_npy(path: Path, array: _Array) -> None:
    """Write one array to a ``.npy`` file."""
    _replace(path, lambda file: _write_array(file, array))


def write_npz(path: Path, arrays: Mapping[str, _Array]) -> None:
    """Write arrays to a ``.npz`` file.

    ``numpy.savez`` takes the names as Python arguments, among which ``file`` is its own; here
    any name that a zip archive can hold will do.
    """

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                # The size is not known beforehand, so the header has room for any.
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    _write_array(member, array)

    _replace(path, write)


def _write_array(file: IO[bytes], array: _Array) -> None:
    # Strings come out of a model as Python objects, which only a pickle could hold.
    plain = array.astype(np.str_) if array.dtype.hasobject else array
    if plain.dtype.isbuiltin == _OF_ANOTHER_LIBRARY:
        # As raw items of its size: not all such types have a name that NumPy would read again.
        plain = plain.view(np.dtype((np.void, plain.dtype.itemsize)))
    np.lib.format.write_array(file, np.asanyarray(plain), allow_pickle=False)


def _replace(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file that takes its name only when it is whole."""
    target = _target(path)
    part = _beside(target)
    try:
        with part.open("xb") as file:
            write(file)
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except OSError as error:
        # NumPy's own error has no number, and says only how much it could write.
        reason = error.strerror or f"{error}; the disk may be full"
        raise CommandError(f"--output: {path}: cannot be written: {reason}") from error
    finally:
        part.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """The file to replace, so that a link stays a link. Of links that lead to themselves
    ``Path.resolve`` has no answer in some versions of Python; this one is a link then."""
    return Path(os.path.realpath(path))


def _beside(target: Path) -> Path:
    return target.with_name(f".{secrets.token_hex(8)}.part")
