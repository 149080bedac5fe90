# SPDX-License-Identifier: Apache-2.0
"""Arrays in files and folders, opened by their path and not read yet."""

from __future__ import annotations

import re
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax._files import file_size
from onnx_argmax._linear_file import FileLayout

__all__ = ["opened_store", "store_path"]

_NPY_MAGIC: Final = b"\x93NUMPY"
_HDF5_MAGIC: Final = b"\x89HDF\r\n\x1a\n"
_HDF5_SUFFIXES: Final = (".h5", ".hdf5", ".he5", ".nc")
_DATASET: Final = re.compile(
    r"(?P<file>.*(?:\.h5|\.hdf5|\.he5|\.nc)):(?P<dataset>.+)", re.IGNORECASE | re.DOTALL
)
_ZARR_FILES: Final = ("zarr.json", ".zarray", ".zgroup")
_ALLOWED: Final = "allowed are FILE.npy, the folder of a Zarr array, and FILE.h5:DATASET"


@contextmanager
def opened_store(path: str | Path) -> Generator[Any]:
    """The array at a path, open meanwhile: a :class:`FileLayout`, a Zarr array, an h5py dataset.

    Parameters
    ----------
    path : str or Path
        ``FILE.npy``, the folder of a Zarr array (of version 2 or 3; within a group by its own
        path), or ``FILE.h5:DATASET`` (without ``:DATASET`` where the file holds one alone).

    Raises
    ------
    OSError
        When nothing is there, or it cannot be opened.
    ValueError
        When it is none of these, truncated, damaged, or holds several arrays.
    ModuleNotFoundError
        When zarr or h5py is needed and not installed.
    """
    where = store_path(path)
    dataset = _DATASET.fullmatch(str(path))
    with ExitStack() as stack:
        if where.is_dir():
            yield _zarr_array(where)
        elif dataset is not None and not Path(path).exists():
            yield _dataset(stack.enter_context(_hdf5_file(where)), where, dataset["dataset"])
        else:
            yield from _of_file(where, stack)


def store_path(path: str | Path) -> Path:
    """The file or folder of what :func:`opened_store` takes."""
    dataset = _DATASET.fullmatch(str(path))
    return Path(path if dataset is None or Path(path).exists() else dataset["file"])


def _of_file(path: Path, stack: ExitStack) -> Generator[Any]:
    file_size(path)
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(_NPY_MAGIC):
        yield npy_layout(path)
    elif start == _HDF5_MAGIC or path.suffix.lower() in _HDF5_SUFFIXES:
        yield _dataset(stack.enter_context(_hdf5_file(path)), path, None)
    else:
        raise ValueError(f"{path}: neither a .npy file nor HDF5; {_ALLOWED}")


def npy_layout(path: Path) -> FileLayout:
    """Where the array of a ``.npy`` file lies.

    Raises
    ------
    OSError, ValueError
        When it is no such file, truncated, damaged or pickled.
    """
    size = file_size(path)
    try:
        with path.open("rb") as file, warnings.catch_warnings(action="ignore"):
            version = np.lib.format.read_magic(file)
            read = getattr(np.lib.format, f"read_array_header_{min(version[0], 2)}_0")
            shape, fortran, dtype = read(file)
            offset = file.tell()
    except OSError:
        raise
    except Exception as error:  # NumPy's parser fails in any of Python's own ways
        raise ValueError(f"{path}: not a .npy file, or a damaged one: {error}") from error
    if dtype.hasobject:
        raise ValueError(
            f"{path}: it holds pickled Python objects, which can run code when they are read, and "
            "is refused; save it with a numeric dtype: numpy.save(file, array.astype(...))"
        )
    try:
        np.empty((0, *shape), dtype)  # refuses lengths that no array can have
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: damaged: no array has shape {shape}: {error}") from error
    layout = FileLayout.dense(path, offset, shape, dtype, fortran=fortran)
    needed = layout.extent()[1]
    if size < needed:
        raise ValueError(
            f"{path}: truncated: it has {size} bytes, but its array of shape {shape} and type "
            f"{dtype} reaches byte {needed}"
        )
    return layout


def _zarr_array(path: Path) -> Any:
    if not any((path / name).exists() for name in _ZARR_FILES):
        raise ValueError(f"{path}: a folder, and not that of a Zarr array; {_ALLOWED}")
    import zarr

    try:
        found = zarr.open(str(path), mode="r")
    except Exception as error:  # of any of its classes, or those of its store or codecs
        raise ValueError(f"{path}: Zarr cannot open it: {error}") from error
    if not isinstance(found, zarr.Array):
        names = ", ".join(sorted(found.array_keys())) or "none"
        raise ValueError(f"{path}: a Zarr group; pass the path of an array in it: {names}")
    return found


@contextmanager
def _hdf5_file(path: Path) -> Generator[Any]:
    file_size(path)
    import h5py

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise OSError(f"{path}: HDF5 cannot open it: {error}") from error
    with file:
        yield file


def _dataset(file: Any, path: Path, name: str | None) -> Any:
    import h5py

    if name is not None:
        try:
            found = file[name]
        except KeyError:
            raise ValueError(
                f"{path}: no dataset {name!r} in it; it holds {_datasets(file)}"
            ) from None
        if not isinstance(found, h5py.Dataset):
            raise ValueError(f"{path}: {name!r} is no dataset; the file holds {_datasets(file)}")
        return found
    names = _dataset_names(file)
    if len(names) != 1:
        raise ValueError(f"{path}: it holds {_datasets(file)}; name one, as {path}:NAME")
    return file[names[0]]


def _dataset_names(file: Any) -> list[str]:
    import h5py

    names: list[str] = []

    def visit(name: str, found: Any) -> None:
        if isinstance(found, h5py.Dataset):
            names.append(name)

    file.visititems(visit)
    return names


def _datasets(file: Any) -> str:
    names = _dataset_names(file)
    shown = ", ".join(repr(name) for name in names[:10]) or "no dataset"
    return f"{shown} and {len(names) - 10} more" if len(names) > 10 else shown
